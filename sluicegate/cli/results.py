"""`sluice results`: what a sweep has found, finished or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from sluicegate.cli import figure_options, options
from sluicegate.cli.screen import console, write_json
from sluicegate.errors import UsageError
from sluicegate.files import write_whole
from sluicegate.measures import DEFINITIONS
from sluicegate.report.csv import csv_text
from sluicegate.report.latex import latex_table
from sluicegate.report.numbers import number_text
from sluicegate.report.tables import label
from sluicegate.report.terminal import terminal_table
from sluicegate.sweeps import Sweep
from sluicegate.sweeps.tables import INTERVALS, has_intervals, mean_rows, progress_text

_MOST_ROWS = 40
_USUAL_Y = "sojourn_p99"


@dataclass(frozen=True)
class Picture:
    """What `--figure` and the options of its axes ask for.

    Attributes:
        path: Where to; None: nothing is drawn.
        y: As in `Sweep.figure`; None: what is usual.
        x: Likewise.
        colour: Likewise.
        width: Likewise.
        xlabel: Likewise.
        ylabel: Likewise.
        xscale: Likewise.
        yscale: Likewise.
    """

    path: Path | None
    y: str | None
    x: str | None
    colour: str | None
    width: float
    xlabel: str | None
    ylabel: str | None
    xscale: Literal["linear", "log"] | None
    yscale: Literal["linear", "log"] | None

    @property
    def measures(self) -> list[str]:
        """The measures that it shows."""
        drawn = (self.y or (_USUAL_Y if self.path else None), self.x, self.colour)
        return [name for name in drawn if name is not None and name in DEFINITIONS]

    def check(self, paths: Sequence[str], classes: Sequence[str] | None = None) -> None:
        """Refuse what cannot be drawn of a sweep in which these paths vary.

        `classes` are the names of its classes of flows, if they are known.
        """
        if self.path is not None:
            if not math.isfinite(self.width):
                raise UsageError(f"--width: {self.width} must be a number of inches")
            from sluicegate.sweeps.figures import check  # loads matplotlib

            check(self.path, self.y or _USUAL_Y, self.x, self.colour, paths, classes)

    def draw(self, found: Sweep, where: dict[str, object]) -> None:
        """Draw it, if it is asked for."""
        if self.path is None:
            return
        from sluicegate.report.figure_file import save  # loads matplotlib

        figure = found.figure(
            self.y or _USUAL_Y,
            self.x,
            colour=self.colour,
            where=where,
            width=self.width,
            xlabel=self.xlabel,
            ylabel=self.ylabel,
            xscale=self.xscale,
            yscale=self.yscale,
        )
        save(figure, self.path)
        console().print(f"figure: {escape(str(self.path))}")


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
    measures: options.Measures = None,
    figure: figure_options.FigureFile = None,
    y: figure_options.Upwards = None,
    x: figure_options.Rightwards = None,
    colour: figure_options.Colour = None,
    width: figure_options.Width = 3.5,
    xlabel: figure_options.XLabel = None,
    ylabel: figure_options.YLabel = None,
    xscale: figure_options.XScale = None,
    yscale: figure_options.YScale = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Write the means, or the answer of --sql, to this file, with all rows, and all "
            "measures or those of --measures.",
            show_default=False,
        ),
    ] = None,
    across: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Give the table a column for each discipline (--across discipline), or for each "
            "value of what varies.",
            show_default=False,
        ),
    ] = None,
    latex: Annotated[
        Path | None,
        typer.Option(
            "--latex",
            metavar="FILE",
            help="Write the table that is shown, with all rows, to this file for LaTeX.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = None,
) -> None:
    """Show the results of a sweep: means over the seeds, or what a query asks for.

    It also works while the sweep is running.
    """
    if sql is not None and (where or measures or figure or json or across):
        raise UsageError("--sql can only be combined with --csv and --latex")
    found = Sweep(folder)
    if sql is not None:
        frame = found.query(sql)
        header, rows = frame.columns, [list(map(_cell, row)) for row in frame.iter_rows()]
        console().print(terminal_table(header, rows[:_MOST_ROWS]))
        _say_more(len(rows), None if csv or latex else "add --csv FILE")
    else:
        chosen = options.conditions(where)
        picture = Picture(figure, y, x, colour, width, xlabel, ylabel, xscale, yscale)
        columns = options.measures(measures)
        picture.check(found.paths)
        frame = found.means(chosen, [*columns, *picture.measures] if columns else None)
        # a CSV has no columns across
        is_written = latex or (csv and not across)
        how = "add --latex FILE" if across else "add --csv FILE"
        more = None if is_written else how
        header, rows = show(found, chosen, columns, picture, across, more=more)
        picture.draw(found, chosen)
    if latex is not None:
        write_whole(latex, latex_table(header, rows))
    if csv is not None:
        write_whole(csv, csv_text(frame))
    if json is not None:
        write_json(json, "sweep", found.summary())


def show(
    found: Sweep,
    where: dict[str, object],
    measures: Sequence[str],
    picture: Picture,
    across: str | None = None,
    *,
    more: str | None,
) -> tuple[list[str], list[list[str]]]:
    """Print the table of means, and how far the sweep is; return its header and all rows.

    Args:
        found: The sweep.
        where: Which runs.
        measures: The table's columns; if empty, the usual ones. What is drawn is there, too.
        picture: What is drawn.
        across: What has a column for each of its values.
        more: How to get all rows; None: a file has them.
    """
    screen = console()
    means = found.means(where)
    columns = dict.fromkeys([*(measures or found.key_measures(means)), *picture.measures])
    header, rows = mean_rows(found, means, list(columns), across)
    # the only measure does not stand in the headings then
    alone = across is not None and len(columns) == 1
    title = label(next(iter(columns)), means["time_unit"][0]) if alone else ""
    screen.print(terminal_table(header, rows[:_MOST_ROWS], title))
    _say_more(len(rows), more)
    done = found.query("SELECT count(*) FROM runs").item()
    said = progress_text(done, found.about["runs"], None)
    if where:
        said += f"; {found.selected(where).height:,} of them are shown"
    screen.print(f"{said}; {INTERVALS}" if has_intervals(rows) else said)
    if notes := found.notes(where):
        console(stderr=True).print(escape("\n".join(notes)), soft_wrap=True)
    return header, rows


def _say_more(rows: int, how: str | None) -> None:
    """Say how to get all rows; None: a file has them."""
    if rows > _MOST_ROWS and how is not None:
        console().print(escape(f"and {rows - _MOST_ROWS:,} more rows: {how}"), soft_wrap=True)


def _cell(value: object) -> str:
    return number_text(value) if isinstance(value, int | float) else str(value)
