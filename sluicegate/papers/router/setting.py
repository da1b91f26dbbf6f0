"""The link, its buffer and the traffic of the papers' router, as a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from sluicegate.scenario import (
    DatagramFlows,
    Discipline,
    Dumbbell,
    GapKind,
    NetworkScenario,
    Queue,
    SelfSimilar,
    Tcp,
    TcpFlows,
)

Traffic: TypeAlias = Literal["TCP", "UDP", "UDP + TCP", "UDP, self-similar"]
# what the papers sent
TRAFFIC: tuple[Traffic, ...] = ("TCP", "UDP", "UDP + TCP")

# the least that a Linux kernel sends: 88 bytes (TCP_MIN_MSS) and 40 of headers
LEAST_SEGMENT_BYTES = 128
# spreads the starts of flows, and the datagrams of several flows, in time
_SPREAD_S = 0.5
_SAMPLE_S = 0.02
# as in drop-from-front, section III, with the `a` that its reproduction finds, but with one
# time-scale less: at 2000 datagrams/s the longest pauses then last 1.3 s in the mean; with all they
# would last 18 s, longer than a run in the gate
_SELF_SIMILAR = SelfSimilar(share=0.5, a=31.5, states=4)


class Length(NamedTuple):
    """How long a case is run.

    Attributes:
        duration_s: Of a replication.
        warm_up_s: The part of it that does not count.
        replications: Independent repetitions.
    """

    duration_s: float
    warm_up_s: float
    replications: int


@dataclass(frozen=True)
class Setting:
    """A router and its traffic.

    Attributes:
        rate_bps: Of the link.
        limit: Packets that may wait.
        rtt_s: Propagation there and back.
        packet_bytes: Of a datagram, headers of IP and UDP included; those of TCP are as long, but
            no shorter than `LEAST_SEGMENT_BYTES`.
        datagrams_per_s: Of all UDP flows together.
        gaps: Between two datagrams of a flow.
        flows: TCP connections; also UDP flows.
    """

    rate_bps: float
    limit: int
    rtt_s: float
    packet_bytes: int
    datagrams_per_s: float
    gaps: GapKind
    flows: int

    @property
    def segment_bytes(self) -> int:
        """Of a full TCP packet, headers included."""
        return max(self.packet_bytes, LEAST_SEGMENT_BYTES)

    def scenario(self, traffic: Traffic, discipline: Discipline, length: Length) -> NetworkScenario:
        """One discipline under one kind of traffic."""
        groups: dict[Traffic, list[TcpFlows | DatagramFlows]] = {
            "TCP": [self._tcp()],
            "UDP": [self._udp()],
            "UDP + TCP": [self._tcp(), self._udp()],
            "UDP, self-similar": [self._self_similar_udp()],
        }
        return NetworkScenario(
            topology=Dumbbell(
                rate_bps=self.rate_bps,
                delay_s=self.rtt_s / 2,
                client_delays_s=[0.0],
                server_delay_s=0.0,
            ),
            flows=groups[traffic],
            queue=Queue(limit=self.limit),
            disciplines=[discipline],
            duration_s=length.duration_s,
            warm_up_s=length.warm_up_s,
            sample_s=_SAMPLE_S,
            replications=length.replications,
        )

    def _tcp(self) -> TcpFlows:
        tcp = Tcp(
            like="linux",
            congestion_control="cubic",
            packet_bytes=self.segment_bytes,
            ack_bytes=52,
        )
        return TcpFlows(count=self.flows, spread_s=_SPREAD_S, tcp=tcp)

    def _udp(self) -> DatagramFlows:
        return DatagramFlows(
            count=self.flows,
            spread_s=_SPREAD_S,
            packet_bytes=self.packet_bytes,
            rate_bps=8 * self.packet_bytes * self.datagrams_per_s / self.flows,
            gaps=self.gaps,
        )

    def _self_similar_udp(self) -> DatagramFlows:
        """As many datagrams in the mean, from one source."""
        return DatagramFlows(
            packet_bytes=self.packet_bytes,
            rate_bps=8 * self.packet_bytes * self.datagrams_per_s / _SELF_SIMILAR.share,
            self_similar=_SELF_SIMILAR,
        )
