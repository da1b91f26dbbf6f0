"""The paper's figures 4 to 7: loss over bandwidth; throughput, delay and queue in time."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from matplotlib.axes import Axes

from sluicegate.estimate import student
from sluicegate.papers.comparison import Plot
from sluicegate.papers.red_sfq_rem.claims import Sweep, Trio
from sluicegate.report.figure import Figure
from sluicegate.report.plots import WIDTH, colours, dash, share_text

_COLUMNS = 2
# column of a course: label of the axis, title
_COURSES = {
    "throughput": ("Mb/s since the start", "Figure 5: throughput"),
    "delay": ("delay (ms)", "Figure 6: delay from end to end"),
    "queue": ("waiting packets", "Figure 7: queue"),
}
_CAPTIONS = {
    "throughput": "Payload since the start over the time since the start, mean over the seeds. By "
    "the text REM's is the best and RED's the least, and each grows smoothly up to its first loss.",
    "delay": "Of a data packet that arrives at R1 behind the queue of figure 7. By the text the "
    "least is 60.03 ms with each, the longest REM's.",
    "queue": "Means over the seeds and over a second each. By the text at most two packets wait, "
    "with REM for longer.",
}


def loss_figure(sweeps: Mapping[str, Sweep]) -> Plot:
    """Draw figure 4, a panel per reading."""
    rows = -(-len(sweeps) // _COLUMNS)
    figure = Figure(figsize=(WIDTH, 2.8 * rows), layout="constrained")
    axes = figure.subplots(rows, _COLUMNS, squeeze=False)
    for ax, (reading, by_name) in zip(axes.flat, sweeps.items(), strict=False):
        _draw_losses(ax, by_name)
        ax.set_title(textwrap.fill(reading, 44), loc="left", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("bandwidth of R1-R2 (Mb/s)")
    for ax in axes[:, 0]:
        ax.set_ylabel("packets lost")
    axes[0, 0].legend(frameon=False, fontsize=9)
    return Plot(
        figure,
        "Figure 4: loss over the bandwidth",
        "Means over the seeds; the bars are 95 % intervals. By the text RED's falls smoothly, "
        "SFQ's changes drastically at 15 Mb/s.",
    )


def _draw_losses(ax: Axes, by_name: Sweep) -> None:
    colour = colours(list(by_name))
    for place, (name, by_rate) in enumerate(by_name.items()):
        losses = [student(found.loss_ratio) for found in by_rate.values()]
        ax.errorbar(
            list(by_rate),
            [loss.value for loss in losses],
            yerr=[loss.half_width or 0.0 for loss in losses],
            color=colour[name],
            ls=dash(place),
            marker="o",
            ms=3,
            capsize=3,
            label=name,
        )
    ax.yaxis.set_major_formatter(share_text)
    _tidy(ax)


def courses(trios: Mapping[str, Trio]) -> Iterator[Plot]:
    """Draw figures 5 to 7, a panel per reading."""
    for column, (label, title) in _COURSES.items():
        figure = Figure(figsize=(WIDTH, 2.5 * len(trios)), layout="constrained")
        axes = figure.subplots(len(trios), 1, sharex=True, squeeze=False)[:, 0]
        for ax, (reading, trio) in zip(axes, trios.items(), strict=True):
            colour = colours(list(trio))
            for place, (name, found) in enumerate(trio.items()):
                x, y = found.course["time_s"], found.course[column]
                ax.plot(x, y, color=colour[name], ls=dash(place), lw=1.1, label=name)
            ax.set_title(reading, loc="left", fontsize=9)
            ax.set_ylabel(label)
            _tidy(ax)
        axes[0].legend(frameon=False, fontsize=9)
        axes[-1].set_xlabel("time (s)")
        yield Plot(figure, title, _CAPTIONS[column])


def _tidy(ax: Axes) -> None:
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
