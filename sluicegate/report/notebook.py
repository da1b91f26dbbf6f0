"""What a notebook shows of records, comparisons and scenarios: the parts of a report that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluicegate.record import Record, methods
from sluicegate.report.comparison import add_result, add_settings, in_short
from sluicegate.report.page import Page
from sluicegate.report.tables import measure_rows, record_rows
from sluicegate.worlds import AnyScenario
from sluicegate.worlds import of_scenario as worlds_of

if TYPE_CHECKING:
    from sluicegate.comparison import Comparison
    from sluicegate.worlds.network.record import PortRecord


def of_record(record: Record) -> Page:
    """All measures."""
    where = f"the {record.world} world"
    if record.queue_name:
        where += f", queue {record.queue_name}"
    page = Page(record.discipline, where)
    if record.interrupted:
        page.text(f"Stopped after {record.done:.0%} of the run.")
    page.table(*record_rows(record), f"{record.method[:1].upper()}{record.method[1:]}.")
    return page


def of_port(port: PortRecord) -> Page:
    """All measures of one link's queue."""
    page = Page(port.name, "a link with a queue, after the warm-up")
    page.table(*measure_rows(port.measures, list(port.measures), "s"))
    return page


def of_comparison(comparison: Comparison) -> Page:
    """Notes, the table, and the differences."""
    page = Page(
        comparison.scenario.title or "Comparison of queue disciplines", in_short(comparison)
    )
    for note in comparison.notes():
        page.text(note)
    add_result(page, comparison, f"{'. '.join(methods(comparison.records))}.")
    return page


def of_scenario(scenario: AnyScenario) -> Page:
    """What would be run, in the world that simulates it."""
    world = worlds_of(scenario)[0]()
    page = Page(scenario.title or "A scenario", f"for the {world.name} world")
    add_settings(page, scenario, world)
    return page
