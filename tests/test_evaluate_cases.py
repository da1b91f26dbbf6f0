"""The scenarios of an evaluation: sections of RFC 7928, tables of L4S, profiles."""

from dataclasses import replace

import numpy as np
import pytest
from evaluations import BRIEF, CODEL, DROP_TAIL

import sluicegate as sg
from sluicegate.errors import SluiceError
from sluicegate.evaluate import PROFILES, evaluate
from sluicegate.evaluate.case import FORWARD, SECOND_HOP, Case, Fitted
from sluicegate.evaluate.cases import CASES, SENSITIVITY
from sluicegate.evaluate.page import evaluation_page
from sluicegate.evaluate.plan import ONE_BDP, Plan
from sluicegate.evaluate.requirements import REQUIREMENTS
from sluicegate.evaluate.suite import L4S, RFC7928, case_named
from sluicegate.evaluate.words import case_lines, labelled
from sluicegate.registry import aqms


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
        *("8.2.2", "8.2.3", "8.2.4", "8.2.5", "8.2.6", "8.3", "9.1", "9.2", "10.2"),
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
    assert (beside.seed, beside.flows, beside.queue) == (one.seed, one.flows, one.queue)


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


@pytest.mark.slow
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
    assert labelled("cbr.jitter") == "jitter of the constant rate (ms)"
    assert labelled("call.stall_ratio") == "time in which the picture stood still of call (%)"


def test_every_section_says_what_it_is_about():
    for suite in (RFC7928, L4S):
        assert list(suite.topics) == suite.sections


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
    """To make all 700 took 2.1 s before the first run began."""
    made = []
    scenario = Case.scenario
    monkeypatch.setattr(Case, "scenario", lambda *a: made.append(a[0].name) or scenario(*a))
    plan = Plan.of(RFC7928, PROFILES["default"], [CODEL], None, None, 1)
    fitted = [each for of in plan.fitted.values() for each in of.values()]
    assert len(made) == sum(isinstance(each, Fitted) for each in fitted) > 60
    assert len(plan.runs) == plan.replications * len(made)
    # drop-tail is beside it everywhere
    assert plan.names[0] == "drop_tail"
    assert {run.case for run in plan.runs if run.name == "drop_tail"} == {
        case.name for case in CASES
    }
    assert len({run.identity for run in plan.runs}) == len(plan.runs)


def test_drop_tail_has_a_buffer_of_one_bdp_where_that_of_the_profile_is_another():
    home = PROFILES["home"]
    plan = Plan.of(RFC7928, home, [CODEL], ["5.1.1", "9.2"], 2, 1, references=[ONE_BDP])
    assert plan.names == ["drop_tail", "codel", "drop_tail of one BDP"]
    # it is no candidate
    assert plan.judged == ["codel"]
    limits = {
        name: {case.scenario(home, plan.fitted[case.name][name], 0, 1).queue.limit}
        for case in plan.cases
        for name in plan.names
    }
    # 20 Mb/s: 100 ms of buffer, 40 ms of round trip
    assert limits == {"drop_tail": {167}, "codel": {167}, "drop_tail of one BDP": {67}}
    assert PROFILES["default"].bdp_packets == PROFILES["default"].buffer_packets


def test_sensitivity_changes_one_parameter_that_can_be_halved_and_doubled():
    def changed(**given):
        ways = (case_named(f"8-3-{way}").fitted(sg.Discipline(**given)) for way in SENSITIVITY)
        return [each.discipline.params for each in ways]

    assert changed(aqm="codel") == [{"target": 0.0025}, {"target": 0.01}]
    assert [each["target"] for each in changed(aqm="codel", params={"target": 0.02})] == [
        0.01,
        0.04,
    ]
    # twice the least threshold of RED is 10, below the greatest one of 15
    assert changed(aqm="red") == [{"min_th": 2.5}, {"min_th": 10.0}]
    # its only time is in force where a clock samples
    clock = {"sampling": "clock", "sampling_interval": 0.01, "idle_decay": False}
    times = [each["sampling_interval"] for each in changed(aqm="red", params=clock)]
    assert times == [0.005, 0.02]
    # twice FRED's least threshold would be the greatest one, and half of that the least
    assert changed(aqm="fred") == [{"max_p": 0.01}, {"max_p": 0.04}]
    # SFB's times are longer than a run, twice bin_size is above bin_max, and that is odd
    assert changed(aqm="sfb") == [{"d1": 0.00100708 / 2}, {"d1": 0.00100708 * 2}]
    # drop-tail has none
    assert changed(aqm="drop_tail") == [{}, {}]


@pytest.mark.parametrize("name", [each for each in aqms() if each != "drop_tail"])
def test_a_changed_parameter_is_in_force(name):
    discipline = sg.Discipline(aqm=name)
    before = discipline.configured.params
    second = case_named("10-2-parameters").fitted(discipline).second
    tried = [case_named(f"8-3-{way}").fitted(discipline).discipline for way in SENSITIVITY]
    for each, factor in zip([*tried, second], [*SENSITIVITY.values(), 2.0], strict=True):
        configured = each.configured
        (changed,) = (of for of in configured.of.params if of.name in each.params)
        assert configured.of.applies(changed, configured.params)
        assert configured.params[changed.name] == pytest.approx(factor * before[changed.name])
        assert changed.unit != "s" or configured.params[changed.name] <= 100


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
    pie = sg.Discipline(aqm="pie")
    plan = Plan.of(L4S, BRIEF, [mute, pie], ["S2"], 2, 1)
    assert {run.name for run in plan.runs} == {"drop_tail", "pie"}
    # a reference alone is worth no run
    with pytest.raises(SluiceError, match="there is nothing to run: its ecn = false: scenarios of"):
        Plan.of(L4S, BRIEF, [mute], ["S2"], 2, 1, references=[pie])


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
