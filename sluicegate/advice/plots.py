"""Pictures of an advice: what the score is made of, and how it is in each scenario."""

from __future__ import annotations

import numpy as np

from sluicegate.advice.advice import Advice
from sluicegate.advice.score import COSTS, weights
from sluicegate.advice.search import JUDGED
from sluicegate.estimate import student
from sluicegate.report.figure import Figure
from sluicegate.report.plots import GREY, WIDTH, colours

_ROW = 0.42


def costs_figure(advice: Advice) -> Figure:
    """The score of each setting as a bar of its parts, with the interval of the whole."""
    figure = Figure(figsize=(WIDTH, 1.4 + _ROW * len(advice.finalists)), layout="constrained")
    ax = figure.subplots()
    order = [advice.finalists[each.place] for each in advice.ranking]
    weight = weights(advice.question.prefer)
    parts = np.array([advice.runs.costs(each, JUDGED).mean(axis=(0, 1)) * weight for each in order])
    colour = colours(list(COSTS))
    rows = np.arange(len(order))[::-1]
    left = np.zeros(len(order))
    for place, name in enumerate(COSTS):
        ax.barh(rows, parts[:, place], left=left, color=colour[name], label=name, height=0.62)
        left += parts[:, place]
    errors = [each.score.half_width or 0.0 for each in advice.ranking]
    ax.errorbar(left, rows, xerr=errors, color=GREY, ls="", capsize=3, lw=1.2)
    ax.set_yticks(rows, [each.name for each in order], fontsize=9)
    ax.set_xlabel("score (less is better)")
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


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
