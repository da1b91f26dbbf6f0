"""`sluice simulate`: one discipline, all its measures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from sluicegate.cli import options
from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console, write_json
from sluicegate.comparison import until_interrupted
from sluicegate.errors import SluiceError, UsageError
from sluicegate.report.tables import record_rows
from sluicegate.report.terminal import terminal_table
from sluicegate.scenario import Scenario


@options.of_worlds(one_run=True)
def simulate(
    scenario: Annotated[
        Path | None,
        typer.Argument(metavar="SCENARIO.toml", help="The scenario.", show_default=False),
    ] = None,
    aqm: Annotated[
        str | None,
        typer.Option(
            autocompletion=options.aqm_names,
            metavar="NAME:KEY=VALUE,...",
            help="The discipline, instead of the scenario's. Keys are the AQM's parameters, and "
            "victim=, ecn= and scheduler= (fifo, sfq, drr or fq).",
            show_default=False,
        ),
    ] = None,
    arrivals: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:KEY=VALUE,...", help="Where packets come from.", show_default=False
        ),
    ] = None,
    service: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:KEY=VALUE,...",
            help="How long the server works on a packet.",
            show_default=False,
        ),
    ] = None,
    slots: options.Slots = None,
    replications: options.Replications = None,
    seed: options.Seed = None,
    duration: options.Duration = None,
    threads: options.Threads = None,
    measures: options.Measures = None,
    json: options.Json = None,
    decisions: options.Decisions = None,
    fresh: options.Fresh = False,
    world: options.World = None,
    *,
    settings: options.Settings,
) -> None:
    """Run one discipline and print its measures with their 95 % confidence intervals."""
    packets = settings["packets"]
    one_run = packets is not None or decisions is not None
    changed = options.changes(
        aqm=[] if aqm is None else [aqm],
        slots=slots,
        replications="1" if replications is None and one_run else replications,
        seed=seed,
        duration=duration,
        arrivals=arrivals,
        service=service,
    )
    chosen = _without_file(changed) if scenario is None else options.scenario(scenario, changed)
    shown = options.measures(measures, chosen.parts())
    if (count := len(chosen.disciplines)) > 1:
        raise SluiceError(
            f"{scenario}: there are {count} disciplines; choose with --aqm, or use sluice compare"
        )
    with progress(1) as watch:
        (where,) = options.worlds([world] if world else None, chosen, settings)
        if decisions is not None:
            where = where.logged(decisions)
        comparison = until_interrupted(
            chosen, world=where, threads=threads, watch=watch, fresh=fresh
        )
    (record,), (judged,) = comparison.records, comparison.worlds
    screen = console()
    screen.print(f"[bold]{escape(record.discipline)}[/]")
    screen.print(terminal_table(*record_rows(record, shown)))
    screen.print(f"{record.method}; {judged.in_short(chosen)}")
    for what, file in (("packets", packets), ("decisions", decisions)):
        if file is not None:
            screen.print(f"{what}: {escape(str(file))}")
    if json is not None:
        write_json(json, "record", record.summary())
    if record.interrupted:
        console(stderr=True).print("interrupted: these are the measures of what was finished")
        raise typer.Exit(130)
    if notes := comparison.notes():
        console(stderr=True).print(escape("\n".join(notes)), soft_wrap=True)


def _without_file(changed: dict[str, Any]) -> Scenario:
    needed = {"arrivals": "--arrivals", "service": "--service", "disciplines": "--aqm"}
    needed["slots"] = "--slots"
    if missing := [option for name, option in needed.items() if name not in changed]:
        raise UsageError(f"without a scenario file {', '.join(missing)} must be given")
    options.refuse_others(Scenario.__name__, changed)
    with options.named(changed):
        return Scenario.parse(changed)
