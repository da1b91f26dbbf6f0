"""Video calls: SCReAM over UDP, with feedback from the receiver.

What leaves when, at which rate, and what feedback is due is decided by the network world's own code
(`_engine.Applications`); it is told when real packets and feedback arrive. Both ends of a side's
calls are in a process of their own, so that no connection makes them late.
"""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.testbed.addresses import (
    CALL_PORT,
    FIRST_CALL_PORT,
    TRAFFIC_CLASS,
    across,
    address,
    udp_headers,
)
from sluicegate.testbed.applications import applications
from sluicegate.testbed.job import CallEnds, HostJob
from sluicegate.testbed.loop import Act, ExactLoop
from sluicegate.testbed.outcome import FRAME, LEARNT, SENT, SHOWN

_CE = 3
# the number of a packet, and whether it is the last of its frame
_VIDEO = struct.Struct("!IB")
_REPORT = struct.Struct("!IQII")
# IP, UDP, and RTCP with a report of two bytes for each of 32 packets (RFC 8888, section 3.1)
_REPORT_BYTES = 20 + 8 + 20 + 2 * 32
_COLUMNS = 7
_ROOM_BYTES = 1 << 16

Report = tuple[int, int, int, int]


@dataclass(frozen=True)
class CallsOutcome:
    """What came of the calls of a side.

    Attributes:
        events: See `HostOutcome.calls`.
        lateness_ns: See `Sent.frame_lateness_ns`.
        unsent: See `Sent.unsent`.
    """

    events: NDArray[np.int64]
    lateness_ns: NDArray[np.int64]
    unsent: int


NO_CALLS = CallsOutcome(
    np.empty((0, _COLUMNS), dtype=np.int64), np.empty(0, dtype=np.int64), unsent=0
)


class Calls:
    """Both ends of the calls of a side."""

    def __init__(self, job: HostJob) -> None:
        assert job.drawn is not None
        self._job = job
        self._loop = ExactLoop()
        self._unsent = 0
        self._late_ns: list[int] = []
        self._engine = applications(job.drawn)
        self._start_ns = 0
        self._events: list[tuple[int, ...]] = []
        self._room = memoryview(bytes(_ROOM_BYTES))
        self._sending = {each.number: self._sender(each) for each in job.calls}
        self._arriving = {each.place: each for each in job.arriving_calls}
        # where the feedback of a call goes
        self._back: dict[int, tuple[str, int]] = {}
        # when the timers of both ends run out
        self._sends_ns: dict[int, int] = {}
        self._answers_ns: dict[int, int] = {}
        for number, (each, _) in self._sending.items():
            self._loop.on_readable(each, partial(self._hear, number, each))
        if job.arriving_calls:
            self._listener = self._socket(("", CALL_PORT))
            option = (
                (socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS)
                if job.ipv6
                else (socket.IPPROTO_IP, socket.IP_RECVTOS)
            )
            self._listener.setsockopt(*option, 1)
            self._loop.on_readable(self._listener, self._take)

    def run(self, start_ns: int) -> CallsOutcome:
        """Speak and listen until the end of the run."""
        self._start_ns = start_ns
        for each in self._job.calls:
            if each.start_ns is not None:
                self._at(each.start_ns, partial(self._frame, each.number, each.start_ns))
        self._loop.run(start_ns + self._job.duration_ns)
        events = np.array(self._events, dtype=np.int64).reshape(-1, _COLUMNS)
        return CallsOutcome(events, np.array(self._late_ns, dtype=np.int64), self._unsent)

    def _now(self) -> int:
        return time.monotonic_ns() - self._start_ns

    def _at(self, due_ns: int, act: Act) -> None:
        self._loop.at(self._start_ns + due_ns, act)

    def _arm(self, timers: dict[int, int], number: int, due_ns: int | None, act: Act) -> None:
        """Set the timer of an end of a call, unless it runs out before; None: nothing is due."""
        if due_ns is None or due_ns >= timers.get(number, due_ns + 1):
            return

        def run_out() -> None:
            # unless it was set anew
            if timers.get(number) == due_ns:
                del timers[number]
                act()

        timers[number] = due_ns
        self._at(due_ns, run_out)

    def _note(self, now_ns: int, call: int, what: int, *values: int) -> None:
        more = (0,) * (_COLUMNS - 3 - len(values))
        self._events.append((now_ns, call, what, *values, *more))

    def _sender(self, call: CallEnds) -> tuple[socket.socket, CallEnds]:
        source = address(self._job.side, call.source, self._job.ipv6)
        return self._socket((source, FIRST_CALL_PORT + call.place)), call

    def _socket(self, bound: tuple[str, int]) -> socket.socket:
        family = socket.AF_INET6 if self._job.ipv6 else socket.AF_INET
        made = socket.socket(family, socket.SOCK_DGRAM)
        made.bind(bound)
        made.setblocking(False)
        return made

    def _send(
        self, by: socket.socket, content: bytes, size: int, traffic_class: int, to: tuple[str, int]
    ) -> None:
        """Send an IP packet of so many bytes; one that the kernel does not take is lost."""
        ipv6 = self._job.ipv6
        rest = max(0, size - udp_headers(ipv6) - len(content))
        said = [(*TRAFFIC_CLASS[ipv6], struct.pack("=i", traffic_class))]
        try:
            by.sendmsg([content, self._room[:rest]], said, 0, to)
        except OSError:
            self._unsent += 1

    def _frame(self, number: int, due_ns: int) -> None:
        now_ns = self._now()
        self._late_ns.append(now_ns - due_ns)
        self._note(now_ns, number, FRAME)
        next_ns = self._engine.make_frame(number, now_ns)
        if next_ns is not None:
            # what comes late does not delay the rest
            due_ns += next_ns - now_ns
            self._at(due_ns, partial(self._frame, number, due_ns))
        self._speak(now_ns, number)

    def _speak(self, now_ns: int, number: int) -> None:
        """Send what may leave now."""
        by, call = self._sending[number]
        units, next_ns = self._engine.send_video(number, now_ns)
        if units:
            self._note(now_ns, number, SENT, len(units))
        to = (address(across(self._job.side), call.sink, self._job.ipv6), CALL_PORT)
        for seq, size, is_last in units:
            self._send(by, _VIDEO.pack(seq, is_last), size, call.traffic_class, to)
        self._arm(self._sends_ns, number, next_ns, lambda: self._speak(self._now(), number))

    def _hear(self, number: int, by: socket.socket) -> None:
        """Take feedback."""
        while True:
            try:
                heard = by.recv(_ROOM_BYTES)
            except BlockingIOError:
                return
            # a stray packet is nobody's
            if len(heard) < _REPORT.size:
                continue
            now_ns = self._now()
            report: Report = _REPORT.unpack_from(heard)
            try:
                self._engine.learn(number, now_ns, report)
            except SluiceError:
                # nor is what no receiver of this call can have sent
                continue
            self._note(now_ns, number, LEARNT, *report)
            self._speak(now_ns, number)

    def _take(self) -> None:
        """Take video."""
        while True:
            try:
                data, said, _, (host, port, *_) = self._listener.recvmsg(_ROOM_BYTES, 64)
            except BlockingIOError:
                return
            call = self._arriving.get(port - FIRST_CALL_PORT)
            if call is None or len(data) < _VIDEO.size:
                continue
            now_ns = self._now()
            number = call.number
            seq, is_last = _VIDEO.unpack_from(data)
            marked = any(value[0] & _CE == _CE for _, _, value in said)
            self._back[number] = (host, port)
            self._note(now_ns, number, SHOWN, seq)
            report = self._engine.take_video(number, now_ns, seq, marked, bool(is_last))
            self._answer(number, report)
            self._check_answers(number, now_ns)

    def _check_answers(self, number: int, now_ns: int) -> None:
        """Send feedback that is due by time alone, or set the timer for it."""
        report, due_ns = self._engine.feedback_due(number, now_ns)
        self._answer(number, report)
        self._arm(
            self._answers_ns, number, due_ns, lambda: self._check_answers(number, self._now())
        )

    def _answer(self, number: int, report: Report | None) -> None:
        if report is not None:
            to = self._back[number]
            feedback_class = self._arriving[to[1] - FIRST_CALL_PORT].feedback_class
            content = _REPORT.pack(*report)
            self._send(self._listener, content, _REPORT_BYTES, feedback_class, to)
