"""The plots of a comparison: one style, one message each.

A discipline has the same colour in every plot, and a world, where there are several, the same
line style. Black and white become the colours of the page's text and of its paper.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)
from numpy.typing import NDArray

from sluicegate.counts import coarsen
from sluicegate.estimate import Measure
from sluicegate.measures import DEFINITIONS, DISTRIBUTIONS, TIME
from sluicegate.record import Record
from sluicegate.report.figure import Figure
from sluicegate.report.tables import label as measure_label
from sluicegate.report.text import measure_text

FloatArray = NDArray[np.float64]
Dash = str | tuple[int, tuple[float, ...]]

# after Okabe & Ito's palette for every kind of colour vision, readable on white and on black
_COLOURS = ("#1277b8", "#d55e00", "#009e73", "#b8609a", "#4aaee6", "#c08a00", "#7f7f7f", "#a0682f")
# curves often lie on each other: through the gaps of one the other is visible
_DASHES: tuple[Dash, ...] = (
    "-",
    (0, (5, 2)),
    (0, (2, 1.5)),
    (0, (7, 2, 2, 2)),
    (0, (9, 2, 2, 2, 2, 2)),
)
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
GREY = "#8a8a8a"
# how many times as many ticks with plain numbers have room as Matplotlib counts
_NARROWER = 1.4
WIDTH = 8.4
# probabilities below this would not be visible beside the rest
_LEAST_SHOWN = 1e-15
_RARE = 5e-4
# the eye can distinguish some hundred at most
POINTS = 600
# the trade that every AQM makes
_OVERVIEW = ("sojourn_mean", "loss_ratio")
_QUANTILES = {0.1: "p90", 0.01: "p99", 0.001: "p99.9"}


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each discipline; from the ninth on they repeat."""
    return {name: _COLOURS[k % len(_COLOURS)] for k, name in enumerate(names)}


def dash(place: int) -> Dash:
    """The line style of the discipline at that place of the list."""
    return _DASHES[place % len(_DASHES)]


def label(name: str) -> str:
    """A discipline's name as a figure shows it: short lines, no mathematics."""
    lines = textwrap.wrap(name, 26, max_lines=3, placeholder=" …")
    shown = "\n".join(lines).replace("$", r"\$")
    # matplotlib leaves names that start with an underscore out of legends
    return f" {shown}" if shown.startswith("_") else shown


def height_for(shown: Sequence[str]) -> float:
    """Height (inches) of a figure that has these names beside it."""
    lines = sum(label(name).count("\n") + 1 for name in shown)
    return max(4.4, 0.6 + 0.2 * lines)


def share_text(share: float, _place: object = None) -> str:
    """A share as per cent, for the ticks of an axis."""
    return f"{100 * share:.5g} %"


class _PlainLocator(LogLocator):
    """Ticks of a logarithmic axis at these numbers of each decade, at fewer if they lack room."""

    def __init__(self, marks: Sequence[float]) -> None:
        super().__init__()
        self._marks = marks

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """The ticks within the limits: at all marks, at 1 and 3, or at powers of ten.

        Where the limits have fewer than two marks, those of a linear axis.
        """
        low, high = sorted((vmin, vmax))
        decades = 10.0 ** np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        # plain numbers are narrower than the labels that Matplotlib counts with
        assert isinstance(self.axis, Axis)
        room = max(2.0, _NARROWER * self.axis.get_tick_space())
        for marks in (self._marks, (1, 3)):
            ticks = np.outer(decades, marks).ravel()
            ticks = ticks[(ticks >= low) & (ticks <= high)]
            if len(ticks) < 2:
                linear = MaxNLocator(nbins=max(2, int(room)), steps=[1, 2, 5, 10])
                return [tick for tick in linear.tick_values(low, high) if low <= tick <= high]
            if len(ticks) <= room:
                return ticks.tolist()
        return super().tick_values(vmin, vmax)


def plain_ticks(axis: Axis, marks: Sequence[float]) -> None:
    """Label a logarithmic axis by plain numbers, these in each decade, rather than by powers."""
    axis.set_major_locator(_PlainLocator(marks))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def power_text(share: float, _place: object = None) -> str:
    """A power of ten, for the ticks of a logarithmic axis."""
    power = round(math.log10(share))
    return "1" if not power else f"10{str(power).translate(_RAISED)}"


@dataclass(frozen=True)
class _Style:
    """How a record is shown in every plot."""

    text: str
    colour: str
    dash: Dash


def _styles(records: Sequence[Record]) -> list[_Style]:
    disciplines = list(dict.fromkeys(record.discipline for record in records))
    worlds = list(dict.fromkeys(record.world for record in records))
    colour = colours(disciplines)

    def style(record: Record) -> _Style:
        text = label(record.discipline)
        if len(worlds) == 1:
            place = disciplines.index(record.discipline)
            return _Style(text, colour[record.discipline], dash(place))
        # the world follows the name, even if a long name is cut
        place = worlds.index(record.world)
        return _Style(f"{text} ({record.world})", colour[record.discipline], dash(place))

    return [style(record) for record in records]


def overview_figure(records: Sequence[Record]) -> Figure:
    """Draw mean sojourn and losses with their intervals, a row per discipline, shortest first."""
    styled = zip(records, _styles(records), strict=True)
    best_first = sorted(styled, key=lambda pair: _unknown_last(pair[0][_OVERVIEW[0]].value))
    texts = [style.text for _, style in best_first]
    lines = max(text.count("\n") + 1 for text in texts)
    row = max(0.4, 0.19 * lines)
    figure = Figure(figsize=(WIDTH, 0.6 + row * len(records)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    time_unit = records[0].time_unit
    for ax, name in zip((left, right), _OVERVIEW, strict=True):
        factor, _ = DEFINITIONS[name].unit.shown(time_unit)
        bars = [record[name].times(factor) for record, _ in best_first]
        _draw_bars(ax, bars, [style.colour for _, style in best_first])
        ax.set_title(measure_label(name, time_unit), loc="left", fontsize=10)
    left.set_yticks(range(len(records)), texts)
    left.invert_yaxis()
    return figure


def _unknown_last(value: float) -> tuple[bool, float]:
    return (math.isnan(value), value)


def _draw_bars(ax: Axes, measures: list[Measure], bar_colours: list[str]) -> None:
    rows = np.arange(len(measures))
    values = np.nan_to_num([measure.value for measure in measures])
    spread = np.array([measure.half_width or 0.0 for measure in measures])
    ax.barh(rows, values, height=0.62, color=bar_colours)
    ax.errorbar(values, rows, xerr=spread, fmt="none", ecolor="black", elinewidth=1.2, capsize=3)
    longest = max(float(np.max(values + spread)), 1e-12)
    for row, measure in enumerate(measures):
        place = values[row] + spread[row] + 0.05 * longest
        ax.text(place, row, measure_text(measure), va="center", fontsize=9)
    ax.set_xlim(0, 1.8 * longest)
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def without_ticks_above(strips: Sequence[Axes]) -> None:
    """Leave ticks to the lowest of strips that share them: each strip's take as long to draw."""
    for ax in strips[:-1]:
        ax.xaxis.set_visible(False)


def queue_figure(records: Sequence[Record]) -> Figure:
    """Draw how the waiting packets are distributed, a strip per discipline."""
    figure = Figure(figsize=(WIDTH, 0.6 + 0.7 * len(records)), layout="constrained")
    strips = figure.subplots(len(records), 1, sharex=True, squeeze=False)[:, 0]
    last = 1 + max(_first_below(_tail(record.queue_distribution), 1e-3) for record in records)
    width = last // POINTS + 1
    for ax, record, style in zip(strips, records, _styles(records), strict=True):
        shares = coarsen(record.queue_distribution[: last + 1], width)
        edges = width * np.arange(len(shares) + 1) - 0.5
        ax.stairs(shares, edges, fill=True, color=style.colour, alpha=0.7)
        ax.axvline(record["queue_mean"].value, color="black", lw=1.4)
        ax.set_ylabel(style.text, color=style.colour)
        ax.yaxis.label.set(rotation=0, ha="right", va="center")
        # an empty queue is often so much more frequent that it would flatten all the rest
        highest = float(np.max(shares[1:], initial=0.0)) or float(shares[0])
        ax.set_ylim(0, 1.2 * highest)
        ax.set_yticks([])
        ax.spines[["top", "right", "left"]].set_visible(False)
    strips[-1].set_xlim(-0.5, last + 0.5)
    strips[-1].set_xlabel(DISTRIBUTIONS["queue"])
    without_ticks_above(list(strips))
    return figure


def _tail(distribution: FloatArray) -> FloatArray:
    """Probability of k or more, by k."""
    return np.asarray(np.cumsum(distribution[::-1])[::-1], dtype=np.float64)


def _first_below(tail: FloatArray, level: float) -> int:
    return int(np.searchsorted(-tail, -level))


@dataclass(frozen=True)
class _Tail:
    style: _Style
    at: FloatArray
    tail: FloatArray
    resolution: float


def queue_tail_figure(records: Sequence[Record]) -> Figure:
    """Draw how often at least k packets wait, on a logarithmic scale."""
    tails = [
        _Tail(
            style,
            np.arange(len(record.queue_distribution), dtype=np.float64),
            _tail(record.queue_distribution),
            record.resolution,
        )
        for record, style in zip(records, _styles(records), strict=True)
    ]
    figure, ax = _draw_tails(tails)
    ax.set_xlabel(DISTRIBUTIONS["queue"])
    ax.set_ylabel("share of time with so many or more")
    return figure


def sojourn_tail_figure(records: Sequence[Record]) -> Figure:
    """Draw how many packets wait so long or longer for their service, on a logarithmic scale."""
    scale, unit = TIME.shown(records[0].time_unit)
    tails = [
        _Tail(
            style,
            record.sojourn_times * scale,
            _tail(record.sojourn_distribution),
            record.resolution,
        )
        for record, style in zip(records, _styles(records), strict=True)
    ]
    figure, ax = _draw_tails(tails)
    # beside the curves, where they cannot hide the text
    right = ax.secondary_yaxis("right")
    right.set_yticks(list(_QUANTILES), list(_QUANTILES.values()), fontsize=8, color=GREY)
    right.minorticks_off()
    right.tick_params(length=0)
    right.spines[:].set_visible(False)
    for level in _QUANTILES:
        ax.axhline(level, color=GREY, lw=0.9, ls=":", zorder=0)
    ax.set_xlabel(f"{DISTRIBUTIONS['sojourn']} ({unit})")
    ax.set_ylabel("share of packets with so much or more")
    return figure


def _is_there(curve: _Tail) -> bool:
    return curve.tail.size > 0


def _reach(curve: _Tail) -> float:
    """Where 1 % is left."""
    return float(curve.at[_first_below(curve.tail, 1e-2) - 1])


def _draw_tails(tails: Sequence[_Tail]) -> tuple[Figure, Axes]:
    """Draw falling curves on a logarithmic scale, named in the order of their reach."""
    height = height_for([curve.style.text for curve in tails])
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    ax = figure.subplots()
    for curve in sorted(filter(_is_there, tails), key=_reach, reverse=True):
        shown = np.flatnonzero(curve.tail > max(curve.resolution, _LEAST_SHOWN))
        shown = shown[:: len(shown) // POINTS + 1]
        (line,) = ax.plot(curve.at[shown], curve.tail[shown], label=curve.style.text)
        line.set(color=curve.style.colour, linestyle=curve.style.dash)
    ax.set_yscale("log")
    # ticks within a decade say little, and take as long to draw as the curves
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xlim(left=0)
    # a buffer that is mostly full ends its curve early: rare events are shown nevertheless
    ax.set_ylim(min(ax.get_ylim()[0], _RARE), 1.3)
    ax.yaxis.set_major_formatter(FuncFormatter(power_text))
    ax.grid(which="major", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(
        loc="outside right upper", title="longest first", labelcolor="linecolor", frameon=False
    )
    return figure, ax
