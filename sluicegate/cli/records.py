"""`sluice records`: what a live router has written of itself."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from sluicegate.cli.screen import console
from sluicegate.files import write_whole
from sluicegate.report.numbers import number_text
from sluicegate.report.terminal import terminal_table
from sluicegate.router_records import read_router_records


def records(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The file of `sluiced run --jsonl`, finished or not.",
            show_default=False,
        ),
    ],
    parquet: Annotated[
        Path | None,
        typer.Option(
            "--parquet",
            metavar="FILE",
            help="Write all lines to this file as Parquet, with the same columns.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Sum up the lines of a live router, and write them as Parquet.

    A last line that is cut off, as after a kill, is left out.
    """
    frame = read_router_records(file)
    screen = console()
    lasts = frame.group_by("link", maintain_order=True).last().to_dicts()
    if lasts:
        rows = [[last["link"], *map(number_text, _figures(last).values())] for last in lasts]
        screen.print(terminal_table(["link", *_figures(lasts[0])], rows))
    screen.print(f"{frame.height:,} lines")
    if parquet is not None:
        # written by Python: a full disk is an OSError then
        content = io.BytesIO()
        frame.write_parquet(content)
        write_whole(parquet, content.getvalue())
        screen.print(f"parquet: {escape(str(parquet))}", soft_wrap=True)


def _figures(last: dict[str, Any]) -> dict[str, Any]:
    """Some of a link's figures, from the start to its last line."""
    return {
        "time, s": last["time_s"],
        "arrivals": last["arrivals"],
        "lost": last["lost"],
        "marked": last["marked"],
        "mean queue, packets": last["queue_mean"],
        "mean sojourn, ms": last["sojourn_ms"]["mean"],
        "p99 lateness, ms": last["lateness_ms"]["p99"],
    }
