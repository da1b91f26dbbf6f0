"""Measurements beside each other: a page with throughput and ping in time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sluicegate.flent.measurement import Measurement
from sluicegate.report.figure import Figure
from sluicegate.report.page import Page
from sluicegate.report.plots import WIDTH, colours, dash, height_for, label


def write_page(
    title: str,
    measurements: Sequence[Measurement],
    direction: str,
    header: list[str],
    rows: list[list[str]],
    folder: Path,
) -> Path:
    """Write the page to a folder, with the table that `summary_rows` gave; give its path.

    Raises:
        OSError: If it cannot be written.
    """
    page = Page(title or "Beside flent's measurements")
    notes: dict[str, list[str]] = {}
    for each in measurements:
        notes.setdefault(each.note, []).append(each.title)
    for note, titles in notes.items():
        if note:
            page.text(f"{', '.join(dict.fromkeys(titles))}: {note}")
    page.section("Result")
    page.table(header, rows, "While flows were sent, without the warm-up.")
    page.figure(
        courses_figure(measurements, direction),
        "Throughput and ping in time",
        f"Throughput is that of all TCP flows ({direction}) together, without headers.",
    )
    path = folder / "flent.html"
    page.write(path)
    return path


def courses_figure(measurements: Sequence[Measurement], direction: str) -> Figure:
    """Draw the throughput of all TCP flows together and, below, the ping, each in time."""
    names = [each.title for each in measurements]
    figure = Figure(figsize=(WIDTH, 1.5 * height_for(names)), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    colour = colours(names)
    for place, each in enumerate(measurements):
        megabits, ping_ms = each.throughput_mbps(direction), each.ping_ms()
        for ax, values in ((above, megabits), (below, ping_ms)):
            known = ~np.isnan(values)
            ax.plot(
                each.times_s[known],
                values[known],
                color=colour[each.title],
                ls=dash(place),
                label=label(each.title) if ax is above else None,
            )
    above.set_ylabel("throughput (Mb/s)")
    below.set_ylabel("ping (ms)")
    below.set_xlabel("time (s)")
    for ax in (above, below):
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", labelcolor="linecolor", frameon=False)
    return figure
