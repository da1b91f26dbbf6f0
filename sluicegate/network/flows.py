"""Flows: who sends what to whom."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from sluicegate.checked import Checked
from sluicegate.errors import SluiceError
from sluicegate.scenario import Whole

Time: TypeAlias = Annotated[float, Field(ge=0, le=1e8)]
Duration: TypeAlias = Annotated[float, Field(ge=1e-9, le=1e8)]
Bytes: TypeAlias = Annotated[Whole, Field(ge=1, le=65_535)]
Count: TypeAlias = Annotated[Whole, Field(ge=1, le=10_000_000)]

NEVER_NS = 2**64 - 1


def ns(seconds: float) -> int:
    """Whole nanoseconds."""
    return round(seconds * 1e9)


class Constant(Checked):
    """Always `mean_s` seconds."""

    kind: Literal["constant"] = "constant"
    mean_s: Duration

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's law."""
        return {"kind": self.kind, "mean_ns": ns(self.mean_s)}


class Uniform(Checked):
    """Uniform between `least_s` and `greatest_s`."""

    kind: Literal["uniform"] = "uniform"
    least_s: Time
    greatest_s: Duration

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's law."""
        return {
            "kind": self.kind,
            "least_ns": ns(self.least_s),
            "greatest_ns": ns(self.greatest_s),
        }


class Exponential(Checked):
    """Exponential with mean `mean_s`: the gaps of a Poisson process."""

    kind: Literal["exponential"] = "exponential"
    mean_s: Duration

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's law."""
        return {"kind": self.kind, "mean_ns": ns(self.mean_s)}


class Pareto(Checked):
    """Pareto with mean `mean_s`; the smaller `shape`, the heavier the tail."""

    kind: Literal["pareto"] = "pareto"
    mean_s: Duration
    shape: Annotated[float, Field(gt=1, le=1000)] = 1.5

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's law."""
        return {"kind": self.kind, "mean_ns": ns(self.mean_s), "shape": self.shape}


Law: TypeAlias = Annotated[Constant | Uniform | Exponential | Pareto, Field(discriminator="kind")]


class Tcp(Checked):
    """Both ends of a TCP connection.

    Attributes:
        variant: How it recovers from loss.
        like: `rfc` for the RFCs' values, `ns2` for the defaults of ns-2.35.
        receiver_window: Packets in flight at most (ns-2's `window_`).
        ecn: Explicit congestion notification (RFC 3168).
        packet_bytes: A data packet on the wire.
        ack_bytes: An ACK or a SYN on the wire.
        initial_window: Packets; None: that of `like`.
        min_rto_s: Least time-out; None: that of `like`.
        initial_rto_s: Time-out before the first round-trip time is known; None: that of `like`.
        tick_s: Granularity of the sender's clock; None: that of `like`.
        delayed_ack_s: Longest time an ACK waits for a second packet, 0: none waits; None: that of
            `like`.
    """

    variant: Literal["tahoe", "reno", "newreno", "sack"] = "newreno"
    like: Literal["rfc", "ns2"] = "rfc"
    receiver_window: Annotated[Whole, Field(ge=1, le=2**32 - 1)] = 10_000
    ecn: bool = False
    packet_bytes: Bytes = 500
    ack_bytes: Bytes = 40
    initial_window: Annotated[float, Field(ge=1, le=1e6)] | None = None
    min_rto_s: Duration | None = None
    initial_rto_s: Duration | None = None
    tick_s: Duration | None = None
    delayed_ack_s: Annotated[float, Field(ge=0, le=0.5)] | None = None

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's kind of TCP."""
        given: dict[str, Any] = {}
        if self.initial_window is not None:
            given["initial_window"] = self.initial_window
        times = {
            "min_rto_ns": self.min_rto_s,
            "initial_rto_ns": self.initial_rto_s,
            "tick_ns": self.tick_s,
            "delayed_ack_ns": self.delayed_ack_s,
        }
        given |= {name: ns(time) or None for name, time in times.items() if time is not None}
        return {
            "variant": self.variant,
            "like": self.like,
            "receiver_window": self.receiver_window,
            "ecn": self.ecn,
            "packet_bytes": self.packet_bytes,
            "ack_bytes": self.ack_bytes,
            "given": given,
        }


class _Flows(Checked):
    """What all groups of flows have.

    Attributes:
        count: How many, dealt out in turn to the pairs of nodes of the way.
        way: One of the topology's named ways; its first if neither this nor ends are given.
        source: Node that sends, instead of a way.
        sink: Node that receives.
        start_s: Earliest start.
        stop_s: End of the application; None: it does not end.
    """

    count: Count = 1
    way: str | None = None
    source: str | None = None
    sink: str | None = None
    start_s: Time = 0.0
    stop_s: Time | None = None

    @model_validator(mode="after")
    def _ends(self) -> _Flows:
        if (self.source is None) != (self.sink is None):
            raise SluiceError("source and sink must be given both or neither")
        if self.way is not None and self.source is not None:
            raise SluiceError(f"way = {self.way} and source = {self.source} exclude each other")
        if self.stop_s is not None and self.stop_s <= self.start_s:
            raise SluiceError(f"stop_s = {self.stop_s:g} must exceed start_s = {self.start_s:g}")
        return self

    def _times(self) -> dict[str, Any]:
        stop = NEVER_NS if self.stop_s is None else ns(self.stop_s)
        return {"start_ns": ns(self.start_s), "stop_ns": stop}


class TcpFlows(_Flows):
    """TCP flows that start once, uniformly over `spread_s` from `start_s`.

    Attributes:
        tcp: The connections.
        packets: Data packets of each flow; None: without end.
        spread_s: Starts are uniform over this time.
    """

    kind: Literal["tcp"] = "tcp"
    tcp: Tcp = Tcp()
    packets: Annotated[Whole, Field(ge=1, le=2**32 - 3)] | None = None
    spread_s: Time = 0.0

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's source."""
        return {
            "kind": self.kind,
            "tcp": self.tcp.plan(),
            "packets": self.packets,
            "spread_ns": ns(self.spread_s),
            **self._times(),
        }


class ShortTcpFlows(_Flows):
    """TCP flows that arrive one after the other; `count` streams of arrivals.

    Attributes:
        tcp: The connections.
        gaps: Law of the times between two arrivals of a stream.
        duration: Law of the time from a flow's start until its application ends.
    """

    kind: Literal["short-tcp"] = "short-tcp"
    tcp: Tcp = Tcp()
    gaps: Law
    duration: Law

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's source."""
        return {
            "kind": self.kind,
            "tcp": self.tcp.plan(),
            "gaps": self.gaps.plan(),
            "duration": self.duration.plan(),
            **self._times(),
        }


class DatagramFlows(_Flows):
    """Datagrams (UDP) that nobody answers.

    Attributes:
        packet_bytes: Size on the wire.
        rate_bps: Mean rate of each flow; with `on` and `off`, its rate while on.
        gaps: `constant` or `exponential` (Poisson) between two datagrams.
        on: Law of the times it is on; None: always.
        off: Law of the times it is off.
        spread_s: Starts are uniform over this time.
    """

    kind: Literal["datagrams"] = "datagrams"
    packet_bytes: Bytes = 500
    rate_bps: Annotated[float, Field(ge=1e-3, le=1e14)]
    gaps: Literal["constant", "exponential"] = "constant"
    on: Law | None = None
    off: Law | None = None
    spread_s: Time = 0.0

    @model_validator(mode="after")
    def _on_and_off(self) -> DatagramFlows:
        if (self.on is None) != (self.off is None):
            raise SluiceError("on and off must be given both or neither")
        if self.on is not None and self.gaps != "constant":
            raise SluiceError(f"gaps = {self.gaps} must be constant with on and off")
        if self.packet_bytes * 8e9 < self.rate_bps:
            raise SluiceError(
                f"rate_bps = {self.rate_bps:g} must be at most {self.packet_bytes * 8e9:g}: "
                "a packet a nanosecond"
            )
        return self

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's source."""
        gap_ns = ns(8 * self.packet_bytes / self.rate_bps)
        return {
            "kind": self.kind,
            "packet_bytes": self.packet_bytes,
            "gaps": {"kind": self.gaps, "mean_ns": gap_ns},
            "on": None if self.on is None else self.on.plan(),
            "off": None if self.off is None else self.off.plan(),
            "spread_ns": ns(self.spread_s),
            **self._times(),
        }


Flows: TypeAlias = TcpFlows | ShortTcpFlows | DatagramFlows
