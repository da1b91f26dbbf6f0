"""The daemon `sluiced`: where it is, and what it compiles."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.programs import which

_PROGRAM = "sluiced"
# what errors say where there is none, and how to get one
NO_PROGRAM = "it is neither beside sluice, nor on the path, nor in $SLUICED"
GET_PROGRAM = "install a wheel of Sluicegate, or make build in its sources"


def program() -> str | None:
    """Path of the daemon: `$SLUICED`, beside this Python's commands, or on the path; None: none."""
    given = os.environ.get("SLUICED")
    beside = Path(sys.executable).parent / _PROGRAM
    for path in (given, beside):
        if path and os.access(path, os.X_OK):
            return str(path)
    return which(_PROGRAM)


def sluiced() -> str:
    """Path of the daemon.

    Raises:
        SluiceError: If it is not there.
    """
    found = program()
    if found is None:
        raise SluiceError(f"the daemon sluiced: {NO_PROGRAM}: {GET_PROGRAM}")
    return found


def compiled(
    aqm: str, *, scheduler: str = "fifo", also: Sequence[str] = (), log: bool = False
) -> bytes:
    """The object of an AQM's qdisc, compiled on this machine: the laboratory has no clang.

    Args:
        aqm: Its name, with parameters or without.
        scheduler: Its kind; `fifo` has one queue, the others have several.
        also: Names of other AQMs that classes of service have.
        log: With a log of all decisions.

    Raises:
        SluiceError: If the compiler refuses it, or is missing.
    """
    with_scheduler = ["--scheduler", scheduler] * (scheduler != "fifo")
    others = [word for other in also for word in ("--also", other)]
    return _object(
        "qdisc", "compile", aqm.split(":")[0], *with_scheduler, *others, *["--log"] * log
    )


@cache
def compiled_prague() -> bytes:
    """The object of Prague, a congestion control for Linux's TCP, compiled on this machine.

    Raises:
        SluiceError: If the compiler is missing.
    """
    return _object("prague", "compile")


def _object(*command: str) -> bytes:
    """What a command of `sluiced` writes to the file that is its last argument."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "object.o"
        done = subprocess.run(
            [sluiced(), *command, str(path)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SluiceError(done.stderr.strip())
        return path.read_bytes()
