"""TCP flows of applications: users of the web, players of video, applications of a limited rate.

What an application does next is decided by the network world's own code, with the same random draws
(`_engine.Applications`); it is told what becomes of real packets. The last byte of an object says
that it is the last. Its receiver answers with a byte once it is there, as a program that asks for
the next object would.
"""

from __future__ import annotations

import socket
import time
import tomllib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sluicegate.testbed.job import END, Drawn, HostJob, Stream
from sluicegate.testbed.loop import Loop
from sluicegate.testbed.outcome import ARRIVED, SUPPLIED
from sluicegate.testbed.sender import BLOCK, Sender

if TYPE_CHECKING:
    from sluicegate import _engine


class ObjectSender(Sender):
    """Sends one object after the other, each once the one before is there."""

    arrived: Callable[[], None]

    def give(self, packets: int) -> None:
        """Send an object of so many packets."""
        if self._socket is None or self._error:
            return
        self._left = packets * self._payload
        self._loop.on_writable(self._socket, self._send)
        self._send()

    def _write(self, connection: socket.socket) -> int:
        assert self._left is not None
        if self._left > len(BLOCK):
            return connection.send(BLOCK)
        # in one call: a packet is not cut in two
        return connection.sendmsg([BLOCK[: self._left - len(END)], END])

    def _all_sent(self) -> None:
        assert self._socket is not None
        self._loop.on_readable(self._socket, self._answered)

    def _answered(self) -> None:
        assert self._socket is not None
        try:
            answer = self._socket.recv(1)
        except OSError as error:
            self._break(error.errno or 0)
            return
        if answer:
            self.arrived()
        else:
            self._loop.forget(self._socket)


class PacketSender(Sender):
    """Sends what its application gives it, packet by packet."""

    def __init__(
        self, loop: Loop, place: int, stream: Stream, ends: tuple[str, str], ipv6: bool
    ) -> None:
        super().__init__(loop, place, stream, ends, ipv6)
        # what came before the connection was there
        self._early = 0
        self._is_last = False

    def give(self, packets: int, *, is_last: bool) -> None:
        """Send so many packets more; after the last ones it ends."""
        self._is_last = is_last
        if not self._payload:
            self._early += packets
            return
        if self._socket is None or self._error or self._completion_ns is not None:
            return
        self._left = (self._left or 0) + packets * self._payload
        self._loop.on_writable(self._socket, self._send)
        self._send()

    def _first(self) -> int:
        return self._early * self._payload

    def _all_sent(self) -> None:
        assert self._socket is not None
        if self._is_last:
            self._close()
        else:
            self._loop.forget(self._socket)

    def stop(self) -> None:
        """End once all that it was given is handed over."""
        self._is_last = True
        # what still waits, for the connection or for room, goes first
        if self._payload and not self._left:
            self._close()


class Applications:
    """What the applications of a side do, as far as their senders see it.

    Args:
        loop: Of the side.
        job: Of the side.
        senders: Its TCP flows, in the job's order.
    """

    def __init__(self, loop: Loop, job: HostJob, senders: list[Sender]) -> None:
        self._loop = loop
        self._start_ns = 0
        self._senders: dict[int, Sender] = {}
        self._events: list[tuple[int, int, int]] = []
        for sender, stream in zip(senders, job.streams, strict=True):
            if isinstance(sender, ObjectSender):
                sender.arrived = partial(self._arrived, stream.flow)
            if isinstance(sender, ObjectSender | PacketSender) and not stream.is_idle:
                self._senders[stream.flow] = sender
        self._starts_ns = {stream.flow: stream.start_ns for stream in job.streams}
        if self._senders:
            assert job.drawn is not None
            self._engine = applications(job.drawn)

    def begin(self, start_ns: int) -> None:
        """Enter what happens without an answer."""
        self._start_ns = start_ns
        for flow, sender in self._senders.items():
            if isinstance(sender, PacketSender):
                self._go_on(flow, self._starts_ns[flow])

    def _arrived(self, flow: int) -> None:
        """An object is there."""
        now_ns = time.monotonic_ns() - self._start_ns
        self._events.append((now_ns, flow, ARRIVED))
        following = self._engine.arrived(flow, now_ns)
        if following is not None:
            due_ns, first, end = following
            for each in range(first, end):
                self._go_on(each, due_ns)

    def _go_on(self, flow: int, due_ns: int) -> None:
        self._loop.at(self._start_ns + due_ns, partial(self._supply, flow, due_ns))

    def _supply(self, flow: int, due_ns: int) -> None:
        sender = self._senders[flow]
        # at the time at which it is due: nobody decides otherwise because this machine is late
        packets, again_ns = self._engine.supply(flow, due_ns)
        if isinstance(sender, ObjectSender):
            self._events.append((due_ns, flow, SUPPLIED))
            sender.give(packets)
        elif isinstance(sender, PacketSender):
            sender.give(packets, is_last=again_ns is None)
            if again_ns is not None:
                self._go_on(flow, again_ns)

    def events(self) -> NDArray[np.int64]:
        """See `Sent.events`."""
        return np.array(self._events, dtype=np.int64).reshape(-1, 3)


def applications(drawn: Drawn) -> _engine.Applications:
    """The applications of a run."""
    # only where there are applications: the laboratory has no engine otherwise
    from sluicegate import _engine as engine
    from sluicegate.scenario import NetworkScenario

    scenario = NetworkScenario.parse(tomllib.loads(drawn.scenario))
    (discipline,) = scenario.disciplines
    return engine.Applications(scenario.handle, discipline.handle, drawn.replication)
