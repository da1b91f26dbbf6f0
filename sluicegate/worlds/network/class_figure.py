"""How each class of flows fares: pictures of its delays and of its trade, and a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.lines import Line2D

from sluicegate.measures import BETWEEN, TIME
from sluicegate.measures.ellipse import Ellipse, ellipse
from sluicegate.report.figure import Figure
from sluicegate.report.plots import WIDTH, colours, label
from sluicegate.report.tables import Column
from sluicegate.worlds.network.record import NetworkRecord

# more have no room
MOST = 12
_QUANTILES = ("one_way_delay_p50", "one_way_delay_p90", "one_way_delay_p99")
_ROW, _GAP = 0.2, 0.9
# share of the runs that an ellipse is to hold, panels in a figure, and points that an ellipse needs
_SHARE, _PANELS, _LEAST = 0.5, 4, 3
_PANEL = 3.6
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


def class_ellipse(record: NetworkRecord, name: str) -> Ellipse | None:
    """The ellipse of a class: its mean sojourn, s, and its goodput, bits/s, in each replication.

    None with fewer than three replications in which both are known, or where the class has no
    goodput.
    """
    pair = [f"{name}{BETWEEN}{each}" for each in ("sojourn_mean", "goodput_bps")]
    if not set(pair) <= set(record.replications.columns):
        return None
    rows = record.replications.select(pair).to_numpy()
    delays, goodputs = rows[np.isfinite(rows).all(axis=1)].T
    return ellipse(delays, goodputs) if len(delays) >= _LEAST and goodputs.any() else None


def _trading(records: Sequence[NetworkRecord]) -> list[str]:
    """The classes that have an ellipse, but not those of datagrams, which take what they send."""
    groups = records[0].class_groups
    return [
        each
        for each in classes_of(records)
        if groups[each]["kind"] not in ("datagrams", "replay")
        and any(class_ellipse(record, each) for record in records)
    ][:_PANELS]


def ellipse_figure(records: Sequence[NetworkRecord]) -> Figure | None:
    """Draw mean sojourn and goodput of each class, a point for each replication.

    None where no class has three of them.
    """
    shown = _trading(records)
    if not shown:
        return None
    figure = Figure(figsize=(WIDTH, _PANEL), layout="constrained")
    scale, unit = TIME.shown("s")
    colour = colours([record.discipline for record in records])
    axes = list(figure.subplots(1, len(shown), squeeze=False)[0])
    for ax, name in zip(axes, shown, strict=True):
        for record in records:
            if (found := class_ellipse(record, name)) is None:
                continue
            own, units = colour[record.discipline], (scale, 1e-6)
            points = record.replications.select(
                f"{name}{BETWEEN}sojourn_mean", f"{name}{BETWEEN}goodput_bps"
            ).to_numpy()
            ax.plot(*(points * units).T, ".", ms=4, alpha=0.6, color=own)
            ax.plot(*(found.contour(_SHARE) * units).T, color=own, lw=1.2)
            ax.plot(*(found.median * units), "o", ms=7, mfc="none", color=own)
        ax.set_xlim(left=0)
        ax.set_title(label(name), fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(f"mean sojourn ({unit}): left is better", fontsize=10)
    axes[0].set_ylabel("goodput (Mbit/s): up is better")
    figure.legend(
        [Line2D([], [], color=colour[each.discipline], lw=2.2) for each in records],
        [label(each.discipline) for each in records],
        loc="outside lower left",
        ncols=4,
        frameon=False,
    )
    return figure


def ellipses_seen(records: Sequence[NetworkRecord]) -> str:
    """What that figure shows, for those who cannot see it."""
    scale, unit = TIME.shown("s")
    told = []
    for name in _trading(records):
        for record in records:
            if (found := class_ellipse(record, name)) is not None:
                delay, goodput = found.median
                told.append(
                    f"{name}, {record.discipline}: median {scale * delay:.3g} {unit}, "
                    f"{1e-6 * goodput:.3g} Mbit/s"
                )
    return f"{'; '.join(told)}."


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
