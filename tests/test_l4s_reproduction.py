"""`sluice reproduce l4s`, with small tables of the published form: their figures are made up."""

import math
from dataclasses import replace

import pytest

from sluicegate import network, papers
from sluicegate.errors import SluiceError
from sluicegate.papers.comparison import Row
from sluicegate.papers.l4s import l4s_bursts, l4s_tests, l4steam, pam2025

ONE = {
    "setting": "cubic_ecn",
    "buffer_bdp": "2.0",
    "capacity_mbit": "100",
    "base_rtt_ms": "10",
    "aqm": "DualPI2",
    "cc_l4s": "prague",
    "tput_l4s_mean_mbit": "40",
    "tput_l4s_sd": "1",
    "tput_classic_mean_mbit": "50",
    "tput_classic_sd": "2",
    "srtt_l4s_mean_ms": "10",
    "srtt_l4s_sd": "0.1",
    "srtt_classic_mean_ms": "15",
    "srtt_classic_sd": "0.1",
}
S6 = {
    "scenario": "s6",
    "rate_mbit": "50",
    "qdisc": "pie",
    "cc1": "prague",
    "rtt1_ms": "20",
    "throughput1_mbit": "45",
    "cc2": "reno",
    "cc2_ecn": "noecn",
    "rtt2_ms": "20",
    "throughput2_mbit": "2",
}
ALONE = {
    "run": "Prague__20_5",
    "aqm": "dualpi2",
    "rate_mbit": "20",
    "base_delay_ms": "5",
    "cc": "Prague",
    "extra_delay": "0ms",
    "tcp_ecn": "3",
    "goodput_mbit": "19",
    "sender_rtt_mean_ms": "6",
    "qdelay_mean_ms": "0.8",
    "qdelay_p50_ms": "0.9",
    "qdelay_p95_ms": "1.4",
    "qdelay_p99_ms": "",
}
OVERLOAD = {
    "classic_protection_pct": "10",
    "load": "UDP UDP_ECT1",
    "load_each_mbit": "50M",
    "prague_mbit": "10",
    "cubic_mbit": "10",
    "udp_notect_mbit": "30",
    "udp_ect1_mbit": "40",
    **{
        f"qdelay_{flow}_{which}_ms": ""
        for flow in ("prague", "cubic")
        for which in ("mean", "p50", "p99")
    },
}

RERUN = {
    "scenario": "s1",
    "run": "prague-dualpi2-5Mbit-20ms",
    "length_s": "30",
    "rate1_mbit": "4",
    "rtt1_mean_ms": "24",
    "rtt1_p50_ms": "24",
    "rtt1_p95_ms": "26",
    "rate2_mbit": "",
    "rtt2_mean_ms": "",
    "rtt2_p50_ms": "",
    "rtt2_p95_ms": "",
}
SKYPE = {
    "cc": "CUBIC",
    "qdisc": "Codel",
    "skype": "yes",
    "t_start_s": "2",
    "t_end_s": "120",
    "state": "steady",
    "goodput_mbit": "15",
}


@pytest.fixture
def folder(tmp_path):
    def write(name, *rows):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
        return tmp_path

    return write


def test_a_case_has_the_published_setting(folder):
    (case,) = pam2025.cases(folder(pam2025.ONE, ONE))
    found = case.scenario
    # htb counts 1514 bytes for a packet of 1500
    assert found.topology.rate_bps == pytest.approx(100e6 * 1500 / 1514)
    assert found.duration_s == 60
    assert found.warm_up_s == 0
    assert found.replications == 10
    prague, cubic = found.flows
    assert (prague.tcp.congestion_control, prague.tcp.ecn) == ("prague_2024", True)
    assert (cubic.tcp.congestion_control, cubic.tcp.ecn) == ("cubic", True)
    assert found.disciplines[0].params == {"min_qlen_step": 2, "target": 0.005}
    # three spreads, or 10 %
    assert [each.bar for each in case.figures] == pytest.approx([4, 1.0, 6, 1.5])


def test_rows_of_senders_and_qdiscs_that_we_do_not_have_are_left_out(folder):
    others = [ONE | {"aqm": "FQ"}, ONE | {"setting": "bbrv2_ecn"}, ONE | {"cc_l4s": "bbr2"}]
    (case,) = pam2025.cases(folder(pam2025.ONE, ONE, *others))
    assert case.name.startswith("DualPI2, 2 BDP")


def test_bleached_flows_have_no_ecn(folder):
    (case,) = l4s_tests.cases(folder(l4s_tests.S6, S6))
    assert [flows.tcp.ecn for flows in case.scenario.flows] == [True, False]
    assert case.scenario.warm_up_s == 18
    # theirs of 2020-08
    assert case.scenario.flows[0].tcp.congestion_control == "prague_2020"


def test_bursts_and_calls_come_before_the_queue(folder):
    bursty = dict.fromkeys(("t_start_s", "t_end_s"), "") | {
        "rate_mbit": "20",
        "base_rtt_ms": "7",
        "cc": "Prague",
        "qdisc": "DualPI2",
        "step_thresh": "5ms",
        "goodput_mbit": "18",
        "goodput_kind": "mean of the run",
    }
    folder(l4s_bursts.BURSTY, bursty, bursty | {"cc": "BBR2"})
    first, second = l4s_bursts.cases(folder(l4s_bursts.SKYPE, SKYPE))
    assert first.scenario.disciplines[0].params == {"min_qlen_step": 2, "step": 0.005}
    assert first.scenario.links["client0 -> left"].wire.bursts.packets == 16
    tcp, skype = second.scenario.flows
    assert (tcp.tcp.congestion_control, skype.rate_bps, skype.ect1) == ("cubic", 1.8e6, False)
    assert "client1 -> left" in second.scenario.links


def test_a_load_has_its_codepoints(folder):
    (case,) = l4steam.overload(folder(l4steam.OVERLOAD, OVERLOAD))
    _, _, plain, marked = case.scenario.flows
    assert (plain.ecn, plain.ect1, marked.ecn, marked.ect1) == (False, False, True, True)
    assert case.scenario.disciplines[0].params == {"min_qlen_step": 2, "classic_share": 0.1}


def test_the_re_run_has_prague_alone_and_after_cubic(folder):
    both = {name.replace("1", "2"): value for name, value in RERUN.items() if "1" in name}
    run = {"scenario": "s2", "run": "cubic-vs-prague-pie_100p_5ms_-80ms", "length_s": "60"}
    unknown = {"scenario": "s2", "run": "cubic-vs-prague-red_400000_-80ms"}
    path = folder(l4steam.RERUN, RERUN, RERUN | run | both, RERUN | unknown)
    alone, versus = l4steam.rerun(path)
    # theirs begin after 5 s; their windows are from 15 to 33 s, and from 43 to 63 s
    assert (alone.scenario.warm_up_s, alone.scenario.duration_s) == (10, 28)
    assert (versus.scenario.warm_up_s, versus.scenario.duration_s) == (38, 58)
    (prague,) = alone.scenario.flows
    assert (prague.tcp.congestion_control, prague.tcp.classic_fallback) == ("prague_2020", True)
    assert [flows.start_s for flows in versus.scenario.flows] == [0, 10]
    assert versus.scenario.queue.limit == 100
    assert [len(case.figures) for case in (alone, versus)] == [4, 8]
    found = network.simulate(replace(alone.scenario, replications=1))
    rate, mean, p50, p95 = (each.of(found).value for each in alone.figures)
    # a packet takes 2.4 ms, beside the 20 ms. The step marks from the third that waits on, and
    # Prague's window then falls: not even one in twenty finds four before it
    assert 22.4 < p50 < p95 < 22.4 + 4 * 2.4
    assert 22.4 < mean < p95
    assert 0 < rate < 5


def test_delays_that_were_not_kept_are_no_figures(folder):
    (case,) = l4steam.iccrg(folder(l4steam.ICCRG, ALONE))
    told = [each.quantity for each in case.figures]
    waits = ["wait, mean, ms", "wait, p50, ms", "wait, p95, ms"]
    assert told == ["goodput, Mbit/s", "round trip, ms", *waits]


def test_rows_of_a_run_are_its_flows(folder):
    together = [
        ALONE | {"run": "two", "cc": "Prague0d5", "extra_delay": "0.5ms"},
        ALONE | {"run": "two", "cc": "Cubic30", "extra_delay": "30ms", "tcp_ecn": "0"},
    ]
    alone, two = l4steam.iccrg(folder(l4steam.ICCRG, ALONE, *together))
    assert len(alone.scenario.flows) == 1
    assert [flows.tcp.congestion_control for flows in two.scenario.flows] == [
        "prague_2021",
        "cubic",
    ]
    assert [flows.tcp.ecn for flows in two.scenario.flows] == [True, False]
    # from end to end, both ways
    topology = two.scenario.topology
    ways = [topology.delay_s + delay_s for delay_s in topology.client_delays_s]
    assert ways == pytest.approx([0.0055 / 2, 0.035 / 2])
    assert [each.quantity for each in two.figures][5] == "Cubic 35 ms: goodput, Mbit/s"


def test_a_published_case_is_run_and_judged(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = folder(l4steam.ICCRG, ALONE, ALONE | {"run": "Prague__20_5b", "goodput_mbit": "1"})
    found = papers.reproduce("l4s", published=path, threads=1)
    assert [row.published for row in found.rows] == [19, 6, 0.8, 0.9, 1.4, 1, 6, 0.8, 0.9, 1.4]
    # alone it takes all of 20 Mbit/s less headers: it cannot be near 1
    assert found.rows[0].measured == pytest.approx(20 * 1448 / 1514, rel=0.1)
    assert [found.rows[place].verdict for place in (0, 5)] == ["agrees", "differs"]
    # the wait that one packet in twenty exceeds is the longer one
    median, p95 = (found.rows[place].measured for place in (3, 4))
    assert 0 < median < p95 < 5
    assert found.summary()["rows"][0]["verdict"] == "agrees"


def test_times_of_a_class_of_which_nothing_came_through_are_no_numbers_and_differ(folder):
    # Prague beside 12 times the link's rate in its own queue
    loads = {"load": "UDP_ECT1", "load_each_mbit": "1200M", "prague_mbit": "0", "cubic_mbit": "0"}
    row = OVERLOAD | loads | {"qdelay_prague_mean_ms": "9"}
    (case,) = l4steam.overload(folder(l4steam.OVERLOAD, row))
    (wait,) = (each for each in case.figures if each.quantity == "Prague, wait, mean, ms")
    scenario = replace(case.scenario, duration_s=9.0, replications=1)
    found = wait.of(network.simulate(scenario))
    assert math.isnan(found.value)
    assert Row("case", "wait", 9.0, found.value, None, bar=1.0).verdict == "differs"


def test_a_row_agrees_up_to_its_bar():
    row = Row("case", "figure", 10.0, 11.0, None, spread=0.1, bar=1.0)
    assert row.verdict == "agrees"
    assert row.cells({})[2:] == ["10 ± 0.1", "11", "+10.00 %", "agrees"]
    assert Row("case", "figure", 10.0, 11.1, None, bar=1.0).verdict == "differs"
    assert Row("case", "figure", None, 11.1, None, bar=1.0).verdict == ""
    assert Row("case", "figure", 10.0, 99.0, None).verdict == ""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tput_l4s_sd": "one"}, "tput_l4s_sd = 'one' must be a number"),
        ({"buffer_bdp": ""}, "buffer_bdp = '' must be a number"),
    ],
)
def test_what_is_no_number_is_told_with_its_column(folder, change, told):
    with pytest.raises(SluiceError, match=told):
        papers.reproduce("l4s", published=folder(pam2025.ONE, ONE | change))


def test_a_missing_column_is_told(folder):
    row = {name: value for name, value in ONE.items() if name != "aqm"}
    with pytest.raises(SluiceError, match="column aqm is missing; there are setting, buffer_bdp"):
        papers.reproduce("l4s", published=folder(pam2025.ONE, row))


def test_the_folder_is_needed_and_must_have_a_table(tmp_path):
    with pytest.raises(SluiceError, match="give the folder with their tables"):
        papers.reproduce("l4s")
    with pytest.raises(SluiceError, match=r"none of the published tables l4s-pam2025/one-vs"):
        papers.reproduce("l4s", published=tmp_path)
    with pytest.raises(SluiceError, match="published has no meaning for lred"):
        papers.reproduce("lred", published=tmp_path)


@pytest.mark.parametrize(
    ("cases", "table", "row", "message"),
    [
        (l4steam.iccrg, l4steam.ICCRG, ALONE | {"cc": "BBR"}, "cc = 'BBR' must be one of Prague"),
        (l4steam.iccrg, l4steam.ICCRG, ALONE | {"aqm": "red"}, "aqm = 'red' must be one of dual"),
        (l4steam.iccrg, l4steam.ICCRG, ALONE | {"rate_mbit": "inf"}, "rate_mbit = 'inf' must be"),
        (
            l4steam.iccrg,
            l4steam.ICCRG,
            ALONE | {"extra_delay": "1s"},
            "extra_delay = '1s' must be a number of ms",
        ),
        (
            l4steam.overload,
            l4steam.OVERLOAD,
            OVERLOAD | {"load": "UDP TCP"},
            "load = 'TCP' must be one of UDP, UDP_ECT0, UDP_ECT1",
        ),
        (
            l4steam.overload,
            l4steam.OVERLOAD,
            OVERLOAD | {"load_each_mbit": "fast"},
            "load_each_mbit = 'fast' must be Mbit/s, such as 50 or 50M",
        ),
        (l4s_tests.cases, l4s_tests.S6, S6 | {"scenario": "s9"}, "scenario = 's9' must be one of"),
        (l4s_bursts.cases, l4s_bursts.SKYPE, SKYPE | {"cc": "BBR"}, "cc = 'BBR' must be one of"),
        (l4s_bursts.cases, l4s_bursts.SKYPE, SKYPE | {"qdisc": "RED"}, "qdisc = 'RED' must be one"),
    ],
)
def test_a_word_or_number_that_is_unknown_is_told(folder, cases, table, row, message):
    with pytest.raises(SluiceError, match=message):
        list(cases(folder(table, row)))


@pytest.mark.parametrize(
    ("cases", "name", "row", "column"),
    [
        (l4steam.iccrg, l4steam.ICCRG, ALONE, "qdelay_mean_ms"),
        (l4steam.rerun, l4steam.RERUN, RERUN, "rtt1_p95_ms"),
        (l4steam.overload, l4steam.OVERLOAD, OVERLOAD, "qdelay_cubic_p50_ms"),
    ],
)
def test_a_column_of_delays_may_be_empty_and_not_missing(folder, cases, name, row, column):
    (full,) = cases(folder(name, row | {column: "7"}))
    (empty,) = cases(folder(name, row | {column: ""}))
    assert len(full.figures) == len(empty.figures) + 1
    misspelt = {each.replace(column, column.upper()): value for each, value in row.items()}
    with pytest.raises(SluiceError, match=f"column {column} is missing"):
        list(cases(folder(name, misspelt)))


@pytest.mark.parametrize(("more", "told"), [(None, "fewer"), (",7", "more")])
def test_a_line_that_is_cut_off_or_too_long_is_told(folder, more, told):
    path = folder(l4steam.OVERLOAD, OVERLOAD, OVERLOAD)
    table = path / l4steam.OVERLOAD
    text = table.read_text().rstrip("\n")
    table.write_text(text + more if more else text.rpartition(",UDP UDP_ECT1")[0])
    message = rf"overload\.csv, line 3: {told} values than the columns, classic_protection_pct, lo"
    with pytest.raises(SluiceError, match=message):
        list(l4steam.overload(path))
