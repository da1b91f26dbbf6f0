"""How commands show progress."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from sluicegate.cli.screen import console
from sluicegate.worlds import Watch

# seconds between two lines where there is no terminal: at least, and at most
_BRIEF_S = 5.0
_QUIET_S = 15.0


@contextmanager
def progress(disciplines: int) -> Iterator[Watch]:
    """Show how far the runs are and how much time is left.

    Where there is no terminal, a line is printed for each run of some seconds, or more.

    Args:
        disciplines: How many will be run, one after the other, each as long as the others.

    Yields:
        What a comparison calls; see `sluicegate.compare`.
    """
    screen = console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    told_s = time.monotonic()
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("starting", total=None)
        names: list[str] = []
        told: set[tuple[str, str]] = set()

        def watch(name: str, done: float, total: float, stage: str = "", /) -> None:
            if name not in names:
                names.append(name)
            place = len(names)
            which = f" ({place} of {disciplines})" if disciplines > 1 else ""
            description = f"{name}{which}{f': {stage}' if stage else ''}"
            whole, completed = disciplines * total, (place - 1) * total + done
            bar.update(task, description=description, total=whole, completed=completed)
            if screen.is_terminal:
                return
            # the stage of a campaign starts with the name of the run
            run = (name, stage.partition(": ")[0] if ": " in stage else "")
            nonlocal told_s
            since_s = time.monotonic() - told_s
            if since_s >= _QUIET_S or (run not in told and since_s >= _BRIEF_S):
                told_s += since_s
                told.add(run)
                line = f"{completed / whole:4.0%} {description}"
                screen.print(line, markup=False, no_wrap=True, overflow="ellipsis")

        yield watch
