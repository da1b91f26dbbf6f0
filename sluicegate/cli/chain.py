"""`sluice chain`: the disciplines of a scenario solved exactly."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from sluicegate.chain import Method, extrapolate, solve
from sluicegate.cli import options
from sluicegate.cli.screen import console, write_json
from sluicegate.report.tables import record_rows, terminal_table


def chain(
    scenario: options.ScenarioFile,
    aqm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:KEY=VALUE,...",
            help="A discipline, in place of the scenario's; give it several times for several.",
            show_default=False,
        ),
    ] = None,
    grid: Annotated[
        float, typer.Option(metavar="PACKETS", help="Step of the average's grid.")
    ] = 0.25,
    method: Annotated[Method, typer.Option(help="How the chain is solved.")] = "auto",
    limit: Annotated[
        bool,
        typer.Option(
            "--limit", help="Solve with steps of 4, 2 and 1 times the grid and go to the limit."
        ),
    ] = False,
    json: options.Json = None,
) -> None:
    """Solve each discipline's Markov chain and print all measures: exact, without any noise."""
    changed = options.changes(aqm=aqm or [], slots=None, replications=None, seed=None)
    chosen = options.scenario(scenario, changed)
    screen, records = console(), []
    for discipline in chosen.disciplines:
        if limit:
            record = extrapolate(chosen, discipline, grid=grid)
        else:
            record = solve(chosen, discipline, grid=grid, method=method).record
        screen.print(f"[bold]{escape(record.discipline)}[/]")
        screen.print(terminal_table(*record_rows(record)))
        screen.print(record.method)
        records.append(record.summary())
    if json is not None:
        write_json(json, {"title": chosen.title, "records": records})
