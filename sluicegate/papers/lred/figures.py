"""Figures of the paper that are no queues in time: response times, and measures in a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from sluicegate.estimate import Measure, student
from sluicegate.papers.lred.measured import MEASURES, WORDS, FloatArray, Records, cases, measure
from sluicegate.papers.lred.scenarios import Q_REF
from sluicegate.report.figure import Figure
from sluicegate.report.plots import WIDTH, colours, dash


def response_figure(
    across: Sequence[float],
    simulated: Mapping[str, Sequence[Measure]],
    analytical: Mapping[str, Sequence[float]],
) -> Figure:
    """Draw response times over the loss ratio, with the analytical bounds.

    Args:
        across: Loss ratios.
        simulated: By discipline, a response time (s) per loss ratio.
        analytical: Likewise, for those that have a bound.
    """
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    ax = figure.subplots()
    colour = colours(list(simulated))
    for name, measures in simulated.items():
        _draw_curve(ax, across, measures, name, colour[name], "-")
    for name, bounds in analytical.items():
        ax.plot(across, bounds, color=colour[name], ls="--", lw=1)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("loss ratio")
    ax.set_ylabel("response time (s)")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def sweep_figure(records: Records, names: Sequence[str], across: str) -> Figure:
    """Draw the paper's four measures over what is varied, with 95 % intervals.

    Args:
        records: By value and discipline.
        names: The disciplines to show.
        across: What is varied, for the axis.
    """
    figure = Figure(figsize=(WIDTH, 6.4), layout="constrained")
    colour = colours(list(names))
    for ax, measured in zip(figure.subplots(2, 2).flat, MEASURES, strict=True):
        for place, name in enumerate(names):
            at = cases(records, name)
            found = [student(measure(records[case, name], measured)) for case in at]
            _draw_curve(ax, at, found, name, colour[name], dash(place))
        ax.set_title(WORDS[measured], loc="left", fontsize=10)
        ax.set_xlabel(across)
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(names),
        frameon=False,
        fontsize=9,
    )
    return figure


def probability_figure(
    times_s: FloatArray, p: FloatArray, loss: FloatArray, spans_s: Sequence[tuple[float, float]]
) -> Figure:
    """Draw LRED's drop probability and measured loss ratio in time, a panel per span.

    Args:
        times_s: Of the samples, shape (T,), as those that follow.
        p: Drop probability.
        loss: Measured loss ratio.
        spans_s: First and last time of each panel.
    """
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    colour = colours(["p", "l(k)"])
    for ax, (first, last) in zip(figure.subplots(1, len(spans_s)), spans_s, strict=True):
        inside = (times_s >= first) & (times_s <= last)
        for name, values, width in (("p", p, 0.8), ("l(k)", loss, 1.6)):
            ax.plot(times_s[inside], values[inside], color=colour[name], lw=width, label=name)
        ax.set_xlim(first, last)
        ax.set_xlabel("time (s)")
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("probability")
    figure.axes[0].legend(frameon=False, fontsize=9)
    return figure


def steep_figure(times_s: FloatArray, p: FloatArray, queue: FloatArray) -> Figure:
    """Draw drop probability and queue (packets) in time, one above the other, shape (T,) each."""
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    colour = colours(["p", "queue"])
    above.plot(times_s, p, ".", ms=1.5, color=colour["p"])
    above.set_ylabel("drop probability")
    below.plot(times_s, queue, lw=0.7, color=colour["queue"])
    below.axhline(Q_REF, color="black", lw=0.9, ls=":")
    below.set_ylabel("queue (packets)")
    below.set_xlabel("time (s)")
    below.set_xlim(0, float(times_s[-1]))
    for ax in (above, below):
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_curve(
    ax: Axes,
    across: Sequence[float],
    measures: Sequence[Measure],
    name: str,
    colour: str,
    line: object,
) -> None:
    values = np.array([each.value for each in measures])
    half = np.array([each.half_width or 0.0 for each in measures])
    ax.errorbar(across, values, yerr=half, color=colour, ls=line, lw=1.4, capsize=2, label=name)
