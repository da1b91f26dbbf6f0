"""What the paper leaves open, as a grid of readings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sluicegate.papers.red_sfq_rem.disciplines import WIRE_BYTES, Like, gate
from sluicegate.papers.red_sfq_rem.source import (
    ACCESS_DELAY_S,
    ACCESS_RATE_BPS,
    BOTTLENECK_DELAY_S,
    DURATION_S,
    PAIRS,
)
from sluicegate.scenario import Dumbbell, NetworkScenario, Queue, Tcp, TcpFlows

Variant: TypeAlias = Literal["tahoe", "reno", "newreno"]

SEEDS = 5
_LIKES: tuple[Like, ...] = ("ns2", "text")
_VARIANTS: tuple[Variant, ...] = ("tahoe", "reno", "newreno")
_SAMPLE_S = 0.1
# starts differ by up to this between the seeds; with SFQ and REM nothing else does
_JITTER_S = 0.1


@dataclass(frozen=True)
class Reading:
    """One way to run the paper's simulation.

    Attributes:
        like: What the buffer and unsaid parameters mean: see `disciplines`.
        limit: Buffer, packets.
        rate_mbps: Of the bottleneck.
        variant: Of TCP.
        window: Packets in flight at most.
        spacing_s: Between the starts of two sources.
        both_ways: Whether data flow in both directions, not ACKs only.
    """

    like: Like = "ns2"
    limit: int = 20
    rate_mbps: float = 10.0
    variant: Variant = "reno"
    window: int = 20
    spacing_s: float = 20.0
    both_ways: bool = False

    @property
    def name(self) -> str:
        """The reading in words."""
        return f"{self.rate_mbps:g} Mb/s, {self.at_any_rate}"

    @property
    def at_any_rate(self) -> str:
        """The same without the bandwidth."""
        return (
            f"buffer {self.limit} as in {'ns-2' if self.like == 'ns2' else 'the text'}, "
            f"{self.variant.capitalize()}, window {self.window}, starts {self.spacing_s:g} s "
            f"apart, data {'both ways' if self.both_ways else 'one way'}"
        )

    @property
    def is_near(self) -> bool:
        """Whether it is of the kind that table 2 points to: ns-2 with a buffer of 20 packets."""
        return self.like == "ns2" and self.limit == 20 and not self.both_ways

    def scenario(self, name: str) -> NetworkScenario:
        """The paper's network with one of its algorithms in both routers."""
        rate_bps = self.rate_mbps * 1e6
        discipline, limit = gate(name, self.like, self.limit, rate_bps)
        return NetworkScenario(
            topology=Dumbbell(
                rate_bps=rate_bps,
                delay_s=BOTTLENECK_DELAY_S,
                client_delays_s=[ACCESS_DELAY_S] * PAIRS,
                server_delay_s=ACCESS_DELAY_S,
                access_rate_bps=ACCESS_RATE_BPS,
                two_way=True,
            ),
            flows=list(self._flows()),
            queue=Queue(limit=limit),
            disciplines=[discipline],
            duration_s=DURATION_S,
            warm_up_s=0.0,
            sample_s=_SAMPLE_S,
            replications=SEEDS,
        )

    def _flows(self) -> Iterator[TcpFlows]:
        tcp = Tcp(
            variant=self.variant,
            like="ns2",
            receiver_window=self.window,
            packet_bytes=WIRE_BYTES,
        )
        for pair in range(PAIRS):
            ends = (f"client{pair}", f"server{pair}")
            for source, sink in (ends, ends[::-1])[: 1 + self.both_ways]:
                yield TcpFlows(
                    source=source,
                    sink=sink,
                    tcp=tcp,
                    start_s=pair * self.spacing_s,
                    spread_s=_JITTER_S,
                )


def grid() -> list[Reading]:
    """Every reading of the tables."""
    return [
        Reading(like, limit, rate_mbps, variant, window, spacing_s, both_ways)
        for like in _LIKES
        for limit in (2, 4, 20)
        for rate_mbps in (5.0, 10.0)
        for variant in _VARIANTS
        for window in (20, 64)
        for spacing_s in (0.0, 10.0, 20.0)
        for both_ways in (False, True)
    ]


# at which bandwidths the loss is measured, Mb/s, and under which readings
RATES_MBPS = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0)
SWEPT = tuple(
    reading
    for reading in grid()
    if reading.variant == "reno" and reading.rate_mbps == 5.0 and reading.spacing_s != 10.0
)
# readings whose figures are drawn
DRAWN = tuple(
    Reading(like=like, limit=20, window=window, rate_mbps=5.0)
    for like in _LIKES
    for window in (20, 64)
)


def sweep(reading: Reading) -> list[Reading]:
    """The same at every bandwidth."""
    return [replace(reading, rate_mbps=rate) for rate in RATES_MBPS]
