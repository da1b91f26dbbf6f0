"""How many threads a simulation takes, and how many processes."""

from __future__ import annotations

import os

from sluicegate.errors import SluiceError

_MOST = 256


def check_threads(threads: int | None) -> None:
    """Check how many threads a simulation is given; None means all cores.

    Raises:
        SluiceError: If it is no number from 1 to 256.
    """
    if threads is not None and not 1 <= threads <= _MOST:
        raise SluiceError(f"threads = {threads} must be between 1 and {_MOST}")


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
