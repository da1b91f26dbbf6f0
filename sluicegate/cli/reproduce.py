"""`sluice reproduce`: a paper's published figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sluicegate.cli import options
from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console, write_json
from sluicegate.papers import REPRODUCTIONS, world_of
from sluicegate.papers import reproduce as repeat


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=lambda: list(REPRODUCTIONS),
            metavar="NAME",
            help=f"One of {', '.join(REPRODUCTIONS)}.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the page goes.")
    ] = options.REPORT,
    world: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Where a paper is repeated in several worlds: chain, for drop-from-front, solves "
            "exactly instead of simulating; network and gate repeat the Linux routers of "
            "drop-from-front and redwm, gate with real packets; kernel has RED and DSRED of "
            "drop-from-front in kernel space, in the laboratory.",
            show_default=False,
        ),
    ] = None,
    threads: options.Threads = None,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write rows and claims as JSON.", show_default=False
        ),
    ] = None,
    fresh: options.Fresh = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="redwm: its optimisation from all 1000 starts, not from 8; a quarter of an hour "
            "of a core, and it may be ended and gone on with.",
        ),
    ] = False,
) -> None:
    """Repeat a paper: every published figure beside ours, with deviation and interval.

    Runs that are finished are kept: after Ctrl-C the same command runs the others.
    """
    chosen = world_of(name, world)
    out.mkdir(parents=True, exist_ok=True)
    with progress(1) as watch:
        found = repeat(name, world=chosen, threads=threads, watch=watch, fresh=fresh, full=full)
    page = out / (f"{name}.html" if chosen == world_of(name, None) else f"{name}-{chosen}.html")
    found.page().write(page)
    if json is not None:
        write_json(json, "reproduction", found.summary())
    screen = console()
    screen.print(f"[bold]{escape(found.paper)}[/]")
    screen.print(found.table())
    if found.claims:
        screen.print(found.claims_table())
        if found.unjudged:
            screen.print(escape(found.unjudged))
    for sentence in [*found.findings, *found.choices]:
        screen.print(f"\n{escape(sentence)}")
    screen.print(f"\nreport: {escape(str(page))}")
