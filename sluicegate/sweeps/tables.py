"""The table of a sweep, for the terminal and for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sluicegate.estimate import Measure
from sluicegate.report.tables import Column
from sluicegate.scenario.variables import DERIVED
from sluicegate.sweeps.words import path_label, path_value

if TYPE_CHECKING:
    import polars as pl

    from sluicegate.sweeps.results import Sweep


# said of a table only where there is one
INTERVALS = "±: half width of 95 % intervals"


def has_intervals(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table has a figure after ±."""
    return any("±" in cell for row in rows for cell in row)


def progress_text(done: int, planned: int, left_s: float | None) -> str:
    """How far a sweep is, in words."""
    if done >= planned:
        return f"{planned:,} runs, all finished"
    text = f"{done:,} of {planned:,} runs are finished"
    return text if left_s is None else f"{text}; the rest takes about {_duration(left_s)}"


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(1, round(seconds))} s"


def mean_rows(
    sweep: Sweep, means: pl.DataFrame, measures: Sequence[str] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of means: what varies, and measures; if None, the key ones."""
    worlds = ["world"] if means["world"].n_unique() > 1 else []
    several = ["runs"] if means["runs"].n_unique() > 1 or means["runs"][0] > 1 else []
    names = ["discipline", *worlds, *sweep.axes, *several]
    unit = means["time_unit"][0]
    shown = sweep.key_measures(means) if measures is None else measures
    columns = [Column(name, unit) for name in shown]
    rows = [
        [
            *(path_value(name, row[name]) for name in names),
            *(column.text(_measures(row, column.measure)) for column in columns),
        ]
        for row in means.iter_rows(named=True)
    ]
    heads = [
        path_label(name, sweep.about).replace(" (", "\n(") if name in DERIVED else name
        for name in names
    ]
    return [*heads, *(column.header for column in columns)], rows


def _measures(row: dict[str, float | None], name: str) -> dict[str, Measure]:
    """The measure of a row, if it has it."""
    value = row.get(name)
    return {} if value is None else {name: Measure(value, row[f"{name}_half_width"], "")}
