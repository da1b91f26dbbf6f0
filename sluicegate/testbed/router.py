"""The daemon `sluiced` as the router of a testbed, and what it counts."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.testbed.addresses import address
from sluicegate.testbed.job import RouterJob

_PROGRAM = "sluiced"
_SECONDS_TO_START = 20
_SECONDS_TO_END = 20
# packets that may wait at most, anywhere
_MOST = "100000"


def rules(job: RouterJob) -> list[list[str]]:
    """The commands that hand what is forwarded to the daemons, each way to its queue."""
    queues = _queues(job)
    if len(queues) == 1:
        return [rule(job.ipv6, 0, "-i", "clients"), rule(job.ipv6, 1, "-i", "servers")]
    back = [
        rule(job.ipv6, queues[delay_s], "-i", "servers", "-d", address("clients", client, job.ipv6))
        for client, delay_s in enumerate(job.reverse_delays_s)
    ]
    return [rule(job.ipv6, 0, "-i", "clients"), *back]


def firewall(ipv6: bool) -> str:
    """The command that sets rules."""
    return "ip6tables" if ipv6 else "iptables"


def rule(ipv6: bool, queue: int, *which: str) -> list[str]:
    """The command that hands a queue of the kernel what is forwarded, or some of it."""
    return [firewall(ipv6), "-A", "FORWARD", *which, "-j", "NFQUEUE", "--queue-num", str(queue)]


def _queues(job: RouterJob) -> dict[float, int]:
    """The number of the kernel's queue for each delay back; the first two are the main daemon's."""
    return {delay_s: 2 + number for number, delay_s in enumerate(sorted({*job.reverse_delays_s}))}


class _Daemon:
    """A process of `sluiced run` at work."""

    def __init__(self, *words: str) -> None:
        """Start it and wait until it is ready.

        Raises:
            SluiceError: If it ends instead.
        """
        command = [words[0], "run", "--fail", "closed", *words[1:]]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.strip() == "ready":
                return
        self._refuse(self._process.wait())

    def stop(self) -> None:
        """End it.

        Raises:
            SluiceError: If it had ended before.
        """
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=_SECONDS_TO_END)
        if self._process.returncode:
            self._refuse(self._process.returncode)

    @staticmethod
    def _refuse(code: int) -> None:
        raise SluiceError(f"{_PROGRAM} ended with code {code}")


class Router:
    """The link with the discipline and, where clients differ in delay, a way back for each delay.

    Attributes:
        start_ns: When the times in its lines began, of CLOCK_MONOTONIC.
    """

    def __init__(self, job: RouterJob, folder: Path) -> None:
        """Start it and wait until it is ready.

        Args:
            job: What it does.
            folder: Where it writes.

        Raises:
            SluiceError: If a daemon ends instead.
        """
        scenario = folder / "scenario.toml"
        scenario.write_text(job.scenario)
        self._lines = folder / "lines.jsonl"
        queues = _queues(job)
        main = [job.program, "--scenario", str(scenario), "--seed", str(job.seed)]
        main += ["--delay", repr(job.delay_s), "--reverse-delay", repr(job.reverse_delays_s[0])]
        main += ["--jsonl", str(self._lines), "--interval", repr(job.sample_s)]
        if job.flows_start_s is not None:
            main += ["--rate-from", repr(job.flows_start_s)]
        self._daemons = [_Daemon(*main)]
        if len(queues) > 1:
            plain = [job.program, "--aqm", "drop_tail", "--limit", _MOST]
            plain += ["--rate", repr(job.rate_bps)]
            for delay_s, queue in queues.items():
                self._daemons.append(
                    _Daemon(*plain, "--delay", repr(delay_s), "--queue", str(queue))
                )
        self.start_ns = self._start_ns()

    def _start_ns(self) -> int:
        end_s = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < end_s:
            line, ended, _ = self._lines.read_text().partition("\n")
            if ended:
                first = json.loads(line)
                return int(first["clock_ns"] - first["time_s"] * 1e9)
            time.sleep(0.001)
        raise SluiceError(f"{_PROGRAM} counts nothing {_SECONDS_TO_START} s after its start")

    def stop(self) -> str:
        """End it; give its lines.

        Raises:
            SluiceError: If a daemon had ended before.
        """
        for daemon in self._daemons:
            daemon.stop()
        return self._lines.read_text()
