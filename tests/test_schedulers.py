"""Schedulers and flow-aware AQMs in the network world: shares of the link."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sluicegate as sg
from sluicegate import network

# five TCP flows, and datagrams at the rate of the link, 10 Mbit/s
FLOWS = [
    {"kind": "tcp", "count": 5, "tcp": {"variant": "sack", "packet_bytes": 500}},
    {"kind": "datagrams", "count": 1, "rate_bps": 10e6, "packet_bytes": 500},
]


def shares(**discipline: object) -> list[float]:
    """Return each flow's share of the throughput, the five of TCP first: 1/6 would be fair."""
    scenario = network.NetworkScenario.parse(
        {
            "topology": {"kind": "dumbbell", "client_delays_s": [0.005]},
            "flows": FLOWS,
            "queue": {"limit": 100},
            "disciplines": [discipline],
            "duration_s": 20.0,
            "replications": 2,
        }
    )
    packets = network.simulate(scenario).flows["packets"].to_numpy().reshape(2, 6).sum(axis=0)
    return [float(share) for share in packets / packets.sum()]


def goodput_of_tcp(**discipline: object) -> float:
    """Return TCP's share of the throughput: 5/6 would be fair."""
    return sum(shares(**discipline)[:5])


FAIR = [
    {"aqm": "drop_tail", "scheduler": {"kind": "sfq"}},
    {"aqm": "red", "scheduler": {"kind": "sfq", "queues": 64, "perturbation_s": 5.0}},
    {"aqm": "drop_tail", "scheduler": {"kind": "drr"}},
    {"aqm": "codel", "victim": "front", "scheduler": {"kind": "fq"}},
]


@pytest.mark.parametrize("discipline", FAIR, ids=lambda d: f"{d['aqm']}-{d['scheduler']['kind']}")
def test_each_flow_gets_its_fair_share(discipline: dict[str, object]) -> None:
    *tcp, datagrams = shares(**discipline)
    # datagrams use what TCP's windows leave free after a loss
    assert datagrams == pytest.approx(1 / 6, rel=0.15)
    assert tcp == pytest.approx(5 * [1 / 6], rel=0.1)


def test_flow_aware_aqms_leave_tcp_more_than_drop_tail() -> None:
    assert goodput_of_tcp(aqm="drop_tail") < 0.3
    assert goodput_of_tcp(aqm="fred", params={"min_th": 25, "max_th": 50}) > 0.5
    choke = {"min_th": 20, "max_th": 80, "w": 0.02}
    red = {**choke, "max_p": 0.02}
    assert goodput_of_tcp(aqm="choke", params=choke) > goodput_of_tcp(aqm="red", params=red) + 0.1


def slotted(queue: sg.Queue, scheduler: Any = None) -> sg.SlottedRecord:
    return sg.simulate(
        sg.Scenario(
            arrivals=sg.GeometricArrivals(rate=0.5),
            service=sg.GeometricService(mu=0.5),
            queue=queue,
            disciplines=[sg.Discipline(aqm="drop_tail", scheduler=scheduler or sg.Fifo())],
            slots=20_000,
            replications=2,
        )
    )


def test_a_single_flow_has_one_queue_of_a_scheduler() -> None:
    """All packets of the slotted world's sources are of one flow: a scheduler changes nothing."""
    fifo = slotted(sg.Queue(limit=20))
    for scheduler in (sg.Sfq(), sg.Drr(), sg.Fq()):
        assert slotted(sg.Queue(limit=20), scheduler).measures == fifo.measures


def test_a_limit_in_bytes_is_one_in_packets_of_that_size() -> None:
    by_bytes = slotted(sg.Queue(limit=1000, limit_bytes=20 * 500))
    assert by_bytes.measures == slotted(sg.Queue(limit=20)).measures


def test_chains_have_no_schedulers() -> None:
    scenario = sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=0.4),
        service=sg.GeometricService(mu=0.5),
        disciplines=[sg.Discipline(aqm="drop_tail", scheduler=sg.Sfq())],
        slots=10_000,
    )
    with pytest.raises(
        sg.SluiceError,
        match=r"scheduler\.kind = sfq has no exact chain: it must be fifo",
    ):
        sg.compare(scenario, world="chain")


def test_slotted_schedulers_by_hand(tmp_path: Path, write_pcap: Callable[..., None]) -> None:
    """Every 100 ms 20 packets of 20 slots arrive, then one of another flow, of 2 slots."""
    path = tmp_path / "bursts.pcap"
    burst = [(1000, 0)] * 20 + [(100, 1)]
    write_pcap(path, [(100 * place, *packet) for place in range(50) for packet in burst])

    def delay_slots(**discipline: object) -> float:
        scenario = {
            "arrivals": {"kind": "replay", "capture": str(path)},
            "service": {"kind": "packet-size", "rate_bps": 4e6},
            "slot_s": 1e-4,
            "slots": 49_000,
            "queue": {"limit": 100},
            "disciplines": [{"aqm": "drop_tail", **discipline}],
        }
        return sg.simulate(sg.Scenario.parse(scenario))["delay_mean"].value * 1e4

    # the k-th long one has left after 20 k slots, the short one after 402
    assert delay_slots() * 21 == pytest.approx(20 * 20 * 21 / 2 + 402)
    for kind in ("sfq", "drr", "fq"):
        # the short one is sent after the second long one, and 18 leave 2 slots later
        fair = delay_slots(scheduler={"kind": kind})
        assert fair * 21 == pytest.approx(20 * 20 * 21 / 2 + 18 * 2 + 42), kind


FLOOD = {"kind": "datagrams", "rate_bps": 30e6, "packet_bytes": 1500}
QUIET = {"kind": "datagrams", "label": "quiet", "rate_bps": 3e5, "packet_bytes": 300}
# the flood is in the class that goes first
BEFORE = {"dscp": [46]}


def came_through(dscp: int, quiet_dscp: int, **discipline: object) -> float:
    """Return the share of a quiet stream that passes a flood of three times the link's rate."""
    scenario = network.NetworkScenario.parse(
        {
            "topology": {"kind": "dumbbell", "client_delays_s": [0.005, 0.006]},
            "flows": [FLOOD | {"dscp": dscp}, QUIET | {"dscp": quiet_dscp}],
            "queue": {"limit": 100},
            "disciplines": [discipline],
            "duration_s": 4.0,
            "warm_up_s": 1.0,
            "replications": 1,
        }
    )
    record = network.simulate(scenario)
    return float(record["quiet.goodput_bps"].value / QUIET["rate_bps"])


def cake(**params: object) -> dict[str, object]:
    return {"aqm": "cake", "victim": "front", "ecn": True, "params": params}


@pytest.mark.parametrize(
    ("kind", "classes"),
    [("sfq", None), ("drr", None), ("fq", None), ("ets", [64, 64]), ("ets", [1500, 64])],
)
def test_no_lane_starves_that_has_turns(kind: str, classes: list[int] | None) -> None:
    discipline: dict[str, Any] = {"aqm": "drop_tail", "scheduler": {"kind": kind}}
    if classes:
        first, rest = ({"quantum_bytes": each} for each in classes)
        discipline["classes"] = [BEFORE | first, rest]
    assert came_through(46, 0, **discipline) == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("kind", ["prio", "ets"])
def test_a_lane_behind_a_strict_one_starves(kind: str) -> None:
    rest = {"quantum_bytes": 1500} if kind == "ets" else {}
    discipline = {"aqm": "drop_tail", "scheduler": {"kind": kind}, "classes": [BEFORE, rest]}
    assert came_through(46, 0, **discipline) == 0


@pytest.mark.parametrize("rate_bps", [10e6, 0.0])
@pytest.mark.parametrize("diffserv", ["precedence", "diffserv3", "diffserv4", "diffserv8"])
def test_no_tin_of_cake_starves(diffserv: str, rate_bps: float) -> None:
    # a flood in the tin of voice, a stream in that of background (CS1)
    found = came_through(46, 8, **cake(diffserv=diffserv, rate_bps=rate_bps))
    assert found == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize(
    ("isolation", "is_apart"),
    [
        *((name, True) for name in ("flows", "dual_srchost", "dual_dsthost", "triple_isolate")),
        # both streams are from one host to one host
        *((name, False) for name in ("srchost", "dsthost", "hosts", "flowblind")),
    ],
)
def test_flows_of_cake_share_the_loss_only_in_one_queue(isolation: str, is_apart: bool) -> None:
    found = came_through(0, 0, **cake(isolation=isolation, diffserv="besteffort"))
    # in one queue, two thirds of all packets are lost, and more of the smaller ones stay
    assert (found > 0.99) == is_apart
    assert found > 0.3


@pytest.mark.parametrize(
    ("scheduler", "message"),
    [
        (
            {"kind": "wfq"},
            r"scheduler\.kind = 'wfq' must be one of 'fifo', 'sfq', ",
        ),
        ({"kind": "sfq", "queues": 0}, r"queues = 0 must be at least 1"),
        ({"kind": "fq", "queues": 65_537}, r"queues = 65537 must be at most 65536"),
        ({"kind": "fq", "quantum_bytes": 0}, r"quantum_bytes = 0 must be at least 64"),
        ({"kind": "drr", "quantum_bytes": 1}, r"quantum_bytes = 1 must be at least 64"),
        (
            {"kind": "fq", "quantum": 300},
            r"quantum is not a field \(did you mean quantum_bytes\?\)",
        ),
    ],
)
def test_bad_schedulers_are_refused(scheduler: Any, message: str) -> None:
    with pytest.raises(sg.SluiceError, match=message):
        sg.Discipline(aqm="red", scheduler=scheduler)
