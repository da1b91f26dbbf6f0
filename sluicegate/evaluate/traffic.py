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
    VideoFlows,
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
# objects of a page, their mean size, and the connections that fetch them (section 7.2)
_PAGE_OBJECTS, _OBJECT_BYTES, _OBJECT_SHAPE, _CONNECTIONS = 50, 12_000, 1.2, 6
_READING_S = 1.0
# seconds of video in a segment and in the buffer, and its rates as shares of the link
_SEGMENT_S, _VIDEO_BUFFER_S = 2.0, 20.0
_VIDEO_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4)
_BETWEEN_PROBES_S, _PROBE_BYTES = 0.1, 100


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
    """Users of the web: pages of 50 objects over six connections, the next one after a pause."""
    return WebFlows(
        label="web",
        count=users,
        objects=Sizes(
            kind="pareto", mean_packets=_OBJECT_BYTES / p.packet_bytes, shape=_OBJECT_SHAPE
        ),
        page_objects=_PAGE_OBJECTS,
        connections=_CONNECTIONS,
        think=Exponential(mean_s=_READING_S),
        spread_s=_SPREAD * p.rtt_s,
        tcp=_tcp(p, "reno", initial_window=_LARGE_WINDOW),
    )


def video(p: Profile) -> VideoFlows:
    """A video in segments over one connection, whose rate follows the buffer of its player."""
    return VideoFlows(
        label="video",
        rates_bps=[share * p.rate_bps for share in _VIDEO_SHARES],
        segment_s=_SEGMENT_S,
        buffer_s=_VIDEO_BUFFER_S,
        spread_s=_SPREAD * p.rtt_s,
        tcp=_tcp(p, "reno", initial_window=_LARGE_WINDOW),
    )


def probes(p: Profile) -> WebFlows:
    """Exchanges of one small packet, from which RPM is made: some ten in a second."""
    return WebFlows(
        label="probes",
        objects=Sizes(kind="constant", mean_packets=1),
        think=Exponential(mean_s=_BETWEEN_PROBES_S),
        spread_s=_SPREAD * p.rtt_s,
        tcp=_tcp(p, "reno", packet_bytes=_PROBE_BYTES, ack_every=1),
    )
