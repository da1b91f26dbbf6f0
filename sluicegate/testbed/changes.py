"""Changes of qdiscs at stated times of a run."""

from __future__ import annotations

import errno
import socket
import subprocess
import threading
import time
from collections.abc import Sequence

from sluicegate.errors import SluiceError
from sluicegate.testbed.job import Change

_NS_PER_S = 1e9


class Changes:
    """One process of `tc` that makes changes when they are due."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = changes
        self._tc = subprocess.Popen(
            ["tc", "-j", "-batch", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._links = {each.link: _raw(each.link) for each in changes}
        self._ended = threading.Event()
        self._made = 0
        self._start_ns = 0
        self._thread: threading.Thread | None = None

    def begin(self, start_ns: int) -> None:
        """Begin, in a run that starts at a time of CLOCK_MONOTONIC."""
        self._start_ns = start_ns
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        assert self._tc.stdin is not None
        assert self._tc.stdout is not None
        for change in self._changes:
            due_ns = self._start_ns + change.at_ns
            ended = self._ended.wait((due_ns - time.monotonic_ns()) / _NS_PER_S)
            # what is due is made, even if the end has come meanwhile
            if ended and time.monotonic_ns() < due_ns:
                return
            # the answer to a question says that the lines before it are done
            lines = [*change.lines, f"qdisc show dev {change.link}"]
            self._tc.stdin.write("".join(f"{line}\n" for line in lines).encode())
            self._tc.stdin.flush()
            if not self._tc.stdout.readline():
                return
            _wake(self._links[change.link], change.waking_bytes)
            self._made += 1

    def end(self) -> None:
        """Make none any more.

        Raises:
            SluiceError: If `tc` has failed, or a change that was due was not made.
        """
        since_ns = time.monotonic_ns() - self._start_ns
        self._ended.set()
        if self._thread:
            self._thread.join()
        self._tc.communicate()
        if code := self._tc.returncode:
            raise SluiceError(f"tc -j -batch - ended with {code}, at a change of a link")
        due = sum(each.at_ns <= since_ns for each in self._changes)
        if self._made < due:
            raise SluiceError(f"of {due} changes of links that were due, {self._made} were made")


def _raw(link: str) -> socket.socket:
    """A socket for frames over a link."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.bind((link, 0))
    return raw


def _wake(raw: socket.socket, size_bytes: int) -> None:
    """Wake the shaper before a link.

    A shaper sleeps for as long as its rate before a change says. Linux looks whether a qdisc has
    something to send after each packet that comes to it, taken or not (net/core/dev.c:
    `__dev_xmit_skb`). So one comes that no shaper takes, as it is longer than its burst
    (net/sched/sch_tbf.c: `tbf_enqueue`); the discipline below the shaper never sees it. The
    kernel answers that it found no room for it (include/linux/netdevice.h: `net_xmit_errno`).
    """
    try:
        raw.send(bytes(size_bytes))
    except OSError as error:
        if error.errno != errno.ENOBUFS:
            raise
