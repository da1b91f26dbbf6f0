"""What the kernel tells of a connection: `struct tcp_info` of linux/tcp.h."""

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
    "delivered": 192,
    "delivered_ce": 196,
}
_TIMEOUTS_U16 = 240
_SND_MSS = 16
_SIZE = 248

# all but the first two: see linux/tcp.h; `timeouts` is -1 if the kernel is older than 6.7
COLUMNS = ("flow", "time_ns", *_U32, "timeouts")


def tcp_info(connection: socket.socket) -> tuple[list[int], int]:
    """The figures of `COLUMNS` without the first two, and the bytes of data in a full packet."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SIZE)
    known = len(raw)
    raw = raw.ljust(_SIZE, b"\0")
    row = [struct.unpack_from("=I", raw, at)[0] for at in _U32.values()]
    row.append(struct.unpack_from("=H", raw, _TIMEOUTS_U16)[0] if known >= _SIZE else -1)
    return row, struct.unpack_from("=I", raw, _SND_MSS)[0]
