"""The picture of a frontier: the front, and each AQM beside it."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from sluicegate.frontier.clairvoyant import Clairvoyant
from sluicegate.frontier.front import Front
from sluicegate.frontier.frontier import Frontier
from sluicegate.frontier.rows import heading
from sluicegate.report.figure import Figure
from sluicegate.report.plots import GREY, WIDTH, colours, height_for, label

FloatArray = NDArray[np.float64]

_MARKERS = "osD^vPX*"
# of a curved piece between two corners
_STEPS = 12


def frontier_figure(found: Frontier) -> Figure:
    """Draw the front, and the scenario's AQMs with their intervals."""
    names = [place.name for place in found.places]
    figure = Figure(figsize=(WIDTH, height_for(names)), layout="constrained")
    ax = figure.subplots()
    across, up = curve(found)
    ax.plot(across, up, color="black", lw=1.6, label="frontier")
    best = 1.0 if found.pair[1].more_is_better else 0.0
    ax.fill_between(across, up, best, color=GREY, alpha=0.12, lw=0)
    colour = colours(names)
    for count, place in enumerate(found.places):
        ax.errorbar(
            [place.x.value],
            [place.y.value],
            xerr=None if place.x.half_width is None else [place.x.half_width],
            yerr=None if place.y.half_width is None else [place.y.half_width],
            marker=_MARKERS[count % len(_MARKERS)],
            ms=6,
            ls="",
            capsize=2,
            color=colour[place.name],
            label=label(place.name),
            zorder=3,
        )
    for objective, axis in zip(found.pair, (ax.xaxis, ax.yaxis), strict=True):
        axis.set_label_text(heading(objective, found.deadline))
        if not objective.unit:
            axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}"))
    ax.set_xlim(left=0)
    ax.set_ylim(0, 1.02 if found.pair[1].more_is_better else None)
    ax.grid(alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def curve(found: Frontier) -> tuple[FloatArray, FloatArray]:
    """The front as a line, both axes shape (n,): between corners the rates change linearly."""
    if not isinstance(found.front, Front):
        across, up = np.array([(point.x, point.y) for point in found.points]).T
        return across, up
    lines: list[tuple[float, float]] = []
    for one, other in zip(found.points, found.points[1:], strict=False):
        for weight in np.linspace(0, 1, _STEPS, endpoint=False):
            rates = {
                name: (1 - weight) * rate + weight * other.outcome.rates[name]
                for name, rate in one.outcome.rates.items()
            }
            lines.append((found.pair[0].value(rates), found.pair[1].value(rates)))
    last = found.points[-1]
    across, up = np.array([*lines, (last.x, last.y)]).T
    return across, up


def clairvoyant_figure(found: Clairvoyant) -> Figure:
    """Draw the AQMs of a recording, loss across and packets in time up, with the bound."""
    names = [place.name for place in found.places]
    figure = Figure(figsize=(WIDTH, height_for(names)), layout="constrained")
    ax = figure.subplots()
    ax.axhline(found.in_time, color="black", lw=1.6, ls="--", label="clairvoyant")
    ax.fill_between([0, 1], found.in_time, 1, color=GREY, alpha=0.12, lw=0)
    colour = colours(names)
    for count, place in enumerate(found.places):
        ax.plot(
            [place.loss.value],
            [place.in_time.value],
            marker=_MARKERS[count % len(_MARKERS)],
            ls="",
            color=colour[place.name],
            label=label(place.name),
        )
    worst = max(place.loss.value for place in found.places)
    ax.set_xlim(0, min(1.2 * max(worst, 1 - found.in_time), 1))
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("lost (%)")
    ax.set_ylabel(f"in time, {found.deadline} slots (%)")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}"))
    ax.grid(alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure
