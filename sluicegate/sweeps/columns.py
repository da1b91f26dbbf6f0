"""The columns of results that hold measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from sluicegate.measures import AT_QUEUE, BETWEEN, DEFINITIONS, names_of_classes


def measure_names(classes: Sequence[str], bands: Sequence[str] = ()) -> list[str]:
    """The names of all measures of runs with these classes of flows, and bands of queues."""
    of_bands = [f"{band}{BETWEEN}{each.name}" for band in bands for each in AT_QUEUE]
    return [*DEFINITIONS, *names_of_classes(classes), *of_bands]


def measure_columns(classes: Sequence[str], bands: Sequence[str] = ()) -> dict[str, Any]:
    """The columns of these measures, with their half widths and bounds, and their types."""
    columns: dict[str, Any] = {}
    for name in measure_names(classes, bands):
        columns |= {name: pl.Float64, f"{name}_half_width": pl.Float64}
        if DEFINITIONS[name].rare is not None:
            columns[f"{name}_bound"] = pl.Float64
    return columns
