"""A log of the packets on a link: a ring in memory that the kernel fills.

Linux, Documentation/networking/packet_mmap.rst, TPACKET_V2. Each packet leaves its time and the
first bytes of its headers. Nothing is read before the end, so that the log takes next to no time
from what it watches.
"""

from __future__ import annotations

import ctypes
import mmap
import socket
import struct
import time

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError

# what is kept of the headers: type, byte of the IP packet, and type there
_FIELDS = {
    "bytes": ("u2", 2, ">u2"),
    "tos": ("u1", 1, "u1"),
    "protocol": ("u1", 9, "u1"),
    "number": ("u2", 4, ">u2"),
    "source": ("u4", 12, ">u4"),
    "sink": ("u4", 16, ">u4"),
    "ports": ("u4", 20, ">u4"),
}
# a packet; times are of CLOCK_MONOTONIC
PACKET = np.dtype([("time_ns", "i8"), *((name, kept) for name, (kept, _, _) in _FIELDS.items())])
# the first bytes of its headers: of IP, and of TCP without options, or UDP
HEADER_BYTES = 40
WITH_HEADERS = np.dtype([*PACKET.descr, ("headers", "u1", HEADER_BYTES)])
_PROTOCOLS = (socket.IPPROTO_TCP, socket.IPPROTO_UDP)
FRAME_BYTES, _BLOCK = 128, 1 << 20
# a frame: struct tpacket2_hdr, and from byte 80 on the packet with its IP header
_IP = 80
_FRAME = np.dtype(
    {
        "names": ["status", "s", "ns", "version", "headers", *_FIELDS],
        "formats": [
            *["=u4", "=u4", "=u4", "u1", ("u1", HEADER_BYTES)],
            *(there for _, _, there in _FIELDS.values()),
        ],
        "offsets": [0, 16, 20, _IP, _IP, *(_IP + at for _, at, _ in _FIELDS.values())],
        "itemsize": FRAME_BYTES,
    }
)
_IPV4_WITHOUT_OPTIONS = 0x45
# linux/if_packet.h, asm-generic/socket.h
_SOL_PACKET, _RX_RING, _STATISTICS, _VERSION = 263, 5, 6, 10
_TPACKET_V2, _EVERY_PROTOCOL, _ATTACH_FILTER = 1, 3, 26
# linux/filter.h: whether the packet's type (at SKF_AD_PKTTYPE) is PACKET_OUTGOING; 54 bytes or none
_FILTERS = {
    leaving: b"".join(
        struct.pack("=HBBI", *each)
        for each in [
            (0x20, 0, 0, 0xFFFFF004),
            (0x15, int(not leaving), int(leaving), 4),
            (0x06, 0, 0, 54),
            (0x06, 0, 0, 0),
        ]
    )
    for leaving in (False, True)
}


class PacketLog:
    """The packets that come over a link of this namespace, or that leave over it."""

    def __init__(self, link: str, places: int, *, leaving: bool) -> None:
        """Begin.

        Args:
            link: Its name.
            places: Packets that there is room for.
            leaving: Whether those are logged that leave, or those that come.
        """
        self._link = link
        self._socket = log = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        code = ctypes.create_string_buffer(_FILTERS[leaving])
        program = struct.pack("@HP", len(code) // 8, ctypes.addressof(code))
        log.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
        log.setsockopt(_SOL_PACKET, _VERSION, _TPACKET_V2)
        blocks = -(-places * FRAME_BYTES // _BLOCK)
        ring = struct.pack("=IIII", _BLOCK, blocks, FRAME_BYTES, blocks * _BLOCK // FRAME_BYTES)
        log.setsockopt(_SOL_PACKET, _RX_RING, ring)
        self._ring = mmap.mmap(log.fileno(), blocks * _BLOCK)
        log.bind((link, _EVERY_PROTOCOL))

    def rows(self, kind: np.dtype[np.void] = PACKET) -> NDArray[np.void]:
        """The packets of IPv4 with TCP or UDP so far, rows of `PACKET` or `WITH_HEADERS`.

        Raises:
            SluiceError: If there were more than there is room for.
        """
        _, lost = struct.unpack("=II", self._socket.getsockopt(_SOL_PACKET, _STATISTICS, 8))
        if lost:
            raise SluiceError(f"the log of the link {self._link} had no room for {lost} packets")
        ring = np.frombuffer(self._ring, dtype=_FRAME)
        known = (ring["status"] > 0) & (ring["version"] == _IPV4_WITHOUT_OPTIONS)
        found = ring[known & np.isin(ring["protocol"], _PROTOCOLS)]
        rows = np.empty(len(found), dtype=kind)
        for name in (kind.names or ())[1:]:
            rows[name] = found[name]
        rows["time_ns"] = found["s"].astype(np.int64) * 10**9 + found["ns"] - _ahead_ns()
        return rows


def _ahead_ns() -> int:
    """How far the clock of the log is ahead of CLOCK_MONOTONIC."""
    # an interrupt between the two looks makes the difference smaller
    return max(time.time_ns() - time.monotonic_ns() for _ in range(10))
