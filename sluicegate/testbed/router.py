"""The daemon `sluiced` as the router of a testbed, and what it counts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.testbed.job import RouterJob, Side

_PROGRAM = "sluiced"
_SECONDS_TO_START = 20
# number of the kernel's queue by where packets come from
_QUEUES: dict[Side, int] = {"clients": 0, "servers": 1}


def program() -> str | None:
    """Path of the daemon: `$SLUICED`, beside this Python's commands, or on the path; None: none."""
    given = os.environ.get("SLUICED")
    beside = Path(sys.executable).parent / _PROGRAM
    for path in (given, beside):
        if path and os.access(path, os.X_OK):
            return str(path)
    return shutil.which(_PROGRAM)


def rules() -> list[list[str]]:
    """The commands that hand what is forwarded to the daemon, each direction to its queue."""
    return [
        ["iptables", "-A", "FORWARD", "-i", side, "-j", "NFQUEUE", "--queue-num", str(queue)]
        for side, queue in _QUEUES.items()
    ]


def _pause() -> str:
    time.sleep(0.001)
    return ""


class Router:
    """The daemon at work."""

    def __init__(self, job: RouterJob, folder: Path) -> None:
        """Start it and wait until it is ready.

        Args:
            job: What it does.
            folder: Where it writes.

        Raises:
            SluiceError: If it ends instead, with what it said.
        """
        scenario = folder / "scenario.toml"
        scenario.write_text(job.scenario)
        self._lines = folder / "lines.jsonl"
        command = [job.program, "run", "--scenario", str(scenario), "--seed", str(job.seed)]
        command += ["--delay", repr(job.delay_s), "--reverse-delay", repr(job.delay_s)]
        command += [
            "--fail",
            "closed",
            "--jsonl",
            str(self._lines),
            "--interval",
            repr(job.sample_s),
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.strip() == "ready":
                break
        else:
            raise SluiceError(f"{_PROGRAM} ended with code {self._process.wait()}")
        # from its first line on it counts
        line = ""
        with self._lines.open() as lines:
            while not line.endswith("\n"):
                line += lines.readline() or _pause()
        first = json.loads(line)
        self.start_ns = int(first["clock_ns"] - first["time_s"] * 1e9)

    def stop(self) -> str:
        """End it; give its lines.

        Raises:
            SluiceError: If it had ended before.
        """
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=_SECONDS_TO_START)
        if code := self._process.returncode:
            raise SluiceError(f"{_PROGRAM} ended with code {code}")
        return self._lines.read_text()
