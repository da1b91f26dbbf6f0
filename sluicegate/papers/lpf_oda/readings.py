"""What the paper leaves open: who sends, how much, and in packets of what size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sluicegate.papers.lpf_oda.source import (
    ACCESS_RATE_BPS,
    AGAIN_S,
    CLIENT_DELAY_S,
    DURATION_S,
    END_S,
    FILTERS,
    MAX_P,
    MAX_TH,
    MIN_TH,
    OVER_S,
    RATE_BPS,
    SERVER_DELAYS_S,
    W,
)
from sluicegate.registry import Value
from sluicegate.scenario import (
    DatagramFlows,
    Discipline,
    Flows,
    NetworkScenario,
    Queue,
    Star,
    Tcp,
    TcpFlows,
)

SEEDS = 10
# more, since the time that senders stay silent after many losses varies much
STARVED_SEEDS = 40
LIMIT = 100
PACKET_BYTES = 1000
_SAMPLE_S = 0.02
_CONGESTIONS_S = ((0.0, END_S), (AGAIN_S, OVER_S))
_TCP_SPREAD_S = 1.0


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to read section 3.

    Attributes:
        who: Who sends.
        flows: Them as flows of the network world.
        packet_bytes: Size of a data packet.
        idle_decay: Whether the average decays while the link is idle (Floyd & Jacobson 1993);
            the paper's own formula has no such step.
        seeds: Independent repetitions.
    """

    who: str
    flows: Sequence[Flows]
    packet_bytes: int = PACKET_BYTES
    idle_decay: bool = False
    seeds: int = SEEDS

    @property
    def name(self) -> str:
        """The reading in words."""
        return self.who + ", idle decay" * self.idle_decay

    def decaying(self) -> Reading:
        """The same with an average that decays while the link is idle."""
        return replace(self, idle_decay=True)

    def scenario(self, name: str) -> NetworkScenario:
        """The paper's network with one of its filters at the gateway."""
        return NetworkScenario(
            topology=Star(
                rate_bps=RATE_BPS,
                access_rate_bps=ACCESS_RATE_BPS,
                delays_s=[CLIENT_DELAY_S, *SERVER_DELAYS_S],
            ),
            flows=list(self.flows),
            queue=Queue(limit=LIMIT),
            disciplines=[self._red(name)],
            duration_s=DURATION_S,
            warm_up_s=0.0,
            sample_s=_SAMPLE_S,
            replications=self.seeds,
        )

    def _red(self, name: str) -> Discipline:
        decay = {"idle_decay": True, "mean_packet_bytes": self.packet_bytes}
        params: dict[str, Value] = {
            "min_th": MIN_TH,
            "max_th": MAX_TH,
            "max_p": MAX_P,
            "w": W,
            "average": FILTERS[name],
            **(decay if self.idle_decay else {"idle_decay": False}),
        }
        return Discipline(label=name, aqm="red", params=params)


def datagrams(congested: float, free: float, packet_bytes: int = PACKET_BYTES) -> Reading:
    """Poisson datagrams; their senders do not react to losses.

    Args:
        congested: Load of the bottleneck while it is congested.
        free: Its load otherwise.
        packet_bytes: Size of a datagram.
    """
    return Reading(
        f"datagrams of {packet_bytes} B, load {congested:g} / {free:g}",
        [_poisson(free, packet_bytes), *_congesting(congested - free, packet_bytes)],
        packet_bytes,
    )


def connections(always: int, more: int) -> Reading:
    """TCP connections without end, of which most stop as the congestion is over.

    Args:
        always: Connections all the time.
        more: Further ones while the bottleneck is congested.
    """
    passing = [_tcp(more, start_s, stop_s) for start_s, stop_s in _CONGESTIONS_S]
    return Reading(f"{always} TCP connections and {more} more", [_tcp(always), *passing])


def starved(always: int, load: float) -> Reading:
    """TCP connections without end, starved by Poisson datagrams while these congest the link.

    Args:
        always: Connections all the time.
        load: Load that datagrams offer while the bottleneck is congested.
    """
    return Reading(
        f"{always} TCP connections and datagrams, load {load:g}",
        [_tcp(always), *_congesting(load, PACKET_BYTES)],
        seeds=STARVED_SEEDS,
    )


def _tcp(count: int, start_s: float = 0.0, stop_s: float | None = None) -> TcpFlows:
    tcp = Tcp(variant="reno", packet_bytes=PACKET_BYTES)
    return TcpFlows(
        count=count,
        route="inward",
        tcp=tcp,
        spread_s=_TCP_SPREAD_S,
        start_s=start_s,
        stop_s=stop_s,
    )


def _congesting(load: float, packet_bytes: int) -> list[DatagramFlows]:
    return [_poisson(load, packet_bytes, start_s, stop_s) for start_s, stop_s in _CONGESTIONS_S]


def _poisson(
    load: float, packet_bytes: int, start_s: float = 0.0, stop_s: float | None = None
) -> DatagramFlows:
    """A flow from each server."""
    servers = len(SERVER_DELAYS_S)
    return DatagramFlows(
        count=servers,
        route="inward",
        gaps="exponential",
        packet_bytes=packet_bytes,
        rate_bps=load * RATE_BPS / servers,
        start_s=start_s,
        stop_s=stop_s,
    )


# packets so large that 1.7 packets/s are the load: 23 arrivals take 13 s
RARE = datagrams(1.5, 0.09, 65_535)
USUAL = datagrams(1.5, 0.1)
STARVED = starved(5, 2.0)
_CONNECTIONS = connections(3, 300)
READINGS = (
    USUAL,
    datagrams(1.1, 0.1),
    datagrams(3.0, 0.1),
    datagrams(1.5, 0.002),
    datagrams(1.5, 0.01),
    datagrams(1.5, 0.5),
    datagrams(1.5, 0.8),
    datagrams(1.5, 0.1, 500),
    USUAL.decaying(),
    RARE,
    RARE.decaying(),
    connections(3, 30),
    _CONNECTIONS,
    connections(30, 300),
    _CONNECTIONS.decaying(),
    starved(5, 1.5),
    STARVED,
    starved(5, 2.5),
    starved(20, 2.0),
    STARVED.decaying(),
)
DRAWN = (RARE, USUAL, STARVED)
