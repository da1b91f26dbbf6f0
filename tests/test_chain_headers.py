"""Headers without a state in the exact chain: beside runs, and what is refused."""

import pytest

import sluicegate as sg

pytestmark = pytest.mark.slow

TEXT = """
#include "fixed.h"
#define {NAME}_PARAMS(P)
struct {name}_params {{}};
struct {name}_config {{}};
struct {name}_state {{}};
static inline u32 {name}_configure(const struct {name}_params *p, struct {name}_config *config)
{{
	(void)p; (void)config;
	return 0;
}}
static inline enum aqm_verdict {name}_arrive(struct {name}_state *state,
	const struct {name}_config *config, const struct aqm_view *view)
{{
	(void)state; (void)config;
	{body}
}}
AQM_CLASS({name}, {NAME}_PARAMS, .title = "{name}", .source = "a test", .summary = "A test.")
"""


def header(folder, name, body):
    path = folder / f"{name}.h"
    path.write_text(TEXT.format(name=name, NAME=name.upper(), body=body))
    return sg.Discipline(aqm=str(path))


@pytest.fixture
def scenario():
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=0.5),
        service=sg.GeometricService(mu=0.5),
        queue=sg.Queue(limit=12),
        disciplines=[sg.Discipline(aqm="drop_tail")],
        slots=200_000,
        replications=4,
    )


@pytest.mark.parametrize(
    "body",
    [
        # early by chance from four on; forced from eight on
        "if (view->queue_packets > 7) return AQM_DROP_FORCED;\n\t"
        "return view->queue_packets > 3 && aqm_happens(1LL << 30, view->random)"
        " ? AQM_DROP_EARLY : AQM_ADMIT;",
        # the other way round, and at an idle link, too
        "return view->idle && aqm_happens(1LL << 31, view->random) ? AQM_DROP_FORCED : AQM_ADMIT;",
        "return aqm_happens((1LL << 32) - (1LL << 29), view->random) ? AQM_ADMIT : AQM_DROP_EARLY;",
        # drops until the buffer is full, which then drops by itself
        "return view->full ? AQM_ADMIT : aqm_happens(1LL << 30, view->random)"
        " ? AQM_DROP_EARLY : AQM_ADMIT;",
    ],
)
def test_the_chain_is_that_of_the_runs(body, scenario, tmp_path):
    discipline = header(tmp_path, "stateless", body)
    exact, run = sg.chain.solve(scenario, discipline).record, sg.simulate(scenario, discipline)
    names = ("queue_mean", "loss_ratio", "early_loss_ratio", "forced_loss_ratio", "sojourn_mean")
    for name in names:
        found = run[name]
        # more than the interval of 95 %: four headers with five measures
        assert abs(found.value - exact[name].value) <= 2 * (found.half_width or 0.0), name


def test_drop_tail_as_a_header_is_drop_tail(scenario, tmp_path):
    own = sg.chain.solve(scenario, header(tmp_path, "stateless", "return AQM_ADMIT;")).record
    usual = sg.chain.solve(scenario, sg.Discipline(aqm="drop_tail")).record
    assert {n: m.value for n, m in own.measures.items()} == pytest.approx(
        {n: m.value for n, m in usual.measures.items()}, abs=1e-15, nan_ok=True
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            "return view->packet_bytes > 1000 ? AQM_DROP_EARLY : AQM_ADMIT;",
            "stateless has no exact chain: its decision depends on more than the queue",
        ),
        (
            "return (view->random & 1) ? AQM_DROP_EARLY : AQM_ADMIT;",
            "stateless has no exact chain: its decision depends on more than the queue",
        ),
        (
            "return (view->random >> 40) & 1 ? AQM_DROP_EARLY : AQM_ADMIT;",
            "stateless has no exact chain: its decision is not one step in the random word",
        ),
    ],
)
def test_headers_that_see_more_are_refused(body, problem, scenario, tmp_path):
    with pytest.raises(sg.SluiceError, match=problem):
        sg.chain.solve(scenario, header(tmp_path, "stateless", body))


def test_a_fault_of_the_header_is_an_error(scenario, tmp_path):
    """Its trial has about 200 packets waiting: this one fails later."""
    body = "return 7 / (int)(2500 - view->queue_packets) > 6 ? AQM_DROP_FORCED : AQM_ADMIT;"
    long = scenario.replace({"queue.limit": 3000})
    with pytest.raises(sg.SluiceError, match="stateless"):
        sg.chain.solve(long, header(tmp_path, "stateless", body))


@pytest.mark.parametrize(
    ("aqm", "why"),
    [
        ("pi2", "a clock updates it between arrivals, and it judges packets as they leave"),
        ("step", "it judges packets as they leave, by how long they waited"),
        ("sfb", "it follows which packets wait, and it has a state of"),
        ("gred", "it follows which packets wait, and it has a state of"),
        ("rio", "it follows which packets wait, and it has a state of"),
        ("wred", "it follows which packets wait, and it has a state of"),
        ("dualpi2", "it has several queues"),
        ("cake", "it has several queues"),
    ],
)
def test_why_an_aqm_has_no_exact_chain_is_told(aqm, why, scenario):
    with pytest.raises(sg.SluiceError, match=f"{aqm} has no exact chain: {why}"):
        sg.chain.solve(scenario, sg.Discipline(aqm=aqm, ecn=aqm == "cake"))
