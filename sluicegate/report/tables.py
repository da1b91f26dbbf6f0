"""The table of a comparison, for the terminal and for a page, and that of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluicegate.estimate import Measure, paired
from sluicegate.measures import DEFINITIONS
from sluicegate.record import Record, names
from sluicegate.report.terminal import TerminalTable, terminal_table
from sluicegate.report.text import measure_text

if TYPE_CHECKING:
    from sluicegate.comparison import Comparison

_EXACT_DIGITS = 10
# where no flow finished, there is no completion time
_NOTHING = "n/a"
# what happened, and the world cannot know
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Column:
    """A column of a table: one measure of records whose times are in `time_unit`."""

    measure: str
    time_unit: str

    def text(self, measures: Mapping[str, Measure]) -> str:
        """The cell of a record with these measures."""
        if self.measure not in measures:
            return _NOTHING
        factor, _ = DEFINITIONS[self.measure].unit.shown(self.time_unit)
        return measure_text(measures[self.measure].times(factor))

    def of(self, record: Record) -> str:
        """The cell of a record."""
        is_unknown = record.why_unknown(self.measure) is not None
        return _UNKNOWN if is_unknown else self.text(record.measures)

    @property
    def header(self) -> str:
        """Heading and unit."""
        return label(self.measure, self.time_unit, "\n")


def label(measure: str, time_unit: str, between: str = " ") -> str:
    """The text over a column or beside an axis: a measure's heading and the unit shown."""
    definition = DEFINITIONS[measure]
    _, unit = definition.unit.shown(time_unit)
    return f"{definition.heading}{between}({unit})" if unit else definition.heading


def comparison_rows(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a comparison's table, a row per discipline in the scenario's order."""
    records, columns = comparison.records, key_columns(comparison)
    header = ["discipline", *(column.header for column in columns)]
    rows = [
        [name, *(column.of(record) for column in columns)]
        for name, record in zip(names(records), records, strict=True)
    ]
    return header, rows


def key_columns(comparison: Comparison) -> list[Column]:
    """The measures that were chosen, or else those that matter most, a column each."""
    shown = comparison.columns or [
        name for world, own in comparison.records_by_world() for name in world.key_measures(own)
    ]
    return [Column(name, comparison.records[0].time_unit) for name in dict.fromkeys(shown)]


def difference_rows(comparison: Comparison) -> dict[str, list[list[str]]]:
    """By the first discipline of each world that has them: how much each other one is above it.

    The columns are those of `comparison_rows`.
    """
    columns, found = key_columns(comparison), {}
    unique = dict(zip(map(id, comparison.records), names(comparison.records), strict=True))
    for _, (first, *others) in comparison.records_by_world():
        rows = []
        for record in others:
            if pairs := _differences(record, first, columns):
                rows.append([unique[id(record)], *(column.text(pairs) for column in columns)])
        if rows:
            found[unique[id(first)]] = rows
    return found


def labelled_differences(comparison: Comparison) -> list[list[str]]:
    """The same rows in one list, each named `RED minus drop_tail`."""
    return [
        [f"{row[0]} minus {first}", *row[1:]]
        for first, rows in difference_rows(comparison).items()
        for row in rows
    ]


def _differences(one: Record, other: Record, columns: Sequence[Column]) -> dict[str, Measure]:
    """The differences that follow from their replications."""
    both = [
        column.measure
        for column in columns
        if column.measure in one.measures and column.measure in other.measures
    ]
    pairs = {name: paired(one.values(name), other.values(name)) for name in both}
    return {name: pair for name, pair in pairs.items() if pair is not None}


def bounds_told(comparison: Comparison) -> str:
    """What `2 (< 4)` in the table means; empty if it has nothing like it."""
    measures = [column.measure for column in key_columns(comparison)]
    found = (each.measures.get(name) for each in comparison.records for name in measures)
    has_bounds = any(each is not None and each.bound is not None for each in found)
    return "< and >: a 95 % bound, where too few were seen for an interval" if has_bounds else ""


def seen(records: Sequence[Record], *measures: str) -> str:
    """What a figure shows, for those who cannot see it: these measures of each record."""
    columns = [Column(name, records[0].time_unit) for name in measures]
    told = []
    for name, record in zip(names(records), records, strict=True):
        cells = [f"{label(each.measure, each.time_unit)} {each.of(record)}" for each in columns]
        told.append(f"{name}: {', '.join(cells)}")
    return f"{'; '.join(told)}."


def comparison_table(comparison: Comparison) -> TerminalTable:
    """The same table for the terminal, the differences below."""
    header, rows = comparison_rows(comparison)
    below = {
        f"minus {first}, replication by replication:": differences
        for first, differences in difference_rows(comparison).items()
    }
    return terminal_table(header, rows, below=below)


def record_rows(
    record: Record, measures: Sequence[str] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a record's measures, in the units of all tables; of all if None."""
    digits = _EXACT_DIGITS if record.is_exact else 4
    header, rows = measure_rows(
        record.measures, measures or list(record.measures), record.time_unit, digits
    )
    for row in rows:
        if row[1] == _NOTHING and record.why_unknown(row[0]) is not None:
            row[1] = _UNKNOWN
    if not measures:
        rows += [[pattern, _UNKNOWN, ""] for pattern in record.unknown]
    return header, rows


def measure_rows(
    known: Mapping[str, Measure], names: Sequence[str], time_unit: str, digits: int = 4
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of these measures, in the units of all tables."""
    rows = []
    for name in names:
        factor, unit = DEFINITIONS[name].unit.shown(time_unit)
        text = measure_text(known[name].times(factor), digits) if name in known else _NOTHING
        rows.append([name, text, unit])
    return ["measure", "value", "unit"], rows
