"""`sluice decisions`: where two decision logs part."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sluicegate.cli.screen import console
from sluicegate.decisions import first_difference

_Log = Annotated[Path, typer.Argument(help="A log written by --decisions.", show_default=False)]


def decisions(first: _Log, second: _Log) -> None:
    """Compare two decision logs, and tell in words where they first differ.

    A log has a line for all that a queue asked or told its AQM: two worlds, or two versions of an
    AQM, that were given the same packets and the same random words must write the same.

    The exit code is 0 if they are equal, and 1 if not.
    """
    lines, difference = first_difference(first, second)
    screen = console()
    if difference is None:
        screen.print(f"The logs are equal: {lines:,} lines.")
        return
    screen.print(f"The first {lines:,} lines are equal. Then:")
    screen.print(escape(difference), soft_wrap=True)
    raise typer.Exit(1)
