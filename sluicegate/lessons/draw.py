"""The figures that lessons share."""

from __future__ import annotations

import polars as pl

from sluicegate.lessons.lesson import Records
from sluicegate.report.figure import Figure
from sluicegate.report.numbers import number_text
from sluicegate.report.plots import WIDTH, colours, height_for, label

_PANEL = 1.7


def over_time(records: Records, rtt_ms: float, packet_ms: float) -> Figure:
    """Draw the first replication of each run in time: mean window, queue, and round trip.

    Args:
        records: The runs by their labels; each with one queue, and with windows.
        rtt_ms: Round trip without a queue.
        packet_ms: Time of one packet on the link.
    """
    figure = Figure(figsize=(WIDTH, 3 * _PANEL + 0.5), layout="constrained")
    window, queue, rtt = figure.subplots(3, sharex=True)
    for name, colour in colours(list(records)).items():
        record = records[name]
        first = pl.col("replication") == 0
        flows = record.series.filter(first)
        port = record.ports[record.main_place].series.filter(first)
        window.plot(flows["time_s"], flows["window"], color=colour, lw=0.9, label=label(name))
        queue.plot(port["time_s"], port["queue"], color=colour, lw=0.9)
        rtt.plot(port["time_s"], rtt_ms + packet_ms * port["queue"], color=colour, lw=0.9)
    window.set_ylabel("window of a flow\n(packets)")
    queue.set_ylabel("queue (packets)")
    rtt.set_ylabel("round trip (ms)")
    rtt.set_xlabel("time (s)")
    for ax in (window, queue, rtt):
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=len(records), frameon=False, fontsize=9)
    return figure


def queues(records: Records) -> Figure:
    """Draw the queue of the first replication of each run in time, a panel each."""
    figure = Figure(figsize=(WIDTH, len(records) * _PANEL + 0.4), layout="constrained")
    axes = figure.subplots(len(records), sharex=True, sharey=True, squeeze=False)[:, 0]
    for ax, (name, colour) in zip(axes, colours(list(records)).items(), strict=True):
        port = (
            records[name].ports[records[name].main_place].series.filter(pl.col("replication") == 0)
        )
        ax.plot(port["time_s"], port["queue"], color=colour, lw=0.8, label="queue")
        if port["average"].is_not_null().any() and port["average"].is_not_nan().any():
            ax.plot(port["time_s"], port["average"], color="black", lw=1.2, label="average")
        ax.set_title(label(name), loc="left", fontsize=9)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("packets")
        ax.grid(alpha=0.3)
    axes[-1].set_xlabel("time (s)")
    if len(axes[0].lines) > 1:
        axes[0].legend(loc="upper right", frameon=False, fontsize=8)
    return figure


def bars(records: Records, measure: str, axis: str, scale: float = 1.0) -> Figure:
    """Draw one measure of each run, with its 95 % interval, and write its value beside it."""
    names = list(records)
    figure = Figure(figsize=(WIDTH, max(1.6, 0.8 * height_for(names))), layout="constrained")
    ax = figure.subplots()
    colour = colours(names)
    for place, name in enumerate(names):
        found = records[name][measure]
        half = (found.half_width or 0.0) * scale
        value = found.value * scale
        ax.barh(place, value, xerr=half, color=colour[name], capsize=3, height=0.6)
        ax.annotate(
            number_text(value),
            (value + half, place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    ax.set_yticks(range(len(names)), [label(name) for name in names])
    ax.invert_yaxis()
    # room for the values
    ax.set_xlim(0, 1.12 * ax.get_xlim()[1])
    ax.set_xlabel(axis)
    ax.grid(axis="x", alpha=0.3)
    return figure
