"""What people feel, as measures of runs: RPM, QoO, harm, ellipses, and the bands of pages."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import sluicegate as sg
from sluicegate.counts import Times
from sluicegate.errors import SluiceError
from sluicegate.measures.bands import bands_of, sources
from sluicegate.measures.outcome import NEEDS, quality_of_outcome
from sluicegate.measures.responsiveness import round_trips_per_minute
from sluicegate.measures.voice import mean_opinion
from sluicegate.report.folder import write_report
from sluicegate.worlds.network.class_figure import class_ellipse, ellipses_seen
from sluicegate.worlds.network.felt import felt

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
    assert "RPM by draft-ietf-ippm-responsiveness-09" in record.method
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


def test_harm_is_taken_replication_by_replication():
    load = network.TcpFlows(label="load", count=2, tcp=tcp(BYTES))
    tail = sg.Discipline(aqm="drop_tail")
    call = network.DatagramFlows(label="call", rate_bps=1e5, packet_bytes=200, spread_s=1.0)
    base = scenario(load, tail).replace(duration_s=6)
    alone = network.simulate(base.replace(flows=[call]))
    beside = network.simulate(base.replace(flows=[call, load]))
    found = network.harm(alone, beside, "call.one_way_delay_p99")
    pairs = [record.replications["call.one_way_delay_p99"] for record in (alone, beside)]
    assert found.value == pytest.approx(((pairs[1] - pairs[0]) / pairs[1]).mean())
    assert 0.5 < found.value < 1
    assert found.half_width > 0
    # less goodput is harm, more is the opposite
    goodput = network.harm(beside, alone, "call.goodput_bps")
    assert goodput.value == pytest.approx(
        (
            1 - alone.replications["call.goodput_bps"] / beside.replications["call.goodput_bps"]
        ).mean()
    )
    with pytest.raises(SluiceError, match=r"load\.goodput_bps has no value in the record of"):
        network.harm(alone, beside, "load.goodput_bps")
    # replications without a value are left out
    values = pairs[0].to_numpy().copy()
    values[0] = np.nan
    column = pl.Series("call.one_way_delay_p99", values)
    part = replace(alone, replications=alone.replications.with_columns(column))
    found = network.harm(part, beside, "call.one_way_delay_p99")
    assert found.value == pytest.approx(((pairs[1] - pairs[0]) / pairs[1])[1:].mean())
    fewer = network.simulate(base.replace(flows=[call], replications=2))
    with pytest.raises(SluiceError, match="2 and 3 replications"):
        network.harm(fewer, beside, "call.goodput_bps")


def test_where_all_is_lost_responsiveness_and_harm_are_missing():
    load = network.TcpFlows(label="load", tcp=tcp(BYTES))
    call = network.DatagramFlows(label="call", rate_bps=1e5, packet_bytes=200)
    base = scenario(load, sg.Discipline(aqm="drop_tail")).replace(duration_s=3, warm_up_s=1)
    wire = network.Wire(loss=network.Bernoulli(probability=1.0))
    links = {"left -> right": network.LinkSettings(wire=wire)}
    probes = scenario(load, sg.Discipline(aqm="drop_tail")).flows
    never = network.simulate(base.replace(flows=[*probes, call], links=links))
    assert "rpm" not in never.measures
    assert not {name for name in never.measures if "qoo" in name or "mos" in name}
    alone = network.simulate(base.replace(flows=[call], links=links))
    beside = network.simulate(base.replace(flows=[call, load]))
    assert network.harm(alone, beside, "call.goodput_bps") is None
    assert network.harm(beside, alone, "call.goodput_bps").value == 1.0


@pytest.mark.parametrize(
    ("measure", "value", "word"),
    [
        ("call.mos", mean_opinion(91), "very satisfied"),
        ("call.mos", mean_opinion(69), "many dissatisfied"),
        ("call.mos", 1.0, "not recommended"),
        ("call.one_way_delay_p99", 0.15, "good"),
        ("call.one_way_delay_p99", 0.401, "too long"),
        ("web.page_mean", 2.5, "acceptable"),
        ("rpm", 1885.71, "fair"),
        ("rpm", 799.0, "not responsive"),
        ("web.qoo_web", 60.0, "between"),
        ("web.qoo_web", 0.0, "does not work"),
        ("web.qoo_web", 100.0, "as good as can be"),
    ],
)
def test_bands_say_what_is_good(measure, value, word):
    found = bands_of(measure, {"call.mos": None})
    assert found.word(value) == word
    assert found.source in sources([found])
    # the bands lie one beside the other, from end to end, and each value is in the one of its word
    edges = {each: (start, stop) for each, start, stop in found.edges()}
    start, stop = edges[word]
    assert start <= value <= stop
    assert sorted(end for pair in edges.values() for end in pair)[1:-1] == sorted(
        [*found.limits, *found.limits]
    )


@pytest.mark.slow
def test_a_page_shows_bands_with_their_sources_and_ellipses(tmp_path):
    load = network.TcpFlows(label="load", count=2, tcp=tcp(BYTES))
    both = scenario(load, sg.Discipline(aqm="drop_tail"), sg.Discipline(aqm="codel"))
    result = sg.compare(both.replace(duration_s=8))
    write_report(result, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "What people feel" in page
    assert "R. Brown 2021" in page
    assert "not responsive" in page
    assert "Delay and goodput of each class" in page
    found = class_ellipse(result.records[1], "load")
    rows = result.records[1].replications
    assert found.mean == pytest.approx(
        [rows["load.sojourn_mean"].mean(), rows["load.goodput_bps"].mean()]
    )
    # a delay that is no call's has no bands
    assert bands_of("load.one_way_delay_p99", result.records[1].measures) is None


def test_groups_with_the_same_label_are_one_class_and_leave_the_others_their_kinds():
    load = network.TcpFlows(label="load", tcp=tcp(BYTES))
    call = network.DatagramFlows(label="call", rate_bps=1e5, packet_bytes=200)
    base = scenario(load, sg.Discipline(aqm="codel"))
    several = base.replace(flows=[call, call, *base.flows], duration_s=6)
    record = network.simulate(several)
    assert {name: group["kind"] for name, group in record.class_groups.items()} == {
        "call": "datagrams",
        "probes": "web",
        "load": "tcp",
    }
    told = [each.heading for each in felt([record])]
    assert [each for each in told if "probes" in each and "QoO" in each]
    assert not [each for each in told if "load" in each]
    assert ellipses_seen([record]).startswith("probes, codel: ")
    # a page of several objects is no probe, and a load that stops is none
    pages = base.flows[0].replace({"page_objects": 3})
    record = network.simulate(several.replace(flows=[pages, load]))
    assert not [each for each in felt([record]) if "QoO" in each.heading]
    stops = load.replace({"stop_s": 2.0})
    assert "rpm" not in network.simulate(several.replace(flows=[base.flows[0], stops])).measures
