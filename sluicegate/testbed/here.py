"""This machine's own kernel in place of the laboratory: in namespaces, in real time."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sluicegate.daemon import GET_PROGRAM, NO_PROGRAM, program
from sluicegate.errors import InterruptError
from sluicegate.testbed.check import missing, namespace_needs, qdisc_need
from sluicegate.testbed.job import Job
from sluicegate.testbed.outcome import Outcome
from sluicegate.testbed.run import run


@dataclass(frozen=True)
class HereTestbed:
    """The testbed on this machine.

    Attributes:
        undo: Commands that take away what a job leaves in the kernel; of them some are empty.
    """

    undo: Sequence[Sequence[str]] = ()

    @property
    def described(self) -> dict[str, str]:
        """What determines an outcome: here never the same twice."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        return {"kernel": os.uname().release, "measured": now}

    def run(self, job: Job, *, seed: int, ended: threading.Event) -> Outcome:
        """Do a job; what is random in the kernel has no seed here.

        Raises:
            SluiceError: If it cannot be done, with the reason.
            InterruptError: If it was stopped.
        """

        def watch(_: float) -> None:
            if ended.is_set():
                raise InterruptError("the run was interrupted")

        try:
            return run(job, watch)
        finally:
            for words in filter(None, self.undo):
                # also after a job that left nothing
                subprocess.run(words, capture_output=True, check=False)


def missing_here(*, ours: bool) -> str:
    """What this machine lacks, and the remedy, a line each; empty if nothing.

    Args:
        ours: Whether the qdiscs are ours, or the kernel's own.
    """
    # not as root of an own user namespace: BPF needs the capability in the whole machine
    if os.geteuid():
        return "--here: the rights of root: this user does not have them: sudo sluice compare ..."
    lines = [missing([*namespace_needs(), qdisc_need()]), *(_of_bpf() if ours else [])]
    return "\n".join(f"--here: {each}" for text in lines for each in text.splitlines())


def _of_bpf() -> list[str]:
    """What `sluiced` lacks."""
    if (daemon := program()) is None:
        return [f"the daemon sluiced: {NO_PROGRAM}: {GET_PROGRAM}"]
    command = [daemon, "check", "--backend", "kernel", "--json"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    # without BPF it checks nothing, and says why
    found = [json.loads(line) for line in told.stdout.splitlines()]
    return told.stderr.splitlines() + [
        f"{each['check']}: {each['what']}: {each['remedy']}"
        for each in found
        if each["result"] == "missing"
    ]
