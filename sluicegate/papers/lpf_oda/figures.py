"""The paper's figures 1 and 4 to 7: courses of both filters, a panel per reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from sluicegate.papers.comparison import Plot
from sluicegate.papers.lpf_oda.outcome import Outcome
from sluicegate.papers.lpf_oda.source import AGAIN_S, END_S, OVER_S, THROUGHPUTS
from sluicegate.report.figure import Figure
from sluicegate.report.plots import WIDTH, colours, dash

_FROM_S, _TO_S = 120.0, 180.0


class _Course(NamedTuple):
    """How a column of a course is drawn, and what the text says of the paper's figure."""

    factor: float
    label: str
    title: str
    told: str


_FIGURES = {
    "average": _Course(
        1.0,
        "average queue (packets)",
        "Figure 1: the average queue of either filter",
        "By the text LPF's falls very slowly, that of LPF/ODA is halved at once.",
    ),
    "throughput": _Course(
        1.0,
        "share of 10 Mb/s",
        "Figure 4: normalised throughput",
        "Crosses: the four throughputs that the text prints. By the text that of LPF/ODA starts to "
        "increase at 136 s and that of LPF at 146 s.",
    ),
    "queue": _Course(
        1.0,
        "waiting packets",
        "Figure 5: instantaneous queue",
        "By the text it starts falling at 133 s.",
    ),
    "delay_s": _Course(
        1000.0,
        "delay (ms)",
        "Figure 6: queueing delay",
        "By the text that of LPF/ODA starts to decrease at 136 s.",
    ),
    "drops": _Course(
        1.0,
        "packets/s",
        "Figure 7: packet drops",
        "By its caption LPF requires 13 s more to reduce them to those of LPF/ODA.",
    ),
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
    for column, course in _FIGURES.items():
        figure = Figure(figsize=(WIDTH, 2.5 * len(outcomes)), layout="constrained")
        axes = figure.subplots(len(outcomes), 1, sharex=True, squeeze=False)[:, 0]
        for ax, (reading, by_filter) in zip(axes, outcomes.items(), strict=True):
            _draw(ax, by_filter, column, course.factor)
            if column == "throughput":
                _draw_printed(ax, list(by_filter))
            ax.set_title(reading, loc="left", fontsize=10)
            ax.set_ylabel(course.label)
        axes[0].legend(frameon=False, fontsize=9)
        axes[-1].set_xlabel("time (s)")
        yield Plot(figure, course.title, f"{_CAPTION.format(_FROM_S, _TO_S)} {course.told}")


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


def _draw_printed(ax: Axes, names: Sequence[str]) -> None:
    colour = colours(names)
    for name in names:
        printed = [throughputs[name] for throughputs in THROUGHPUTS.values()]
        ax.plot(list(THROUGHPUTS), printed, "x", color=colour[name], ms=7, mew=1.6)
