"""`sluice evaluate`: the scenarios of RFC 7928, what is read of them, verdicts."""

import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import sluicegate as sg
from sluicegate.errors import InterruptError, SluiceError
from sluicegate.evaluate import PROFILES, evaluate
from sluicegate.evaluate.case import FORWARD, SECOND_HOP, Case, Fitted
from sluicegate.evaluate.cases import CASES
from sluicegate.evaluate.everything import everything
from sluicegate.evaluate.harms import harm_rows, harms
from sluicegate.evaluate.page import evaluation_page
from sluicegate.evaluate.plan import EvaluationFolder, Plan
from sluicegate.evaluate.requirements import REQUIREMENTS, state
from sluicegate.evaluate.run import WORLDS, known
from sluicegate.evaluate.suite import L4S, RFC7928, case_named
from sluicegate.evaluate.verdict import compared, together
from sluicegate.evaluate.words import case_lines, labelled, traded
from sluicegate.testbed.check import missing, needs

DROP_TAIL, CODEL = sg.Discipline(aqm="drop_tail"), sg.Discipline(aqm="codel")
# a short path: runs of milliseconds
BRIEF = replace(
    PROFILES["default"],
    name="brief",
    rate_bps=2e6,
    reverse_rate_bps=2e6,
    rtt_s=0.02,
    buffer_s=0.1,
    duration_s=3.0,
    warm_up_s=1.0,
    phase_s=0.5,
    replications=3,
)


@pytest.fixture(scope="module")
def sixth(tmp_path_factory):
    """Sections 5.1.1 and 8.2.2 of CoDel on the short path, in this process."""
    out = tmp_path_factory.mktemp("evaluation") / "out"
    return evaluate(["codel"], out, profile=BRIEF, sections=["5.1.1", "8.2.2"], workers=1), out


# ------------------------------------------------------------ the scenarios


@pytest.mark.parametrize(
    ("rate", "rtt_s", "buffer_s", "counts"),
    [
        (1e6, 0.1, 0.1, (1, 1, 2)),
        (10e6, 0.1, 0.1, (6, 14, 19)),
        (10e6, 0.1, 0.2, (9, 20, 28)),
        (100e6, 0.1, 0.1, (60, 135, 190)),
    ],
)
def test_flows_of_congestion_are_those_of_the_formula(rate, rtt_s, buffer_s, counts):
    path = replace(
        PROFILES["default"], rate_bps=rate, reverse_rate_bps=rate, rtt_s=rtt_s, buffer_s=buffer_s
    )
    assert tuple(path.count(level) for level in ("mild", "medium", "heavy")) == counts


def test_the_default_profile_is_the_one_that_is_printed():
    told = PROFILES["default"].told()
    for each in ("10 Mb/s", "RTT 100 ms", "83 packets (1 BDP)", "6 / 14 / 19 flows"):
        assert each in told
    assert "45 packets" in PROFILES["ns3"].told()
    assert "2 / 5 / 7 flows" in PROFILES["ns3"].told()


def test_every_scenario_of_the_rfc_is_there_once():
    assert [
        *("3.1", "4.4", "4.5", "4.6", "5.1.1", "5.1.2", "5.2", "5.3", "5.4", "6.2", "7.2"),
        *("8.2.2", "8.2.3", "8.2.4", "8.2.5", "8.2.6", "9.1", "9.2", "10.2"),
    ] == RFC7928.sections
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    asked = {section for each in REQUIREMENTS for section in each.cases}
    assert asked <= set(RFC7928.sections)


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_every_scenario_is_a_network_on_every_profile(name):
    profile = PROFILES[name]
    for case in [*CASES, *L4S.cases]:
        fitted = case.fitted(CODEL)
        assert isinstance(fitted, Fitted), case.name
        scenario = case.scenario(profile, fitted, 0, 1)
        assert scenario.duration_s > profile.warm_up_s
        assert scenario.queue.limit == profile.buffer_packets
        # each class is counted by itself, and nothing that is judged is of another
        labels = {*scenario.classes(), *(phase.name for phase in case.phases(profile)), ""}
        assert {each.rpartition(".")[0] for each in case.judged} <= labels


def test_sections_are_chosen_by_their_numbers():
    assert {case.section for case in RFC7928.chosen(["5", "8.2.6"])} == {
        *("5.1.1", "5.1.2", "5.2", "5.3", "5.4", "8.2.6")
    }
    with pytest.raises(SluiceError, match=r"sections = 8.1: RFC 7928 has no scenario there; .*3.1"):
        RFC7928.chosen(["8.1"])
    # 1 is not 10.2
    with pytest.raises(SluiceError, match="no scenario there"):
        RFC7928.chosen(["1"])


def test_replications_differ_and_disciplines_see_the_same():
    case = case_named("8-2-2-mild")
    one, other = (case.scenario(BRIEF, Fitted(CODEL), k, 1) for k in (0, 1))
    assert one.seed != other.seed
    assert one.topology.client_delays_s != other.topology.client_delays_s
    near = np.array(one.topology.client_delays_s) / (BRIEF.rtt_s / 2)
    assert ((near >= 0.95) & (near <= 1.05)).all()
    beside = case.scenario(BRIEF, Fitted(DROP_TAIL), 0, 1)
    assert beside.topology == one.topology
    assert (beside.seed, beside.flows) == (one.seed, one.flows)


def test_scenarios_of_l4s_are_those_of_their_tables():
    assert L4S.sections == ["S1", "S2", "S6", "overload", "calls"]
    assert L4S.profile == "l4s"
    names = [case.name for case in [*CASES, *L4S.cases]]
    assert len(set(names)) == len(names)
    # 20 ms are the profile's: 160 and 10 ms
    case = case_named("l4s-s1-cubic-8-prague-0p5")
    scenario = case.scenario(PROFILES["l4s"], case.fitted(CODEL), 0, 1)
    ways_ms = 1e3 * np.array(scenario.topology.client_delays_s)
    assert ways_ms == pytest.approx([80, 5], rel=0.05)
    first, second = scenario.flows
    controls = [each.tcp.congestion_control for each in (first, second)]
    assert controls == ["cubic", "prague"]
    assert scenario.disciplines[0].ecn
    with pytest.raises(SluiceError, match=r"sections = 6.2: L4S has no scenario there; .* S1, S2"):
        L4S.chosen(["6.2"])


def test_a_call_beside_a_download_has_its_rate_and_its_frames_from_an_aqm(tmp_path):
    brief = replace(BRIEF, rate_bps=10e6, reverse_rate_bps=10e6, duration_s=12.0, warm_up_s=8.0)
    given = {"suite": L4S, "profile": brief, "replications": 3, "workers": 1}
    found = evaluate(["dualpi2"], tmp_path, sections=["calls"], **given)
    case = case_named("l4s-calls-l4s-cubic")
    (call, _) = case.scenario(brief, case.fitted(CODEL), 0, 1).flows
    assert (call.max_rate_bps, call.ecn, call.ect1) == (2e6, True, True)
    frame, picture, *_ = (
        (each.measure, each.word) for each in found.compared(case, "dualpi2", "drop_tail")
    )
    # it waits for a part of 100 ms of buffer, and keeps its least rate there
    assert (frame, picture) == (("call.frame_p99", "better"), ("call.quality", "better"))
    values = [found.mean(case, name, "call.quality").value for name in ("drop_tail", "dualpi2")]
    assert 2 * values[0] < values[1] <= 2e6
    (told,) = case_lines(found, case, ["drop_tail"])
    assert "p99 time of a frame of call (" in told
    assert "rate of the picture of call (" in told
    assert "Mb/s" in told
    falls = case_named("l4s-calls-l4s-fall")
    assert found.mean(falls, "dualpi2", "call.frame_p99").value > 0.01
    assert labelled("call.stall_ratio") == "time in which the picture stood still of call (%)"


@pytest.mark.slow
def test_l4s_needs_a_queue_that_marks_early(tmp_path):
    """A short queue for Prague, and a fair share for CUBIC, come with DualPI2 only."""
    brief = replace(BRIEF, rate_bps=20e6, reverse_rate_bps=20e6, duration_s=4.0, replications=2)
    given = {"suite": L4S, "profile": brief, "workers": 1}
    found = evaluate(["codel", "dualpi2"], tmp_path, sections=["S2", "S6"], **given)
    case = case_named("l4s-s6-prague-cubic-ecn")
    waits, shares = (
        [found.mean(case, name, each).value for name in found.plan.names]
        for each in ("prague.queueing_delay", "goodput_ratio")
    )
    drop_tail, codel, dualpi2 = waits
    # L marks all from 1 ms on, CoDel too few to hold its 5 ms; drop-tail has 100 ms, and
    # CUBIC's part of them comes and goes
    assert dualpi2 < 0.001
    assert 0.005 < codel < 0.05 < drop_tail < 0.1
    # CUBIC over Prague: in one queue that marks for both, Prague takes it; DualPI2's coupling makes
    # both equal, within a factor of two in so short a time
    assert shares[1] < 0.1
    assert 0.5 < shares[2] < 2
    bursty = case_named("l4s-s2-bursts-prague")
    assert "client0 -> left" in bursty.scenario(brief, bursty.fitted(CODEL), 0, 1).links
    goodputs = [found.mean(bursty, name, "prague.goodput_bps").value for name in found.plan.names]
    # packets that come together wait for each other, and are marked: a third of the link, which a
    # queue fills that marks later
    assert min(goodputs[:2]) > 0.99 * brief.rate_bps
    assert goodputs[2] < 0.4 * brief.rate_bps
    first = evaluate(["codel"], tmp_path, sections=["S2"], **given)
    html = evaluation_page(first, ["drop_tail"]).html()
    assert first.summary(["drop_tail"])["suite"] == "L4S"
    assert "the scenarios of L4S" in html
    assert "mark ratio" in html
    assert "What L4S leaves open" in html
    assert "What RFC 7928 asks for" not in html


def test_a_plan_makes_one_scenario_of_each_case_and_discipline(monkeypatch):
    """To make all 660 took 2.1 s before the first run began."""
    made = []
    scenario = Case.scenario
    monkeypatch.setattr(Case, "scenario", lambda *a: made.append(a[0].name) or scenario(*a))
    plan = Plan.of(RFC7928, PROFILES["default"], [CODEL], None, None, 1)
    fitted = [each for of in plan.fitted.values() for each in of.values()]
    assert len(made) == sum(isinstance(each, Fitted) for each in fitted) > 60
    assert len(plan.runs) == plan.replications * len(made)
    assert len({run.identity for run in plan.runs}) == len(plan.runs)


def test_the_second_of_two_aqms_is_what_the_section_says():
    same, parameters, another = (
        case_named(f"10-2-{name}").fitted(CODEL) for name in ("same", "parameters", "another")
    )
    assert same.second is None
    assert parameters.second.params == {"target": 0.01}
    assert another.second.aqm == "pie"
    assert case_named("10-2-another").fitted(DROP_TAIL).second.aqm == "codel"
    # drop-tail has no parameters: both are the same
    assert case_named("10-2-parameters").fitted(DROP_TAIL).second is None
    scenario = case_named("10-2-another").scenario(BRIEF, another, 0, 1)
    assert scenario.links[SECOND_HOP].discipline.aqm == "pie"


def test_what_a_discipline_cannot_do_has_a_reason():
    coupled = sg.Discipline(aqm="dualpi2", ecn=True)
    assert case_named("4-6-scheduled").fitted(coupled) == "it has queues of its own"


def test_scenarios_of_l4s_leave_out_what_may_not_mark(tmp_path):
    mute = sg.Discipline(aqm="codel", ecn=False)
    case = case_named("l4s-s2-fall-cubic")
    assert case.fitted(mute) == "its ecn = false: scenarios of L4S need marks"
    assert case.fitted(CODEL).discipline.ecn
    plan = Plan.of(L4S, BRIEF, [mute], ["S2"], 2, 1)
    assert {run.name for run in plan.runs} == {"drop_tail"}


def test_the_capacity_changes_as_the_section_says():
    profile = PROFILES["default"]
    slow = case_named("8-2-6-slow").scenario(profile, Fitted(CODEL), 0, 1)
    steps = slow.links[FORWARD].rate.steps
    assert [(each.time_s, each.rate_bps) for each in steps] == [
        *((0, 100e6), (40, 10e6), (60, 100e6), (80, 10e6))
    ]
    assert slow.duration_s == 100
    fast = case_named("8-2-6-fast").scenario(profile, Fitted(CODEL), 0, 1).links[FORWARD].rate.steps
    assert np.diff([each.time_s for each in fast]) == pytest.approx(0.1)


# ------------------------------------------------------------ what is read of a run


def test_codel_is_better_in_delay_than_drop_tail(sixth):
    found, _ = sixth
    case = case_named("8-2-2-mild")
    delay, goodput = found.compared(case, "codel")
    assert (delay.measure, delay.word) == ("bulk.queueing_delay", "better")
    assert delay.value.value < delay.other.value
    assert goodput.measure == "bulk.goodput_bps"
    assert found.is_complete("8.2.2")


def test_the_measures_of_a_run_agree_with_each_other(sixth):
    found, _ = sixth
    case = case_named("8-2-2-mild")
    for name in found.plan.names:
        for run in found.measured(case, name):
            # one class at one queue: what it waits is what the queue says, ACKs wait nowhere
            assert run.values["bulk.queueing_delay"] == pytest.approx(run.values["sojourn_mean"])
            assert run.values["goodput_bps"] == pytest.approx(run.values["bulk.goodput_bps"])
            # a window is a tenth of a second times two; the mean of windows is the goodput
            after = run.curves["goodput_windows"][-10:]
            assert np.mean(after) == pytest.approx(run.values["goodput_bps"], rel=0.15)
            assert np.mean(run.curves["queue_windows"][-10:]) == pytest.approx(
                run.values["queue_mean"], rel=0.3
            )
            waits = run.curves["bulk.sojourn_quantiles"]
            assert (np.diff(waits) >= 0).all()
            assert waits[99] == pytest.approx(run.values["sojourn_p99"], rel=0.02, abs=1e-4)
            assert 0 < run.values.get("synchronisation_ratio", 0.5) <= 1


def test_synchronisation_is_that_of_the_packets_that_are_lost(sixth):
    """Under drop-tail several flows lose when the buffer is full; under CoDel one packet goes."""
    found, _ = sixth
    case = case_named("8-2-2-mild")
    flows = BRIEF.count("mild")
    for name in found.plan.names:
        values = found.values(case, name, "synchronisation_ratio")
        known_ = values[np.isfinite(values)]
        assert ((known_ >= 1 / flows - 1e-9) & (known_ <= 1)).all()


def test_phases_follow_the_number_of_flows(tmp_path):
    found = evaluate(["drop_tail"], tmp_path, profile=BRIEF, sections=["8.2.6"], workers=1)
    case = case_named("8-2-6-slow")
    (run, *_) = found.measured(case, "drop_tail")
    slow, fast = (run.values[f"{name}.throughput_bps"] for name in ("slow", "fast"))
    # the slow one is full, and the fast one carries more
    assert slow == pytest.approx(BRIEF.rate_bps, rel=0.1)
    assert fast > 2 * slow
    assert run.values["slow.queueing_delay"] > run.values["fast.queueing_delay"]


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_pages_are_whole_and_videos_adapt(tmp_path):
    # seconds enough for a page and some segments
    path = replace(BRIEF, rate_bps=4e6, duration_s=16.0, warm_up_s=4.0)
    for name in ("7-2-iv", "9-1"):
        flows = {str(each.label): each for each in case_named(name).flows(path)}
        web, video = flows["web"], flows["video"]
        # RFC 7928, section 7.2: 50 objects of 1 kB or more, six connections, a window of 10
        assert (web.page_objects, web.connections, web.tcp.initial_window) == (50, 6, 10)
        shape = web.objects.shape
        least = web.objects.mean_packets * (shape - 1) / shape * path.packet_bytes
        assert least >= 1000
        assert len(video.rates_bps) > 1
    found = evaluate(["codel"], tmp_path, profile=path, sections=["7.2", "9.1"], workers=1)
    case = case_named("9-1")
    for name in found.plan.names:
        pages_s = found.values(case_named("7-2-ii"), name, "web.page_mean")
        # 50 objects of 12 kB on average take 1.2 s of 4 Mbit/s; pages differ in size
        assert (pages_s > 0.6).all()
        rates = {
            found.mean(case_named(each), name, "video.quality").value for each in ("7-2-iii", "9-1")
        }
        assert len(rates) == 2
        assert found.mean(case, name, "rpm").value > 0
    delay, *_ = (each for each in found.compared(case, "codel") if each.measure == "rpm")
    assert delay.word == "better"
    html = evaluation_page(found, ["drop_tail"]).html()
    for told in ("What people feel: 9.1", "ITU-T G.107", "ITU-T G.1010", "R. Brown 2021"):
        assert told in html


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_harm_is_that_of_the_runs_of_three_sections(tmp_path):
    sections = ["5.1.1", "5.4", "6.2"]
    found = evaluate(["codel"], tmp_path, profile=BRIEF, sections=sections, workers=1)
    header, rows = harm_rows(found)
    assert [row[0] for row in rows] == ["drop_tail", "codel"]
    assert header[1:] == [
        *("goodput by another of its kind (6.2)", "delay by another of its kind (6.2)"),
        *("goodput by LEDBAT (5.4)", "delay by LEDBAT (5.4)"),
    ]
    own = harms(found, "drop_tail", case_named("6-2-rtt-1"), "I", "goodput_bps")
    alone = found.values(case_named("5-1-1"), "drop_tail", "bulk.goodput_bps")
    beside = found.values(case_named("6-2-rtt-1"), "drop_tail", "I.goodput_bps")
    assert own.value == pytest.approx((1 - beside / alone).mean())
    # of two equal flows each takes about half of what the other had
    assert 0.2 < own.value < 0.8
    assert "What others do to a flow of NewReno" in evaluation_page(found, ["drop_tail"]).html()


# ------------------------------------------------------------ verdicts


def test_verdicts_follow_from_paired_differences():
    rng = np.random.default_rng(5)
    common = rng.normal(50, 20, 10)
    below = compared("bulk.queueing_delay", common - 5 + rng.normal(0, 1, 10), common)
    # the spread of what both have in common does not hide the difference
    assert below.word == "better"
    assert compared("bulk.goodput_bps", common - 5 + rng.normal(0, 1, 10), common).word == "worse"
    assert compared("x.goodput_bps", common, rng.permutation(common)).word == "no difference"


def test_a_difference_that_nobody_feels_is_none():
    goodputs = np.full(5, 9.5e6)
    assert compared("bulk.goodput_bps", goodputs * 0.995, goodputs).word == "no difference"
    assert compared("bulk.goodput_bps", goodputs * 0.985, goodputs).word == "worse"
    delays = np.full(5, 0.1e-3)
    # 0.05 ms more is half as much again, and nothing
    assert compared("bulk.queueing_delay", delays * 1.5, delays).word == "no difference"


def test_what_is_missing_is_unknown_not_zero():
    none = np.full(4, np.nan)
    found = compared("voice.mos", none, np.full(4, 4.0))
    assert (found.word, found.value, found.difference) == ("unknown", None, None)
    assert compared("voice.mos", np.full(1, 4.0), np.full(1, 4.0)).word == "unknown"


def test_verdicts_together():
    assert together(["better", "no difference"]) == "better"
    assert together(["worse", "no difference"]) == "worse"
    assert together(["better", "worse"]) == "a trade"
    assert together(["no difference", "unknown"]) == "no difference"
    assert together(["unknown"]) == "unknown"


def test_words_of_a_trade_name_what_is_better_and_what_is_worse():
    many, few = np.full(3, 2.0), np.full(3, 1.0)
    sides = [
        *(compared(f"{class_}.queueing_delay", few, many) for class_ in ("bulk", "udp")),
        compared("voice.mos", many, few),
        compared("bulk.goodput_bps", few, many),
    ]
    assert traded(sides) == "a trade: better in queueing delay, MOS; worse in goodput"
    assert traded(sides[:3]) == "better"


def test_ratios_of_a_section_are_those_of_its_means(sixth):
    found, _ = sixth
    case = case_named("5-1-1")
    codel, drop_tail = (
        found.mean(case, name, "bulk.queueing_delay").value for name in ("codel", "drop_tail")
    )
    ratio = found.ratio("5.1.1", "codel", "drop_tail", "queueing_delay")
    assert ratio == pytest.approx(codel / drop_tail)
    assert found.ratio("5.1.1", "codel", "drop_tail", "jitter") is None


def test_requirements_are_met_by_what_was_run(sixth):
    found, _ = sixth
    states = {each.section: state(found, each) for each in REQUIREMENTS}
    # 5.1.2 was not run
    assert states["5.1"] == "not met: run in part"
    assert states["6.2"] == "not met: not run"
    assert states["8.3"] == "discuss"


# ------------------------------------------------------------ making it


def test_the_same_command_makes_nothing_again_and_other_aqms_are_added(sixth, monkeypatch):
    found, out = sixth
    asked = []
    monkeypatch.setattr(
        "sluicegate.evaluate.run.Replications",
        lambda profile, seed, world, runs: asked.extend(runs) or Made(profile, seed, world, runs),
    )
    from sluicegate.evaluate.work import Replications as Made

    given = {"profile": BRIEF, "workers": 1}
    again = evaluate(["codel"], out, sections=["5.1.1", "8.2.2"], **given)
    assert not asked
    assert again.frame().equals(found.frame())
    more = evaluate(["codel", "pie"], out, sections=["5.1.1"], **given)
    assert {run.name for run in asked} == {"pie"}
    assert more.is_complete("5.1.1")


def test_pages_have_what_earlier_commands_made_of_their_aqms(sixth, tmp_path):
    found, out = sixth
    shutil.copytree(out, tmp_path / "out")
    given = {"profile": BRIEF, "workers": 1, "sections": ["5.1.1"]}
    # fewer sections and replications than there are
    again = evaluate(["codel"], tmp_path / "out", replications=2, **given)
    assert again.sections == ["5.1.1"]
    assert again.done == 4
    whole = everything(again, tmp_path / "out")
    assert whole.frame().equals(found.frame())
    assert whole.done == len(whole.plan.runs) == found.done
    # of pie there is 5.1.1 alone, and of this CoDel, too: it is another than that of before
    other = sg.Discipline(aqm="codel", params={"target": 0.02})
    for each in ("pie", other):
        name = sg.Discipline(aqm=each).name if isinstance(each, str) else each.name
        alone = everything(evaluate([each], tmp_path / "out", **given), tmp_path / "out")
        assert (alone.sections, alone.plan.judged) == (["5.1.1"], [name])
    both = everything(evaluate(["codel", "pie"], tmp_path / "out", **given), tmp_path / "out")
    assert both.sections == found.sections
    html = evaluation_page(both, ["drop_tail"]).html()
    assert html.count("pie: not run yet") == len(both.cases("8.2.2"))


def test_a_section_is_complete_with_its_own_number_of_replications(tmp_path):
    given = {"profile": BRIEF, "workers": 1}
    evaluate(["codel"], tmp_path, sections=["5.1.1"], replications=2, **given)
    last = evaluate(["codel"], tmp_path, sections=["5.2"], replications=3, **given)
    whole = everything(last, tmp_path)
    assert whole.done == len(whole.plan.runs)
    (sender,) = [each for each in REQUIREMENTS if each.section == "5.2"]
    assert state(whole, sender) == "met"
    assert whole.is_complete("5.1.1")
    assert whole.plan.told_replications() == "2 to 3 replications"


@pytest.mark.slow
def test_results_do_not_depend_on_who_makes_them(sixth, tmp_path):
    found, _ = sixth
    given = {"profile": BRIEF, "sections": ["5.1.1", "8.2.2"]}
    for k in (1, 2):
        part = evaluate(["codel"], tmp_path / "parts", shard=(k, 2), workers=2, **given)
    assert part.frame().equals(found.frame())
    pages = [evaluation_page(each, ["drop_tail"]).html() for each in (found, part)]
    assert pages[0] == pages[1]


def test_what_is_finished_is_kept_after_ctrl_c(tmp_path, monkeypatch):
    from sluicegate.evaluate.work import Replications

    made = Replications._made

    def interrupted(self, run):
        if run.name == "codel":
            raise KeyboardInterrupt
        return made(self, run)

    monkeypatch.setattr(Replications, "_made", interrupted)
    # jobs of several runs would be lost as a whole
    monkeypatch.setattr("sluicegate.evaluate.run._MOST_RUNS", 1)
    given = {"profile": BRIEF, "sections": ["5.1.1"], "workers": 1}
    with pytest.raises(InterruptError, match="3 of 6 runs are in the folder"):
        evaluate(["codel"], tmp_path, **given)
    monkeypatch.undo()
    folder = EvaluationFolder(tmp_path)
    folder.about()
    assert len(known(folder)) == 3
    assert evaluate(["codel"], tmp_path, **given).done == 6


def test_an_evaluation_goes_on_whatever_its_profile_has(tmp_path):
    # numbers of flows are a tuple, and in the folder a list
    profile = replace(BRIEF, flows=(1, 2, 3))
    given = {"profile": profile, "sections": ["5.1.1"], "replications": 2, "workers": 1}
    first = evaluate(["drop_tail"], tmp_path, **given)
    assert evaluate(["drop_tail"], tmp_path, **given).frame().equals(first.frame())


def test_a_folder_has_one_profile_and_seed(sixth):
    _, out = sixth
    with pytest.raises(SluiceError, match="another evaluation, with another profile"):
        evaluate(["codel"], out, profile="ns3")
    with pytest.raises(SluiceError, match=r"another evaluation: seed = 1, here 2"):
        evaluate(["codel"], out, profile=BRIEF, seed=2)


def test_a_class_in_python_and_a_header_are_judged(tmp_path, root):
    class Short:
        """Admits up to ten packets."""

        def arrive(self, view):
            return sg.ADMIT if view.queue_packets < 10 else sg.DROP_EARLY

    header = root / "engine" / "aqm" / "tests" / "user_aqm" / "sojourn_limit.h"
    given = [sg.Discipline(aqm=Short, label="short"), sg.Discipline(aqm=str(header))]
    found = evaluate(given, tmp_path, profile=BRIEF, sections=["5.3"], workers=1)
    case = case_named("5-3-faster")
    waits = [found.mean(case, name, "udp.queueing_delay").value for name in found.plan.names]
    # a full buffer of 17 packets, and one of ten
    assert waits[1] < waits[0]


def test_an_aqm_that_never_acts_is_told(tmp_path, sixth):
    # the buffer has 17 packets
    idle = sg.Discipline(aqm="step", params={"threshold": 5.0}, label="idle", ecn=True)
    marks = sg.Discipline(aqm="step", params={"threshold": 0.001}, label="marks", ecn=True)
    given = {"profile": BRIEF, "sections": ["4.5"], "replications": 2, "workers": 1}
    found = evaluate([idle, marks], tmp_path, **given)
    (told,) = [note for note in found.notes() if "never acts" in note]
    assert told.startswith("idle dropped nothing before the buffer was full, and marked nothing, ")
    assert told.endswith("it never acts behind a buffer of 17 packets.")
    # words of the glossary are links there
    assert "it never acts behind a" in evaluation_page(found, ["drop_tail"]).html()
    # nor is it told of drop-tail, or of an AQM that drops
    assert not [note for note in sixth[0].notes() if "never acts" in note]


@pytest.mark.parametrize(
    ("disciplines", "changed", "message"),
    [
        ([], {}, "disciplines must have one AQM at least"),
        (["dualpi2"], {}, "dualpi2 in section 3.1: dualpi2: ecn must be true"),
        (["codel", "codel"], {}, "two disciplines are called codel: give one another label"),
        (
            [sg.Discipline(aqm="codel", label="drop_tail")],
            {},
            "a discipline is called drop_tail and is another: give it another label",
        ),
        (["codel"], {"replications": 1}, "replications = 1 must be at least 2"),
        (["codel"], {"profile": "mars"}, "profile = mars must be one of default, home"),
        (["codel"], {"shard": (3, 2)}, "shard = 3/2 must be k/n"),
        (["codel"], {"sections": []}, "sections must have one at least"),
        (
            ["codel"],
            {"world": "gate", "workers": 4},
            "world = gate: runs share this machine's time: leave out dask and workers",
        ),
        (["codel"], {"world": "gate", "dask": "tcp://host:1"}, "world = gate: runs share this"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, disciplines, changed, message):
    with pytest.raises(SluiceError, match=message):
        evaluate(disciplines, tmp_path / "out", **{"profile": BRIEF, **changed})
    assert not (tmp_path / "out").exists()


# ------------------------------------------------------------ other worlds


@pytest.mark.slow
@pytest.mark.skipif(bool(missing(needs())), reason="no gate here")
def test_the_gate_does_what_it_can_and_says_what_it_leaves_out(tmp_path):
    profile = replace(BRIEF, duration_s=2.0, warm_up_s=0.5, replications=2)
    given = {"profile": profile, "world": "gate"}
    found = evaluate(["drop_tail"], tmp_path, sections=["5.1.1", "10.2"], **given)
    case, hops = case_named("5-1-1"), case_named("10-2-same")
    (why,) = case_lines(found, hops, [])
    assert why.startswith("drop_tail: not run, gate: ")
    assert "topology.kind = parking-lot must be dumbbell" in why
    assert found.done == 2
    assert not found.was_run("10.2")
    # real packets: all that crosses is the goodput of the flow, and it waits in the one queue
    goodput = found.values(case, "drop_tail", "bulk.goodput_bps")
    assert (0.5 * profile.rate_bps < goodput).all()
    assert (goodput < profile.rate_bps).all()
    delay = found.values(case, "drop_tail", "bulk.queueing_delay")
    assert (delay == found.values(case, "drop_tail", "sojourn_mean")).all()
    states = {each.section: state(found, each) for each in REQUIREMENTS}
    assert states["7.2"] == "not met: not run"
    assert "World gate" in found.notes()[-1]
    with pytest.raises(SluiceError, match=r"there is nothing to run: gate: topology"):
        evaluate(["drop_tail"], tmp_path / "none", sections=["10.2"], **given)


def test_the_guide_names_every_profile_and_the_help_every_world(root, capsys):
    from sluicegate.cli import main

    guide = (root / "docs" / "guides" / "evaluate.md").read_text()
    (row,) = (line for line in guide.splitlines() if line.startswith("| another path |"))
    assert {name for name in PROFILES if f"`{name}`" not in row.replace("--profile ", "")} == {
        "default"
    }
    assert main(["evaluate", "--help"]) == 0
    told = capsys.readouterr().out
    told = told[told.index("--world") : told.index("--sections")]
    assert all(name in told for name in WORLDS)


def test_worlds_without_networks_are_refused(tmp_path):
    with pytest.raises(SluiceError, match="world = slotted must be one of network, gate, kernel"):
        evaluate(["codel"], tmp_path, world="slotted")


# ------------------------------------------------------------ outputs


def test_tables_have_every_measure(sixth):
    found, _ = sixth
    frame = found.frame()
    assert frame.columns == [
        *("section", "case", "discipline", "measure", "value", "half_width", "replications")
    ]
    assert frame["value"].is_finite().all()
    row = frame.row(
        by_predicate=(pl.col("case") == "5-1-1")
        & (pl.col("discipline") == "codel")
        & (pl.col("measure") == "bulk.goodput_bps"),
        named=True,
    )
    mean = found.mean(case_named("5-1-1"), "codel", "bulk.goodput_bps")
    assert (row["value"], row["half_width"]) == (mean.value, mean.half_width)
    assert found.summary(["drop_tail"])["suite"] == "RFC 7928"
    assert "mark ratio" not in evaluation_page(found, ["drop_tail"]).html()
    verdicts = found.verdicts(["drop_tail"])
    assert set(verdicts["verdict"]) <= {"better", "worse", "no difference", "unknown"}
    assert verdicts.height == 4


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_pages_have_verdicts_and_pictures(tmp_path):
    sections = ["6.2", "8.2.6"]
    found = evaluate(["codel"], tmp_path, profile=BRIEF, sections=sections, workers=1)
    html = evaluation_page(found, ["drop_tail"]).html()
    assert "codel beside drop_tail" in html
    for title in (
        "Fairness of round trips",
        "The queue in time: 8.2.6",
        "Delay and goodput: 8.2.6",
    ):
        assert title in html
    # the header of CoDel: a state of some bytes, called at arrivals and departures
    assert "arrive, depart" in html
    assert "0.005 s" in html
    # section 13, and what was chosen
    assert "TCP-friendly sender" in html
    assert "to the even number" in html


@pytest.mark.usefixtures("undrawn")
def test_the_command_prints_verdicts_and_writes_the_page(tmp_path, capsys, monkeypatch):
    from sluicegate.cli import main

    monkeypatch.setitem(PROFILES, "default", BRIEF)
    out = tmp_path / "out"
    words = ["evaluate", "codel", "--sections", "5.1.1", "--out", str(out), "--workers", "1"]
    assert main([*words, "--reference", "pie"]) == 0
    printed = capsys.readouterr().out
    assert "5.1.1 one long flow of NewReno" in printed
    beside = ("codel beside drop_tail", "codel beside pie", "pie beside drop_tail")
    assert [printed.count(f"  {each}: ") for each in beside] == [1, 1, 1]
    assert "better in queueing delay of bulk (" in printed
    assert f"report: {out}/report.html" in printed
    assert {"report.html", "measures.csv", "verdicts.csv"} <= {each.name for each in out.iterdir()}
    assert main(["evaluate", "codel", "--sections", "4.4", *words[4:]]) == 0
    assert "with 6 more runs, which the folder has" in capsys.readouterr().out
    page = (out / "report.html").read_text()
    assert "Section 4.4" in page
    assert "Section 5.1.1" in page
    assert {"4.4", "5.1.1"} == set(pl.read_csv(out / "verdicts.csv", infer_schema=False)["section"])
    assert main(["evaluate", "nix"]) == 2
    assert "AQM: nix is not an AQM" in capsys.readouterr().err
    assert main(["evaluate", "codel", "--sections", "11", "--out", str(out)]) == 1
    assert "RFC 7928 has no scenario there" in capsys.readouterr().err
