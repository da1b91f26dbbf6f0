"""Flows: who sends what to whom."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import AfterValidator, Field, PrivateAttr, field_validator, model_validator

from sluicegate import _engine
from sluicegate.checked import Checked, Whole
from sluicegate.errors import SluiceError
from sluicegate.traffic import Capture
from sluicegate.worlds.network.laws import Duration, Fgn, Law, SelfSimilar, Sizes, Time, ns

Bytes: TypeAlias = Annotated[Whole, Field(ge=1, le=65_535)]
Count: TypeAlias = Annotated[Whole, Field(ge=1, le=10_000_000)]

NEVER_NS = 2**64 - 1


def _known(control: str) -> str:
    if control not in (known := _engine.congestion_controls()):
        raise SluiceError(f"{control} must be one of {', '.join(known)}")
    return control


class Tcp(Checked):
    """Both ends of a TCP connection.

    Attributes:
        variant: How it recovers from loss.
        congestion_control: How its window grows, and what a loss or a mark leaves of it: `reno`
            (RFC 5681), `cubic` (RFC 9438) or `dctcp` (RFC 8257), which needs `ecn`.
        like: `rfc` for the RFCs' values, `ns2` for the defaults of ns-2.35.
        receiver_window: Packets in flight at most (ns-2's `window_`).
        ecn: Explicit congestion notification (RFC 3168).
        packet_bytes: A data packet on the wire.
        ack_bytes: An ACK or a SYN on the wire. Selective acknowledgements make an ACK longer: by 8
            bytes a block, and by 4 more if it is like the RFCs'.
        initial_window: Packets; None: that of `like`.
        min_rto_s: Least time-out; None: that of `like`.
        initial_rto_s: Time-out before the first round-trip time is known; None: that of `like`.
        tick_s: Granularity of the sender's clock; None: that of `like`.
        delayed_ack_s: Longest time an ACK waits for a second packet, 0: none waits; None: that of
            `like`.
    """

    variant: Literal["tahoe", "reno", "newreno", "sack"] = "newreno"
    congestion_control: Annotated[str, AfterValidator(_known)] = "reno"
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

    @field_validator("variant", mode="before")
    @classmethod
    def _recovers(cls, variant: object) -> object:
        if variant in _engine.congestion_controls() and variant != "reno":
            raise SluiceError(
                f'{variant} is no loss recovery; say congestion_control = "{variant}" beside '
                'variant = "sack" or another'
            )
        return variant

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
            "congestion_control": self.congestion_control,
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

    def described(self) -> dict[str, Any]:
        """Its fields, as types that JSON has."""
        return self.model_dump()

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

    Each stream is between one pair of nodes; several are dealt out to the pairs of the way in turn.
    None arrives after `stop_s`; those under way go on.

    Attributes:
        tcp: The connections.
        gaps: Law of the times between two arrivals of a stream.
        fgn: Lets the rate of arrivals vary; `gaps` must then be exponential.
        duration: Law of the time from a flow's start until its application ends.
        packets: Law of the data packets of a flow; this or `duration`.
    """

    kind: Literal["short-tcp"] = "short-tcp"
    tcp: Tcp = Tcp()
    gaps: Law
    fgn: Fgn | None = None
    duration: Law | None = None
    packets: Sizes | None = None

    @model_validator(mode="after")
    def _sensible(self) -> ShortTcpFlows:
        if (self.duration is None) == (self.packets is None):
            raise SluiceError("one of duration and packets must be given, not both")
        _check_poisson(self.fgn, self.gaps.kind)
        return self

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's source."""
        gaps = self.gaps.plan()
        return {
            "kind": self.kind,
            "tcp": self.tcp.plan(),
            "arrivals": gaps if self.fgn is None else self.fgn.plan(gaps["mean_ns"]),
            "duration": self.duration and self.duration.plan(),
            "packets": self.packets and self.packets.plan(),
            **self._times(),
        }


class WebFlows(_Flows):
    """Users of the web: each fetches an object, thinks, and fetches the next.

    All fetches of a user share one connection, as since HTTP/1.1: after a pause its window is what
    it was, or, if the pause was longer than the time-out, starts again from at most the initial
    one (RFC 5681, section 4.1). Thinking starts when the last packet of the object is acknowledged;
    asking for an object takes no packet. Where each object has a connection of its own,
    `ShortTcpFlows` says it.

    Attributes:
        tcp: The connections.
        objects: Law of the data packets of an object.
        think: Law of the time from the end of a fetch to the start of the next.
        spread_s: First fetches start uniformly over this time; none starts after `stop_s`.
    """

    kind: Literal["web"] = "web"
    tcp: Tcp = Tcp()
    objects: Sizes
    think: Law
    spread_s: Time = 0.0

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's source."""
        return {
            "kind": self.kind,
            "tcp": self.tcp.plan(),
            "objects": self.objects.plan(),
            "think": self.think.plan(),
            "spread_ns": ns(self.spread_s),
            **self._times(),
        }


class DatagramFlows(_Flows):
    """Datagrams (UDP) that nobody answers.

    Attributes:
        packet_bytes: Size on the wire.
        rate_bps: Mean rate of each flow; where it is on and off, or self-similar, its rate while
            it sends. Datagrams leave at whole nanoseconds, at this rate in the mean.
        gaps: `constant` or `exponential` (Poisson) between two datagrams.
        on: Law of the times it is on, half of which must last a hundredth of the time between two
            datagrams or longer; None: always.
        off: Law of the times it is off.
        self_similar: On and off at many time-scales; instead of `on` and `off`.
        fgn: Lets the rate vary; `gaps` must then be exponential.
        spread_s: Starts are uniform over this time.
    """

    kind: Literal["datagrams"] = "datagrams"
    packet_bytes: Bytes = 500
    rate_bps: Annotated[float, Field(ge=1e-3, le=1e14)]
    gaps: Literal["constant", "exponential"] = "constant"
    on: Law | None = None
    off: Law | None = None
    self_similar: SelfSimilar | None = None
    fgn: Fgn | None = None
    spread_s: Time = 0.0

    @model_validator(mode="after")
    def _one_pace(self) -> DatagramFlows:
        if (self.on is None) != (self.off is None):
            raise SluiceError("on and off must be given both or neither")
        slots = {"on and off": self.on, "self_similar": self.self_similar}
        given = [name for name, value in slots.items() if value is not None]
        if given and self.gaps != "constant":
            raise SluiceError(f"gaps = {self.gaps} must be constant with {given[0]}")
        if len(given) > 1:
            raise SluiceError("on and off exclude self_similar")
        _check_poisson(self.fgn, self.gaps)
        if self.packet_bytes * 8e9 < self.rate_bps:
            raise SluiceError(
                f"rate_bps = {self.rate_bps:g} must be at most {self.packet_bytes * 8e9:g}: "
                "a packet a nanosecond"
            )
        return self

    def _pace(self) -> dict[str, Any]:
        gap_ns = max(1.0, 8 * self.packet_bytes / self.rate_bps * 1e9)
        if self.on is not None and self.off is not None:
            periods = {"on": self.on.plan(), "off": self.off.plan()}
            return {"kind": "on-off", "gap_ns": gap_ns, **periods}
        if self.self_similar is not None:
            return self.self_similar.plan(gap_ns)
        if self.fgn is not None:
            return self.fgn.plan(gap_ns)
        return {"kind": "regular" if self.gaps == "constant" else "poisson", "gap_ns": gap_ns}

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's source."""
        return {
            "kind": self.kind,
            "packet_bytes": self.packet_bytes,
            "pace": self._pace(),
            "spread_ns": ns(self.spread_s),
            **self._times(),
        }


def _check_poisson(fgn: Fgn | None, gaps: str) -> None:
    if fgn is not None and gaps != "exponential":
        raise SluiceError(f"gaps = {gaps} must be exponential with fgn: only its rate varies")


class ReplayFlows(_Flows):
    """The packets of a capture as datagrams that nobody answers, each flow of it one flow.

    Each comes when it came there, to the nanosecond, the first at the start, with the bytes that
    it had on the wire. `count` copies start independently.

    Attributes:
        capture: Path of the pcap or pcapng file; in a TOML file it starts at the file's folder.
        spread_s: Starts are uniform over this time.
    """

    kind: Literal["replay"] = "replay"
    capture: str
    spread_s: Time = 0.0
    _packets: Capture | None = PrivateAttr(None)

    @property
    def packets(self) -> Capture:
        """The capture's packets."""
        if self._packets is None:
            self._packets = Capture.read(self.capture)
        return self._packets

    def described(self) -> dict[str, Any]:
        """Its fields, and in place of the capture's path what stands in it."""
        return {**super().described(), "capture": self.packets.fingerprint}

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's source.

        Raises:
            SluiceError: If the capture cannot be read, or a packet has over 65,535 bytes.
        """
        packets = self.packets
        flows = np.unique(packets.flow, return_inverse=True)[1].astype(np.uint32)
        columns = (packets.time_ns, packets.bytes, flows, packets.ecn_capable)
        try:
            recording = _engine.Recording(*columns)
        except ValueError as error:
            raise SluiceError(f"{self.capture}: {error}") from None
        return {
            "kind": self.kind,
            "recording": recording,
            "spread_ns": ns(self.spread_s),
            **self._times(),
        }


Flows: TypeAlias = TcpFlows | ShortTcpFlows | WebFlows | DatagramFlows | ReplayFlows
