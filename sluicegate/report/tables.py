"""The table of a comparison, for the terminal and for a page, and that of a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table

from sluicegate.estimate import Measure
from sluicegate.record import Record, names
from sluicegate.report.terminal import terminal_table
from sluicegate.report.text import measure_text

if TYPE_CHECKING:
    from sluicegate.comparison import Comparison

_EXACT_DIGITS = 10
# heading, and where it is not that of the measure itself the factor and the unit of what is shown
_HEADINGS = {
    "wait_mean": ("mean wait", 1.0, "time"),
    "wait_p99": ("p99 wait", 1.0, "time"),
    "queue_mean": ("mean queue", 1.0, "packets"),
    "queue_deviation": ("deviation", 1.0, "packets"),
    "loss_ratio": ("lost", 100.0, "%"),
    "mark_ratio": ("marked", 100.0, "%"),
    "goodput": ("goodput", 1.0, "packets/s"),
    "datagram_goodput": ("datagrams", 1.0, "packets/s"),
    "fairness": ("fairness", 1.0, ""),
    "completion_mean": ("completion", 1.0, "s"),
    "utilization": ("link busy", 100.0, "%"),
}


@dataclass(frozen=True)
class Column:
    """A column of a table: one measure in the unit in which people read it."""

    measure: str
    heading: str
    scale: float = 1.0
    unit: str = ""

    @classmethod
    def of(cls, measure: str, time_unit: str) -> Column:
        """The column of a measure of records whose times are in `time_unit`."""
        heading, scale, unit = _HEADINGS[measure]
        if unit == "time":
            scale, unit = (1000.0, "ms") if time_unit == "s" else (1.0, time_unit)
        return cls(measure, heading, scale, unit)

    def text(self, measures: Mapping[str, Measure]) -> str:
        """The cell of a record with these measures."""
        # where no flow finished, nothing is said of how long they took
        if self.measure not in measures:
            return "n/a"
        return measure_text(measures[self.measure].times(self.scale))

    @property
    def header(self) -> str:
        """Heading and unit."""
        return f"{self.heading}\n({self.unit})" if self.unit else self.heading


def comparison_rows(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a comparison's table, a row per discipline in the scenario's order."""
    records = comparison.records
    shown = [
        name for world, own in comparison.records_by_world() for name in world.key_measures(own)
    ]
    columns = [Column.of(name, records[0].time_unit) for name in dict.fromkeys(shown)]
    header = ["discipline", *(column.header for column in columns)]
    rows = [
        [name, *(column.text(record.measures) for column in columns)]
        for name, record in zip(names(records), records, strict=True)
    ]
    return header, rows


def comparison_table(comparison: Comparison) -> Table:
    """The same table for the terminal."""
    header, rows = comparison_rows(comparison)
    return terminal_table(header, rows)


def record_rows(record: Record) -> tuple[list[str], list[list[str]]]:
    """Header and rows of all of a record's measures."""
    digits = _EXACT_DIGITS if record.is_exact else 4
    rows = [
        [name, measure_text(measure, digits), measure.unit]
        for name, measure in record.measures.items()
    ]
    return ["measure", "value", "unit"], rows
