"""The store of finished runs: what was computed once is not computed again."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

from sluicegate import _engine
from sluicegate.record import Record

R = TypeVar("R", bound=Record)

_CODE = (
    "estimate.py",
    "record.py",
    "worlds/slotted/record.py",
    "worlds/slotted/simulate.py",
    "worlds/chain/build.py",
    "worlds/chain/limit.py",
    "worlds/chain/steady.py",
)


@cache
def build() -> str:
    """Hash of what makes a record: another engine, or other measures, is another run."""
    here = Path(__file__).parent
    parts = [Path(str(_engine.__file__))]
    parts += [here / name for name in _CODE]
    parts += sorted((here / "worlds/network").glob("*.py"))
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()


def identity(run: dict[str, Any]) -> str:
    """Hash of everything that determines a run."""
    text = json.dumps({"build": build(), "run": run}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def folder() -> Path:
    """Where finished runs are kept: `$SLUICE_RUNS`, or the user's cache."""
    given = os.environ.get("SLUICE_RUNS")
    return Path(given) if given else platformdirs.user_cache_path("sluicegate") / "runs"


def _path(name: str) -> Path:
    return folder() / f"{name}.zip"


def find(name: str, kind: type[R]) -> R | None:
    """The finished run of that identity; None if there is none that can be read.

    Args:
        name: The identity.
        kind: Of record; the world knows it.
    """
    path = _path(name)
    try:
        return kind.read(path)
    except OSError:  # not there, or not to be opened
        return None
    except Exception:  # whatever is wrong in the file, the run can be made again
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return None


def keep(record: Record) -> None:
    """Keep a finished run, if the folder can be written: a result is not given up for that."""
    with suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        record.write(_path(record.identity))
