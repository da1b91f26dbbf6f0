"""Wires that lose, delay and reorder packets, apart from the queue."""

import math

import numpy as np
import pytest
from intervals import assert_covers

import sluicegate as sg
from sluicegate import network

LINK = "a -> b"


def one_link(wire, *, flows=None, limit=1000, **fields):
    """Datagrams of 500 bytes, 1000 a second, over a link of 8 Mb/s; they never wait long."""
    links = [
        network.Link(source="a", sink="b", rate_bps=8e6, delay_s=0.01, queue=True),
        network.Link(source="b", sink="c", rate_bps=1e9, delay_s=0.001),
    ]
    datagrams = network.DatagramFlows(
        source="a", sink="c", rate_bps=4e6, packet_bytes=500, gaps="exponential"
    )
    return network.NetworkScenario(
        topology=network.Graph(links=links),
        flows=flows or [datagrams],
        queue=sg.Queue(limit=limit),
        links={} if wire is None else {LINK: network.LinkSettings(wire=wire)},
        disciplines=[sg.Discipline(aqm="drop_tail")],
        **{"duration_s": 60.0, "replications": 8, "warm_up_s": 1.0, **fields},
    )


def test_losses_of_a_wire_are_none_of_the_queue():
    wire = network.Wire(loss=network.Bernoulli(probability=0.05))
    record = network.simulate(one_link(wire))
    assert record["loss_ratio"].value == 0
    assert record["datagram_loss_ratio"].value == 0
    assert_covers(record["wire_loss_ratio"], 0.05, within=0.03)
    assert record["wire_reordered_ratio"].value == 0
    assert [each.name for each in record.wires] == [LINK]
    assert record.wires[0].measures["wire_loss_ratio"] == record["wire_loss_ratio"]
    # what did not come was lost there, but for what was under way at the end
    flows = record.flows
    missing = (flows["sent"] - flows["packets"]).sum()
    lost = record["wire_loss_ratio"].value * flows["sent"].sum()
    assert abs(missing - lost) < 0.05 * lost
    (note,) = sg.compare(one_link(wire)).notes()
    assert note.startswith("Wires lose packets, too (a -> b 5")
    all_ = network.Wire(loss=network.Bernoulli(probability=1.0))
    assert "Wires lose packets, too (a -> b 100 %)" in "".join(sg.compare(one_link(all_)).notes())


def test_losses_in_bursts_have_their_share():
    loss = network.GilbertElliott(enter=0.01, leave=0.25, loss_in_bad=0.5, loss_in_good=0.002)
    record = network.simulate(one_link(network.Wire(loss=loss)))
    bad = 0.01 / 0.26
    assert_covers(record["wire_loss_ratio"], 0.5 * bad + 0.002 * (1 - bad), within=0.06)


def test_runs_of_losses_and_the_gaps_between_them_are_those_of_the_wire():
    def of(wire, **fields):
        (flow,) = one_link(None).flows
        call = flow.replace(label="call", gaps="constant", rate_bps=8e5)
        return network.simulate(one_link(wire, flows=[call], **fields))

    # a packet in 5 ms; runs and gaps of a chain with two states are geometric
    for enter, leave in ((0.02, 0.4), (0.1, 0.9)):
        loss = network.GilbertElliott(enter=enter, leave=leave)
        record = of(network.Wire(loss=loss))
        assert_covers(record["call.loss_run"], 1 / leave, within=0.06)
        assert_covers(record["call.loss_gap"], 0.005 * (1 / enter + 1 / leave), within=0.1)
    # nothing is lost, all is lost, or a packet looks lost that was overtaken
    late = network.Exponential(mean_s=0.02)
    for wire in (
        None,
        network.Wire(loss=network.Bernoulli(probability=1.0)),
        network.Wire(jitter=late, reorder=True, jitter_share=0.01),
    ):
        record = of(wire, replications=2, duration_s=10.0)
        assert not {"call.loss_run", "call.loss_gap"} & set(record.measures)


def test_a_wire_changes_neither_the_queue_nor_its_draws():
    wire = network.Wire(loss=network.Bernoulli(probability=0.1))
    plain, wired = (network.simulate(one_link(each, replications=2)) for each in (None, wire))
    assert plain.ports[0].series.equals(wired.ports[0].series)
    assert plain.ports[0].measures == wired.ports[0].measures
    assert plain.flows["sent"].equals(wired.flows["sent"])
    assert "wire_loss_ratio" not in plain.measures
    assert plain.wires == []
    assert plain.identity != wired.identity


def received(path, at):
    """When each packet left the queue and came to a node, s, by its number, from an ns-2 trace."""
    rows = [line.split() for line in path.read_text().splitlines()]
    nodes = {"b": "1", "c": "2"}
    came = {row[11]: float(row[1]) for row in rows if row[0] == "r" and row[3] == nodes[at]}
    left = {row[11]: float(row[1]) for row in rows if row[0] == "-" and row[3] == "1"}
    return left, came, rows


@pytest.mark.slow
def test_a_jitter_has_its_distribution_and_packets_their_order(tmp_path):
    mean_s = 0.004
    jitter = network.Exponential(mean_s=mean_s)
    for reorder in (True, False):
        wire = network.Wire(jitter=jitter, reorder=reorder)
        path = tmp_path / f"{reorder}.tr"
        scenario = one_link(wire, duration_s=30.0, replications=1)
        record = network.simulate(scenario, packets=path)
        left, came, _ = received(path, "b")
        # 0.5 ms of transmission and 10 ms of propagation come before
        extra = np.array([came[packet] - left[packet] - 0.0105 for packet in came])
        assert extra.min() > -1e-8
        in_order = sorted(came, key=lambda packet: (came[packet], int(packet)))
        overtaken = sum(
            int(packet) < best
            for packet, best in zip(
                in_order[1:],
                np.maximum.accumulate([int(packet) for packet in in_order])[:-1],
                strict=True,
            )
        )
        if reorder:
            # the mean of n exponential times, and Kolmogorov's distance, 1 in 10^5
            assert abs(extra.mean() - mean_s) < 4.42 * mean_s / np.sqrt(len(extra))
            exact = 1 - np.exp(-np.sort(extra).clip(0) / mean_s)
            distance = np.abs(exact - np.arange(len(extra)) / len(extra)).max()
            assert distance * np.sqrt(len(extra)) < 2.5
            assert overtaken > 1000
        else:
            assert overtaken == 0
        # the trace has the warm-up of a second, too
        assert abs(record["wire_reordered_ratio"].value - overtaken / len(came)) < 0.01


def test_few_late_packets_are_overtaken():
    wire = network.Wire(jitter=network.Constant(mean_s=0.02), jitter_share=0.01, reorder=True)
    record = network.simulate(one_link(wire))
    # twenty packets come in the time that one is late, so nearly each late one is overtaken
    assert_covers(record["wire_reordered_ratio"], 0.01, within=0.06)


def test_a_trace_has_losses_of_the_wire_as_errors(tmp_path):
    wire = network.Wire(loss=network.Bernoulli(probability=0.2))
    path = tmp_path / "it.tr"
    network.simulate(one_link(wire, duration_s=5.0, replications=1, warm_up_s=0), packets=path)
    _, came, rows = received(path, "b")
    lost = {row[11] for row in rows if row[0] == "e"}
    assert len(lost) > 500
    assert not lost & set(came)
    assert all(row[0] != "d" for row in rows)


def test_tcp_goes_on_over_wires_both_ways_and_a_link_that_follows():
    both = network.Wire(
        loss=network.Bernoulli(probability=0.01),
        jitter=network.Uniform(least_s=0, greatest_s=0.003),
        reorder=True,
    )
    flows = [
        network.TcpFlows(source="a", sink="c", count=3, tcp=network.Tcp(like=like, ecn=True))
        for like in ("rfc", "linux")
    ]
    scenario = one_link(both, flows=flows, duration_s=20.0, replications=2).replace(
        links={name: network.LinkSettings(wire=both) for name in (LINK, "b -> a", "b -> c")}
    )
    record = network.simulate(scenario)
    assert len(record.wires) == 3
    assert record["goodput"].value > 20
    assert record["retransmission_rate"].value > 0
    again = network.simulate(scenario, threads=1, fresh=True)
    assert again.flows.equals(record.flows)
    assert again.measures == record.measures


def test_all_or_nothing_is_lost():
    for probability, received_packets in ((1.0, 0), (0.0, None)):
        wire = network.Wire(loss=network.Bernoulli(probability=probability))
        record = network.simulate(one_link(wire, duration_s=5.0, replications=1))
        assert record["wire_loss_ratio"].value == probability
        if received_packets is not None:
            assert record.flows["packets"].sum() == received_packets


def test_tcp_over_a_wire_that_loses_all_gets_nothing_and_ends():
    wire = network.Wire(loss=network.Bernoulli(probability=1.0))
    flows = [network.TcpFlows(source="a", sink="c", count=3, label="bulk")]
    record = network.simulate(one_link(wire, duration_s=10.0, replications=2, flows=flows))
    assert record["bulk.goodput_bps"].value == 0
    assert record["bulk.timeout_rate"].value > 0
    # nothing arrived: there is no delay, and no share of nothing
    assert not [name for name in record.measures if name.startswith("bulk.one_way_delay")]
    assert math.isnan(record["fairness"].value)


@pytest.mark.parametrize(
    ("wire", "told"),
    [
        ({}, "one of loss, jitter, bursts and ecn must be given"),
        (
            {"loss": {"kind": "bernoulli", "probability": 1.2}},
            "probability = 1.2 must be at most 1",
        ),
        (
            {"loss": {"kind": "gilbert-elliott", "enter": 0, "leave": 0.1}},
            "enter = 0 must be above 0",
        ),
        (
            {"loss": {"kind": "bernoulli", "probability": 0.1}, "reorder": True},
            "reorder and jitter_share must have a jitter",
        ),
        ({"loss": {"kind": "gilbert"}}, "kind = 'gilbert' must be one of 'bernoulli', 'gilbert"),
    ],
)
def test_wires_that_cannot_be_are_refused(wire, told):
    with pytest.raises(sg.SluiceError, match=told):
        one_link(None).replace(links={LINK: {"wire": wire}})


def test_a_policer_passes_its_rate_and_lets_nothing_wait():
    policer = network.Policer(rate_bps=2e6, burst_bytes=10_000)
    record = network.simulate(one_link(network.Wire(loss=policer)))
    # 4 Mb/s come
    assert_covers(record["wire_loss_ratio"], 0.5, within=0.02)
    plain = network.simulate(one_link(None))
    assert record["sojourn_mean"] == plain["sojourn_mean"]


def test_bursts_are_those_of_the_slots():
    gap = network.Uniform(least_s=0.0008, greatest_s=0.005)
    bursts = network.Wire(bursts=network.Bursts(gap=gap))
    flows = [
        network.DatagramFlows(
            source="a",
            sink="c",
            rate_bps=4e6,
            packet_bytes=500,
            gaps="exponential",
            label="all",
        )
    ]
    record, plain = (network.simulate(one_link(wire, flows=flows)) for wire in (bursts, None))
    assert record["wire_loss_ratio"].value == 0
    assert record["wire_reordered_ratio"].value == 0
    # a packet that finds no slot waits for the gap G, and those that come meanwhile, one each ms,
    # for half of it in the mean: (E G + E G^2 / 2) / (1 + E G) with times in ms
    mean, square = 2.9, 4.2**2 / 12 + 2.9**2
    expected_s = 1e-3 * (mean + square / 2) / (1 + mean)
    name = "all.one_way_delay_mean"
    added_s = record[name].value - plain[name].value
    assert added_s == pytest.approx(expected_s, rel=0.03)
    with pytest.raises(sg.SluiceError, match="reorder and bursts cannot both be given"):
        network.Wire(bursts=network.Bursts(gap=gap), reorder=True).replace({})
