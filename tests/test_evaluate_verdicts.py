"""What an evaluation reads of its runs, and its verdicts."""

from dataclasses import replace

import numpy as np
import pytest
from evaluations import BRIEF

from sluicegate.evaluate import evaluate
from sluicegate.evaluate.harms import harm_rows, harms
from sluicegate.evaluate.page import evaluation_page
from sluicegate.evaluate.requirements import REQUIREMENTS, state
from sluicegate.evaluate.sensitivity import sensitivity_rows
from sluicegate.evaluate.suite import case_named
from sluicegate.evaluate.verdict import compared, together
from sluicegate.evaluate.words import text

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
            # windows have about as many packets each; one of 325 may be lost after the last sample
            lost = run.curves["loss_windows"][-10:]
            assert np.mean(lost) == pytest.approx(run.values["loss_ratio"], rel=0.15, abs=1 / 300)
            waits = run.curves["bulk.sojourn_quantiles"]
            assert (np.diff(waits) >= 0).all()
            assert waits[99] == pytest.approx(run.values["sojourn_p99"], rel=0.02, abs=1e-4)
            assert 0 < run.values.get("synchronisation_ratio", 0.5) <= 1


def test_synchronisation_is_that_of_the_packets_that_are_lost(tmp_path):
    """A full buffer makes several flows lose at once; CoDel drops one packet at a time."""
    flows = 6
    path = replace(BRIEF, rate_bps=10e6, reverse_rate_bps=10e6, flows=(flows, 14, 19))
    found = evaluate(["codel"], tmp_path, profile=path, sections=["8.2.2"], workers=1)
    means = {}
    for name in found.plan.names:
        values = found.values(case_named("8-2-2-mild"), name, "synchronisation_ratio")
        assert ((values >= 1 / flows - 1e-9) & (values <= 1)).all()
        means[name] = values.mean()
        # all have left slow start when the warm-up ends
        assert (found.values(case_named("8-2-2-mild"), name, "lost_by_time_0") == 1).all()
    assert means["drop_tail"] > means["codel"]
    assert not any("slow start" in note for note in found.notes())
    # before the buffer is full none has
    soon = replace(path, warm_up_s=0.02, duration_s=0.5)
    found = evaluate(["codel"], tmp_path / "soon", profile=soon, sections=["8.2.2"], workers=1)
    assert any(
        note.startswith("8.2.2, codel: 100 % of the flows had lost no packet")
        for note in found.notes()
    )


@pytest.mark.usefixtures("undrawn")
def test_acks_meet_a_queue_of_their_own(tmp_path):
    found = evaluate(["codel"], tmp_path, profile=BRIEF, sections=["3.1"], workers=1)
    case = case_named("3-1-asymmetric")
    for run in found.measured(case, "drop_tail"):
        # the data of the first class at the main queue, and its ACKs on the way back
        waits = run.values["forward.sojourn_mean"] + run.values["forward.ack_delay"]
        assert run.values["forward.queueing_delay"] == pytest.approx(waits)
        # a tenth of the rate: ACKs wait behind the data of the other direction
        assert run.values["forward.ack_delay"] > run.values["reverse.ack_delay"] > 0
        assert 0 < run.values["forward.ack_loss_ratio"] < 1
    html = evaluation_page(found, ["drop_tail"]).html()
    assert "lost of the ACKs of forward (%)" in html
    assert "Distributions: 3.1" in html


@pytest.mark.usefixtures("undrawn")
def test_sensitivity_is_shown_beside_the_parameter_as_it_is(tmp_path):
    path = replace(BRIEF, flows=(2, 4, 6))
    sections = ["8.2.3", "8.3"]
    found = evaluate(["codel"], tmp_path, profile=path, sections=sections, workers=1)
    rows = sensitivity_rows(found)
    assert [row[:3] for row in rows] == [
        ["codel", "target", f"{value} s"] for value in ("0.0025", "0.005", "0.01")
    ]
    for row, name in zip(rows, ("8-3-halved", "8-2-3-medium", "8-3-doubled"), strict=True):
        wait = found.mean(case_named(name), "codel", "bulk.queueing_delay")
        assert row[3] == text("bulk.queueing_delay", wait, units=False)
    assert "sluice stability" in evaluation_page(found, ["drop_tail"]).html()


def test_phases_follow_the_number_of_flows(tmp_path):
    path = replace(BRIEF, flows=(1, 4, 8), duration_s=5.0, phase_s=1.0)
    given = {"profile": path, "sections": ["8.2.5", "8.2.6"], "workers": 1}
    found = evaluate(["drop_tail"], tmp_path, **given)
    for run in found.measured(case_named("8-2-5"), "drop_tail"):
        phases = ("mild", "mild-again", "medium", "heavy")
        mild, again, medium, heavy = (run.values[f"{name}.loss_ratio"] for name in phases)
        # one flow does not fill the buffer in a second, and 8 are more than it has room for
        assert max(mild, again) < medium < heavy
        # and so in time: phases of five windows each, after the warm-up of five
        windows = np.array(run.curves["loss_windows"]).reshape(-1, 5).mean(axis=1)
        assert windows[1:] == pytest.approx([mild, medium, heavy, again], rel=0.3, abs=0.005)
        assert run.values["heavy.throughput_bps"] == pytest.approx(path.rate_bps, rel=0.02)
    for run in found.measured(case_named("8-2-6-slow"), "drop_tail"):
        slow, fast = (run.values[f"{name}.throughput_bps"] for name in ("slow", "fast"))
        # the slow one is full, and the fast one carries more
        assert slow == pytest.approx(path.rate_bps, rel=0.1)
        assert fast > 2 * slow
        assert run.values["slow.queueing_delay"] > run.values["fast.queueing_delay"]
        assert run.values["slow.loss_ratio"] > run.values["fast.loss_ratio"]


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
        # three round trips, each drawn within 5 % of the path's, and as many waits, at least
        waits_s = found.values(case, name, "probes.queueing_delay")
        least_s = 3 * (0.95 * path.rtt_s + waits_s)
        start_ups_s = found.values(case, name, "start_up_mean")
        assert (start_ups_s > 0.9 * least_s).all()
        exchanges_s = found.values(case, name, "probes.completion_mean")
        assert start_ups_s == pytest.approx(3 * exchanges_s)
    delay, *_ = (each for each in found.compared(case, "codel") if each.measure == "rpm")
    assert delay.word == "better"
    html = evaluation_page(found, ["drop_tail"]).html()
    # of TCP, too: it is known of each class that gets data
    for told in ("bulk", "web", "video"):
        assert f"jitter of {told} (ms)" in html
    for told in (
        "start-up time (ms)",
        "What people feel: 9.1",
        "ITU-T G.107",
        "3GPP TS 22.105",
        "R. Brown 2021",
    ):
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
    assert states["8.3"] == "not met: not run"
