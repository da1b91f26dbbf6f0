"""How each class of flows fares: a picture of its delays, and a table."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.lines import Line2D

from sluicegate.measures import BETWEEN, TIME
from sluicegate.report.figure import Figure
from sluicegate.report.plots import WIDTH, colours, label
from sluicegate.report.tables import Column
from sluicegate.worlds.network.record import NetworkRecord

# more have no room
MOST = 12
_QUANTILES = ("one_way_delay_p50", "one_way_delay_p90", "one_way_delay_p99")
_ROW, _GAP = 0.2, 0.9
# a column for each that any class has
_COLUMNS = (
    "one_way_delay_p50",
    "one_way_delay_p99",
    "jitter",
    "loss_ratio",
    "goodput_bps",
    "completion_mean",
    "slowdown_p99",
    "unfinished",
)


def classes_of(records: Sequence[NetworkRecord]) -> list[str]:
    """The classes that were counted, the first of them only."""
    found = [name for record in records for name in record.classes]
    return list(dict.fromkeys(found))[:MOST]


def delay_figure(records: Sequence[NetworkRecord]) -> Figure | None:
    """Draw the one-way delays of each class: p50 to p99 and, between, p90.

    A line for each discipline. None where there are not two classes.
    """
    classes = classes_of(records)
    if len(classes) < 2:
        return None
    rows = len(records) * _ROW + _ROW
    height = 1.1 + rows * len(classes) * _GAP
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    ax = figure.subplots()
    scale, unit = TIME.shown("s")
    colour = colours([record.discipline for record in records])
    for place, name in enumerate(classes):
        for number, record in enumerate(records):
            at = [record.measures.get(f"{name}{BETWEEN}{each}") for each in _QUANTILES]
            times = [scale * each.value for each in at if each is not None]
            if len(times) < len(_QUANTILES):
                continue
            y = place * rows + number * _ROW
            own = colour[record.discipline]
            ax.plot([times[0], times[-1]], [y, y], color=own, lw=2.2)
            for time, mark in zip(times, ("o", "|", "D"), strict=True):
                ax.plot([time], [y], mark, color=own, ms=6 if mark == "|" else 4.5, mew=1.6)
    middle = (len(records) - 1) * _ROW / 2
    ax.set_yticks([place * rows + middle for place in range(len(classes))], map(label, classes))
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel(f"one-way delay ({unit})")
    ax.grid(axis="x", alpha=0.25)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    names = [Line2D([], [], color=colour[each.discipline], lw=2.2) for each in records]
    figure.legend(
        names,
        [label(each.discipline) for each in records],
        loc="outside right upper",
        labelcolor="linecolor",
        frameon=False,
    )
    return figure


def class_rows(records: Sequence[NetworkRecord]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of every class: class after class, each with all disciplines."""
    classes = classes_of(records)
    known = [
        name
        for name in _COLUMNS
        if any(f"{each}{BETWEEN}{name}" in r.measures for each in classes for r in records)
    ]
    header = [Column(f"{each}{BETWEEN}{name}", "s") for each in classes[:1] for name in known]
    rows = [
        [
            each,
            record.discipline,
            *(Column(f"{each}{BETWEEN}{name}", "s").of(record) for name in known),
        ]
        for each in classes
        for record in records
    ]
    # the class is in the first column
    titles = [column.header.replace(f", {classes[0]}", "", 1) for column in header]
    return ["class", "discipline", *titles], rows
