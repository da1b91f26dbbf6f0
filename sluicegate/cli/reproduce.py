"""`sluice reproduce`: a paper's published figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sluicegate.cli import options
from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console, write_json
from sluicegate.extras import require
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
        Path, typer.Option(metavar="FOLDER", help="Folder for the page.")
    ] = options.REPORT,
    world: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The world, for papers with several. drop-from-front: chain solves exactly "
            "instead of simulating; network, gate (real packets) and kernel (RED and DSRED in "
            "kernel space, in the laboratory) repeat its Linux router. redwm: network and "
            "gate repeat its Linux router.",
            show_default=False,
        ),
    ] = None,
    threads: options.Threads = None,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Write rows and claims to this file as JSON.",
            show_default=False,
        ),
    ] = None,
    fresh: options.Fresh = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="redwm: optimise from all 1000 starts, not from 8. This takes a quarter of an "
            "hour on one core, and can be interrupted and continued.",
        ),
    ] = False,
    published: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="l4s: folder with the published tables, which are not part of Sluicegate.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Repeat a paper: every published figure beside ours, with deviation and interval.

    Finished runs are kept: after Ctrl-C the same command makes the others.
    """
    chosen = world_of(name, world)
    require("matplotlib", "the page of its results")
    out.mkdir(parents=True, exist_ok=True)
    with progress(1) as watch:
        found = repeat(
            name,
            world=chosen,
            threads=threads,
            watch=watch,
            fresh=fresh,
            full=full,
            published=published,
        )
    screen = console()
    # the tables first: they are printed even if nothing can be written
    screen.print(f"[bold]{escape(found.paper)}[/]")
    screen.print(found.table())
    if found.claims:
        screen.print(found.claims_table())
        if found.unjudged:
            screen.print(escape(found.unjudged))
    for sentence in [*found.findings, *found.choices]:
        screen.print(f"\n{escape(sentence)}")
    page = out / (f"{name}.html" if chosen == world_of(name, None) else f"{name}-{chosen}.html")
    found.page().write(page)
    if json is not None:
        write_json(json, "reproduction", found.summary())
    screen.print(f"\nreport: {escape(str(page))}")
