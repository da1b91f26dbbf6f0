"""TCP: the senders of a side, and receivers that take at once what comes."""

from __future__ import annotations

import socket
import time
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sluicegate.testbed.addresses import DCTCP_PORT, FIRST_PORT, STREAM_PORT, across, address
from sluicegate.testbed.applications import Applications, ObjectSender, PacketSender
from sluicegate.testbed.job import END, HostJob
from sluicegate.testbed.loop import Loop
from sluicegate.testbed.outcome import StreamOutcome
from sluicegate.testbed.sender import BLOCK, Sender
from sluicegate.testbed.tcp_info import COLUMNS

# by what gives a flow its packets (`Stream.supplied`)
_SENDERS = {"at_once": Sender, "objects": ObjectSender, "packets": PacketSender}


class Senders:
    """All TCP flows that a side sends."""

    def __init__(self, loop: Loop, job: HostJob) -> None:
        self._loop = loop
        self._job = job
        self._rows: list[list[int]] = []
        self._late_ns: list[int] = []
        self._senders: list[Sender] = []
        for place, stream in enumerate(job.streams):
            source = address(job.side, stream.source, job.ipv6)
            sink = address(across(job.side), stream.sink, job.ipv6)
            kind = _SENDERS[stream.supplied]
            self._senders.append(kind(loop, place, stream, (source, sink), job.ipv6))
        self._applications = Applications(loop, job, self._senders)

    def begin(self, start_ns: int) -> None:
        """Enter all starts, stops and looks."""
        for sender, stream in zip(self._senders, self._job.streams, strict=True):
            if stream.is_idle:
                continue
            due_ns = start_ns + stream.start_ns
            self._loop.at(due_ns, partial(self._start, sender, due_ns))
            if stream.stop_ns is not None:
                self._loop.at(start_ns + stream.stop_ns, sender.stop)
        self._applications.begin(start_ns)
        for since_ns in range(0, self._job.duration_ns, self._job.info_ns):
            self._loop.at(start_ns + since_ns, partial(self.sample, since_ns))

    def _start(self, sender: Sender, due_ns: int) -> None:
        self._late_ns.append(time.monotonic_ns() - due_ns)
        sender.start()

    def sample(self, since_ns: int) -> None:
        """Note the kernel's figures of every connection, at a time since the start of the run."""
        for place, sender in enumerate(self._senders):
            row = sender.info()
            if row is not None:
                self._rows.append([place, since_ns, *row])

    def outcomes(self) -> list[StreamOutcome]:
        """What came of each."""
        return [sender.outcome() for sender in self._senders]

    def info(self) -> NDArray[np.int64]:
        """All rows noted, shape (N, C)."""
        return np.array(self._rows, dtype=np.int64).reshape(-1, len(COLUMNS))

    def events(self) -> NDArray[np.int64]:
        """See `Sent.events`."""
        return self._applications.events()

    def lateness_ns(self) -> NDArray[np.int64]:
        """How much later than it should each flow started."""
        return np.array(self._late_ns, dtype=np.int64)


class Receivers:
    """All TCP flows that arrive at a side."""

    def __init__(self, loop: Loop, job: HostJob) -> None:
        self._loop = loop
        self._info_ns, self._sample_ns = job.info_ns, job.sample_ns
        self._duration_ns = job.duration_ns
        # lists: in an array to add one number takes as long as all the rest
        self._bins = -(-job.duration_ns // job.info_ns)
        self._bytes = [[0] * self._bins for _ in range(job.arriving_streams)]
        self._sampled = [0] * -(-job.duration_ns // job.sample_ns)
        self._start_ns = 0
        self._room = bytearray(len(BLOCK))
        self._answered = frozenset(job.arriving_answered)
        self._listen(STREAM_PORT, job.ipv6)
        if job.arriving_dctcp:
            self._listen(DCTCP_PORT, job.ipv6, b"dctcp")

    def begin(self, start_ns: int) -> None:
        """From here on times count."""
        self._start_ns = start_ns

    def _listen(self, port: int, ipv6: bool, control: bytes = b"") -> None:
        listener = socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET)
        if control:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
        listener.bind(("", port))
        listener.listen(4096)
        listener.setblocking(False)
        self._loop.on_readable(listener, partial(self._accept, listener))

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, (_, port, *_) = listener.accept()
        except BlockingIOError:
            return
        connection.setblocking(False)
        self._loop.on_readable(connection, partial(self._take, connection, port - FIRST_PORT))

    def _take(self, connection: socket.socket, flow: int) -> None:
        try:
            count = connection.recv_into(self._room)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if not count:
            self._loop.forget(connection)
            connection.close()
            return
        since_ns = time.monotonic_ns() - self._start_ns
        if since_ns < self._duration_ns:
            self._sampled[since_ns // self._sample_ns] += count
            self._bytes[flow][since_ns // self._info_ns] += count
        if flow in self._answered and (ended := self._room.count(END, 0, count)):
            self._answer(connection, flow, ended)

    def _answer(self, connection: socket.socket, flow: int, objects: int) -> None:
        """Tell the sender that so many objects are there, before anything else is taken."""
        try:
            objects -= connection.send(bytes(objects))
        except BlockingIOError:
            pass
        except OSError:
            # it has gone away
            self._loop.forget(connection)
            connection.close()
            return
        if objects:
            self._loop.on_writable(connection, partial(self._answer, connection, flow, objects))
        else:
            self._loop.on_readable(connection, partial(self._take, connection, flow))

    def bytes(self) -> NDArray[np.int64]:
        """What each flow delivered between two looks, shape (F, L)."""
        return np.array(self._bytes, dtype=np.int64).reshape(-1, self._bins)

    def sampled(self) -> NDArray[np.int64]:
        """What came in each sample, in bytes, shape (S,)."""
        return np.array(self._sampled, dtype=np.int64)
