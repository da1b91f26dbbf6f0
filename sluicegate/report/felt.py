"""What people feel, and what is good: a picture with bands, and a table with words."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from sluicegate.estimate import Measure
from sluicegate.measures.bands import Bands, sources
from sluicegate.report.figure import Figure
from sluicegate.report.plots import GREY, WIDTH, colours, label
from sluicegate.report.text import measure_text

# the best band and the worst one; those between are paler
_GOOD, _BAD = "#009e73", "#d55e00"
_ROW, _PANEL = 0.24, 0.95
# a word needs such a share of the axis
_ROOM = 0.12
CAPTION = (
    "Shaded: what is good, as the source under each panel says; the darkest green is the best "
    "band. Bars are 95 % intervals. The delay of a call is that of the network; the end systems "
    "add theirs."
)
HEADER = ["what is felt", "discipline", "value", "what that means"]


@dataclass(frozen=True)
class Felt:
    """A measure that people feel.

    Attributes:
        heading: With its class and its unit.
        bands: What is good.
        factor: From the unit of the bands to the one shown.
        values: By discipline, in the unit of the bands; those that have none are missing.
    """

    heading: str
    bands: Bands
    factor: float
    values: Mapping[str, Measure]


def felt_figure(felt: Sequence[Felt], names: Sequence[str]) -> Figure:
    """Draw a panel for each measure, with its bands, and in it a line for each discipline."""
    height = len(felt) * (_PANEL + _ROW * len(names))
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    colour = colours(names)
    for ax, each in zip(figure.subplots(len(felt), 1, squeeze=False)[:, 0], felt, strict=True):
        for row, name in enumerate(names):
            if name in each.values:
                found = each.values[name].times(each.factor)
                ax.errorbar(
                    [found.value],
                    [row],
                    xerr=[[found.half_width or 0.0]],
                    fmt="o",
                    ms=5,
                    capsize=3,
                    color=colour[name],
                )
        ax.set_yticks(range(len(names)), map(label, names))
        ax.set_ylim(len(names) - 0.4, -0.9)
        _shade(ax, each)
        better = "right" if each.bands.more_is_better else "left"
        ax.set_title(f"{each.heading}: {better} is better", fontsize=10, loc="left")
        ax.set_xlabel(each.bands.source, fontsize=8, color=GREY)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    return figure


def _shade(ax: Axes, felt: Felt) -> None:
    """Show the bands, and every value."""
    low, high = (felt.factor * each for each in felt.bands.shown)
    values = [felt.factor * each.value for each in felt.values.values()]
    room = _ROOM / 4 * (high - low)
    low, high = min([low, *values]) - room, max([high, *values]) + room
    count = len(felt.bands.words)
    for place, (word, start, stop) in enumerate(felt.bands.edges()):
        left, right = max(low, felt.factor * start), min(high, felt.factor * stop)
        if left >= right:
            continue
        worse = place / (count - 1)
        strength = 0.06 + 0.24 * abs(2 * worse - 1)
        ax.axvspan(left, right, color=_GOOD if worse < 0.5 else _BAD, alpha=strength, lw=0)
        share = (right - left) / (high - low)
        if share > _ROOM:
            text = "\n".join(textwrap.wrap(word, int(80 * share), break_long_words=False))
            ax.text((left + right) / 2, -0.85, text, ha="center", va="top", fontsize=8, color=GREY)
    ax.set_xlim(low, high)


def felt_rows(felt: Sequence[Felt], names: Sequence[str]) -> tuple[list[list[str]], str]:
    """Rows of a table with `HEADER`, and its caption, which has the sources."""
    rows = [
        [
            each.heading,
            name,
            measure_text(each.values[name].times(each.factor)),
            each.bands.word(each.values[name].value),
        ]
        for each in felt
        for name in names
        if name in each.values
    ]
    return rows, sources([each.bands for each in felt])


def seen(felt: Sequence[Felt], names: Sequence[str]) -> str:
    """What the figure shows, for those who cannot see it."""
    told = (f"{row[0]}, {row[1]}: {row[2]}, {row[3]}" for row in felt_rows(felt, names)[0])
    return f"{'; '.join(told)}."
