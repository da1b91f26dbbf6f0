"""`sluice page`: a page that runs the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sluicegate.cli import options, syntax
from sluicegate.cli.screen import console
from sluicegate.files import write_whole


def page(
    scenario: options.ScenarioFile,
    aqm: options.Aqms = None,
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="The page.")] = Path("queue.html"),
) -> None:
    """Write one offline page in which the engine runs the scenario, with sliders for everything.

    It shows the first two disciplines beside each other; a browser opens it from the disk.
    """
    from sluicegate.page import page as made

    changed = {"disciplines": [syntax.discipline(text) for text in aqm]} if aqm else {}
    with options.named(changed, scenario):
        write_whole(out, made(scenario, changed))
    console().print(f"page: {escape(str(out))}")
