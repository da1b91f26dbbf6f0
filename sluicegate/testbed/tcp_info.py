"""What the kernel tells of a connection: `struct tcp_info` and `tcp_bbr_info` of linux/tcp.h."""

from __future__ import annotations

import socket
import struct

# byte offsets in the struct, which only ever grows at its end
_U32 = {
    "unacknowledged": 24,
    "lost": 32,
    "rtt_us": 68,
    "rtt_variance_us": 72,
    "ssthresh": 76,
    "cwnd": 80,
    "retransmissions": 100,
    "min_rtt_us": 148,
    "delivered": 192,
    "delivered_ce": 196,
}
_U64 = {"pacing_rate": 104, "delivery_rate": 160}
_TIMEOUTS_U16 = 240
_SND_MSS = 16
_SIZE = 248
# Python has no name for it
_TCP_CC_INFO = 26
# tcp_bbr_info: the estimated rate, low and high half; the shortest round trip; both gains
_BBR = struct.Struct("=5I")
_OF_BBR = ("rate_estimate", "pacing_gain", "window_gain")
UNKNOWN = -1

# all but the first two: see linux/tcp.h. Rates are in bytes/s, gains in 1/256. UNKNOWN stands for
# `timeouts` if the kernel is older than 6.7, for a pacing rate without a limit, and for the last
# three if the congestion control is not BBR
COLUMNS = ("flow", "time_ns", *_U32, *_U64, "timeouts", *_OF_BBR)


def tcp_info(connection: socket.socket) -> tuple[list[int], int]:
    """The figures of `COLUMNS` without the first two, and the bytes of data in a full packet."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SIZE)
    known = len(raw)
    raw = raw.ljust(_SIZE, b"\0")
    row = [struct.unpack_from("=I", raw, at)[0] for at in _U32.values()]
    # without a limit all bits are set
    row += [struct.unpack_from("=q", raw, at)[0] for at in _U64.values()]
    row.append(struct.unpack_from("=H", raw, _TIMEOUTS_U16)[0] if known >= _SIZE else UNKNOWN)
    row += _of_bbr(connection)
    return row, struct.unpack_from("=I", raw, _SND_MSS)[0]


def _of_bbr(connection: socket.socket) -> list[int]:
    told = connection.getsockopt(socket.IPPROTO_TCP, _TCP_CC_INFO, _BBR.size)
    # DCTCP and Vegas tell 16 bytes, others none
    if len(told) != _BBR.size:
        return [UNKNOWN] * len(_OF_BBR)
    low, high, _, pacing_gain, window_gain = _BBR.unpack(told)
    return [high << 32 | low, pacing_gain, window_gain]
