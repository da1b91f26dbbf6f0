"""The kinds of figure that the papers draw: distributions over each other, and responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from sluicegate.record import Record
from sluicegate.report.figure import Figure
from sluicegate.report.plots import colours, dash

FloatArray = NDArray[np.float64]
Curves = Mapping[str, FloatArray]

_WIDTH, _HEIGHT = 8.4, 3.4
_BINS = 150
# twice as many decades as a long run shows
_LEAST_SHOWN = 1e-20


@dataclass(frozen=True)
class Panel:
    """One pair of axes: a title and, by name, probabilities of 0, 1, 2, ... (shape (K,) each)."""

    title: str
    curves: Curves


def mean_delay_distribution(records: Sequence[Record]) -> FloatArray:
    """The mean of the records' delay distributions, a bin per slot, shape (W,)."""
    longest = max(len(record.delay_distribution) for record in records)
    padded = [
        np.pad(record.delay_distribution, (0, longest - len(record.delay_distribution)))
        for record in records
    ]
    return np.asarray(np.mean(padded, axis=0))


def delay_figure(panels: Sequence[Panel]) -> Figure:
    """Draw distributions of the delay, panels side by side."""
    return _draw(panels, "delay (slots)", "share of packets per slot")


def queue_figure(panels: Sequence[Panel]) -> Figure:
    """Draw distributions of the queue, panels side by side."""
    return _draw(panels, "waiting packets", "share of time")


def rare_queue_figure(title: str, curves: Curves) -> Figure:
    """Draw distributions of the queue over each other, down to lengths of 1e-20."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    ax = figure.subplots()
    colour = colours(list(curves))
    for place, (name, queue) in enumerate(curves.items()):
        seen = np.flatnonzero(queue > _LEAST_SHOWN)
        ax.semilogy(seen, queue[seen], color=colour[name], ls=dash(place), label=name)
    ax.set_title(title, loc="left", fontsize=10)
    ax.set_xlabel("waiting packets")
    ax.set_ylabel("share of time")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)
    return figure


def _draw(panels: Sequence[Panel], across: str, upwards: str) -> Figure:
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    for ax, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        _draw_panel(ax, panel)
        ax.set_xlabel(across)
    figure.axes[0].set_ylabel(upwards)
    return figure


def _draw_panel(ax: Axes, panel: Panel) -> None:
    colour = colours(list(panel.curves))
    last = max(_reach(curve) for curve in panel.curves.values())
    width = max(1, last // _BINS)
    for place, (name, curve) in enumerate(panel.curves.items()):
        at, share = _binned(curve[: last + 1], width)
        ax.plot(at, share, color=colour[name], ls=dash(place), label=name)
    ax.set_title(panel.title, loc="left", fontsize=10)
    ax.set_xlim(0, last)
    # an empty queue may be so much more frequent that it would flatten all the rest
    ax.set_ylim(0, 1.15 * max(float(curve[1:].max()) for curve in panel.curves.values()))
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)


def _reach(curve: FloatArray) -> int:
    """The value that all but 1 in 10,000 stay below."""
    return int(np.searchsorted(np.cumsum(curve), (1 - 1e-4) * curve.sum())) + 1


def _binned(curve: FloatArray, width: int) -> tuple[FloatArray, FloatArray]:
    """Middles of bins of `width` values and the mean share in each; a cut last bin is left out."""
    whole = len(curve) // width * width
    at = np.arange(whole, dtype=np.float64).reshape(-1, width).mean(axis=1)
    return at, curve[:whole].reshape(-1, width).mean(axis=1)


def response_figure(averages: Mapping[str, Mapping[str, FloatArray]], min_th: float) -> Figure:
    """Draw how averages fall after a congestion.

    Args:
        averages: By panel, then by filter: the average after each arrival since the end of the
            congestion, packets.
        min_th: Threshold to be reached, packets; drawn as a line.
    """
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    axes = figure.subplots(1, len(averages), sharey=True, squeeze=False)[0]
    for ax, (title, curves) in zip(axes, averages.items(), strict=True):
        colour = colours(list(curves))
        for place, (name, curve) in enumerate(curves.items()):
            arrivals = np.arange(1, len(curve) + 1)
            ax.plot(arrivals, curve, color=colour[name], ls=dash(place), label=name)
        ax.axhline(min_th, color="black", lw=0.9, ls=":")
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xlim(left=1)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_xlabel("arrivals since the congestion ended")
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("average queue (packets)")
    axes[0].set_ylim(bottom=0)
    axes[0].annotate("min_th", (1, min_th), (4, 4), textcoords="offset points", fontsize=9)
    axes[0].legend(frameon=False, fontsize=9)
    return figure
