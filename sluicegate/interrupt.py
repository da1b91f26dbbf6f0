"""Ctrl-C while there is nothing yet that could be kept."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ends_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process as it ends one in C: imports would show where they were."""
    usual = signal.getsignal(signal.SIGINT)
    # a job in the background goes on to ignore it
    if usual is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
