"""IP packets with changed bytes or truncated, from `far` to `near` of gate_lab.py."""

from __future__ import annotations

import itertools
import random
import socket
import struct

from gate_lab import FAR, FAR6, NEAR, NEAR6

ETH_IP, ETH_IPV6 = 0x0800, 0x86DD


def checksum(header: bytes) -> int:
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def well_formed(draw: random.Random) -> tuple[int, bytearray]:
    """Return a packet from `far` to `near`: its ethertype, and its bytes from the IP header on."""
    ports = struct.pack("!HHHH", draw.randrange(65536), 9, 40, 0)
    payload = ports + draw.randbytes(draw.choice((0, 32, 400)))
    if draw.random() < 0.5:
        options = draw.choice((b"", b"\x01\x01\x01\x00", b"\x07\x07\x04\x00\x00\x00\x00\x00"))
        protocol = draw.choice((1, 6, 17, 47, 50, 132, 253))
        offset = draw.choice((0, 0, 0, 0x2000, 0x2001, 0x00B9))
        length = 20 + len(options) + len(payload)
        first = 0x45 + len(options) // 4
        header = struct.pack("!BBHHHBBH", first, 2, length, 7, offset, 64, protocol, 0)
        header += socket.inet_aton(FAR) + socket.inet_aton(NEAR) + options
        return ETH_IP, bytearray(header + payload)
    # up to four extension headers: hop-by-hop, destination options, routing, fragment, AH
    kinds = [draw.choice((60, 43, 44, 51)) for _ in range(draw.randrange(4))]
    kinds = [0] * (draw.random() < 0.2) + kinds + [draw.choice((6, 17, 58, 59, 50, 253))]
    chain = b""
    for kind, following in itertools.pairwise(kinds):
        if kind == 44:
            chain += struct.pack("!BBHI", following, 0, draw.choice((0, 1, 0x0100)), 5)
        elif kind == 51:
            chain += struct.pack("!BBHII", following, 1, 0, 1, 1)
        else:
            chain += struct.pack("!BB", following, 0) + b"\x01\x04\x00\x00\x00\x00"
    header = struct.pack("!IHBB", 0x60200000, len(chain) + len(payload), kinds[0], 64)
    header += socket.inet_pton(socket.AF_INET6, FAR6)
    header += socket.inet_pton(socket.AF_INET6, NEAR6)
    return ETH_IPV6, bytearray(header + chain + payload)


def mutated(draw: random.Random) -> tuple[int, bytes]:
    """Return a packet with changed bytes, perhaps truncated; most have a valid checksum.

    Without a valid checksum the kernel would drop it.
    """
    kind, packet = well_formed(draw)
    for _ in range(draw.randrange(4)):
        packet[draw.randrange(min(len(packet), 80))] = draw.randrange(256)
    if kind == ETH_IP and draw.random() < 0.8:
        length = 4 * (packet[0] & 15)
        if 20 <= length <= len(packet):
            packet[10:12] = b"\0\0"
            packet[10:12] = struct.pack("!H", checksum(packet[:length]))
    if draw.random() < 0.2:
        del packet[draw.randrange(1, len(packet)) :]
        if kind == ETH_IP and draw.random() < 0.5 and len(packet) >= 20:
            # truncated, with the matching length field: the kernel accepts it
            packet[2:4] = struct.pack("!H", len(packet))
            packet[0] = 0x45
            packet[10:12] = b"\0\0"
            packet[10:12] = struct.pack("!H", checksum(packet[:20]))
    return kind, bytes(packet)
