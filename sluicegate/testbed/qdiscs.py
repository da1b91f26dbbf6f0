"""Qdiscs of the kernel as the router of a testbed, and what is seen of them."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.testbed.addresses import Side, across
from sluicegate.testbed.band_marks import BandMarks
from sluicegate.testbed.changes import Changes
from sluicegate.testbed.command import command
from sluicegate.testbed.job import FOLDER, QdiscJob
from sluicegate.testbed.outcome import Seen
from sluicegate.testbed.packets import PACKET, WITH_HEADERS, PacketLog

_NS_PER_S = 1e9


class Qdiscs:
    """Qdiscs before the router's links: how much waits in them, and a log of all packets.

    Attributes:
        start_ns: When it was first asked how much waits, of CLOCK_MONOTONIC.
    """

    def __init__(self, job: QdiscJob) -> None:
        """Lay them, and begin to look.

        Raises:
            SluiceError: If a command fails, with what it said.
        """
        self._after = job.after
        self._during = job.during
        self._processes: list[subprocess.Popen[bytes]] = []
        self._changes = Changes(job.changes) if job.changes else None
        self._headers = job.headers
        for name, content in job.files.items():
            Path(FOLDER, name).write_bytes(content)
        for words in job.before:
            command(*words)
        self._logs = [
            (
                PacketLog(across(side), job.places, leaving=False),
                PacketLog(side, job.places, leaving=True),
            )
            for side in job.towards
        ]
        self.start_ns = time.monotonic_ns()
        marks = job.marks or [""] * len(job.towards)
        self._samplers = [
            # links of one kind of qdisc began to use it in this order
            _Sampler(
                side,
                self.start_ns,
                job.sampling_ns,
                BandMarks(path, marks[:place].count(path)) if path else None,
            )
            for place, (side, path) in enumerate(zip(job.towards, marks, strict=True))
        ]

    def begin(self, start_ns: int) -> None:
        """Begin what has to be done during the run, which starts at a time of CLOCK_MONOTONIC."""
        self._processes = [subprocess.Popen([*each, str(start_ns)]) for each in self._during]
        if self._changes:
            self._changes.begin(start_ns)

    def end(self) -> None:
        """End it.

        Raises:
            SluiceError: If it failed.
        """
        for words, process in zip(self._during, self._processes, strict=True):
            if process.poll():
                raise SluiceError(f"{' '.join(words)} ended with {process.returncode}")
            process.kill()
            process.wait()
        if self._changes:
            self._changes.end()

    def seen(self) -> Sequence[Seen]:
        """End the looks; give what was seen of each link.

        Raises:
            SluiceError: If a log was too small, or if `tc` ended before.
        """
        # not before: a run has the same instructions with and without headers
        kind = WITH_HEADERS if self._headers else PACKET
        seen = []
        for sampler, (came, left) in zip(self._samplers, self._logs, strict=True):
            # what has left by now has come by then
            leaving = left.rows(kind)
            seen.append(Seen(came.rows(kind), leaving, *sampler.stop()))
        return seen

    def after(self) -> str:
        """What the commands at the end write.

        Raises:
            SluiceError: If one fails, with what it said.
        """
        return "".join(command(*words) for words in self._after)


class _Sampler:
    """Asks one process of `tc` again and again how much waits, and counts marks by band."""

    def __init__(self, side: Side, start_ns: int, every_ns: int, marks: BandMarks | None) -> None:
        self._question = f"qdisc show dev {side}\n".encode()
        self._start_ns = start_ns
        self._every_ns = every_ns
        self._times_ns: list[int] = []
        self._told: list[bytes] = []
        self._marks = marks
        self._marked: list[NDArray[np.int64]] = []
        self._error: SluiceError | None = None
        self._tc = subprocess.Popen(
            ["tc", "-s", "-j", "-batch", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._ended = threading.Event()
        # it ends with the process also where an error ends that before `stop`
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        assert self._tc.stdin is not None
        assert self._tc.stdout is not None
        next_ns = self._start_ns
        while not self._ended.wait(max(0, next_ns - time.monotonic_ns()) / _NS_PER_S):
            self._tc.stdin.write(self._question)
            self._tc.stdin.flush()
            # a line; the process may be late, so the time is not that of the question
            told = self._tc.stdout.readline()
            if not told:
                return
            now_ns = time.monotonic_ns()
            if self._marks:
                try:
                    self._marked.append(self._marks.read())
                except SluiceError as error:
                    self._error = error
                    return
            self._times_ns.append(now_ns)
            self._told.append(told)
            next_ns += self._every_ns

    def stop(self) -> tuple[NDArray[np.int64], str, NDArray[np.int64] | None]:
        """When it was told, all that was told, and the marks by band.

        Raises:
            SluiceError: If `tc` has failed, or if the marks could not be read.
        """
        self._ended.set()
        self._thread.join()
        self._tc.communicate()
        if code := self._tc.returncode:
            raise SluiceError(f"tc -s -j -batch - ended with {code}")
        if self._error:
            raise self._error
        marks = np.array(self._marked) if self._marks else None
        return np.array(self._times_ns, dtype=np.int64), b"".join(self._told).decode(), marks
