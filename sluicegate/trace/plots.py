"""The course of a trace: queues and throughputs against time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sluicegate.trace.trace import Trace

_MOST_LINES = 8


def queue_figure(trace: Trace) -> Figure:
    """Draw the mean queue in each bin, of the links whose queues are longest."""
    longest = trace.links["queue_mean"].fill_null(0).to_numpy()
    names = [f"{row[0]} to {row[1]}" for row in trace.links.select("from", "to").rows()]
    figure, ax = _axes()
    _draw(ax, trace, trace.link_course, names, longest, "link")
    ax.set_ylabel("queue (packets)")
    return figure


def throughput_figure(trace: Trace) -> Figure:
    """Draw the throughput in each bin, of the flows that received most, and of all together."""
    received = trace.flow_course.sum(axis=1)
    columns = trace.flows.select("type", "id", "source", "destination").rows()
    names = [f"{kind} {fid}, {source} to {end}" for kind, fid, source, end in columns]
    figure, ax = _axes()
    _draw(ax, trace, trace.flow_course / 1e6, names, received, "flow")
    ax.set_ylabel("throughput (Mbit/s)")
    return figure


def _axes() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.2, 4.0), layout="constrained")
    ax = figure.subplots()
    ax.set_xlabel("time (s)")
    return figure, ax


def _draw(
    ax: Axes,
    trace: Trace,
    courses: NDArray[np.float64],
    names: list[str],
    weights: NDArray[np.float64],
    what: str,
) -> None:
    edges = np.minimum(np.arange(courses.shape[1] + 1) * trace.bin_s, trace.end_s)
    shown = [k for k in np.argsort(-weights, kind="stable")[:_MOST_LINES] if weights[k] > 0]
    for k in shown:
        ax.stairs(courses[k], edges, baseline=None, label=names[k], lw=1.0)
    rest = int((weights > 0).sum()) - len(shown)
    title = f"and {rest} more {what}{'s' * (rest > 1)}" if rest else None
    if shown:
        ax.legend(fontsize=8, title=title)
    ax.set_xlim(trace.start_s, max(trace.end_s, trace.start_s + trace.bin_s))
    ax.set_ylim(bottom=0)
