"""UDP: a sender that keeps to given times, and a receiver that counts."""

from __future__ import annotations

import ctypes
import socket
import struct
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sluicegate.testbed.addresses import (
    DATAGRAM_PORT,
    FIRST_PORT,
    TRAFFIC_CLASS,
    across,
    address,
    udp_headers,
)
from sluicegate.testbed.job import HostJob
from sluicegate.testbed.loop import Loop
from sluicegate.testbed.outcome import SHOWN

_PR_SET_TIMERSLACK = 29
_BUFFER_BYTES = 32 << 20
_SO_RCVBUFFORCE = 33
# datagrams that are taken before other events are handled
_BATCH = 256


def send(job: HostJob, start_ns: int) -> NDArray[np.int64]:
    """Send each datagram of a side at its time.

    Returns:
        How much later than it should each was sent, ns.
    """
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    side, ipv6, datagrams = job.side, job.ipv6, job.datagrams
    ends = []
    for place, (source, sink) in enumerate(zip(datagrams.sources, datagrams.sinks, strict=True)):
        sender = _socket(ipv6)
        sender.bind((address(side, source, ipv6), FIRST_PORT + place))
        ends.append((sender, (address(across(side), sink, ipv6), DATAGRAM_PORT)))
    headers = udp_headers(ipv6)
    said = [[(*TRAFFIC_CLASS[ipv6], struct.pack("=i", each))] for each in range(256)]
    payload = memoryview(bytes(1 << 16))
    columns = (datagrams.time_ns, datagrams.flow, datagrams.bytes, datagrams.traffic_class)
    late_ns = np.zeros(len(datagrams.time_ns), dtype=np.int64)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for place, (since_ns, flow, size, traffic_class) in enumerate(rows):
        due_ns = start_ns + since_ns
        while (wait_ns := due_ns - time.monotonic_ns()) > 0:
            time.sleep(wait_ns / 1e9)
        sender, to = ends[flow]
        data = payload[: size - headers]
        if traffic_class:
            sender.sendmsg([data], said[traffic_class], 0, to)
        else:
            sender.sendto(data, to)
        late_ns[place] = time.monotonic_ns() - due_ns
    return late_ns


def _socket(ipv6: bool) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET, socket.SOCK_DGRAM)


class Receiver:
    """All UDP flows that arrive at a side."""

    def __init__(self, loop: Loop, job: HostJob) -> None:
        self._sample_ns = job.sample_ns
        self.flows = np.zeros(job.arriving_datagrams, dtype=np.int64)
        self.sampled = np.zeros(-(-job.duration_ns // job.sample_ns), dtype=np.int64)
        self._calls = {call.number: call.place for call in job.arriving_calls}
        self._start_ns = 0
        self._room = bytearray(1 << 16)
        self._socket = _socket(job.ipv6)
        for option in (socket.SO_RCVBUF, _SO_RCVBUFFORCE):
            try:
                self._socket.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
            except PermissionError:
                # root of a user namespace may not force it
                continue
        self._socket.bind(("", DATAGRAM_PORT))
        self._socket.setblocking(False)
        loop.on_readable(self._socket, self._take)

    def begin(self, start_ns: int) -> None:
        """From here on times count."""
        self._start_ns = start_ns

    def add(self, of_calls: NDArray[np.int64]) -> None:
        """Count the video of calls, which comes to another socket: see `HostOutcome.calls`."""
        for time_ns, number, what, *_ in of_calls.tolist():
            if what == SHOWN and time_ns // self._sample_ns < len(self.sampled):
                self.flows[self._calls[number]] += 1
                self.sampled[time_ns // self._sample_ns] += 1

    def _take(self) -> None:
        sample = (time.monotonic_ns() - self._start_ns) // self._sample_ns
        if sample >= len(self.sampled):
            return
        try:
            for _ in range(_BATCH):
                _, (_, port, *_) = self._socket.recvfrom_into(self._room)
                self.flows[port - FIRST_PORT] += 1
                self.sampled[sample] += 1
        except BlockingIOError:
            pass

    @staticmethod
    def overruns() -> int:
        """Datagrams for which a socket of this namespace had no room."""
        names, values = (
            line.split()
            for line in Path("/proc/net/snmp").read_text().splitlines()
            if line.startswith("Udp:")
        )
        # a kernel without IPv6 has no such file
        ipv6 = Path("/proc/net/snmp6")
        lines = ipv6.read_text().splitlines() if ipv6.exists() else []
        of_ipv6 = (int(line.split()[1]) for line in lines if line.startswith("Udp6RcvbufErrors"))
        return int(values[names.index("RcvbufErrors")]) + sum(of_ipv6)
