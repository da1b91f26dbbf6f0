"""LPF/ODA in the closed loop: figures from series, and a short reproduction."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from sluicegate.papers.lpf_oda import closed_loop, findings, readings
from sluicegate.papers.lpf_oda.claims import RESPONSES, claims
from sluicegate.papers.lpf_oda.outcome import outcome
from sluicegate.papers.lpf_oda.readings import connections, datagrams, starved
from sluicegate.papers.lpf_oda.source import FILTERS, LPF, ODA
from sluicegate.worlds.network import PortRecord

pytestmark = pytest.mark.slow

TIMES_S = np.arange(3001) / 10


def port(average, sent_packets_per_s=100.0, losses=None):
    """Return a port of one replication, sampled ten times a second."""
    count = len(TIMES_S)
    series = pl.DataFrame(
        {
            "replication": np.zeros(count, np.uint32),
            "time_s": TIMES_S,
            "queue": np.full(count, 7, np.uint32),
            "arrivals": (TIMES_S * sent_packets_per_s).round().astype(np.uint64),
            "losses": np.zeros(count, np.uint64) if losses is None else losses,
            "sent_bytes": (TIMES_S * sent_packets_per_s * 1000).round().astype(np.uint64),
            "average": average,
            "probability": np.zeros(count),
        }
    )
    return PortRecord(
        name="hub -> host0",
        measures={},
        whole={},
        queue_distribution=np.ones(1),
        sojourn_distribution=np.ones(1),
        delay_distribution=np.ones(1),
        time_bin_s=1.0,
        sample_s=0.1,
        series=series,
    )


def test_the_response_time_ends_where_the_average_is_first_below_min_th():
    average = np.where(TIMES_S < 135.5, 20.0, 4.9)
    average[TIMES_S < 60] = 0.0  # before the congestion ended: does not count
    found = outcome(port(average), 1000)
    assert found.response_s == pytest.approx([2.5])
    assert found.response_arrivals == pytest.approx([250])


def test_a_response_takes_33_s_if_the_second_congestion_comes_first():
    found = outcome(port(np.where(TIMES_S < 170, 20.0, 4.9)), 1000)
    assert found.response_s == pytest.approx([33])
    assert found.response_arrivals == pytest.approx([3300])


def test_a_throughput_recovers_in_the_first_second_with_5_percent():
    found = outcome(port(np.full(len(TIMES_S), 20.0), sent_packets_per_s=100.0), 1000)
    assert found.recovery_s == pytest.approx([1])
    found = outcome(port(np.full(len(TIMES_S), 20.0), sent_packets_per_s=60.0), 1000)
    assert found.recovery_s == pytest.approx([33])


def test_throughput_delay_and_drops_between_the_congestions():
    lost = np.minimum(np.maximum(TIMES_S - 140, 0) * 10, 50)
    lost += np.clip(TIMES_S - 50, 0, 3) + np.clip(TIMES_S - 200, 0, 7)
    losses = lost.astype(np.uint64)
    found = outcome(port(np.full(len(TIMES_S), 20.0), losses=losses), 1000)
    # 100 packets/s of 8000 bits on 10 Mb/s
    for stretch in (found.first, found.free, found.second, found.throughput(150.0)):
        assert stretch == pytest.approx([0.08])
    assert found.first_drops == pytest.approx([3])
    assert found.free_drops == pytest.approx([50])
    assert found.second_drops == pytest.approx([7])
    assert found.free_delay_s == pytest.approx([0.07])
    assert found.course["throughput"].to_numpy() == pytest.approx(0.08)
    assert found.course.filter(pl.col("time_s").is_between(140, 145))["drops"].sum() == 50


def pair(slow, fast, throughput_share):
    """Return outcomes of both filters for three similar seeds; responses: `slow`, `fast`, s."""

    def found(response_s, share):
        ports = [
            port(np.where(133 + response_s + seed > TIMES_S, 20.0, 4.9), 1250 * share)
            for seed in (0.0, 0.1, 0.2)
        ]
        frames = [
            each.series.with_columns(replication=pl.lit(number, pl.UInt32))
            for number, each in enumerate(ports)
        ]
        return outcome(replace(ports[0], series=pl.concat(frames)), 1000)

    return {LPF: found(slow, 0.1), ODA: found(fast, throughput_share)}


def test_claims_are_judged_by_their_figures():
    verdicts = {
        claim.text: claim.verdict
        for claim in claims({"a": pair(13, 3, 0.18), "b": pair(12, 3, 0.18)})
    }
    assert verdicts["The response time of LPF (EWMA) is 13 s, by the average"] == "holds"
    assert verdicts["The response time of LPF/ODA is 3 s, by the average"] == "holds"
    assert verdicts["The response time of LPF/ODA is 3 s, by the throughput"] == "fails"
    assert verdicts["LPF/ODA responds 4.3 times faster, by the average"] == "holds"
    assert verdicts["At 150 s its throughput is 80 % higher"] == "holds"
    assert verdicts["At 166 s its throughput is 25 % higher"] == "fails"
    assert verdicts["At 150 s the throughput of LPF (EWMA) is 0.0625"] == "fails"
    assert (
        verdicts["Between the congestions LPF/ODA always has a much higher throughput"] == "holds"
    )
    # 10 s are within a quarter of 13 s; 9 s are not
    longer = "LPF requires 13 s more to reduce its packet drop to that of LPF/ODA"
    assert verdicts[longer] == "undecided"


def test_readings_are_all_different_and_offer_what_they_say():
    assert len({reading.name for reading in readings.READINGS}) == len(readings.READINGS)
    usual = datagrams(1.5, 0.1)
    rates = [flows.count * flows.rate_bps for flows in usual.flows]
    assert rates == pytest.approx([1e6, 14e6, 14e6])
    aqm = usual.scenario(ODA).disciplines[0].configured
    assert aqm.params["w"] == 0.07
    assert aqm.params["idle_decay"] is False
    assert usual.decaying().scenario(LPF).disciplines[0].configured.params["idle_decay"] is True


def test_a_short_reproduction_has_every_row_claim_and_figure(monkeypatch):
    few = tuple(
        replace(reading, seeds=2)
        for reading in (datagrams(1.5, 0.01), connections(2, 10), starved(2, 1.5).decaying())
    )
    monkeypatch.setattr(closed_loop, "READINGS", few)
    monkeypatch.setattr(closed_loop, "DRAWN", few[:2])
    for name, reading in zip(("RARE", "USUAL", "STARVED"), few, strict=True):
        monkeypatch.setattr(findings, name, reading)
    found = closed_loop.reproduce()
    rows = {(row.row, row.quantity): row for row in found.rows}
    for reading in few:
        for by in RESPONSES:
            times = [rows[reading.name, f"response_time {by}, {name}"] for name in FILTERS]
            assert [row.published for row in times] == [13, 3]
        at_150_s = [rows[reading.name, f"throughput at 150 s, {name}"] for name in FILTERS]
        assert [row.published for row in at_150_s] == [0.0625, 0.1125]
    assert rows[few[0].name, "arrivals meanwhile, LPF/ODA"].measured < 15
    assert rows[few[0].name, "arrivals meanwhile, LPF (EWMA)"].measured > 20
    assert len(found.plots) == 5
    assert len(found.claims) == 23
    assert json.loads(json.dumps(found.summary())) == found.summary()
    assert "Figure 7" in found.page().html()
    assert sum("of 2 seeds" in sentence for sentence in found.findings) == 1
