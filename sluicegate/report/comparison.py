"""The page of a comparison: what was run, the table, the plots, every measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sluicegate.comparison import Comparison
from sluicegate.measures import DEFINITIONS
from sluicegate.record import Record, names
from sluicegate.registry import Aqm, PythonAqm
from sluicegate.report import plots
from sluicegate.report.drop_functions import drop_function_figure, same_curves
from sluicegate.report.page import Page
from sluicegate.report.settings import discipline_rows
from sluicegate.report.tables import (
    comparison_rows,
    key_columns,
    labelled_differences,
    record_rows,
    seen,
)
from sluicegate.worlds import AnyScenario, AnyWorld


def comparison_page(comparison: Comparison, mark: str = "") -> Page:
    """The page of a comparison; `mark` goes into its head."""
    scenario = comparison.scenario
    title = scenario.title or "Comparison of queue disciplines"
    page = Page(title, in_short(comparison), mark)
    for note in comparison.notes():
        page.text(note)
    page.section("Result")
    add_result(page, comparison, _reading(comparison))
    _add_figures(page, comparison)
    page.section("What was run")
    # worlds that are compared take one kind of scenario
    add_settings(page, scenario, comparison.worlds[0])
    page.section("Every measure")
    for name, record in zip(names(comparison.records), comparison.records, strict=True):
        page.heading(name)
        page.table(*record_rows(record), f"{record.method[:1].upper()}{record.method[1:]}.", [""])
    page.section("What the measures are")
    shown = [column.measure for column in key_columns(comparison)]
    met = dict.fromkeys(
        [*shown, *(name for record in comparison.records for name in record.measures)]
    )
    page.terms({name: f"{DEFINITIONS[name].meaning}." for name in met})
    return page


def add_result(page: Page, comparison: Comparison, reading: str) -> None:
    """Add the table and, where there are any, the differences; `reading` is said of the table."""
    header, rows = comparison_rows(comparison)
    terms = ["", *(column.measure for column in key_columns(comparison))]
    page.table(header, rows, reading, terms)
    if differences := labelled_differences(comparison):
        page.table(
            header,
            differences,
            "Each discipline minus the first, replication by replication, since both see the "
            "same arrivals. Where the interval does not include 0, the disciplines differ.",
            terms,
        )


def add_settings(page: Page, scenario: AnyScenario, world: AnyWorld) -> None:
    """Add how each part of a scenario is set, and its disciplines."""
    page.table(["part", "setting"], [list(row) for row in world.settings(scenario)])
    page.table(*discipline_rows(scenario.disciplines))


def in_short(comparison: Comparison) -> str:
    """How many disciplines are compared, and what was done with each."""
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
        "Short bars are good; the shortest sojourn is first. The thin line at the end of a bar is "
        "the figure after ±, to both sides.",
        seen(records, "sojourn_mean", "loss_ratio"),
    )
    for world, own in comparison.records_by_world():
        world.add_figures(page, own)
    page.figure(
        plots.queue_figure(records),
        "How long the queue is",
        "The share of time with so many packets waiting; the vertical line is the mean. "
        "Where the queue is mostly empty, the first bar is cut off.",
        seen(records, "queue_mean"),
    )
    page.figure(
        plots.queue_tail_figure(records),
        "How often the queue is long",
        "The share of time with so many packets or more, on a logarithmic scale: it shows "
        "rare events. A curve ends at the smallest share that the runs, or the exact "
        "solution, can show. Further left is better, as long as the link stays busy.",
        seen(records, "queue_mean", "queue_deviation"),
    )
    if any(record.sojourn_distribution.size for record in records):
        page.figure(
            plots.sojourn_tail_figure(records),
            "How long packets wait",
            "The time until their transmission starts, of the packets that were not lost. Further "
            "left is better. Where a curve meets the dotted line p99, read the time below: 99 % of "
            "the packets waited less."
            f"{_without_times(records)}",
            seen(records, "sojourn_p99"),
        )
    _add_drop_functions(
        page, {each.name: each.configured for each in comparison.scenario.disciplines}
    )


def _add_drop_functions(page: Page, disciplines: Mapping[str, Aqm | PythonAqm]) -> None:
    """Draw the drop functions, and name the disciplines that have none."""
    having = {
        name: aqm
        for name, aqm in disciplines.items()
        if isinstance(aqm, Aqm) and aqm.has_drop_function
    }
    drawn = drop_function_figure(disciplines)
    # drop-tail alone needs no picture: it drops nothing before its buffer is full
    if drawn is None or all(aqm.name == "drop_tail" for aqm in having.values()):
        return
    caption = "The drop probability that goes with an average queue."
    for same in same_curves(disciplines):
        caption += f" The same curve: {'; '.join(same)}."
    if others := [name for name in disciplines if name not in having]:
        caption += (
            f" None for {', '.join(others)}: what is dropped there depends on more than an average "
            "queue, such as time or losses."
        )
    page.figure(drawn, "Drop functions", caption)


def _without_times(records: Sequence[Record]) -> str:
    """A sentence that names those whose sojourn times have no known distribution."""
    named = zip(names(records), records, strict=True)
    missing = [name for name, record in named if not record.sojourn_distribution.size]
    return f" Not known of {', '.join(missing)}." if missing else ""
