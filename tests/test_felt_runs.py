"""Round trips, RPM and QoO as measures of a run, beside closed forms and the drafts' formulas."""

from dataclasses import replace

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.counts import Times
from sluicegate.measures.outcome import NEEDS, quality_of_outcome
from sluicegate.measures.responsiveness import round_trips_per_minute

network = sg.network
RATE_BPS, BYTES, PROBE_BYTES, ACK_BYTES = 4e6, 1000, 100, 40
# one way of the base round trip, without transmissions
ONE_WAY_S = 0.02
AT_ONCE = {"ack_every": 1, "delayed_ack_s": 0.0, "ack_bytes": ACK_BYTES}


def tcp(size):
    return network.Tcp(packet_bytes=size, **AT_ONCE)


def scenario(load, *disciplines):
    probes = network.WebFlows(
        label="probes",
        count=2,
        objects=network.Sizes(kind="constant", mean_packets=1),
        think=network.Exponential(mean_s=0.05),
        tcp=tcp(PROBE_BYTES),
    )
    return network.NetworkScenario(
        topology=network.Dumbbell(
            rate_bps=RATE_BPS,
            delay_s=0.0,
            server_delay_s=0.0,
            access_rate_bps=1e9,
            client_delays_s=[ONE_WAY_S],
        ),
        flows=[probes, load],
        disciplines=list(disciplines),
        duration_s=20,
        warm_up_s=4,
        replications=3,
    )


def round_trip_s(size):
    """Of an idle path: a slow link and two fast ones each way."""
    return 2 * ONE_WAY_S + 8 * (size + ACK_BYTES) * (1 / RATE_BPS + 2 / 1e9)


def test_on_an_idle_path_all_follows_from_its_round_trip():
    load = network.TcpFlows(label="load", rate_bps=2e5, tcp=tcp(BYTES))
    record = network.simulate(scenario(load, sg.Discipline(aqm="drop_tail")))
    # a packet in a hundred meets another
    assert record["load.round_trip_p50"].value == pytest.approx(round_trip_s(BYTES), rel=1e-3)
    assert record["probes.round_trip_p50"].value == pytest.approx(
        round_trip_s(PROBE_BYTES), rel=1e-3
    )
    expected = round_trips_per_minute(
        [round_trip_s(PROBE_BYTES)], [round_trip_s(PROBE_BYTES)], [round_trip_s(BYTES)]
    )
    assert record["rpm"].value == pytest.approx(expected, rel=0.01)
    assert record["rpm"].unit == "1/min"
    assert record.method.endswith("RPM by draft-ietf-ippm-responsiveness-09")
    # nothing is lost, and the round trip is below what a page needs
    assert record["load.qoo_web"].value == 100
    assert record["load.qoo_gaming"].value == 100


def test_under_load_an_aqm_answers_faster():
    load = network.TcpFlows(label="load", count=2, tcp=tcp(BYTES))
    both = scenario(load, sg.Discipline(aqm="drop_tail"), sg.Discipline(aqm="codel"))
    tail, codel = sg.compare(both).records
    assert tail["rpm"].value < 400 < 900 < codel["rpm"].value
    assert tail["load.qoo_web"].value == 0 < codel["load.qoo_web"].value < 100
    # the way back is idle: a round trip is the one-way delay and a constant
    back_s = round_trip_s(BYTES) - ONE_WAY_S - 8 * BYTES * (1 / RATE_BPS + 2 / 1e9)
    for record in (tail, codel):
        forward_s = record["load.one_way_delay_mean"].value
        assert record["load.round_trip_mean"].value == pytest.approx(forward_s + back_s, rel=0.12)
        # QoO as the draft's formula gives it from the record's own figures
        for row in record.replications.iter_rows(named=True):
            p90_s = row["load.round_trip_p90"]
            lost = row["load.retransmission_rate"] / (
                row["load.retransmission_rate"] + row["load.goodput"]
            )
            assert row["load.qoo_web"] == pytest.approx(
                quality_of_outcome(NEEDS["web"], {90: p90_s}, lost)
            )
    # without exchanges of one packet there is no RPM
    alone = both.replace(flows=[load], disciplines=both.disciplines[:1], duration_s=6)
    assert "rpm" not in network.simulate(alone).measures


def test_datagrams_have_no_round_trip():
    call = network.DatagramFlows(label="load", rate_bps=1e5, packet_bytes=200)
    record = network.simulate(scenario(call, sg.Discipline(aqm="drop_tail")))
    named = {name for name in record.measures if name.startswith("load.")}
    assert not {name for name in named if "round_trip" in name or "qoo" in name}
    assert "rpm" not in record.measures


def test_a_trimmed_mean_of_bins():
    # 1 to 100, one each, and nothing at 0
    row = np.ones(101)
    row[0] = 0
    none = np.zeros(101)
    times = Times(*(np.array([0, 0], dtype=object) for _ in range(3)), np.array([row, none]), 1)
    assert times.trimmed_mean(0.95)[0] == 48.0
    assert np.isnan(times.trimmed_mean(0.95)[1])
    # the last bin is cut where the share ends
    wide = replace(times, bins=np.array([[10.0, 10.0]]), bin=100)
    assert wide.trimmed_mean(0.75)[0] == pytest.approx((10 * 49.5 + 5 * 149.5) / 15)
