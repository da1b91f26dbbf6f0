"""Advice: parsing, settings of a link, lines for `tc` and `sluiced`, ranking of settings."""

import itertools
import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from sluicegate.advice import Question, advise, reading, rows, words
from sluicegate.advice.advice import simulated
from sluicegate.advice.cases import cases, scenario
from sluicegate.advice.lines import aqm_option, lines
from sluicegate.advice.runs import Runs
from sluicegate.advice.score import COSTS, costs, ranking, weights
from sluicegate.advice.settings import FAMILIES, Setting, baseline, left_out, settings
from sluicegate.cli import main, syntax
from sluicegate.errors import InterruptError, SluiceError
from sluicegate.sweeps.workers import here_or_beside

pytestmark = pytest.mark.slow

GATEWAY = Path(__file__).parent.parent / "captures" / "gateway.pcap"
OFFICE = Question(rate_bps=120e6, rtts_s=(0.02, 0.1), flows=(5, 50))
DSL = Question(rate_bps=2e6, rtts_s=(0.02, 0.08), flows=(1, 10))
ASKED = ["--rate", "1M", "--rtt", "1ms", "--flows", "1"]
# nothing is uncertain
ALONE = Question(rate_bps=2e6, rtts_s=(0.04, 0.04), flows=(5, 5), control="reno")
SMALL = {"aqms": ["sfq"], "packets": 1e6}


# ---- parsing ----


@pytest.mark.parametrize(
    ("text", "bps"),
    [("2M", 2e6), ("10G", 10e9), ("500k", 5e5), ("50Mbit/s", 50e6), ("2e6", 2e6), ("1.5M", 1.5e6)],
)
def test_rates(text, bps):
    assert reading.rate_bps(text, "--rate") == bps


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("20..120ms", (0.02, 0.12)),
        ("20ms", (0.02, 0.02)),
        ("500us..2ms", (0.0005, 0.002)),
        ("0.1..0.2s", (0.1, 0.2)),
    ],
)
def test_round_trips(text, ends):
    assert reading.rtts_s(text) == pytest.approx(ends)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rtt", "1ms", "--flows", "1"], "give --rate, the rate of the slow link, or --upload,"),
        (["--rate", "1M", "--upload", "1M"], "give --rate or --upload, not both: --rate is of a"),
        (["--rate", "1M"], "give --rtt and --flows"),
        (["--rate", "fast", "--rtt", "1ms", "--flows", "1"], "--rate: 'fast' must be a rate"),
        (["--rate", "1M", "--rtt", "20", "--flows", "1"], "--rtt: '20' must be round trips"),
        (["--rate", "1M", "--rtt", "1ms", "--flows", "5-50"], "--flows: '5-50' must be numbers"),
        ([*ASKED, "--limit", "1.5"], "--limit: '1.5' must be a number of packets, such as 1000"),
        ([*ASKED, "--limit", "capture"], "--limit capture: give a capture"),
        ([str(GATEWAY), "--upload", "1M", "--download", "1M"], "a capture tells of one direction"),
    ],
)
def test_a_wrong_command_line_is_reported(words, message, capsys):
    assert main(["advise", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rate_bps": 1.0}, "rate = 1 must be between"),
        ({"rtts_s": (0.1, 0.02)}, "rtt = 0.1..0.02 must start with the smaller end"),
        ({"rtts_s": (0.0, 0.02)}, "rtt = 0..0.02 must be above 0"),
        ({"flows": (0, 5)}, "flows = 0..5 must be above 0"),
        ({"prefer": "speed"}, "prefer = speed must be one of balanced, delay"),
        (
            {"control": "vegas"},
            "control = vegas must be one of reno, cubic, dctcp, bbr, bbr3, prague, prague_2020, "
            "prague_2021, prague_2024, ledbat, ledbatpp",
        ),
        ({"control": "dctcp"}, "dctcp needs ecn"),
        ({"packet_bytes": 10}, "packet_bytes = 10 must be between"),
        ({"short_share": 1.0}, "short_share = 1 must be between"),
        ({"limit": 1}, "limit = 1 must be between 2 and 100000"),
    ],
)
def test_meaningless_questions_are_refused(changed, message):
    with pytest.raises(SluiceError, match=message):
        OFFICE.with_(**changed)


def test_an_unknown_aqm_and_too_few_packets_are_refused():
    with pytest.raises(SluiceError, match="aqm = reed must be one of drop_tail, red"):
        advise(OFFICE, aqms=["reed"])
    with pytest.raises(SluiceError, match="packets = 1 must be"):
        advise(OFFICE, packets=1)


# ---- settings of a link ----


def test_settings_fit_the_link():
    for link in (DSL, OFFICE, OFFICE.with_(rate_bps=10e9, flows=(500, 5000))):
        found = settings(link)
        usual = {name for name, family in FAMILIES.items() if not family.is_for_l4s}
        assert {each.family for each in found} | set(left_out(link)) == usual
        for each in found:
            # no target below a packet's transmission time, none far beyond a round trip
            assert 1.4 * link.packet_s < each.target_s <= 1.51 * link.longest_s
        # the usual buffer: rate times round trip
        least = link.rate_bps * link.rtts_s[1] / 12000
        assert int(least) <= baseline(link).queue(link).limit <= least + 11


def test_aqms_for_l4s_are_tried_where_l4s_is_asked_for():
    l4s = OFFICE.with_(control="prague", ecn=True)
    assert {each.family for each in settings(l4s)} >= {"pi2", "dualpi2", "codel"}
    assert {each.family for each in settings(OFFICE, ["pi2"])} == {"pi2"}
    mixed = [case for case in cases(l4s) if case.classic]
    assert [case.name for case in mixed] == ["classic flows beside"]
    flows = scenario(l4s, mixed[0], 10.0).flows
    assert [each.tcp.ecn for each in flows[:2]] == [True, False]
    assert not any(case.classic for case in cases(OFFICE))


def test_dualpi2_has_gains_for_the_round_trip_and_a_line_for_tc():
    l4s = OFFICE.with_(control="prague", ecn=True, rtts_s=(0.02, 0.1), rate_bps=4e7)
    setting = Setting("dualpi2", 0.015, 0.0)
    params = setting.discipline(l4s).params
    # ten packets of 0.3 ms are added to the round trip
    assert params["alpha"] == round(256 * 0.1 * 0.015 / 0.103**2) / 256
    assert params["beta"] == round(256 * 0.3 / 0.103) / 256
    assert (params["t_update"], params["step"], params["mtu_bytes"]) == (0.015, 0.001, 1514)
    line = lines(setting, l4s).tc[-1]
    assert line.endswith(
        "handle 10: dualpi2 limit 687 target 15000us tupdate 15000us alpha 0.141016 "
        "beta 2.914453 step_thresh 1000us min_qlen_step 0 coupling_factor 2 "
        "drop_on_overload drop_dequeue classic_protection 10%"
    )
    # a packet of 1500 bytes takes 6 ms
    slow = setting.discipline(l4s.with_(rate_bps=2e6)).params
    assert slow["step"] == 0.009
    # it always marks, so it does for hosts without ECN, too
    assert setting.refusal(OFFICE.with_(linux=True, rate_bps=4e7)) is None


def test_thresholds_lie_around_the_target():
    params = Setting("red", 0.02, 0.1).discipline(OFFICE).params
    # 10,000 packets/s
    assert (params["min_th"], params["max_th"]) == (100, 300)
    assert params["w"] == 2**-13
    assert params["mean_packet_bytes"] == 1500
    codel = Setting("codel", 0.06, 1.0).discipline(DSL).params
    assert codel == {"target": 0.06, "interval": 0.14}


def test_impossible_settings_are_left_out_with_the_reason():
    loopback = DSL.with_(rtts_s=(3e-5, 5e-5), flows=(100, 100))
    assert "a flow must have room" in left_out(loopback)["pi"]
    assert all(each.family != "pi" for each in settings(loopback))


def test_cases_span_the_question():
    names = [case.name for case in cases(OFFICE)]
    assert len(names) == 6
    assert names[0] == "few flows, short RTT"
    assert {case.control for case in cases(OFFICE)} == {"cubic", "reno"}
    # if nothing is uncertain, there is one link
    alone = OFFICE.with_(rtts_s=(0.02, 0.02), flows=(5, 5), control="reno")
    assert [case.name for case in cases(alone)] == ["the link", "many transfers"]
    # the scenario has the intended mean round trip
    found = scenario(OFFICE, cases(OFFICE)[1], 10.0)
    top = found.topology
    paths = [2 * (each + top.delay_s + top.server_delay_s) for each in top.client_delays_s]
    assert np.mean(paths) == pytest.approx(0.1)


def test_a_fast_link_is_scaled_down_and_a_slow_one_is_not():
    factor, seconds = simulated(OFFICE.with_(rate_bps=10e9, flows=(500, 5000)), 30e6)
    assert factor > 10
    small = OFFICE.with_(rate_bps=10e9, flows=(500, 5000)).scaled(factor)
    assert small.rate_bps / small.flows[1] == pytest.approx(10e9 / 5000, rel=0.05)
    slow, longer = simulated(DSL, 30e6)
    assert slow == 1
    assert longer > seconds


# ---- the lines ----


def test_red_for_tc_is_in_bytes():
    slower = OFFICE.with_(rate_bps=60e6)
    shaper, qdisc = lines(Setting("red", 0.02, 0.1), slower).tc
    assert shaper == (
        "tc qdisc replace dev DEV root handle 1: tbf rate 60000000bit burst 7500 limit 100000000"
    )
    # 50 and 150 packets of 1500 bytes; twice the path and ten packets fit into the buffer
    assert "red limit 1530000 min 75000 max 225000 avpkt 1500 " in qdisc
    assert "bandwidth 60000kbit probability 0.1" in qdisc
    # the weight that tc computes from the burst (tc_red.c)
    burst = int(re.search(r"burst (\d+) ", qdisc)[1])
    weight = next(
        log for log in range(1, 32) if burst + 1 - 50 <= (1 - (1 - 0.5**log) ** burst) / 0.5**log
    )
    assert weight == 12
    assert lines(Setting("red", 0.02, 0.1), slower.with_(ecn=True)).tc[1].endswith(" ecn harddrop")
    # at twice the rate the kernel would refuse it (include/net/red.h)
    found = lines(Setting("red", 0.02, 0.1), OFFICE)
    assert not found.tc
    assert found.why_no_tc.startswith("max_th = 300 with w = 0.00012207 is too large for Linux")


def test_codel_and_pie_for_tc_are_in_microseconds():
    codel = lines(Setting("codel", 0.0125, 1.0), DSL).tc[1]
    assert codel.endswith("codel limit 47 target 12500us interval 140000us noecn") or (
        "target 12500us interval 140000us noecn" in codel
    )
    pie = lines(Setting("pie", 0.0125), DSL).tc[1]
    assert "pie limit 64 target 12500us tupdate 12500us alpha 2 beta 20" in pie


def test_cake_shapes_by_itself_and_tc_sets_its_target():
    setting = Setting("cake", 0.1, 0.3)
    assert setting.name == "cake (0.3 RTT)"
    # 0.3 of 80 ms and ten packets of 6 ms; tc sets a twentieth as the target
    assert setting.discipline(DSL).params == {
        "rate_bps": 2_000_000,
        "rtt": 0.042,
        "target": 0.0021,
        "mtu_bytes": 1514,
    }
    assert lines(setting, DSL).tc == (
        "tc qdisc replace dev DEV root handle 10: cake bandwidth 2000000bit diffserv3 "
        "triple-isolate rtt 42000us overhead 0 mpu 0 noatm no-ack-filter nonat nowash "
        "no-split-gso memlimit 262144 egress",
    )
    incoming = lines(setting, DSL.with_(direction="download")).tc
    assert incoming[-1].startswith("tc qdisc replace dev ifb-in root handle 10: cake bandwidth")
    assert not any("tbf" in line for line in incoming)
    # the longest round trip that CAKE takes is 4 s
    far = settings(DSL.with_(rtts_s=(5.0, 9.0)), ["cake"])
    assert [each.second for each in far] == [0.3]


def test_fq_pie_and_sfb_have_lines_for_tc_and_cobalt_alone_has_none():
    office = OFFICE.with_(linux=True)
    names = {each.family for each in settings(office)}
    assert names >= {"fq_pie", "sfb", "cake", "fq_codel"}
    assert "cobalt has no twin in Linux" in left_out(office)["cobalt"]
    fq_pie = lines(Setting("fq_pie", 0.0125), office).tc[1]
    assert "fq_pie limit 2020 flows 1024 target 12500us tupdate 12500us quantum 1514 " in fq_pie
    # 200 packets for the 16 bins that 5 to 50 flows take, and Linux's ratio of 25 to 20
    sfb = lines(Setting("sfb", 0.02), office).tc[1]
    assert " max 17 target 13 increment" in sfb
    assert lines(Setting("sfb", 0.02), OFFICE).sluiced.endswith("bin_max=17,ecn=true")


def test_incoming_traffic_goes_through_a_separate_device():
    found = lines(Setting("fq_codel", 0.01, 1.0), DSL.with_(direction="download")).tc
    assert "matchall action mirred egress redirect dev ifb-in" in found[3]
    assert all("dev ifb-in" in line for line in found[4:])


def test_an_aqm_without_a_qdisc_of_linux_is_reported():
    found = lines(Setting("avq", 0.1, 0.95), OFFICE)
    assert found.tc == ()
    assert "aqm = avq has no twin in Linux" in found.why_no_tc


@pytest.mark.parametrize("family", FAMILIES)
def test_the_lines_for_sluiced_set_what_was_judged(family):
    each = settings(OFFICE, [family])[0]
    discipline = each.discipline(OFFICE)
    read = syntax.discipline(aqm_option(discipline, ecn=True))
    assert read["aqm"] == discipline.aqm
    assert read["ecn"] is True
    assert {k: pytest.approx(v) for k, v in discipline.params.items()} == read["params"]
    assert read.get("scheduler", {"kind": "fifo"})["kind"] == discipline.scheduler.kind
    assert read.get("victim", "tail") == discipline.victim


# ---- the score ----


def test_costs_are_in_round_trips_and_shares():
    run = {
        "sojourn_p99": 0.06,
        "completion_mean": 0.09,
        "loss_ratio": 0.01,
        "utilization": 0.95,
        "fairness": 0.8,
    }
    assert costs(run, 0.03, 60) == pytest.approx([2, 3, 0.01, 0.05, 0.2])
    # if no short flow was completed, the run's duration is used
    assert costs(run | {"completion_mean": None}, 0.03, 60)[1] == 2000


def test_a_preference_raises_the_weight_of_its_part():
    names = list(COSTS)
    ratio = dict(zip(names, weights("loss") / weights("balanced"), strict=True))
    assert ratio.pop("loss") == 4
    assert set(ratio.values()) == {1}


def test_ranking_of_constructed_scores():
    draw = np.random.default_rng(3)
    common = draw.normal(0, 1, 8)
    # common noise cancels in pairs: they distinguish settings whose own intervals overlap
    best, near, far = common + 2, common + 2 + draw.normal(0, 0.3, 8), common + 3
    far += draw.normal(0, 0.1, 8)
    if near.mean() < best.mean():
        near = 2 * best.mean() - near
    found = ranking([far, best, near])
    assert [each.place for each in found] == [1, 2, 0]
    assert found[0].behind is None
    assert not found[1].is_told_apart
    assert found[2].is_told_apart
    assert found[2].behind.value == pytest.approx(1, abs=0.1)
    assert found[2].score.half_width > found[2].behind.half_width


def test_equal_settings_are_not_distinguished():
    values = np.arange(8.0)
    _, other = ranking([values, values])
    assert other.behind.value == 0
    assert not other.is_told_apart


# ---- whole advices ----


@pytest.fixture(scope="module")
def runs_folder(tmp_path_factory):
    """Return a store that several tests share."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def interrupted(runs_folder):
    """Interrupt a small advice by Ctrl-C; return its message, and the files of its store."""

    def watch(_name, done, _total, _stage):
        if done >= 24:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_RUNS", str(runs_folder))
        with pytest.raises(InterruptError) as told:
            advise(ALONE, **SMALL, workers=1, watch=watch)
    return str(told.value), {path.name: path.stat().st_ino for path in runs_folder.iterdir()}


@pytest.fixture(scope="module")
def small(runs_folder, interrupted):
    """Return the same advice, continued by this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_RUNS", str(runs_folder))
        return advise(ALONE, **SMALL, workers=1)


def test_the_same_call_continues_after_ctrl_c(small, interrupted, runs_folder):
    told, kept = interrupted
    found = re.fullmatch(r"interrupted after (\d+) of about 168 runs; the same .*", told)
    # on the scaled link two limits are equal, and share their runs
    assert 20 <= len(kept) <= int(found[1])
    # no run was made again
    assert all((runs_folder / name).stat().st_ino == at for name, at in kept.items())
    assert len(list(runs_folder.glob("*.zip"))) > len(kept)


def test_a_snapshot_of_a_small_advice(small):
    found = rows.setting_rows(small)
    assert [(row.setting, round(row.score, 4), row.told_apart) for row in found] == [
        ("sfq (86.6 ms)", 3.3306, False),
        ("sfq (150 ms)", 3.4308, True),
        ("drop_tail (100 ms)", 4.3927, True),
    ]
    assert small.baseline.name == "drop_tail (100 ms)"


def test_the_number_of_workers_changes_nothing(small):
    again = Runs(small.runs.link, small.runs.duration_s)
    keys = list(small.runs.measured)[::7]
    with here_or_beside(2) as workers:
        again.make(keys, workers, lambda *_: None, len(keys))
    assert again.measured == {key: small.runs.measured[key] for key in keys}


def test_a_repeated_question_is_answered_from_the_store(small, runs_folder, monkeypatch):
    monkeypatch.setenv("SLUICE_RUNS", str(runs_folder))
    calls = itertools.count()
    found = advise(ALONE, **SMALL, workers=1, watch=lambda *_: next(calls))
    assert next(calls) == 0
    assert found.finalists == small.finalists
    assert found.runs.measured == small.runs.measured
    # a damaged answer is computed again from the kept runs
    (answer,) = runs_folder.glob("advice-*.json")
    whole, made = answer.read_text(), len(list(runs_folder.glob("*.zip")))
    answer.write_text(whole[:100])
    assert advise(ALONE, **SMALL, workers=1).finalists == small.finalists
    assert answer.read_text() == whole
    assert len(list(runs_folder.glob("*.zip"))) == made


def test_summary_and_verdict_follow_from_the_advice(small, root):
    told = rows.summary(small)
    assert told["choice"] == small.choice.name
    behind = [row["behind"] for row in told["settings"]]
    assert behind == sorted(behind)
    assert behind[0] == 0
    assert len(told["scenarios"]) == len(small.cases)
    verdict = words.verdict(small)
    assert small.choice.name in verdict
    # what the usual drop-tail scores more, cost by cost
    more = {name: float(part) for name, part in re.findall(r"(\w+) ([+-]\d\.\d\d)", verdict)}
    assert list(more) == list(COSTS)
    gain = small.difference(small.baseline, small.choice).value
    assert sum(more.values()) == pytest.approx(gain, abs=0.03)
    schema = root / "docs" / "reference" / "outputs" / "advice.schema.json"
    written = json.loads(json.dumps(told)) | {"sluicegate": "0", "schema": "advice"}
    jsonschema.validate(written, json.loads(schema.read_text()))
    with pytest.raises(jsonschema.ValidationError, match="Additional properties"):
        jsonschema.validate(written | {"other": 1}, json.loads(schema.read_text()))


# ---- scaling ----


def test_a_link_that_is_scaled_down_keeps_the_ranking():
    """60 Mbit/s with 24 flows, and a quarter of both, give the same order and similar scores."""
    link = Question(rate_bps=60e6, rtts_s=(0.02, 0.02), flows=(24, 24), control="reno")
    chosen = [
        Setting("drop_tail", 0.02),
        Setting("drop_tail", 0.1),
        Setting("codel", 0.005, 1.0),
        Setting("fq_codel", 0.005, 1.0),
    ]
    # scores of single seeds vary by a quarter
    seeds = list(range(1, 9))
    orders, means = [], []
    for factor in (1.0, 4.0):
        runs = Runs(link.scaled(factor), 4.0)
        with here_or_beside(1) as workers:
            runs.make(runs.missing(chosen, seeds), workers, lambda *_: None, 1)
        scores = [runs.scores(each, seeds, weights("balanced"), 0) for each in chosen]
        orders.append([each.place for each in ranking(scores)])
        means.append([float(each.mean()) for each in scores])
    assert orders[0] == orders[1]
    # the scores are similar, too
    assert means[0] == pytest.approx(means[1], rel=0.25)
