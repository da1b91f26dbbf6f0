"""`sluice results`: what a sweep has found, finished or not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sluicegate.cli import options
from sluicegate.cli.screen import console, write_json
from sluicegate.errors import UsageError
from sluicegate.files import write_whole
from sluicegate.report.numbers import number_text
from sluicegate.report.terminal import terminal_table
from sluicegate.sweeps import Sweep
from sluicegate.sweeps.tables import mean_rows, progress_text

_MOST_ROWS = 40


def results(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER",
            help="The results folder, as given to sluice sweep --out.",
            show_default=False,
        ),
    ],
    where: options.Where = None,
    sql: Annotated[
        str | None,
        typer.Option(
            "--sql",
            metavar="QUERY",
            help="Ask in SQL instead, as DuckDB has it: the table is called runs.",
            show_default=False,
        ),
    ] = None,
    figure: options.FigureFile = None,
    y: options.Upwards = "sojourn_p99",
    x: options.Rightwards = None,
    colour: options.Colour = None,
    width: options.Width = 3.5,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Write the means, or the answer of --sql, to this file with all rows and columns.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = None,
) -> None:
    """Show the results of a sweep: means over the seeds, or what a query asks for.

    It also works while the sweep is running.
    """
    if sql is not None and (where or figure or json):
        raise UsageError("--sql can only be combined with --csv")
    found = Sweep(folder)
    if sql is not None:
        frame = found.query(sql)
        rows = [list(map(_cell, row)) for row in frame.head(_MOST_ROWS).iter_rows()]
        console().print(terminal_table(frame.columns, rows))
        _say_more(frame.height)
    else:
        chosen = options.conditions(where)
        frame = found.means(chosen)
        show(found, chosen)
        draw(found, figure, y, x, colour, chosen, width)
    if csv is not None:
        write_whole(csv, frame.write_csv())
    if json is not None:
        write_json(json, "sweep", found.summary())


def show(found: Sweep, where: dict[str, object]) -> None:
    """Print the table of means, and how far the sweep is."""
    screen = console()
    header, rows = mean_rows(found, found.means(where))
    screen.print(terminal_table(header, rows[:_MOST_ROWS]))
    _say_more(len(rows))
    done = found.query("SELECT count(*) FROM runs").item()
    screen.print(
        f"{progress_text(done, found.about['runs'], None)}; ±: half width of 95 % intervals"
    )


def _say_more(rows: int) -> None:
    if rows > _MOST_ROWS:
        console().print(f"and {rows - _MOST_ROWS:,} more rows: see --csv")


def _cell(value: object) -> str:
    return number_text(value) if isinstance(value, int | float) else str(value)


def draw(
    found: Sweep,
    path: Path | None,
    y: str,
    x: str | None,
    colour: str | None,
    where: dict[str, object],
    width: float,
) -> None:
    """Draw what is asked for into a file, if one is named."""
    if path is None:
        return
    from sluicegate.sweeps.figures import save  # loads matplotlib

    save(found.figure(y, x, colour=colour, where=where, width=width), path)
    console().print(f"figure: {escape(str(path))}")
