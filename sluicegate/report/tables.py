"""Measures as text, and the table of a comparison for the terminal and for a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from sluicegate.comparison import Comparison
from sluicegate.estimate import Measure
from sluicegate.network.record import NetworkRecord
from sluicegate.record import Record, names
from sluicegate.report.terminal import terminal_table

_EXACT_DIGITS = 10


def measure_text(measure: Measure, digits: int = 4) -> str:
    """Write a measure as `64.7 ± 0.9`.

    The half width keeps one significant digit, or two if the first is a 1, and the value stops at
    the same place. A value shows five digits at most, and a smaller half width is rounded up.
    Without a half width, or with one of 0, the value keeps `digits` digits.
    """
    value, half_width = measure.value, measure.half_width
    if not math.isfinite(value):
        return "n/a"
    if not half_width:
        return f"{value:.{digits}g}"
    power = math.floor(math.log10(max(abs(value), half_width)))
    if -4 <= power < 9:
        return _to_place(value, half_width)
    scale = 10.0**power
    return f"({_to_place(value / scale, half_width / scale)})e{power}"


def _to_place(value: float, half_width: float) -> str:
    """Value and half width, both rounded to where the half width has its last digit."""
    power = math.floor(math.log10(half_width))
    decimals = -power + (half_width < 1.95 * 10.0**power)
    most = 4 - math.floor(math.log10(max(abs(value), half_width)))
    if decimals > most:
        decimals = most
        half_width = math.ceil(half_width * 10.0**most) / 10.0**most
    shown = max(0, decimals)
    return f"{round(value, decimals):.{shown}f} ± {round(half_width, decimals):.{shown}f}"


def value_text(value: object) -> str:
    """Write a parameter's value as a scenario would."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class _Column:
    measure: str
    heading: str
    scale: float = 1.0
    unit: str = ""

    def text(self, measures: Mapping[str, Measure]) -> str:
        # where no flow finished, nothing is said of how long they took
        if self.measure not in measures:
            return "n/a"
        return measure_text(measures[self.measure].times(self.scale))

    @property
    def header(self) -> str:
        return f"{self.heading}\n({self.unit})" if self.unit else self.heading


_OF_A_QUEUE = (
    _Column("queue_mean", "mean queue", 1.0, "packets"),
    _Column("queue_deviation", "deviation", 1.0, "packets"),
    _Column("loss_ratio", "lost", 100.0, "%"),
    _Column("utilization", "link busy", 100.0, "%"),
)


def _columns(records: Sequence[Record]) -> list[_Column]:
    """What matters most of what the records have."""
    times = (1000.0, "ms") if records[0].time_unit == "s" else (1.0, "slots")
    marks = [_Column("mark_ratio", "marked", 100.0, "%")] if _have(records, "mark_ratio") else []
    deviation, flows = [], []
    if isinstance(records[0], NetworkRecord):
        under_tcp = _have(records, "goodput")
        deviation = [_Column("queue_deviation", "deviation", 1.0, "packets")]
        flows = [
            _Column("goodput", "goodput", 1.0, "packets/s")
            if under_tcp
            else _Column("datagram_goodput", "datagrams", 1.0, "packets/s"),
            _Column("fairness", "fairness"),
        ]
        if _have(records, "completion_mean"):
            flows.append(_Column("completion_mean", "completion", 1.0, "s"))
    return [
        _Column("wait_mean", "mean wait", *times),
        _Column("wait_p99", "p99 wait", *times),
        _Column("queue_mean", "mean queue", 1.0, "packets"),
        *deviation,
        _Column("loss_ratio", "lost", 100.0, "%"),
        *marks,
        *flows,
        _Column("utilization", "link busy", 100.0, "%"),
    ]


def _have(records: Sequence[Record], measure: str) -> bool:
    return any(measure in record.measures and record[measure].value > 0 for record in records)


def comparison_rows(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a comparison's table, a row per discipline in the scenario's order."""
    columns = _columns(comparison.records)
    header = ["discipline", *(column.header for column in columns)]
    rows = [
        [name, *(column.text(record.measures) for column in columns)]
        for name, record in zip(names(comparison.records), comparison.records, strict=True)
    ]
    return header, rows


def port_rows(records: Sequence[NetworkRecord]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of every queue: port after port, each with all disciplines."""
    columns = [_Column("wait_mean", "mean wait", 1000.0, "ms"), *_OF_A_QUEUE]
    rows = [
        [port.name, record.discipline, *(column.text(port.measures) for column in columns)]
        for place in range(len(records[0].ports))
        for record in records
        for port in [record.ports[place]]
    ]
    return ["queue", "discipline", *(column.header for column in columns)], rows


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
