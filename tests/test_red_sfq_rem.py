"""RED, SFQ and REM: their settings, the figures of table 2, claims, and a short reproduction."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sluicegate.papers.campaign import Campaign
from sluicegate.papers.claims import Check
from sluicegate.papers.readings import all_of, any_of, survives
from sluicegate.papers.red_sfq_rem import claims, readings, reproduction
from sluicegate.papers.red_sfq_rem.disciplines import gate
from sluicegate.papers.red_sfq_rem.outcome import _broken_at, outcome
from sluicegate.papers.red_sfq_rem.readings import Reading, grid
from sluicegate.papers.red_sfq_rem.source import ALGORITHMS, TABLE_2
from sluicegate.worlds import Network

pytestmark = pytest.mark.slow

HOLDS, FAILS, UNDECIDED = (Check(verdict, verdict) for verdict in ("holds", "fails", "undecided"))


def run(name, reading):
    record = Campaign("test", 0).run(reading.scenario(name), Network())
    return outcome(record, reading.rate_mbps * 1e6)


# ---- claims under many readings ----


def test_a_claim_holds_or_fails_only_under_all_readings():
    assert survives("x", "y", {"a": HOLDS, "b": HOLDS}).verdict == "holds"
    assert survives("x", "y", {"a": FAILS, "b": FAILS}).verdict == "fails"
    mixed = survives("x", "y", {"a": HOLDS, "b": FAILS, "c": HOLDS, "d": UNDECIDED})
    assert mixed.verdict == "undecided"
    assert mixed.evidence == (
        "Of 4 readings it holds under 2, fails under 1, is undecided under 1. "
        "Holds: a (holds); c (holds). Fails: b (fails). Undecided: d (undecided)."
    )


def test_checks_are_combined():
    assert all_of([HOLDS, HOLDS]).verdict == "holds"
    assert all_of([HOLDS, UNDECIDED]).verdict == "undecided"
    assert all_of([UNDECIDED, FAILS]).verdict == "fails"
    assert any_of([FAILS, HOLDS]).verdict == "holds"
    assert any_of([FAILS, UNDECIDED]).verdict == "undecided"
    assert any_of([FAILS, FAILS]).verdict == "fails"


ONES = np.ones(5)


def found(**figures):
    """Return an outcome with these figures only."""
    return SimpleNamespace(**figures)


def verdicts(trio):
    return {claim.text: claim.verdict for claim in claims.of_tables({"a": trio}, "")}


def ordered(**factors):
    """Return the trio of table 2 as printed, five equal seeds, with factors on figures of REM."""
    trio = {}
    for place, name in enumerate(ALGORITHMS):
        printed = {quantity: values[place] for quantity, values in TABLE_2.items()}
        extremes = {key: printed[key] for key in ("delay_min", "delay_max", "queue_max")}
        arrays = {key: printed[key] * ONES for key in ("sent", "utilization", "loss_ratio")}
        arrays |= {
            "delay_mean": printed["delay_max"] * ONES,
            "full": (0.1 + place) * ONES,
            "broken_at": 0.5 * ONES,
        }
        trio[name] = found(**extremes, **arrays)
    for key, factor in factors.items():
        setattr(trio["REM"], key, getattr(trio["REM"], key) * factor)
    return trio


def test_table_2_as_printed_supports_all_of_the_text_but_three_claims():
    judged = verdicts(ordered())
    assert {text for text, verdict in judged.items() if verdict != "holds"} == {
        "REM has the best loss ratio",
        "At equal weights REM is the best of the three",
        "The ranking by utilization is RED, SFQ, REM",
    }


@pytest.mark.parametrize(
    ("quantity", "factor", "text"),
    [
        ("queue_max", 2, "At most two packets are in the queue"),
        ("delay_max", 0.9, "REM has the longest delay"),
        ("delay_mean", 0.7, "RED achieves the best result in terms of the delay"),
        ("utilization", 0.7, "REM has the best utilization"),
        (
            "broken_at",
            0.8,
            "The smooth growth of the throughput is broken at the same share of its largest",
        ),
    ],
)
def test_each_figure_decides_its_claim(quantity, factor, text):
    assert verdicts(ordered(**{quantity: factor}))[text] == "fails"


def test_at_equal_weights_the_least_sum_of_ranks_is_the_best():
    better = ordered(delay_mean=0.5, loss_ratio=0.5)
    assert verdicts(better)["At equal weights REM is the best of the three"] == "holds"


def test_claims_on_the_loss_over_the_bandwidth():
    def by_rate(losses, fairness=(0.9, 0.9, 0.9, 0.9)):
        rates = (5.0, 10.0, 15.0, 20.0)
        return {
            rate: found(loss_ratio=loss * ONES, fairness=fair * ONES)
            for rate, loss, fair in zip(rates, losses, fairness, strict=True)
        }

    sweep = {
        "RED": by_rate((0.04, 0.03, 0.02, 0.02)),
        "SFQ": by_rate((0.03, 0.01, 0.05, 0.01), (0.9, 0.9, 0.5, 0.9)),
        "REM": by_rate((0.03, 0.01, 0.02, 0.01)),
    }
    assert {claim.verdict for claim in claims.of_sweeps({"a": sweep})} == {"holds"}
    flat = by_rate((0.02, 0.02, 0.02, 0.02))
    judged = claims.of_sweeps({"a": {"RED": flat, "SFQ": flat, "REM": sweep["REM"]}})
    assert [claim.verdict for claim in judged] == [
        "undecided",
        "undecided",
        "undecided",
        "undecided",
        "fails",
    ]


def test_throughput_at_the_first_loss_is_a_share_of_the_largest():
    losses = np.array([[0, 0, 2, 3], [0, 0, 0, 0]], dtype=float)
    since_start = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]])
    share = _broken_at(losses, since_start)
    assert share[0] == pytest.approx(0.75)
    assert np.isnan(share[1])


# ---- settings ----


def test_red_sets_itself_as_ns_2_does():
    # read from ns-2.35: thresh_ 6.25, maxthresh_ 18.75, q_weight_ 0.00032997854839944551
    red, limit = gate("RED", "ns2", 20, 10e6)
    params = red.configured.params
    in_mean_packets = 2040 / 500
    assert params["min_th"] * in_mean_packets == pytest.approx(6.25, abs=1e-8)
    assert params["max_th"] * in_mean_packets == pytest.approx(18.75, abs=1e-8)
    assert params["w"] == pytest.approx(0.00032997854839944551, abs=1e-9)
    assert limit == 5  # 20 packets of 500 B hold 5 of 2040 B


def test_what_a_buffer_of_20_packets_holds():
    assert [gate(name, "ns2", 20, 10e6).limit for name in ALGORITHMS] == [5, 40, 19]
    assert [gate(name, "text", 20, 10e6).limit for name in ALGORITHMS] == [20, 20, 20]


def test_all_readings_exist_once_with_unique_names():
    readings = grid()
    assert len(readings) == len(set(readings)) == len({each.name for each in readings}) == 432
    assert Reading() in readings


# ---- runs ----


@pytest.mark.parametrize(
    ("name", "limit", "sent", "lost"),
    # ns-2.35, the same network: packets sent and lost
    [
        ("RED", 20, 40600, 112),
        ("REM", 20, 43929, 20),
        ("REM", 8, 41696, 61),
        ("REM", 4, 40250, 135),
    ],
)
def test_agrees_with_ns_2(name, limit, sent, lost):
    ours = run(name, replace(Reading(), limit=limit))
    assert ours.sent.mean() == pytest.approx(sent, rel=0.015)
    assert ours.lost.mean() == pytest.approx(lost, rel=0.1)


def test_figures_of_table_2_of_a_buffer_that_is_never_full():
    alone = run("REM", Reading(like="text", limit=200, rate_mbps=30.0, spacing_s=0.0))
    assert (alone.lost == 0).all()
    # 5 windows of 20 packets in each round trip of 120 ms and the transmissions
    data_s, ack_s = (8 * size * (2 / 100e6 + 1 / 30e6) for size in (2040, 40))
    rate = 5 * 20 / (0.12 + data_s + ack_s)
    assert alone.sent.mean() == pytest.approx(100 * rate, rel=0.01)
    assert alone.utilization.mean() == pytest.approx(rate * 16000 / 30e6, rel=0.01)
    assert alone.delay_min == pytest.approx(1000 * (0.06 + ack_s), abs=0.01)
    assert 1000 * (0.06 + data_s) < alone.delay_mean.mean() < alone.delay_max


def test_a_short_reproduction_has_every_figure_of_the_paper(monkeypatch):
    few = [Reading(), Reading(like="text", limit=2, rate_mbps=5.0)]
    monkeypatch.setattr(readings, "SEEDS", 2)
    monkeypatch.setattr(readings, "RATES_MBPS", (5.0, 10.0, 15.0))
    monkeypatch.setattr(reproduction, "grid", lambda: few)
    monkeypatch.setattr(reproduction, "SWEPT", (few[1],))
    monkeypatch.setattr(reproduction, "DRAWN", (few[1],))
    repeated = reproduction.reproduce()
    assert {row.row for row in repeated.rows} >= {each.name for each in few}
    for name, figure in zip(ALGORITHMS, TABLE_2["sent"], strict=True):
        (row,) = [
            row
            for row in repeated.rows
            if (row.row, row.quantity) == (few[0].name, f"sent, {name}")
        ]
        assert row.published == figure
        assert np.isfinite(row.measured)
    assert len(repeated.plots) == 4
    assert len(repeated.claims) == 2 * (13 + 4) + 5
    assert json.loads(json.dumps(repeated.summary())) == repeated.summary()
    assert "Figure 4" in repeated.page().html()
