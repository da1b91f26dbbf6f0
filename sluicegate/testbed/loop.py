"""A loop that waits for sockets and for times."""

from __future__ import annotations

import ctypes
import heapq
import itertools
import select
import socket
import time
from collections.abc import Callable

Act = Callable[[], None]

# linux/prctl.h
_PR_SET_TIMERSLACK = 29


class Loop:
    """Calls what sockets and times were registered with, one after the other."""

    def __init__(self) -> None:
        # not through `selectors`: in the laboratory each packet is an event, and its time counts
        self._epoll = select.epoll()
        self._acts: dict[int, Act] = {}
        self._due: list[tuple[int, int, Act]] = []
        self._order = itertools.count()

    def at(self, time_ns: int, act: Act) -> None:
        """Call at a time of CLOCK_MONOTONIC."""
        heapq.heappush(self._due, (time_ns, next(self._order), act))

    def on_readable(self, connection: socket.socket, act: Act) -> None:
        """Call whenever something can be read, in place of what was to be called before."""
        self._register(connection, select.EPOLLIN, act)

    def on_writable(self, connection: socket.socket, act: Act) -> None:
        """Call whenever something can be written, in place of what was to be called before."""
        self._register(connection, select.EPOLLOUT, act)

    def _register(self, connection: socket.socket, event: int, act: Act) -> None:
        number = connection.fileno()
        if number in self._acts:
            self._epoll.modify(number, event)
        else:
            self._epoll.register(number, event)
        self._acts[number] = act

    def forget(self, connection: socket.socket) -> None:
        """Call nothing any more, if anything was called."""
        if self._acts.pop(connection.fileno(), None) is not None:
            self._epoll.unregister(connection)

    def run(self, until_ns: int) -> None:
        """Wait and call until a time of CLOCK_MONOTONIC."""
        while (now_ns := time.monotonic_ns()) < until_ns:
            while self._due and self._due[0][0] <= now_ns:
                heapq.heappop(self._due)[2]()
            next_ns = min(until_ns, self._due[0][0] if self._due else until_ns)
            wait_s = max(0, next_ns - time.monotonic_ns()) / 1e9
            for number, _ in self._ready(wait_s):
                self._acts[number]()

    def _ready(self, wait_s: float) -> list[tuple[int, int]]:
        """Wait until a socket is ready, and at most so long; give those that are."""
        return self._epoll.poll(wait_s)


class ExactLoop(Loop):
    """The same, which is not late by up to a millisecond; it must be made before all sockets.

    `select` counts microseconds, where the wait of epoll counts milliseconds; but it takes no
    number above 1023, which that of epoll's own has only if it is an early one.
    """

    def run(self, until_ns: int) -> None:
        """Wait and call until a time of CLOCK_MONOTONIC."""
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
        super().run(until_ns)

    def _ready(self, wait_s: float) -> list[tuple[int, int]]:
        is_any = select.select([self._epoll], (), (), wait_s)[0]
        return self._epoll.poll(0) if is_any else []
