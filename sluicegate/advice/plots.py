"""Pictures of an advice: what the score is made of, and how it is in each scenario."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from sluicegate.advice import words
from sluicegate.advice.advice import Advice
from sluicegate.advice.score import COSTS, weights
from sluicegate.advice.search import JUDGED
from sluicegate.advice.settings import Setting
from sluicegate.estimate import student
from sluicegate.report.figure import Figure
from sluicegate.report.plots import GREY, WIDTH, colours, plain_ticks

_ROW = 0.42
# of the picture of before and after: measure, name, and factor of each panel
_PANELS = (
    ("sojourn_p99", "p99 sojourn (ms)", 1e3),
    ("completion_mean", "flow time (ms)", 1e3),
    ("utilization", "link busy (%)", 1e2),
)
# between the shortest and the longest time of a panel
_SPAN = 30.0
# a bar this many times as long as the others is cut
_CUT = 3.0


def costs_figure(advice: Advice) -> Figure:
    """The score of each setting as a bar of its parts, with the interval of the whole."""
    figure = Figure(figsize=(WIDTH, 1.4 + _ROW * len(advice.finalists)), layout="constrained")
    ax = figure.subplots()
    order = [advice.finalists[each.place] for each in advice.ranking]
    parts = np.array([advice.parts(each) for each in order])
    errors = np.array([each.score.half_width or 0.0 for each in advice.ranking])
    scores = parts.sum(axis=1)
    most = _CUT * float(scores[:-1].max(initial=0.0))
    # of a last bar beside which nothing is to be seen of the others, the shares of its parts
    is_cut = len(scores) > 1 and scores[-1] > most
    if is_cut:
        parts[-1] *= most / scores[-1]
        errors[-1] = np.nan
    colour = colours(list(COSTS))
    rows = np.arange(len(order))[::-1]
    left = np.zeros(len(order))
    for place, name in enumerate(COSTS):
        ax.barh(rows, parts[:, place], left=left, color=colour[name], label=name, height=0.62)
        left += parts[:, place]
    ax.errorbar(left, rows, xerr=errors, color=GREY, ls="", capsize=3, lw=1.2)
    if is_cut:
        ax.set_xlim(0, most)
        ax.annotate(
            f"{scores[-1]:.3g} →",
            (most, rows[-1]),
            (-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=9,
            # on whatever colour the last part has
            bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"},
        )
    ax.set_yticks(rows, [each.name for each in order], fontsize=9)
    ax.set_xlabel("score (less is better)")
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def change_figure(advices: Sequence[Advice]) -> Figure:
    """Every scenario before and after: how long packets and flows take, how busy the link is."""
    rows = [(advice, place) for advice in advices for place in range(len(advice.cases))]
    figure = Figure(figsize=(WIDTH, 1.3 + 0.3 * len(rows)), layout="constrained")
    axes = figure.subplots(1, len(_PANELS), sharey=True)
    for ax, (measure, name, factor) in zip(axes, _PANELS, strict=True):
        before, after = (
            [factor * _mean(advice, getattr(advice, which), measure, k) for advice, k in rows]
            for which in ("baseline", "choice")
        )
        _ends(ax, before, after)
        ax.set_xlabel(name)
        if factor == 1e3:
            ax.set_xscale("log")
            span = max(before + after) / min(before + after)
            # over some decades, labels of 3, 30, 300 lie over their neighbours
            plain_ticks(ax.xaxis, (1.0, 3.0) if span < _SPAN else (1.0,))
    ends = [(advice.question.direction, advice.cases[k].name) for advice, k in rows]
    axes[0].set_yticks(range(len(rows)), [": ".join(filter(None, e)) for e in ends], fontsize=9)
    axes[0].invert_yaxis()
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside upper left",
        ncols=2,
        frameon=False,
        title="\n".join(map(words.change_title, advices)),
        alignment="left",
    )
    return figure


def _ends(ax: Axes, before: Sequence[float], after: Sequence[float]) -> None:
    """A line for each row, from what was before to what is after."""
    rows = range(len(before))
    ax.hlines(rows, before, after, color=GREY, lw=1.2, zorder=1)
    colour = colours(["after", "before"])
    ax.scatter(before, rows, color=colour["before"], marker="o", s=30, label="before")
    ax.scatter(after, rows, color=colour["after"], marker="D", s=26, label="after")
    ax.grid(axis="x", color=GREY, alpha=0.3, lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def _mean(advice: Advice, setting: Setting, measure: str, place: int) -> float:
    return float(np.nanmean(advice.runs.values(setting, measure, JUDGED, place)))


def scenarios_figure(advice: Advice) -> Figure:
    """The score of each setting less that of the choice, in each scenario."""
    figure = Figure(figsize=(WIDTH, 1.6 + 0.6 * len(advice.cases)), layout="constrained")
    ax = figure.subplots()
    shown = [
        advice.finalists[each.place]
        for each in advice.ranking
        if advice.finalists[each.place] != advice.choice
    ]
    colour = colours([each.name for each in shown])
    weight = weights(advice.question.prefer)
    rows = np.arange(len(advice.cases))[::-1]
    for number, each in enumerate(shown):
        pairs = [
            student(
                advice.runs.scores(each, JUDGED, weight, place)
                - advice.runs.scores(advice.choice, JUDGED, weight, place)
            )
            for place in range(len(advice.cases))
        ]
        beside = 0.3 - 0.6 * number / max(1, len(shown) - 1)
        ax.errorbar(
            [pair.value for pair in pairs],
            rows + beside,
            xerr=[pair.half_width or 0.0 for pair in pairs],
            color=colour[each.name],
            marker="o",
            ms=4,
            ls="",
            capsize=2,
            label=each.name,
        )
    ax.axvline(0, color="black", lw=0.9)
    ax.set_xscale("symlog", linthresh=0.1)
    ax.set_yticks(rows, [case.name for case in advice.cases], fontsize=9)
    ax.set_xlabel(f"score minus that of {advice.choice.name}")
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure
