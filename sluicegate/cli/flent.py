"""`sluice flent`: prediction, real packets, and what an operator measured with flent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from sluicegate.cli import options
from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console
from sluicegate.comparison import until_interrupted
from sluicegate.errors import SluiceError
from sluicegate.extras import require
from sluicegate.flent import Measurement, of_record, packet_bytes, summary_rows
from sluicegate.report.terminal import terminal_table
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds.network.record import NetworkRecord


@options.of_worlds(one_run=False)
def flent(
    scenario: options.ScenarioFile,
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.flent.gz",
            help="A file that flent has measured elsewhere; may be repeated.",
            show_default=False,
        ),
    ] = None,
    direction: Annotated[
        Literal["upload", "download"],
        typer.Option(help="Which flows of these files cross the bottleneck."),
    ] = "upload",
    aqm: options.Aqms = None,
    world: options.Worlds = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the page and flent's files.")
    ] = Path("sluice-flent"),
    seed: options.Seed = None,
    duration: options.Duration = None,
    *,
    settings: options.Settings,
) -> None:
    """Run a scenario once as flent's test tcp_nup, beside what flent has measured elsewhere.

    Writes a file that flent opens for each discipline and world, and a page with throughput and
    ping in time.
    """
    require("matplotlib", "the page of its results")
    changed = options.changes(
        aqm=aqm or [], slots=None, replications="1", seed=seed, duration=duration
    )
    chosen = options.scenario(scenario, changed)
    if not isinstance(chosen, NetworkScenario):
        raise SluiceError(f"{scenario}: flent's tests take scenarios with a [topology]")
    # errors in the input are reported before anything is run
    packet_bytes(chosen)
    given = [Measurement.read(path) for path in beside or []]
    for each in given:
        each.throughput_mbps(direction)
    worlds = options.worlds(world, chosen, settings)
    with progress(len(chosen.disciplines) * len(worlds)) as watch:
        comparison = until_interrupted(chosen, world=worlds, watch=watch)
    records = [each for each in comparison.records if isinstance(each, NetworkRecord)]
    from sluicegate.flent.page import write_page  # matplotlib takes a second to import

    own = [of_record(chosen, record, direction) for record in records]
    header, rows = summary_rows([*given, *own], direction, chosen.warm_up)
    screen = console()
    screen.print(terminal_table(header, rows))
    out.mkdir(parents=True, exist_ok=True)
    for each in own:
        path = out / f"{re.sub(r'[^A-Za-z0-9.=-]+', '_', each.title).strip('_')}.flent.gz"
        each.write(path)
        screen.print(f"flent: {escape(str(path))}", soft_wrap=True)
    path = write_page(chosen.title, [*given, *own], direction, header, rows, out)
    screen.print(f"page: {escape(str(path))}", soft_wrap=True)
