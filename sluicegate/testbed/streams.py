"""TCP: senders that have always something to send, and receivers that take it at once."""

from __future__ import annotations

import errno
import os
import socket
import time
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sluicegate.testbed.job import (
    DCTCP_PORT,
    ECT1_MARK,
    FIRST_PORT,
    STREAM_PORT,
    TRAFFIC_CLASS,
    HostJob,
    Stream,
    StreamOutcome,
    across,
    address,
    stream_port,
    tcp_headers,
)
from sluicegate.testbed.loop import Loop
from sluicegate.testbed.tcp_info import COLUMNS, tcp_info

# data that may wait in a socket without having been sent: what a stop would not take back
_UNSENT_BYTES = 64 << 10
_BLOCK = memoryview(bytes(256 << 10))
_BEGUN = (0, errno.EINPROGRESS)


class Sender:
    """The sending end of one TCP flow."""

    def __init__(
        self, loop: Loop, place: int, stream: Stream, ends: tuple[str, str], ipv6: bool
    ) -> None:
        self._loop = loop
        self._ipv6 = ipv6
        self._place = place
        self._stream = stream
        self._ends = ends
        self._socket: socket.socket | None = None
        self._left: int | None = None
        self._payload = 0
        self._start_ns = 0
        self._completion_ns: int | None = None
        self._error = ""

    def start(self) -> None:
        """Connect; what there is to send follows."""
        self._start_ns = time.monotonic_ns()
        family = socket.AF_INET6 if self._ipv6 else socket.AF_INET
        self._socket = connection = socket.socket(family, socket.SOCK_STREAM)
        connection.setblocking(False)
        name = self._stream.congestion_control.encode()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
        segment = self._stream.packet_bytes - tcp_headers(self._ipv6)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)
        # what is in flight at the end of the run is of no use to anybody
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        if self._stream.ect1:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, ECT1_MARK)
        if self._stream.dscp:
            # the kernel keeps the ECN codepoint for itself
            connection.setsockopt(*TRAFFIC_CLASS[self._ipv6], self._stream.dscp << 2)
        source, sink = self._ends
        connection.bind((source, FIRST_PORT + self._place))
        error = connection.connect_ex((sink, stream_port(self._stream.congestion_control)))
        if error in _BEGUN:
            self._loop.on_writable(connection, self._connected)
        else:
            self._break(error)

    def _connected(self) -> None:
        assert self._socket is not None
        if error := self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._break(error)
            return
        _, self._payload = tcp_info(self._socket)
        packets = self._stream.packets
        self._left = None if packets is None else packets * self._payload
        self._loop.on_writable(self._socket, self._send)
        self._send()

    def _send(self) -> None:
        assert self._socket is not None
        try:
            # one block at a time: a link without a limit would keep this loop busy for ever
            sent = self._socket.send(_BLOCK if self._left is None else _BLOCK[: self._left])
        except BlockingIOError:
            return
        except OSError as error:
            self._break(error.errno or 0)
            return
        if self._left is not None:
            self._left -= sent
            if not self._left:
                self.stop()

    def stop(self) -> None:
        """End the application: what it has handed over is still delivered."""
        if self._socket is None or self._error or self._completion_ns is not None:
            return
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._break(error.errno or 0)
        else:
            self._loop.on_readable(self._socket, self._ended)

    def _ended(self) -> None:
        """The receiver has taken everything, and closed."""
        assert self._socket is not None
        try:
            self._socket.recv(1)
        except OSError as error:
            self._break(error.errno or 0)
            return
        self._completion_ns = time.monotonic_ns() - self._start_ns
        self._loop.forget(self._socket)

    def _break(self, error: int) -> None:
        assert self._socket is not None
        self._error = os.strerror(error)
        self._loop.forget(self._socket)

    def info(self) -> list[int] | None:
        """The kernel's figures; None before the start, and once it is over and was told."""
        if self._socket is None or not self._payload:
            return None
        row, _ = tcp_info(self._socket)
        if self._completion_ns is not None or self._error:
            self._socket.close()
            self._socket = None
        return row

    def outcome(self) -> StreamOutcome:
        """What came of it."""
        return StreamOutcome(self._payload, self._completion_ns, self._error)


class Senders:
    """All TCP flows that a side sends."""

    def __init__(self, loop: Loop, job: HostJob) -> None:
        self._loop = loop
        self._job = job
        self._rows: list[list[int]] = []
        self._late_ns: list[int] = []
        self._senders = []
        for place, stream in enumerate(job.streams):
            source = address(job.side, stream.source, job.ipv6)
            sink = address(across(job.side), stream.sink, job.ipv6)
            self._senders.append(Sender(loop, place, stream, (source, sink), job.ipv6))

    def begin(self, start_ns: int) -> None:
        """Enter all starts, stops and looks."""
        for sender, stream in zip(self._senders, self._job.streams, strict=True):
            due_ns = start_ns + stream.start_ns
            self._loop.at(due_ns, partial(self._start, sender, due_ns))
            if stream.stop_ns is not None:
                self._loop.at(start_ns + stream.stop_ns, sender.stop)
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
        self._room = bytearray(len(_BLOCK))
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

    def bytes(self) -> NDArray[np.int64]:
        """What each flow delivered between two looks, shape (F, L)."""
        return np.array(self._bytes, dtype=np.int64).reshape(-1, self._bins)

    def sampled(self) -> NDArray[np.int64]:
        """What came in each sample, in bytes, shape (S,)."""
        return np.array(self._sampled, dtype=np.int64)
