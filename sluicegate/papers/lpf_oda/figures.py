"""The paper's figures 1 and 4 to 7: courses of both filters, a panel per reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sluicegate.papers.comparison import Plot
from sluicegate.papers.lpf_oda.outcome import Outcome
from sluicegate.papers.lpf_oda.source import AGAIN_S, END_S, OVER_S
from sluicegate.report.plots import WIDTH, colours, dash

_FROM_S, _TO_S = 120.0, 180.0
# column of a course: factor, label of the axis, title
_FIGURES = {
    "average": (1.0, "average queue (packets)", "Figure 1: the average queue of either filter"),
    "throughput": (1.0, "share of 10 Mb/s", "Figure 4: normalised throughput"),
    "queue": (1.0, "waiting packets", "Figure 5: instantaneous queue"),
    "delay_s": (1000.0, "delay (ms)", "Figure 6: queueing delay"),
    "drops": (1.0, "packets/s", "Figure 7: packet drops"),
}
_CAPTION = (
    "Means over the seeds, by the second; grey: congestion. From {:g} to {:g} s, the part that the "
    "paper discusses."
)


def courses(outcomes: Mapping[str, Mapping[str, Outcome]]) -> Iterator[Plot]:
    """Draw figures 1 and 4 to 7.

    Args:
        outcomes: By the name of the reading, then by filter.
    """
    for column, (factor, label, title) in _FIGURES.items():
        figure = Figure(figsize=(WIDTH, 2.5 * len(outcomes)), layout="constrained")
        axes = figure.subplots(len(outcomes), 1, sharex=True, squeeze=False)[:, 0]
        for ax, (reading, by_filter) in zip(axes, outcomes.items(), strict=True):
            _draw(ax, by_filter, column, factor)
            ax.set_title(reading, loc="left", fontsize=10)
            ax.set_ylabel(label)
        axes[0].legend(frameon=False, fontsize=9)
        axes[-1].set_xlabel("time (s)")
        yield Plot(figure, title, _CAPTION.format(_FROM_S, _TO_S))


def _draw(ax: Axes, by_filter: Mapping[str, Outcome], column: str, factor: float) -> None:
    colour = colours(list(by_filter))
    for place, (name, found) in enumerate(by_filter.items()):
        values = factor * found.course[column].to_numpy()
        ax.plot(found.course["time_s"], values, color=colour[name], ls=dash(place), label=name)
    for start_s, end_s in ((0.0, END_S), (AGAIN_S, OVER_S)):
        ax.axvspan(start_s, end_s, color="#7f7f7f", alpha=0.12, lw=0)
    ax.set_xlim(_FROM_S, _TO_S)
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
