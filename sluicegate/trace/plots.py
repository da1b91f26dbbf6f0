"""The course of a trace: queues and throughputs against time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sluicegate.report.figure import Figure
from sluicegate.report.plots import WIDTH, colours, dash, height_for, label
from sluicegate.trace.trace import Trace

_MOST_LINES = 8
# a bin of a throughput must hold many packets: with one or two it jumps between a few values
_QUEUE_BINS, _THROUGHPUT_BINS = 400, 80


def queue_figure(trace: Trace) -> Figure:
    """Draw the mean queue in each bin, of the links whose queues are longest."""
    longest = trace.links["queue_mean"].fill_null(0).to_numpy()
    names = [f"{row[0]} to {row[1]}" for row in trace.links.select("from", "to").rows()]
    figure = _figure(trace, trace.link_course, _QUEUE_BINS, names, longest)
    figure.axes[0].set_ylabel("queue (packets)")
    return figure


def throughput_figure(trace: Trace, places: Sequence[int]) -> Figure:
    """Draw the throughput in each bin, of the heaviest flows.

    Args:
        trace: What was read.
        places: The rows of its flows to choose from, the heaviest first.
    """
    shown = list(places[:_MOST_LINES])
    columns = trace.flows[shown].select("type", "id", "source", "destination").rows()
    names = [f"{kind} {fid}, {source} to {end}" for kind, fid, source, end in columns]
    courses = trace.flow_course_of(shown) / 1e6
    rest = len(places) - len(shown)
    figure = _figure(trace, courses, _THROUGHPUT_BINS, names, courses.sum(axis=1), rest)
    figure.axes[0].set_ylabel("throughput (Mb/s)")
    return figure


def _figure(
    trace: Trace,
    courses: NDArray[np.float64],
    bins: int,
    names: list[str],
    weights: NDArray[np.float64],
    more: int = 0,
) -> Figure:
    """Draw the courses, shape (N, bins), of those that weigh most; `more` are left out already."""
    heaviest = np.argsort(-weights, kind="stable")[:_MOST_LINES]
    shown = [int(k) for k in heaviest if weights[k] > 0]
    figure = Figure(figsize=(WIDTH, height_for(names[:_MOST_LINES])), layout="constrained")
    ax = figure.subplots()
    edges = np.minimum(np.arange(courses.shape[1] + 1) * trace.bin_s, trace.end_s)
    courses, edges = _coarser(courses[shown], edges, bins)
    colour = colours([names[k] for k in shown])
    for place, (k, course) in enumerate(zip(shown, courses, strict=True)):
        name = names[k]
        ax.stairs(
            course,
            edges,
            baseline=None,
            lw=1.2,
            color=colour[name],
            ls=dash(place),
            label=label(name),
        )
    ax.set_xlim(trace.start_s, max(trace.end_s, trace.start_s + trace.bin_s))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("time (s)")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    if shown:
        rest = int((weights > 0).sum()) - len(shown) + more
        title = f"and {rest} more" if rest else None
        figure.legend(loc="outside right upper", title=title, labelcolor="linecolor", frameon=False)
    return figure


def _coarser(
    courses: NDArray[np.float64], edges: NDArray[np.float64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means over neighbouring bins, so that at most so many are left, and their edges."""
    lengths = np.diff(edges)
    starts = np.arange(0, len(lengths), -(-len(lengths) // most))
    spans = np.add.reduceat(lengths, starts)
    sums = np.add.reduceat(courses * lengths, starts, axis=1)
    means = np.divide(sums, spans, out=np.zeros_like(sums), where=spans > 0)
    return means, np.append(edges[starts], edges[-1])
