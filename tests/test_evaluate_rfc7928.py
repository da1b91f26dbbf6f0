"""The scenarios of an evaluation have what RFC 7928 says: flows, sizes, windows, round trips."""

import re

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.evaluate import PROFILES
from sluicegate.evaluate.case import BACK, FIRST_HOP, SECOND_HOP
from sluicegate.evaluate.cases import CASES
from sluicegate.evaluate.suite import case_named

PATH = PROFILES["default"]
MILD, MEDIUM, HEAVY = 6, 14, 19
CODEL = sg.Discipline(aqm="codel")
# how far a round trip is drawn from its nominal value, at most
AROUND = 0.05


def scenario(name):
    case = case_named(name)
    return case.scenario(PATH, case.fitted(CODEL), 0, 1)


def flows(name):
    """The groups of a case by their label."""
    return {each.label: each for each in scenario(name).flows}


def long_flow(group, control="reno", window=3):
    """A TCP flow that never ends."""
    tcp = group.tcp
    return (tcp.congestion_control, tcp.initial_window, group.packets) == (control, window, None)


def test_long_flows_are_newreno_with_sack_unless_the_section_says_otherwise():
    for case in CASES:
        for group in scenario(case.name).flows:
            if group.kind == "tcp":
                assert group.tcp.variant == "sack"
                other = {"5-2": "cubic"}.get(case.name, "reno")
                wanted = "ledbat" if group.label == "ledbat" else other
                assert group.tcp.congestion_control == wanted, case.name


def test_asymmetric_and_two_way_loads():
    """3.1 and 9.2: mild congestion in each direction."""
    for name in ("3-1-asymmetric", "9-2"):
        groups = flows(name)
        assert {label: each.count for label, each in groups.items()} == {
            "forward": MILD,
            "reverse": MILD,
        }
        assert groups["reverse"].route == "reverse"
        # the AQM stands before both links
        assert scenario(name).topology.two_way
    back = scenario("3-1-asymmetric").links[BACK].rate.steps
    assert [each.rate_bps for each in back] == [PATH.rate_bps / 10]
    assert BACK not in scenario("9-2").links


def test_packets_of_500_and_1500_bytes():
    """4.4: half of the flows of mild congestion send each."""
    groups = flows("4-4-packet-size")
    found = {label: (each.count, each.tcp.packet_bytes) for label, each in groups.items()}
    assert found == {"small": (MILD / 2, 500), "large": (MILD / 2, 1500)}


def test_one_long_flow_alone_and_with_others():
    """5.1 to 5.4."""
    assert long_flow(flows("5-1-1")["bulk"])
    assert long_flow(flows("5-2")["bulk"], "cubic")
    for name, window in (("5-1-2-iw3", 3), ("5-1-2-iw10", 10)):
        groups = flows(name)
        assert long_flow(groups["bulk"])
        short = groups["short"]
        assert short.tcp.initial_window == window
        assert 10 < short.packets < 100
        # after the warm-up, when the goodput of the long one is stable
        assert short.start_s > PATH.warm_up_s
    faster = flows("5-3-faster")
    assert list(faster) == ["udp"]
    assert faster["udp"].rate_bps > PATH.rate_bps
    beside = flows("5-3-beside")
    assert PATH.rate_bps / 2 < beside["udp"].rate_bps <= PATH.rate_bps
    assert long_flow(beside["bulk"])
    less = flows("5-4")
    assert long_flow(less["bulk"])
    assert long_flow(less["ledbat"], "ledbat")
    assert {len(flows(name)) for name in ("5-1-1", "5-2")} == {1}


def test_two_round_trips_and_the_same_with_ecn():
    """6.2: 100 ms, and 5 to 560 ms; 4.5: 6.2 with ECN at the ends and in the queue."""
    cases = {case.name: case for case in CASES if case.section == "6.2"}
    assert [round(1000 * case.pairs(PATH)[1] * PATH.rtt_s) for case in cases.values()] == [
        *(5, 20, 50, 100, 200, 560)
    ]
    for name, case in cases.items():
        delays_s = scenario(name).topology.client_delays_s
        nominal_s = [PATH.rtt_s / 2, case.pairs(PATH)[1] * PATH.rtt_s / 2]
        assert delays_s == pytest.approx(nominal_s, rel=AROUND)
        groups = flows(name)
        assert list(groups) == ["I", "II"]
        assert all(long_flow(each) and not each.tcp.ecn for each in groups.values())
    marked = [case for case in CASES if case.section == "4.5"]
    assert marked
    for case in marked:
        plain = cases[case.name.replace("4-5-ecn", "6-2")]
        assert list(case.pairs(PATH)) == list(plain.pairs(PATH))
        assert all(long_flow(each) and each.tcp.ecn for each in flows(case.name).values())
        assert case.fitted(CODEL).discipline.ecn


def test_the_aqm_in_the_queues_of_a_scheduler():
    """4.6."""
    assert case_named("4-6-scheduled").fitted(CODEL).discipline.scheduler.kind == "fq"


def test_mixes_of_applications():
    """7.2, 9.1."""
    for name, labels in (
        ("7-2-i", ["web", "cbr"]),
        ("7-2-ii", ["web", "cbr", "bulk"]),
        ("7-2-iii", ["video", "web", "cbr"]),
        ("7-2-iv", ["video", "web", "cbr", "bulk"]),
    ):
        assert list(flows(name)) == labels
    mix = flows("9-1")
    counts = {label: each.count for label, each in mix.items() if label != "probes"}
    assert counts == {"voice": 1, "voice-back": 1, "web": 6, "cbr": 1, "video": 1, "bulk": 5}
    assert mix["voice-back"].route == "reverse"


def test_congestion_that_is_constant_and_that_varies():
    """8.2.2 to 8.2.5: the flows of each phase follow from when groups start and stop."""
    for name, count in (("8-2-2-mild", MILD), ("8-2-3-medium", MEDIUM), ("8-2-4-heavy", HEAVY)):
        (group,) = flows(name).values()
        assert group.count == count
        assert long_flow(group)
    # 8.3 has the flows of 8.2.3
    assert flows("8-3-halved") == flows("8-3-doubled") == flows("8-2-3-medium")
    varying = scenario("8-2-5")
    phases = case_named("8-2-5").phases(PATH)
    assert [phase.stop_s - phase.start_s for phase in phases] == [20] * 4
    middles_s = [(phase.start_s + phase.stop_s) / 2 for phase in phases]

    def active(at_s):
        return sum(
            each.count
            for each in varying.flows
            if (each.start_s or 0) <= at_s < (np.inf if each.stop_s is None else each.stop_s)
        )

    assert list(map(active, middles_s)) == [MILD, MEDIUM, HEAVY, MILD]


def test_two_aqms_in_a_row():
    """10.2: A enters before the first, B before the second, half of the flows of mild each."""
    for name in ("same", "parameters", "another"):
        groups = flows(f"10-2-{name}")
        assert {label: each.count for label, each in groups.items()} == {
            "A": MILD / 2,
            "B": MILD / 2,
        }
        assert (groups["A"].route, groups["B"].source) == ("long", "enters1")
        links = scenario(f"10-2-{name}").links
        assert FIRST_HOP in links
        assert (SECOND_HOP in links) == (name != "same")


def test_the_table_of_the_rfc_names_tests_that_exist(root):
    table = (root / "docs" / "reference" / "rfc7928.md").read_text().partition("## Beside")[0]
    files = {path.name: path.read_text() for path in (root / "tests").glob("test_*.py")}
    own = [text for name, text in files.items() if name.startswith("test_evaluate")]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "`test_" in line]
    assert len(rows) > 35
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        within = [files[name] for name in re.findall(r"`(test_\w+\.py)`", row)]
        assert named or within, row
        for name in named:
            assert any(f"def {name}(" in text for text in within or own), row
