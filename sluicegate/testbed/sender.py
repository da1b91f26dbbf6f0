"""The sending end of a TCP flow, with TCP of the kernel."""

from __future__ import annotations

import errno
import os
import socket
import time

from sluicegate.testbed.addresses import (
    ECT1_MARK,
    FIRST_PORT,
    TRAFFIC_CLASS,
    stream_port,
    tcp_headers,
)
from sluicegate.testbed.job import Stream
from sluicegate.testbed.loop import Loop
from sluicegate.testbed.outcome import StreamOutcome
from sluicegate.testbed.tcp_info import tcp_info

# data that may wait in a socket without having been sent: what a stop would not take back
_UNSENT_BYTES = 64 << 10
BLOCK = memoryview(bytes(256 << 10))
_BEGUN = (0, errno.EINPROGRESS)


class Sender:
    """The sending end of one TCP flow, which always has something to send until its end."""

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
        self._is_stopped = False

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
        if self._is_stopped:
            # nothing was sent, so nothing is finished, as in the network world
            self._loop.forget(self._socket)
            self._socket.shutdown(socket.SHUT_WR)
            return
        self._left = self._first()
        self._loop.on_writable(self._socket, self._send)
        self._send()

    def _first(self) -> int | None:
        """Bytes that there are to send once it is connected; None: without end."""
        packets = self._stream.packets
        return None if packets is None else packets * self._payload

    def _send(self) -> None:
        assert self._socket is not None
        try:
            # one block at a time: a link without a limit would keep this loop busy for ever
            sent = self._write(self._socket)
        except BlockingIOError:
            return
        except OSError as error:
            self._break(error.errno or 0)
            return
        if self._left is not None:
            self._left -= sent
            if not self._left:
                self._all_sent()

    def _write(self, connection: socket.socket) -> int:
        """Hand over what the socket takes of what there is; returns how much that was."""
        return connection.send(BLOCK if self._left is None else BLOCK[: self._left])

    def _all_sent(self) -> None:
        """All that there was is handed over."""
        self._close()

    def stop(self) -> None:
        """End the application: what it has handed over is still delivered."""
        self._is_stopped = True
        # a socket that is closed while it connects gives the connection up
        if self._payload:
            self._close()

    def _close(self) -> None:
        """Say that nothing more follows."""
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
