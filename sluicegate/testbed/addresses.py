"""Ports, addresses and headers of the packets of a testbed."""

from __future__ import annotations

import socket
from typing import Literal

Side = Literal["clients", "servers"]
SIDES: tuple[Side, Side] = ("clients", "servers")

# a flow is known to its receiver by the port that it comes from
FIRST_PORT = 2000
STREAM_PORT = 1000
DATAGRAM_PORT = 1001
# port of flows whose receiver needs their congestion control, too: with another one it refuses a
# SYN that is marked as capable of ECN, as theirs is (Linux, tcp_input.c: tcp_ecn_create_request)
DCTCP_PORT = 1002
# video calls: the port that video is sent to, and, of the first flow, that which it comes from
CALL_PORT = 1003
FIRST_CALL_PORT = 10000
# what a socket's packets carry inside their host (SO_MARK) if they are to leave it with ECT(1)
ECT1_MARK = 1
# where the DSCP and the ECN codepoint go, by whether the packet is of IPv6
TRAFFIC_CLASS = {
    False: (socket.IPPROTO_IP, socket.IP_TOS),
    True: (socket.IPPROTO_IPV6, socket.IPV6_TCLASS),
}
_IP_HEADER = {False: 20, True: 40}


def across(side: Side) -> Side:
    """The other side."""
    return SIDES[1 - SIDES.index(side)]


def udp_headers(ipv6: bool) -> int:
    """Bytes of the headers of IP and UDP."""
    return _IP_HEADER[ipv6] + 8


def tcp_headers(ipv6: bool) -> int:
    """Bytes of the headers of IP and TCP, without options."""
    return _IP_HEADER[ipv6] + 20


def stream_port(congestion_control: str) -> int:
    """The port that a TCP flow is sent to."""
    return DCTCP_PORT if congestion_control == "dctcp" else STREAM_PORT


def address(side: Side, place: int, ipv6: bool) -> str:
    """Address of a host; all hosts of a side are addresses of one namespace."""
    number, net = place + 2, 1 + SIDES.index(side)
    return f"fd00:{net}::{number:x}" if ipv6 else f"10.{net}.{number >> 8}.{number & 255}"


def gateway(side: Side, ipv6: bool) -> str:
    """Address of the router on a side."""
    return address(side, -1, ipv6)
