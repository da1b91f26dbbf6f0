"""Runs a job in a bed of its own, from the caller's process."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache

from sluicegate.errors import SluiceError
from sluicegate.programs import environment
from sluicegate.testbed.job import Job, QdiscJob
from sluicegate.testbed.outcome import Outcome
from sluicegate.testbed.row import RowJob

# a network, a file system and processes of its own, which end with the first of these
_SPACES = ["--net", "--mount", "--pid", "--fork", "--kill-child"]
# first of all: a network's root must be that of the user namespace in which it was made
_AS_ROOT_IN_THERE = ["--user", "--map-root-user", "unshare"]


@cache
def entrance() -> tuple[str, ...]:
    """The command that runs another one in namespaces of its own, as root or as anybody.

    Raises:
        SluiceError: If that is not allowed here, with the reason.
    """
    reason = ""
    for user in ([], _AS_ROOT_IN_THERE):
        words = ["unshare", *user, *_SPACES]
        try:
            tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise SluiceError("there is no command unshare") from None
        if not tried.returncode:
            return tuple(words)
        reason = tried.stderr.strip()
    raise SluiceError(reason or "unshare fails")


def run(job: Job, watch: Callable[[float], None] = lambda seconds: None) -> Outcome:
    """Do a job; nothing is left of it afterwards, whatever happens.

    Args:
        job: What to do.
        watch: Called now and then with the seconds since its start.

    Raises:
        SluiceError: If it cannot be done, with the reason.
    """
    bed_of = "row_bed" if isinstance(job, RowJob) else "bed"
    # qdiscs that mark have `ip netns`, which takes processes' numbers as /proc has them; others do
    # without, as a container may refuse a further /proc
    proc = ["--mount-proc"] if isinstance(job.router, QdiscJob) else []
    # all errors of the processes in the bed; a file without a name
    with tempfile.TemporaryFile() as said:
        bed = subprocess.Popen(
            [*entrance(), *proc, sys.executable, "-m", f"sluicegate.testbed.{bed_of}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            # Ctrl-C is for the caller, who ends the bed
            start_new_session=True,
            env=environment(),
        )
        assert bed.stdin is not None
        assert bed.stdout is not None
        try:
            pickle.dump(job, bed.stdin)
            bed.stdin.flush()
            while isinstance(news := pickle.load(bed.stdout), float):
                watch(news)
        except (EOFError, BrokenPipeError):
            news = "the testbed ended"
        finally:
            bed.kill()
            bed.communicate()
        if isinstance(news, Outcome):
            return news
        said.seek(0)
        raise SluiceError("\n".join([news, said.read().decode(errors="replace").strip()]).strip())
