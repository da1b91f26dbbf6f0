"""The traffic of RFC 7928's scenarios, as groups of flows on a profile."""

from __future__ import annotations

from typing import Any

from sluicegate.evaluate.profile import Profile
from sluicegate.scenario import (
    CongestionControl,
    DatagramFlows,
    Exponential,
    Sizes,
    Tcp,
    TcpFlows,
    WebFlows,
)

# initial windows, packets (RFC 7928, sections 5.1.1 and 7.2)
_SMALL_WINDOW, _LARGE_WINDOW = 3, 10
# a transfer that stays in slow start: fewer than 100 packets (section 5.1.2)
SHORT_PACKETS = 50
# starts are spread over so many round trips
_SPREAD = 10
_SMALL_BYTES, _LARGE_BYTES = 500, 1500
# G.711 in packets of 20 ms
_VOICE_BPS, _VOICE_BYTES = 80e3, 200
# objects of a page, and the connections that fetch them (section 7.2)
_OBJECT_PACKETS, _OBJECT_SHAPE, _CONNECTIONS = 8, 1.2, 6
# seconds of video in a segment, and its rate as a share of the link
_SEGMENT_S, _VIDEO_SHARE = 2.0, 0.2


def _tcp(p: Profile, control: CongestionControl, **given: Any) -> Tcp:
    fields = {"packet_bytes": p.packet_bytes, "initial_window": _SMALL_WINDOW, **given}
    return Tcp(variant="sack", congestion_control=control, **fields)


def bulk(
    p: Profile,
    label: str = "bulk",
    count: int = 1,
    control: CongestionControl = "reno",
    *,
    tcp: dict[str, Any] | None = None,
    **given: Any,
) -> TcpFlows:
    """Long TCP flows, whose starts are spread over ten round trips."""
    return TcpFlows(
        label=label,
        count=count,
        tcp=_tcp(p, control, **(tcp or {})),
        spread_s=_SPREAD * p.rtt_s,
        **given,
    )


def halves(p: Profile, count: int) -> list[TcpFlows]:
    """Long flows of which half send small packets (section 4.4)."""
    sizes = {"small": _SMALL_BYTES, "large": _LARGE_BYTES}
    return [
        bulk(p, name, max(1, count // 2), tcp={"packet_bytes": size})
        for name, size in sizes.items()
    ]


def short(p: Profile, initial_window: int) -> TcpFlows:
    """One short transfer, which comes at random after a third of the time that counts."""
    third_s = (p.duration_s - p.warm_up_s) / 3
    return bulk(
        p,
        "short",
        packets=SHORT_PACKETS,
        tcp={"initial_window": initial_window},
        start_s=p.warm_up_s + third_s,
    )


def datagrams(p: Profile, share: float) -> DatagramFlows:
    """Datagrams at a constant share of the link's rate, whatever happens to them."""
    return DatagramFlows(
        label="udp",
        rate_bps=share * p.rate_bps,
        packet_bytes=p.packet_bytes,
        spread_s=_SPREAD * p.rtt_s,
    )


def voice(p: Profile, label: str = "voice", **given: Any) -> DatagramFlows:
    """One direction of a call."""
    return DatagramFlows(
        label=label,
        rate_bps=_VOICE_BPS,
        packet_bytes=_VOICE_BYTES,
        spread_s=_SPREAD * p.rtt_s,
        **given,
    )


def constant(p: Profile) -> DatagramFlows:
    """An application of constant rate: a twentieth of the link."""
    return DatagramFlows(
        label="cbr",
        rate_bps=p.rate_bps / 20,
        packet_bytes=p.packet_bytes,
        spread_s=_SPREAD * p.rtt_s,
    )


def web(p: Profile, users: int = 1) -> WebFlows:
    """Users of the web, each with six connections that fetch objects."""
    return WebFlows(
        label="web",
        count=_CONNECTIONS * users,
        objects=Sizes(kind="pareto", mean_packets=_OBJECT_PACKETS, shape=_OBJECT_SHAPE),
        think=Exponential(mean_s=p.rtt_s),
        spread_s=_SPREAD * p.rtt_s,
        tcp=_tcp(p, "reno", initial_window=_LARGE_WINDOW),
    )


def video(p: Profile) -> WebFlows:
    """A video in segments over one connection; the next is asked for after a pause."""
    packets = round(_VIDEO_SHARE * p.rate_bps * _SEGMENT_S / 8 / p.packet_bytes)
    return WebFlows(
        label="video",
        objects=Sizes(kind="constant", mean_packets=max(1, packets)),
        think=Exponential(mean_s=_SEGMENT_S / 2),
        spread_s=_SPREAD * p.rtt_s,
        tcp=_tcp(p, "reno", initial_window=_LARGE_WINDOW),
    )
