"""Figures of router sections: distributions and courses in time, panels side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from matplotlib.axes import Axes

from sluicegate.papers.router.found import FloatArray, Found
from sluicegate.report.figure import Figure
from sluicegate.report.plots import WIDTH, Dash, colours, dash

# by the title of the panel, then by the name of the curve
Panels: TypeAlias = Mapping[str, Mapping[str, Found]]
# draws one curve: its colour, its line style, its name
Draw: TypeAlias = Callable[[Axes, Found, str, Dash, str], None]

_HEIGHT = 3.2
_POINTS = 120
# the share of the packets that are off the axis
_BEYOND = 1e-3


def delays(panels: Panels) -> Figure:
    """Draw which share of the packets had at most a delay: packets of one size come in lumps."""

    def draw(ax: Axes, found: Found, colour: str, style: Dash, name: str) -> None:
        share = np.cumsum(found.delay_distribution)
        last = int(np.searchsorted(share, 1 - _BEYOND)) + 1
        at_ms = 1e3 * found.time_bin_s * (np.arange(len(share[:last])) + 1)
        ax.plot(at_ms, 100 * share[:last], color=colour, ls=style, lw=1.2, label=name)

    return _draw(panels, draw, "delay (ms)", "% of the packets with at most this delay")


def queues(panels: Panels) -> Figure:
    """Draw how the queue is distributed."""

    def draw(ax: Axes, found: Found, colour: str, style: Dash, name: str) -> None:
        share = found.queue_distribution
        ax.plot(np.arange(len(share)), 100 * share, color=colour, ls=style, lw=1.2, label=name)

    return _draw(panels, draw, "waiting packets", "% of the time")


def courses(panels: Panels, of: str, upwards: str) -> Figure:
    """Draw a course in time, each point a mean over about a hundredth of the run.

    Args:
        panels: What to draw.
        of: `queue`, or `losses` as counts since the start.
        upwards: Label of the vertical axis.
    """

    def draw(ax: Axes, found: Found, colour: str, style: Dash, name: str) -> None:
        values: FloatArray = getattr(found, of)
        width = max(1, -(-len(values) // _POINTS))
        whole = len(values) // width * width
        at_s, means = (
            each[:whole].reshape(-1, width).mean(axis=1) for each in (found.times_s, values)
        )
        ax.plot(at_s, means, color=colour, ls=style, lw=1.2, label=name)

    return _draw(panels, draw, "time (s)", upwards)


def _draw(panels: Panels, draw: Draw, across: str, upwards: str) -> Figure:
    figure = Figure(figsize=(WIDTH, _HEIGHT), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        colour = colours(list(curves))
        for place, (name, found) in enumerate(curves.items()):
            draw(ax, found, colour[name], dash(place), name)
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xlabel(across)
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9)
    axes[0].set_ylabel(upwards)
    return figure
