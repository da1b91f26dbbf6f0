"""`sluice compare`: several disciplines on one scenario, a table and a report."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from sluicegate.cli import options
from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console, write_json
from sluicegate.comparison import Comparison
from sluicegate.comparison import until_interrupted as run
from sluicegate.errors import UsageError
from sluicegate.extras import require
from sluicegate.files import make_folder
from sluicegate.record import methods
from sluicegate.report.folder import check_folder, replaces, write_report
from sluicegate.report.tables import bounds_told, comparison_table
from sluicegate.worlds import AnyScenario, AnyWorld


@options.of_worlds(one_run=True)
def compare(
    scenario: options.ScenarioFile,
    aqm: options.Aqms = None,
    world: options.Worlds = None,
    out: options.Out = options.REPORT,
    slots: options.Slots = None,
    replications: options.Replications = None,
    seed: options.Seed = None,
    duration: options.Duration = None,
    threads: options.Threads = None,
    measures: options.Measures = None,
    json: options.Json = None,
    figures: Annotated[
        Literal["pdf", "svg", "png"] | None,
        typer.Option(
            help="Also write every figure of the page to a file of its own.", show_default=False
        ),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Whether to write the page and its data.")
    ] = True,
    decisions: options.Decisions = None,
    fresh: options.Fresh = False,
    *,
    settings: options.Settings,
) -> None:
    """Compare disciplines on one scenario: prints a table, and writes a report with plots.

    All disciplines see the same arrivals.

    Finished disciplines are kept: after Ctrl-C the same command runs the others.
    """
    if report:
        require("matplotlib", "the page of its results (left out with --no-report)")
    packets = settings["packets"]
    one_run = packets is not None or decisions is not None
    changed = options.changes(
        aqm=aqm or [],
        slots=slots,
        replications="1" if replications is None and one_run else replications,
        seed=seed,
        duration=duration,
    )
    chosen = options.scenario(scenario, changed)
    columns = options.measures(measures, chosen.parts())
    if packets is not None and world is not None and len(world) > 1:
        raise UsageError(f"--packets takes one world, but {len(world)} are given")
    worlds = options.worlds(world, chosen, settings)
    if decisions is not None:
        worlds = [each.logged(decisions) for each in worlds]
    show(
        chosen,
        worlds,
        out if report else None,
        json,
        figures,
        measures=columns,
        threads=threads,
        fresh=fresh,
    )


def show(
    scenario: AnyScenario,
    worlds: Sequence[AnyWorld],
    out: Path | None,
    json: Path | None,
    figures: str | None = None,
    *,
    measures: Sequence[str] = (),
    threads: int | None = None,
    fresh: bool = False,
) -> None:
    """Compare, print the table, write the report and, where files are given, what is asked for."""
    if out is not None:
        check_folder(out)
        make_folder(out)
    with progress(len(scenario.disciplines) * len(worlds)) as watch:
        comparison = run(scenario, world=worlds, threads=threads, watch=watch, fresh=fresh)
    comparison = comparison.showing(*measures)
    # the table first: it is printed even if the report cannot be written
    _print(comparison)
    notes = comparison.notes()
    if out is not None:
        if out == options.REPORT and replaces(comparison, out):
            notes.append(f"the report that {out} had is replaced; --out FOLDER keeps both")
        with warnings.catch_warnings(record=True) as told:
            page = write_report(comparison, out, figures=figures)
        notes += [str(each.message) for each in told]
        console().print(f"report: {escape(str(page))}", soft_wrap=True)
    if json is not None:
        write_json(json, "comparison", comparison.summary())
    if comparison.interrupted:
        notes = ["Interrupted.", *notes, comparison.how_to_go_on()]
    if notes:
        console(stderr=True).print(escape("\n".join(notes)), soft_wrap=True)
    if comparison.interrupted:
        raise typer.Exit(130)


def _print(comparison: Comparison) -> None:
    screen = console()
    if title := comparison.scenario.title:
        screen.print(f"[bold]{escape(title)}[/]")
    screen.print(comparison_table(comparison))
    for method in methods(comparison.records):
        screen.print(escape(method), style="dim")
    if told := bounds_told(comparison):
        screen.print(told, style="dim")
