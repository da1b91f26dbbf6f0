"""What commands share: where they print, how they show progress, how they write JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from sluicegate.files import writing
from sluicegate.worlds import Watch

_WIDTH_OF_A_FILE = 120


def console(stderr: bool = False) -> Console:
    """A console on standard output or error; wide enough for tables where that is no terminal."""
    screen = Console(stderr=stderr, highlight=False)
    return (
        screen
        if screen.is_terminal
        else Console(stderr=stderr, highlight=False, width=_WIDTH_OF_A_FILE)
    )


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


def write_json(path: Path, content: Any) -> None:
    """Write types that JSON has; what is no finite number becomes null."""
    with writing(path):
        path.write_text(json.dumps(_finite(content), indent=2) + "\n", encoding="utf-8")


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
