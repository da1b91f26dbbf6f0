"""Queues in time."""

from __future__ import annotations

from matplotlib.figure import Figure

from sluicegate.papers.comparison import Plot
from sluicegate.papers.lred.measured import RIVALS, Records
from sluicegate.papers.lred.scenarios import Q_REF
from sluicegate.report.plots import WIDTH, colours


def queue_plot(
    records: Records,
    case: float | str,
    title: str,
    caption: str,
    *,
    q_ref: float = Q_REF,
    port: int = 0,
) -> Plot:
    """The queue of LRED, PI*, PI and REM in one case."""
    names = ("LRED", *RIVALS)
    figure = Figure(figsize=(WIDTH, 6), layout="constrained")
    for ax, name in zip(figure.subplots(4, 1, sharex=True, sharey=True), names, strict=True):
        shown = records[case, name].ports[port]
        ax.plot(shown.times_s, shown.samples[0], lw=0.7, color=colours(names)[name])
        ax.axhline(q_ref)
    return Plot(figure, title, caption)
