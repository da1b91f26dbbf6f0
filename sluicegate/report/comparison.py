"""The report of a comparison: what was run, the table, the plots, every measure."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from sluicegate.comparison import Comparison
from sluicegate.files import write_whole
from sluicegate.record import Record, names
from sluicegate.report import plots
from sluicegate.report.drop_functions import drop_function_figure
from sluicegate.report.page import Page
from sluicegate.report.settings import discipline_rows
from sluicegate.report.tables import comparison_rows, record_rows


def write_report(comparison: Comparison, folder: str | Path) -> Path:
    """Write `report.html`, `measures.parquet` and `distributions.parquet` into a folder.

    A world may have more tables: networks have `series.parquet` and `flows.parquet`.

    Args:
        comparison: With one record at least.
        folder: Made if it is missing; files of these names in it are replaced.

    Returns:
        The path of the page.

    Raises:
        OSError: If the folder or a file cannot be written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    frames = {"measures": comparison.frame(), "distributions": comparison.distributions()}
    for world, records in comparison.records_by_world():
        frames |= world.frames(records)
    for name, frame in frames.items():
        # written by Python: a full disk is an OSError then
        content = io.BytesIO()
        frame.write_parquet(content)
        path = folder / f"{name}.parquet"
        write_whole(path, content.getvalue())
    path = folder / "report.html"
    comparison_page(comparison).write(path)
    return path


def comparison_page(comparison: Comparison) -> Page:
    """The page of a comparison."""
    scenario = comparison.scenario
    page = Page(scenario.title or "Comparison of queue disciplines", _in_short(comparison))
    for note in comparison.notes():
        page.text(note)
    page.section("Result")
    header, rows = comparison_rows(comparison)
    page.table(header, rows, _reading(comparison))
    _add_figures(page, comparison)
    page.section("What was run")
    # worlds that are compared take one kind of scenario
    settings = comparison.worlds[0].settings(scenario)
    page.table(["part", "setting"], [list(row) for row in settings])
    header = ["discipline", "AQM", "parameters that apply"]
    page.table(header, discipline_rows(scenario.disciplines))
    page.section("Every measure")
    for name, record in zip(names(comparison.records), comparison.records, strict=True):
        page.table(*record_rows(record), f"{name}: {record.method}.")
    return page


def _in_short(comparison: Comparison) -> str:
    disciplines = len(comparison.scenario.disciplines)
    how = " and ".join(world.in_short(comparison.scenario) for world in comparison.worlds)
    return f"{disciplines} discipline{'s' * (disciplines > 1)}, each {how}"


def _reading(comparison: Comparison) -> str:
    return (
        "The sojourn is the time from a packet's arrival until its transmission starts, and 99 % "
        "of the packets stay under the p99 sojourn; the queue counts waiting packets, without the "
        "one in service. "
        + " ".join(world.reading(records) for world, records in comparison.records_by_world())
    )


def _add_figures(page: Page, comparison: Comparison) -> None:
    records = comparison.records
    page.figure(
        plots.overview_figure(records),
        "Sojourn and loss",
        "Shortest sojourn first. The thin line at the end of a bar is what stands behind ±.",
    )
    for world, own in comparison.records_by_world():
        world.add_figures(page, own)
    page.figure(
        plots.queue_figure(records),
        "How long the queue is",
        "The share of time with so many packets waiting; the upright line is the mean. "
        "Where the queue is mostly empty, the first bar is cut off.",
    )
    page.figure(
        plots.queue_tail_figure(records),
        "How often the queue is long",
        "The same, cumulated and on a logarithmic scale: what happens rarely. A curve ends where "
        "chance, or the solution's error, begins.",
    )
    if any(record.sojourn_distribution.size for record in records):
        page.figure(
            plots.sojourn_tail_figure(records),
            "How long packets wait",
            "Until their transmission starts, of the packets that got through. Where a curve "
            "crosses the line 1 in 100 stands the time that 99 % of the packets stay under."
            f"{_without_times(records)}",
        )
    drawn = drop_function_figure(
        {each.name: each.configured for each in comparison.scenario.disciplines}
    )
    if drawn is not None:
        page.figure(
            drawn, "Drop functions", "The drop probability that goes with an average queue."
        )


def _without_times(records: Sequence[Record]) -> str:
    """A sentence that names those whose sojourn times have no known distribution."""
    named = zip(names(records), records, strict=True)
    missing = [name for name, record in named if not record.sojourn_distribution.size]
    return f" Not known of {', '.join(missing)}." if missing else ""
