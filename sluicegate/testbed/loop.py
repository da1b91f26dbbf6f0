"""A loop that waits for sockets and for times."""

from __future__ import annotations

import heapq
import itertools
import selectors
import socket
import time
from collections.abc import Callable

Act = Callable[[], None]


class Loop:
    """Calls what sockets and times were registered with, one after the other."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._due: list[tuple[int, int, Act]] = []
        self._order = itertools.count()

    def at(self, time_ns: int, act: Act) -> None:
        """Call at a time of CLOCK_MONOTONIC."""
        heapq.heappush(self._due, (time_ns, next(self._order), act))

    def on_readable(self, connection: socket.socket, act: Act) -> None:
        """Call whenever something can be read, in place of what was to be called before."""
        self._register(connection, selectors.EVENT_READ, act)

    def on_writable(self, connection: socket.socket, act: Act) -> None:
        """Call whenever something can be written, in place of what was to be called before."""
        self._register(connection, selectors.EVENT_WRITE, act)

    def _register(self, connection: socket.socket, event: int, act: Act) -> None:
        if connection in self._selector.get_map():
            self._selector.modify(connection, event, act)
        else:
            self._selector.register(connection, event, act)

    def forget(self, connection: socket.socket) -> None:
        """Call nothing any more."""
        self._selector.unregister(connection)

    def run(self, until_ns: int) -> None:
        """Wait and call until a time of CLOCK_MONOTONIC."""
        while (now_ns := time.monotonic_ns()) < until_ns:
            while self._due and self._due[0][0] <= now_ns:
                heapq.heappop(self._due)[2]()
            next_ns = min(until_ns, self._due[0][0] if self._due else until_ns)
            wait_s = max(0, next_ns - time.monotonic_ns()) / 1e9
            for key, _ in self._selector.select(wait_s):
                key.data()
