"""The room that the store of finished runs may take: what was not used longest goes first."""

from __future__ import annotations

import math
import os
import re
import time
from contextlib import suppress
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.files import UNFINISHED

_VARIABLE = "SLUICE_RUNS_MB"
_USUAL_MB = 1000.0
_MB = 1e6
# only what the store has written: the folder may have other files
_OURS = re.compile(
    rf"[0-9a-f]{{32}}\.(zip|html\.gz)|advice-[0-9a-f]{{32}}\.json|{re.escape(UNFINISHED)}[0-9a-f]+"
)
# a file that is being written is younger: it stays
_UNFINISHED_S = 3600.0
# a process looks how large the store is at its first run, and each time that it has written this
# share of the room; what is removed leaves so much free
_SHARE = 0.05

_written = math.inf


def touch(path: Path) -> None:
    """Note that a file of the store was used now."""
    with suppress(OSError):
        os.utime(path)


def make_room(path: Path) -> None:
    """Remove what was not used longest, if the store has become too large.

    Args:
        path: A file of the store that was written now.

    Raises:
        SluiceError: If `$SLUICE_RUNS_MB` is no number of megabytes; the usual room is left then.
        OSError: If the folder cannot be read.
    """
    global _written
    # another process may have removed it
    with suppress(FileNotFoundError):
        _written += path.stat().st_size
    room, wrong = _room()
    if _written > _SHARE * room:
        _written = 0.0
        _remove(path.parent, room)
    if wrong is not None:
        raise SluiceError(wrong)


def _room() -> tuple[float, str | None]:
    """The room in bytes, and what is wrong with the variable that sets it."""
    given = os.environ.get(_VARIABLE, f"{_USUAL_MB:g}")
    with suppress(ValueError):
        if (megabytes := float(given)) >= 0:
            return _MB * megabytes, None
    return _MB * _USUAL_MB, (
        f"{_VARIABLE} = {given!r} must be a number of megabytes, 0 or more: {_USUAL_MB:g} are used"
    )


def _remove(folder: Path, room: float) -> None:
    """Leave a part of the room free, if more than all of it is taken."""
    found: list[tuple[float, int, str]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                if _OURS.fullmatch(entry.name):
                    about = entry.stat(follow_symlinks=False)
                    begun = entry.name.startswith(UNFINISHED)
                    if begun and time.time() - about.st_mtime < _UNFINISHED_S:
                        continue
                    found.append((about.st_mtime, about.st_size, entry.path))
    taken = sum(size for _, size, _ in found)
    if taken <= room:
        return
    for _, size, path in sorted(found):
        if taken <= (1 - _SHARE) * room:
            break
        with suppress(OSError):
            os.unlink(path)
        taken -= size
