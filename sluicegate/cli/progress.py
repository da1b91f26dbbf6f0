"""How commands show progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from sluicegate.cli.screen import console
from sluicegate.worlds import Watch


@contextmanager
def progress(disciplines: int) -> Iterator[Watch]:
    """Show how far the runs are and how much time is left.

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
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("starting", total=None)
        names: list[str] = []

        def watch(name: str, done: float, total: float, stage: str = "", /) -> None:
            if name not in names:
                names.append(name)
            place = len(names)
            which = f" ({place} of {disciplines})" if disciplines > 1 else ""
            bar.update(
                task,
                description=f"{name}{which}{f': {stage}' if stage else ''}",
                total=disciplines * total,
                completed=(place - 1) * total + done,
            )

        yield watch
