"""What is asked: a link, and how much of its traffic is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from sluicegate.errors import SluiceError
from sluicegate.report.numbers import plain_number
from sluicegate.scenario import CongestionControl, Tcp

Prefer: TypeAlias = Literal["balanced", "delay", "loss", "throughput"]
Direction: TypeAlias = Literal["upload", "download"]

_MOST_RTT_S = 10.0
# packet times added to a round trip: on a slow link, one of few packets says little
_LEAST_PACKETS = 10
_MOST_FLOWS = 1_000_000
RATES_BPS = (1e5, 1e12)
# packets; the largest buffer of any setting
MOST_BUFFER = 100_000


@dataclass(frozen=True, kw_only=True)
class Question:
    """A link, what is known of its traffic, and what matters.

    Attributes:
        rate_bps: Of the link. [bits/s; 1e5 to 1e12]
        rtts_s: The shortest and the longest round trip of the empty path. [s]
        flows: The fewest and the most TCP flows that last, at a time.
        direction: Whether hosts here send into the link or receive from it; None: not said.
        limit: The buffer that the link has today, drop-tail; None: not known. [packets]
        linux: Whether only what Linux has as a qdisc is compared.
        ecn: Whether hosts and queue use ECN.
        control: Congestion control of the flows; the scenario of old hosts has Reno.
        packet_bytes: A data packet on the wire. [bytes]
        short_share: Share of the link that short flows ask for.
        short_packets: Mean size of short flows. [packets]
        transfer_share: Share that transfers ask for in the scenario with many transfers.
        transfer_packets: Mean size of transfers; sizes are Pareto. [packets]
        datagram_share: Share of the link that datagrams take; they do not react to drops.
        datagram_hurst: Hurst parameter of their rate.
        prefer: What matters most.
        seed: Of every random stream.
        scale: How many times smaller the link is than the real one.
    """

    rate_bps: float
    rtts_s: tuple[float, float]
    flows: tuple[int, int]
    direction: Direction | None = None
    limit: int | None = None
    linux: bool = False
    ecn: bool = False
    control: CongestionControl = "cubic"
    packet_bytes: int = 1500
    short_share: float = 0.01
    short_packets: float = 2.0
    transfer_share: float = 0.4
    transfer_packets: float = 30.0
    datagram_share: float = 0.0
    datagram_hurst: float = 0.8
    prefer: Prefer = "balanced"
    seed: int = 1
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check it.

        Raises:
            SluiceError: If a value makes no sense.
        """
        if not RATES_BPS[0] <= self.rate_bps <= RATES_BPS[1]:
            raise SluiceError(
                f"rate = {plain_number(self.rate_bps)} must be between "
                f"{plain_number(RATES_BPS[0])} and {plain_number(RATES_BPS[1])} (bits/s)"
            )
        _check_range("rtt", self.rtts_s, _MOST_RTT_S, "s")
        _check_range("flows", self.flows, _MOST_FLOWS, "flows")
        if self.limit is not None and not 2 <= self.limit <= MOST_BUFFER:
            raise SluiceError(f"limit = {self.limit} must be between 2 and {MOST_BUFFER} (packets)")
        if not 64 <= self.packet_bytes <= 65_535:
            raise SluiceError(
                f"packet_bytes = {self.packet_bytes} must be between 64 and 65535 (bytes)"
            )
        for name in ("short_share", "transfer_share", "datagram_share"):
            if not 0 <= getattr(self, name) <= 0.9:
                raise SluiceError(f"{name} = {getattr(self, name):g} must be between 0 and 0.9")
        for name, least in (("short_packets", 1), ("transfer_packets", 3)):
            if not getattr(self, name) >= least:
                raise SluiceError(f"{name} = {getattr(self, name):g} must be {least} at least")
        for name, known in (("prefer", Prefer), ("control", CongestionControl)):
            if getattr(self, name) not in get_args(known):
                one_of = ", ".join(get_args(known))
                raise SluiceError(f"{name} = {getattr(self, name)} must be one of {one_of}")
        if self.control in ("dctcp", "prague") and not self.ecn:
            raise SluiceError(f"control = {self.control} needs ecn = true")

    @property
    def l4s(self) -> bool:
        """Whether the flows are those of L4S, with ECT(1)."""
        return self.control == "prague"

    @property
    def packet_s(self) -> float:
        """Time that the link takes for a packet."""
        return 8 * self.packet_bytes / self.rate_bps

    @property
    def capacity_pps(self) -> float:
        """Packets that the link carries in a second."""
        return 1 / self.packet_s

    def span_s(self, rtt_s: float) -> float:
        """The unit of times, s: a round trip, and the time of ten packets on the real link."""
        return rtt_s + _LEAST_PACKETS * self.packet_s / self.scale

    @property
    def longest_s(self) -> float:
        """`span_s` of the longest round trip."""
        return self.span_s(self.rtts_s[1])

    @property
    def buffer_s(self) -> float | None:
        """Time in which the link empties the buffer that it has today, s; None: not known."""
        return None if self.limit is None else self.limit * self.packet_s

    def packets(self, time_s: float) -> int:
        """How many packets the link sends in a time; one at least."""
        return max(1, round(time_s * self.capacity_pps))

    def tcp(self, control: CongestionControl | None = None) -> Tcp:
        """Both ends of a connection as on the hosts of today's Linux."""
        return Tcp(
            variant="rack",
            congestion_control=control or self.control,
            ecn=self.ecn,
            packet_bytes=self.packet_bytes,
            initial_window=10,
            min_rto_s=0.2,
            delayed_ack_s=0.04,
        )

    def scaled(self, factor: float) -> Question:
        """The same with a link and numbers of flows that are `factor` times smaller.

        Rates, windows, round trips and queueing delays of each flow stay (Psounis, Pan, Prabhakar &
        Wischik 2003, SHRiNK); at least two flows are left.
        """
        few, many = (max(2, round(count / factor)) if factor > 1 else count for count in self.flows)
        return replace(
            self,
            # these are of the real link
            limit=None,
            linux=False,
            rate_bps=self.rate_bps / factor,
            flows=(few, max(few, many)),
            scale=self.scale * factor,
        )

    def with_(self, **changes: Any) -> Question:
        """The same with other fields; None leaves a field as it is."""
        given = {name: value for name, value in changes.items() if value is not None}
        return replace(self, **given)

    def table(self) -> dict[str, Any]:
        """All of it, as types that JSON has."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return found | {"rtts_s": list(self.rtts_s), "flows": list(self.flows)}


def _check_range(name: str, ends: tuple[float, float], most: float, unit: str) -> None:
    low, high = ends
    if not (math.isfinite(low) and math.isfinite(high) and 0 < low <= most and 0 < high <= most):
        raise SluiceError(f"{name} = {low:g}..{high:g} must be above 0, at most {most:g} ({unit})")
    if low > high:
        raise SluiceError(f"{name} = {low:g}..{high:g} must start with the smaller end")
