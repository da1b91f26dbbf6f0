"""The router sections of two papers: claims, readings, and short runs in both worlds."""

import json
import threading
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from sluicegate.errors import InterruptError, SluiceError
from sluicegate.estimate import Measure
from sluicegate.papers.comparison import Row
from sluicegate.papers.drop_from_front import in_kernel
from sluicegate.papers.drop_from_front import readings as dff_readings
from sluicegate.papers.drop_from_front import router as dff
from sluicegate.papers.drop_from_front import router_claims as dff_claims
from sluicegate.papers.redwm import readings, router, router_claims
from sluicegate.papers.redwm.table1 import COLUMNS, GENERATED, printed
from sluicegate.papers.router import measured, runs
from sluicegate.papers.router.found import Found
from sluicegate.papers.router.setting import TRAFFIC, Length, Setting
from sluicegate.papers.router.tables import agreement
from sluicegate.scenario import Discipline
from sluicegate.worlds.gate.record import GateRecord
from sluicegate.worlds.network import simulate

pytestmark = pytest.mark.slow

LACKING = measured.lacking()
needs_gate = pytest.mark.skipif(bool(LACKING), reason=f"no gate here: {LACKING}")

ONES = np.ones(4)
SETTING = Setting(516e3, 25, 0.0061, 129, 2000.0, "constant", 2)
RED = Discipline(aqm="red", params={"min_th": 5, "max_th": 15, "max_p": 0.1})


class Case(SimpleNamespace):
    """The parts of a `Found` that claims use; its values are equal under every seed."""

    def __getitem__(self, name):
        return getattr(self, name) * ONES


# ---- table 1 of redwm ----


def test_the_losses_of_table_1_fix_the_packets_and_its_queues_contradict_it():
    rows = printed()
    assert len(rows) == 6
    assert rows["UDP", "RED"].packet_bytes_by_loss == pytest.approx(39.72, abs=0.01)
    for row in rows.values():
        by_little = GENERATED * (1 - row.loss / 100) * row.wait / 1000
        assert row.queue_by_little == by_little
        assert row.queue > 1.25 * by_little


def table_1(**changes):
    """Return the rows as printed, with changes: `UDP_REDwM_wait=10`, `TCP_RED_skew=-1`."""
    rows = {}
    for (traffic, algorithm), row in printed().items():
        names = {"loss": row.loss, "wait": row.wait, "queue": row.queue,
                 "skew": 1.0 if traffic == "TCP" else -1.0, "late": 5.0, "drops": 5.0}  # fmt: skip
        for name in names:
            key = f"{traffic.replace(' + ', '_')}_{algorithm}_{name}"
            names[name] = changes.pop(key, names[name])
        rows[traffic, algorithm] = Case(
            **{column.measure: names[key] / column.scale for key, column in COLUMNS.items()},
            skewness=names["skew"] * ONES,
            lateness_s=names["late"] * ONES / 1000,
            kernel_drops_per_s=names["drops"] * ONES,
        )
    assert not changes
    return rows


def verdicts(module, rows, world="network"):
    return [claim.verdict for claim in module.claims({"a": rows}, world, "all readings")]


def test_the_text_of_redwm_against_its_own_table():
    # all hold but the conclusion: under TCP, RED and REDwM differ by 3 % in the table
    assert verdicts(router_claims, table_1(), "gate") == ["holds"] * 11 + [
        "fails",
        "holds",
        "holds",
    ]


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        (0, {"UDP_REDwM_wait": 10.6}),
        (0, {"TCP_REDwM_wait": 4.7}),
        (1, {"TCP_REDwM_wait": 4.0}),
        (1, {"TCP_REDwM_queue": 14.0}),
        (1, {"TCP_REDwM_loss": 1.2}),
        (2, {"TCP_REDwM_loss": 0.04}),
        (3, {"UDP_TCP_REDwM_loss": 17.7}),
        (4, {"TCP_RED_skew": -0.1}),
        (4, {"UDP_TCP_REDwM_skew": 0.1}),
        (5, {"TCP_RED_loss": 1.1}),
        (6, {"UDP_TCP_RED_wait": 10.6}),
        (6, {"TCP_REDwM_wait": 9.0}),
        (7, {"UDP_REDwM_wait": 10.6}),
        (7, {"UDP_TCP_REDwM_wait": 10.1}),
        (8, {"UDP_REDwM_wait": 9.6}),
        (9, {"UDP_REDwM_wait": 9.6}),
        (10, {"UDP_RED_loss": 9.0}),
        (10, {"TCP_RED_loss": 19.0}),
        (12, {"UDP_RED_late": 0.5}),
        (13, {"UDP_REDwM_drops": 1.0}),
        (13, {"UDP_TCP_RED_drops": 0.0}),
    ],
)
def test_each_claim_of_redwm_fails_by_its_own_figure(place, changes):
    assert verdicts(router_claims, table_1(**changes), "gate")[place] == "fails"


def test_the_conclusion_of_redwm_holds_if_all_waits_differ():
    assert verdicts(router_claims, table_1(TCP_REDwM_wait=4.0))[11] == "holds"


# ---- claims of drop-from-front ----


def told(**gains):
    """Return cases as the text describes them: drop from front gains only for FRED, as given."""
    cases = {}
    usual = {"UDP_FRED": 0.4, "VARYING_RED": 0.2, "VARYING_DSRED": 0.2}
    for _, traffic, algorithm, victim in dff_readings.Reading().cases():
        name = "VARYING" if traffic == dff_readings.VARYING else traffic.replace(" + ", "_")
        key = f"{name}_{algorithm}"
        gain = gains.get(key, usual.get(key, -0.01))
        share = 1 - gain if victim == "front" else 1.0
        cases[traffic, algorithm, victim] = Case(
            loss_ratio=0.01 if traffic == "TCP" else 0.75,
            delay_mean=0.03 * share,
            queue_mean=15 * share,
            retransmission_rate=5.0,
            timeout_rate=0.4,
            lateness_s=ONES * (2e-4 if victim == "front" else 1e-4),
        )
    return cases


def test_the_text_of_drop_from_front_against_itself():
    # all hold but its expectation of a faster router, and that FRED hides the time for the search
    assert verdicts(dff_claims, told(), "gate") == ["holds"] * 13 + ["fails", "holds", "fails"]


@pytest.mark.parametrize(
    ("failing", "gains"),
    [
        ([0, 1, 2], {"TCP_RED": 0.2}),
        ([2], {"TCP_FRED": 0.2}),
        ([7, 9], {"UDP_TCP_ARED": 0.2}),
        ([7, 9, 12], {"UDP_TCP_RED": 0.2}),
        ([9, 12], {"UDP_RED": 0.05}),
        ([8], {"VARYING_DSRED": -0.02}),
        ([10, 11], {"UDP_FRED": 0.05}),
        ([7, 8, 9, 11, 12], {"UDP_RED": 0.5}),
    ],
)
def test_each_gain_refutes_the_claims_on_it(failing, gains):
    found = verdicts(dff_claims, told(**gains))
    assert [place for place, verdict in enumerate(found) if verdict == "fails"] == [*failing, 13]


@pytest.mark.parametrize(
    ("traffic", "changes"),
    [("TCP", {"loss_ratio": 0.21}), ("UDP", {"loss_ratio": 0.19}), ("TCP", {"timeout_rate": 0.6})],
)
def test_tcp_is_supervised_if_it_keeps_to_the_link_with_few_time_outs_and_udp_does_not(
    traffic, changes
):
    cases = told()
    vars(cases[traffic, "RED", "front"]).update(changes)
    assert verdicts(dff_claims, cases)[4] == "fails"


def test_a_fast_router_corroborates_the_analysis():
    assert verdicts(dff_claims, told(UDP_RED=0.3, UDP_DSRED=0.2))[13] == "holds"


# ---- results of runs ----


SHORT = Length(3.0, 1.0, 3)


def scenario(traffic="UDP + TCP", seed=1, length=SHORT):
    return SETTING.scenario(traffic, RED, length).replace(seed=seed)


def test_one_record_of_all_seeds_and_records_of_each_give_the_same():
    record = simulate(scenario())
    found = Found.of([record])
    assert found["loss_ratio"].tolist() == record.replications["loss_ratio"].to_list()
    assert found["loss_ratio"].mean() == pytest.approx(record["loss_ratio"].value)
    assert np.isnan(found.lateness_s).all()
    assert found.queue_distribution.sum() == pytest.approx(1)
    assert found.delay_distribution.sum() == pytest.approx(1)
    assert len(found.times_s) == len(found.queue) == len(found.losses) == 150
    seeds = [simulate(scenario(seed=seed, length=Length(3.0, 1.0, 1))) for seed in (1, 2)]
    each = [Found.of([one]) for one in seeds]
    both = Found.of(seeds)
    for name in ("delay_mean", "queue_mean"):
        assert both[name].tolist() == [one[name][0] for one in each]
    assert both.skewness == pytest.approx([one.skewness[0] for one in each])
    assert both.queue == pytest.approx((each[0].queue + each[1].queue) / 2)


def test_the_skewness_is_that_of_a_known_distribution():
    from sluicegate.papers.router.found import _skewness

    # skewness of a Bernoulli variable: (1 - 2p) / sqrt(p (1 - p))
    rows = np.array([[1.0] + [0.0] * 9, [0.0] + [1.0] * 9])
    assert _skewness(rows) == pytest.approx([0.8 / 0.3, -0.8 / 0.3])


def test_traffic_is_what_its_name_says():
    kinds = {traffic: [each.kind for each in scenario(traffic).flows] for traffic in TRAFFIC}
    assert kinds == {"TCP": ["tcp"], "UDP": ["datagrams"], "UDP + TCP": ["tcp", "datagrams"]}
    # two flows send half each; together four times the link's rate
    (udp,) = scenario("UDP").flows
    assert 2 * udp.rate_bps == pytest.approx(4 * 516e3)
    assert Setting(516e3, 25, 0.0061, 40, 2000.0, "constant", 2).segment_bytes == 128


def test_self_similar_traffic_has_as_many_datagrams_on_average():
    (varying,) = scenario("UDP, self-similar").flows
    assert varying.self_similar.share * varying.rate_bps == pytest.approx(4 * 516e3)
    # mean length of the longest pauses
    source = varying.self_similar.modulator()
    slots = (source.a / source.q) ** 3
    assert slots * 8 * 129 / varying.rate_bps == pytest.approx(1.26, abs=0.01)
    long = Length(200.0, 5.0, 4)
    found = Found.of([simulate(scenario("UDP, self-similar", length=long))])
    arrived = found["throughput"] / (1 - found["loss_ratio"])
    assert arrived.mean() == pytest.approx(2000, rel=0.1)
    # with long pauses the link is idle at times
    assert found["utilization"].max() < 0.99


def test_agreement_counts_what_is_near_and_what_overlaps():
    def row(measured_, half_width, predicted):
        delay = "mean delay (ms)"
        return Row("a", f"{delay}, UDP", None, measured_, half_width, predicted, delay)

    rows = [
        row(10.0, 0.5, Measure(10.4, 0.1, "")),
        row(10.0, 0.1, Measure(10.4, 0.1, "")),
        row(10.0, 5.0, Measure(20.0, 5.0, "")),
        Row("a", "loss ratio (%), UDP", None, 1.0, 0.1),
    ]
    assert list(agreement(rows)) == [
        "Does the simulator predict the router? mean delay (ms): 2 of 3 figures within 10 %, 2 "
        "with intervals that overlap. The farthest is mean delay (ms), UDP (a): predicted 20, "
        "measured 10."
    ]


# ---- the measuring processes ----


def as_measured(scenario, late_s=0.0):
    """Return a record like the gate's, from a simulation."""
    record = simulate(scenario)
    lost = [{"kernel_queue_drops": 3, "id_gaps": 1}, {"kernel_buffer_drops": 1}]
    machine = {"receiver_overruns": 0, "uncounted": lost}
    run = {**record.run, "world": "gate", "machine": [machine]}
    late = pl.DataFrame({"of": ["router, forward", "datagram"], "mean_s": [late_s, 0.0]})
    fields = {**vars(record), "run": run}
    return GateRecord(**fields, connections=pl.DataFrame({"flow": [0]}), lateness=late)


@pytest.fixture
def fake(monkeypatch):
    """Replace the gate by simulations; records the runs, and fails or is late on request."""
    asked = SimpleNamespace(seeds=[], late=[], fails=None, lock=threading.Lock(), until={})

    def measure(scenario, discipline, *, watch):
        with asked.lock:
            asked.seeds.append(scenario.seed)
            late_s = asked.late.pop(0) if asked.late else 0.0
        if scenario.seed in asked.until:
            assert asked.until[scenario.seed].wait(60)
        if scenario.seed == asked.fails:
            raise SluiceError("it broke")
        watch(scenario.duration_s / 2, scenario.duration_s)
        return as_measured(scenario, late_s)

    monkeypatch.setattr(measured, "measure", measure)
    return asked


def all_measured(parallel=1, seeds=3, watch=None, fresh=False):
    given = {"it": scenario("UDP", length=Length(2.0, 0.5, seeds))}
    return measured.measured("test", given, parallel=parallel, watch=watch, fresh=fresh)


def test_each_seed_is_a_run_and_no_run_is_repeated(fake):
    news = []
    found = all_measured(watch=lambda *each: news.append(each))
    assert fake.seeds == [1, 2, 3]
    assert (found.runs, found.late, found.parallel) == (3, 0, 1)
    assert len(found.found["it"]["delay_mean"]) == 3
    # 4 in 2 s
    assert found.found["it"].kernel_drops_per_s.tolist() == [2.0] * 3
    assert news[-1] == ("test", 6.0, 6.0, "gate, 3 of 3 runs, 1 at a time")
    again = all_measured(parallel=3)
    assert fake.seeds == [1, 2, 3]
    assert again.found["it"]["delay_mean"].tolist() == found.found["it"]["delay_mean"].tolist()
    all_measured(fresh=True)
    assert fake.seeds == [1, 2, 3, 1, 2, 3]


def test_runs_finished_before_an_error_are_kept(fake):
    fake.fails = 3
    with pytest.raises(SluiceError, match="it broke"):
        all_measured()
    fake.fails = None
    all_measured()
    assert fake.seeds == [1, 2, 3, 3]


def test_a_late_run_is_run_again_and_the_least_late_is_taken(fake):
    fake.late = [0.003, 0.0002, 0.004, 0.002]
    found = all_measured(seeds=2)
    assert fake.seeds == [1, 1, 2, 2]
    assert found.late == 1
    assert found.found["it"].lateness_s.tolist() == [0.0002, 0.002]
    # only the run that stayed late is not kept
    all_measured(seeds=2)
    assert fake.seeds == [1, 1, 2, 2, 2]


def test_ctrl_c_ends_the_present_runs_and_keeps_the_finished(fake, monkeypatch):
    # the second runs until the first has reported
    fake.until[2] = threading.Event()

    def interrupt(*news):
        if "1 of 3" in news[-1]:
            fake.until[2].set()
            raise KeyboardInterrupt

    with pytest.raises(InterruptError, match="the same command goes on"):
        all_measured(watch=interrupt)
    before = len(fake.seeds)
    all_measured()
    # the first was kept; the one that ran when Ctrl-C came may have been finished
    assert fake.seeds.count(1) == 1
    assert len(fake.seeds) - before <= 2


# ---- short reproductions ----

SHORT = Length(2.0, 0.5, 2)


@pytest.fixture
def small(monkeypatch):
    """Use one reading for each paper, and short runs."""
    for paper, module in ((router, readings), (dff, dff_readings)):
        monkeypatch.setattr(paper, "grid", lambda module=module: [module.Reading()])
        monkeypatch.setattr(paper, "REAL_READINGS", (module.Reading(),))
        monkeypatch.setattr(paper, "SIMULATED", SHORT)
        monkeypatch.setattr(paper, "REAL", SHORT)


PAPERS = [(router, router_claims, 6 * 3, 6), (dff, dff_claims, 28 * 3, 4)]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("paper", "claims", "rows", "plots"), PAPERS)
def test_a_short_prediction_has_every_row_claim_and_figure(paper, claims, rows, plots):
    news = []
    found = paper.predict(watch=lambda *each: news.append(each))
    assert len(found.rows) == rows
    assert len(found.claims) == 2 * len(claims.SENTENCES["network"])
    assert "No statements on figures: " in found.page().html()
    assert len(found.plots) == plots
    assert found.column == "network"
    assert all(row.predicted is None for row in found.rows)
    assert "gate" not in " ".join(found.findings)
    assert {each[0] for each in news} == {paper.__name__.split(".")[2].replace("_", "-")}
    assert json.loads(json.dumps(found.summary())) == found.summary()
    html = found.page().html()
    assert all(claim.text in html for claim in found.claims if "&" not in claim.text)


@pytest.mark.usefixtures("small")
def test_without_a_gate_the_prediction_says_why(monkeypatch):
    monkeypatch.setattr(runs, "lacking", lambda: "the command iptables: it is not installed")
    found = router.measure()
    assert found.column == "network"
    assert any("The gate was not run: the command iptables" in each for each in found.findings)


def test_the_grids_have_every_reading_once_and_those_that_are_measured():
    for module, count in ((readings, 64), (dff_readings, 32)):
        grid = module.grid()
        assert len(set(grid)) == len(grid) == count
        assert set(module.REAL_READINGS) <= set(grid)
        assert len({reading.name for reading in grid}) == count


def test_kernel_space_has_the_cases_of_section_vi(monkeypatch):
    monkeypatch.setattr(in_kernel, "REAL", Length(2.0, 0.5, 2))
    ran = []

    def run(_world, scenario, discipline, **_kwargs):
        """Simulate instead of running a laboratory."""
        ran.append((scenario.queue.limit, discipline.name))
        return simulate(scenario)

    monkeypatch.setattr(in_kernel.Kernel, "run", run)
    found = in_kernel.reproduce()
    names = [f"{aqm} {victim}" for aqm in ("RED", "DSRED") for victim in ("tail", "front")]
    assert ran == [(limit, name) for limit in (25, 250) for name in names]
    assert (found.column, found.predictor) == ("kernel", "network")
    assert len(found.rows) == 2 * 4 * 3
    assert all(row.predicted.value == pytest.approx(row.measured) for row in found.rows)
    (claim,) = found.claims
    assert claim.where == "section V, kernel, both readings"
    assert (claim.verdict, "kernel space" in claim.text) == ("holds", True)
    assert len(found.plots) == 2
    assert "No statements on figures: " in found.page().html()


@needs_gate
@pytest.mark.usefixtures("small")
def test_a_short_measurement_of_redwm_stands_beside_its_prediction(monkeypatch):
    # keeps late runs, too: a busy machine may be late
    monkeypatch.setattr(measured, "MOST_LATE_S", np.inf)
    found = router.measure()
    assert (found.column, found.predictor) == ("gate", "network")
    judged = router_claims.SENTENCES
    assert len(found.claims) == 2 * len(judged["network"]) + 2 * len(judged["gate"])
    by_quantity = {row.quantity: row for row in found.rows}
    loss = by_quantity["loss ratio (%), UDP, RED"]
    # 516 kb/s carry 1612.5 of 2000 packets/s, less the pauses of the machine
    assert loss.predicted.value == pytest.approx(19.4, abs=1.5)
    assert loss.measured == pytest.approx(loss.predicted.value, abs=5)
    html = found.page().html()
    assert ">network</th>" in html
    assert any("testbeds at a time" in each for each in found.findings)

    def never(*_args, **_kwargs):
        raise AssertionError("measured again")

    monkeypatch.setattr(measured, "measure", never)
    assert router.measure().summary() == found.summary()


@needs_gate
@pytest.mark.usefixtures("small")
def test_a_short_measurement_of_drop_from_front(monkeypatch):
    monkeypatch.setattr(dff, "REAL", SHORT._replace(replications=1))
    # a run that the machine delayed is reported, not kept, and measured again
    found = dff.measure()
    for _ in range(2):
        if any("are not valid" in each for each in found.findings):
            found = dff.measure()
    by_quantity = {row.quantity: row for row in found.rows}
    for name in ("RED", "DSRED", "FRED", "ARED"):
        for victim in ("tail", "front"):
            row = by_quantity[f"loss ratio (%), UDP, {name}, {victim}"]
            assert row.measured == pytest.approx(75, abs=4)
        tail, front = (
            by_quantity[f"mean delay (ms), UDP, {name}, {victim}"] for victim in ("tail", "front")
        )
        # three of four datagrams are dropped; dropped at the head, they leave the latest arrivals
        assert front.measured < tail.measured
        assert front.predicted.value < tail.predicted.value
