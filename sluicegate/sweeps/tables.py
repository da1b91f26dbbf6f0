"""The table of a sweep, for the terminal and for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure
from sluicegate.report.tables import Column
from sluicegate.scenario.variables import DERIVED
from sluicegate.sweeps.words import path_is, path_label, path_value

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
    sweep: Sweep,
    means: pl.DataFrame,
    measures: Sequence[str] | None = None,
    across: str | None = None,
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of means: what varies, and measures; if None, the key ones.

    Raises:
        SluiceError: If what stands `across`, with a column for each value, does not vary.
    """
    if across is not None:
        return _rows_across(sweep, means, measures or sweep.key_measures(means), across)
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
    return [*_heads(sweep, names), *(column.header for column in columns)], rows


def _rows_across(
    sweep: Sweep, means: pl.DataFrame, measures: Sequence[str], across: str
) -> tuple[list[str], list[list[str]]]:
    """The same table with a column for each value of `across`, of each measure.

    Where there is one measure, the headings are these values and its unit.
    """
    worlds = ["world"] if means["world"].n_unique() > 1 else []
    names = ["discipline", *worlds, *sweep.axes]
    if across not in names:
        raise SluiceError(f"across: {across} must be one of {', '.join(names)}")
    keys = [name for name in names if name != across]
    values = means[across].unique(maintain_order=True).to_list()
    found: dict[tuple[Any, ...], dict[Any, dict[str, Any]]] = {}
    for row in means.iter_rows(named=True):
        found.setdefault(tuple(row[name] for name in keys), {})[row[across]] = row
    columns = [Column(name, means["time_unit"][0]) for name in measures]
    header = _heads(sweep, keys)
    for column in columns:
        text, _, unit = column.header.partition("\n")
        for value in values:
            told = path_is(across, value, sweep.about) if across in sweep.axes else value
            header.append("\n".join(filter(None, [told, text if len(columns) > 1 else "", unit])))
    rows = [
        [
            *(path_value(name, value) for name, value in zip(keys, key, strict=True)),
            *(
                column.text(_measures(cells.get(value, {}), column.measure))
                for column in columns
                for value in values
            ),
        ]
        for key, cells in found.items()
    ]
    return header, rows


def _heads(sweep: Sweep, names: Sequence[str]) -> list[str]:
    """The headings of what varies."""
    return [
        path_label(name, sweep.about).replace(" (", "\n(") if name in DERIVED else name
        for name in names
    ]


def _measures(row: dict[str, float | None], name: str) -> dict[str, Measure]:
    """The measure of a row, if it has it."""
    value = row.get(name)
    return {} if value is None else {name: Measure(value, row[f"{name}_half_width"], "")}
