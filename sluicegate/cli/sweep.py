"""`sluice sweep`: one scenario with many values of its fields."""

from __future__ import annotations

import re
import tomllib
from typing import Annotated

import typer
from rich.markup import escape

from sluicegate.cli import figure_options, options, syntax
from sluicegate.cli.progress import progress
from sluicegate.cli.results import Picture, show
from sluicegate.cli.screen import console
from sluicegate.errors import UsageError
from sluicegate.extras import require
from sluicegate.sweeps import sweep as run
from sluicegate.sweeps.design import Method
from sluicegate.sweeps.plan import Plan

_FIELDS: dict[str, tuple[type, ...]] = {"method": (str,), "points": (int,), "vary": (dict,)}


@options.of_worlds(one_run=False)
def sweep(
    scenario: options.ScenarioFile,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=VALUES",
            help="What varies, instead of what the table sweep has; may be repeated. Values are "
            "a list, 5,50,200, or a range: 1..20, 0.1..0.9:9 (nine values), 1e6..1e9:7:log. "
            "Numbers may have units: 5M,20M or 10..200ms:5. "
            "Paths joined by commas vary together: "
            "'queue.limit,flows.0.count=[50,5],[100,10]'. red.max_p is RED's parameter; rtt is the "
            "base RTT of a dumb-bell.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(
            help="grid: every value with every other; list: the first values of all, then the "
            "second ones; latin-hypercube: random points that fill the ranges evenly. If not "
            "given: grid.",
            show_default=False,
        ),
    ] = None,
    points: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of points of a Latin hypercube.", show_default=False
        ),
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the results, or a URL that fsspec knows, such as s3://bucket/folder. "
            "An unfinished sweep there is continued.",
        ),
    ] = "sluice-sweep",
    aqm: options.Aqms = None,
    world: options.Worlds = None,
    slots: options.Slots = None,
    replications: options.Replications = None,
    seed: options.Seed = None,
    duration: options.Duration = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Processes to use; all cores if not given.", show_default=False
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A Dask scheduler whose workers make the runs, such as tcp://host:8786.",
            show_default=False,
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="K/N",
            help="Make only part K of N, in one of N jobs of a batch system.",
            show_default=False,
        ),
    ] = None,
    measures: options.Measures = None,
    figure: figure_options.FigureFile = None,
    y: figure_options.Upwards = None,
    x: figure_options.Rightwards = None,
    colour: figure_options.Colour = None,
    where: options.Where = None,
    width: figure_options.Width = 3.5,
    xlabel: figure_options.XLabel = None,
    ylabel: figure_options.YLabel = None,
    xscale: figure_options.XScale = None,
    yscale: figure_options.YScale = None,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Whether to write the page report.html.")
    ] = True,
    *,
    settings: options.Settings,
) -> None:
    """Run a scenario with many values of its fields, and keep every result.

    What varies is in the scenario's table sweep, or in --vary.

    Finished runs are kept: however the command ended, the same one makes the others.
    """
    require("duckdb", "the table of its results")
    if report:
        require("matplotlib", "the page of its results (left out with --no-report)")
    changed = options.changes(
        aqm=aqm or [], slots=slots, replications=replications, seed=seed, duration=duration
    )
    chosen = options.scenario(scenario, changed)
    table = options.table(scenario, "sweep", _FIELDS)
    given = dict(_variable(text) for text in vary or [])
    conditions = options.conditions(where)
    varied = given or table.get("vary", {})
    worlds = options.worlds(world, chosen, settings)
    method = method or table.get("method", "grid")
    points = points if points is not None else table.get("points")
    # those of all points: what varies may give a discipline other bands
    bands = Plan.of(chosen, worlds, varied, method, points).bands()
    parts = [*chosen.classes(), *bands]
    columns = options.measures(measures, parts)
    picture = Picture(figure, y, x, colour, width, xlabel, ylabel, xscale, yscale)
    # before hours of runs, not after
    paths = [path.strip() for name in varied for path in name.split(",")]
    picture.check(paths, parts)
    with progress(1) as watch:
        found = run(
            chosen,
            varied,
            out,
            method=method,
            points=points,
            world=worlds,
            workers=workers,
            dask=dask,
            shard=options.shard(shard),
            report=report,
            watch=watch,
        )
    screen = console()
    try:
        more = f"sluice results {found.folder.path} --csv FILE"
        show(found, conditions, columns, picture, more=more)
        picture.draw(found, conditions)
    finally:  # the results are there, whether they can be drawn or not
        screen.print(f"results: {escape(out)}")
        if report:
            screen.print(f"report: {escape(out.rstrip('/'))}/report.html")


def _variable(text: str) -> tuple[str, object]:
    """Read `PATH=VALUES`: a range as text, anything else as a list."""
    path, equals, values = text.partition("=")
    if not (path.strip() and equals and values.strip()):
        raise UsageError(f"--vary: {text!r} must be PATH=VALUES")
    if re.search(r"\d\s*[A-Za-z/]*\.\.[-+.\d]", values):
        return path.strip(), values.strip()
    try:
        listed = tomllib.loads(f"it = [{values}]")["it"]
    except (ValueError, RecursionError):
        # words need no quotes, and a list of them may have brackets
        listed = [syntax.value(part.strip()) for part in _unbracketed(values).split(",")]
    return path.strip(), listed


def _unbracketed(values: str) -> str:
    """What stands in the only pair of brackets; the whole if there is none, or several."""
    found = re.fullmatch(r"\s*\[([^\[\]]*)\]\s*", values)
    return found[1] if found else values
