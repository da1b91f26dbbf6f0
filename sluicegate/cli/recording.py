"""`sluice frontier` on a recording: how many packets a clairvoyant delivers in time."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape

from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console, write_json
from sluicegate.files import write_whole
from sluicegate.frontier.clairvoyant import clairvoyant
from sluicegate.frontier.page import clairvoyant_page
from sluicegate.frontier.rows import recorded_cells, recorded_header
from sluicegate.report.csv import csv_text
from sluicegate.report.terminal import terminal_table
from sluicegate.scenario import Scenario


def recording(
    scenario: Scenario,
    deadline: int | None,
    *,
    out: Path,
    json: Path | None,
    csv: Path | None,
    fresh: bool,
) -> None:
    """Compute, print and write it."""
    with progress(len(scenario.disciplines)) as watch:
        found = clairvoyant(scenario, deadline, watch=watch, fresh=fresh)
    screen = console()
    if scenario.title:
        screen.print(f"[bold]{escape(scenario.title)}[/]")
    cells = [recorded_cells(each) for each in found.places]
    screen.print(terminal_table(recorded_header(found.deadline), cells))
    screen.print(
        f"Who knows all {found.packets:,} arrivals ahead delivers {100 * found.in_time:.2f} % in "
        "time: a bound that no AQM reaches.",
        style="dim",
    )
    page = out / "frontier.html"
    clairvoyant_page(found).write(page)
    if json is not None:
        write_json(json, "clairvoyant", found.summary())
    if csv is not None:
        write_whole(csv, csv_text(found.frame()))
    screen.print(f"report: {escape(str(page))}", soft_wrap=True)
