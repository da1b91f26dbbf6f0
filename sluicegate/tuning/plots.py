"""Pictures of a tuning: the score over each parameter, over pairs of them, and the front."""

from __future__ import annotations

from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from sluicegate.measures import DEFINITIONS
from sluicegate.report.figure import Figure
from sluicegate.report.tables import label
from sluicegate.tuning.axes import Axis

if TYPE_CHECKING:
    from sluicegate.tuning.result import Tuning

_WIDTH = 7.0
_MOST_PAIRS = 3
_BEST = "#c00000"


def profile_figure(tuning: Tuning) -> Figure:
    """The score of every candidate over each parameter."""
    axes = tuning.problem.axes
    rows = (len(axes) + 1) // 2
    figure = Figure(figsize=(_WIDTH, 2.4 * rows), layout="constrained")
    panels = figure.subplots(rows, min(2, len(axes)), squeeze=False).flat
    kept, broken = _parts(tuning)
    factor = _factor(tuning)
    for ax, axis in zip(panels, axes, strict=False):
        for part, marker, text in ((broken, "x", "breaks a constraint"), (kept, ".", "candidate")):
            if len(part):
                ax.plot(part[axis.name], part["score"] * factor, marker, color="#808080", ms=4)
                ax.lines[-1].set_label(text)
        best = tuning.best
        half_width = best.score.half_width or 0.0
        ax.errorbar(
            [best.values[axis.name]],
            [best.score.value * factor],
            [half_width * factor],
            marker="D",
            ms=4,
            color=_BEST,
            capsize=2,
            label="tuned, fresh random numbers",
        )
        _along(ax, axis, "x")
        ax.set_ylabel(_score_label(tuning))
    for ax in islice(panels, 0, None):
        ax.set_axis_off()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def landscape_figure(tuning: Tuning) -> Figure | None:
    """The score over pairs of parameters, a dot for each candidate; None: there is only one."""
    pairs = list(combinations(tuning.problem.axes, 2))[:_MOST_PAIRS]
    if not pairs:
        return None
    kept, broken = _parts(tuning)
    figure = Figure(figsize=(_WIDTH, 2.9), layout="constrained")
    panels = figure.subplots(1, len(pairs), squeeze=False)[0]
    # with the worst, all others would have one colour
    shown = np.quantile(kept["score"].to_numpy(), [0.0, 0.9]) * _factor(tuning)
    drawn: Any = None
    for ax, (right, up) in zip(panels, pairs, strict=True):
        ax.plot(broken[right.name], broken[up.name], "x", color="#c0c0c0", ms=3)
        drawn = ax.scatter(
            kept[right.name],
            kept[up.name],
            c=kept["score"] * _factor(tuning),
            s=9,
            cmap="viridis",
            vmin=shown[0],
            vmax=shown[1],
        )
        ax.plot(
            [tuning.best.values[right.name]],
            [tuning.best.values[up.name]],
            "D",
            mfc="none",
            c=_BEST,
        )
        _along(ax, right, "x")
        _along(ax, up, "y")
    figure.colorbar(drawn, ax=panels[-1], label=_score_label(tuning), extend="max")
    return figure


def front_figure(tuning: Tuning) -> Figure | None:
    """Loss against delay: what no candidate beats in both, and the settings; None: not known."""
    front = tuning.front
    if front.is_empty():
        return None
    figure = Figure(figsize=(_WIDTH, 3.4), layout="constrained")
    ax = figure.subplots()
    factors = {
        n: DEFINITIONS[n].unit.shown(tuning.time_unit)[0] for n in ("delay_mean", "loss_ratio")
    }
    delay, loss = factors["delay_mean"], factors["loss_ratio"]
    ax.errorbar(
        front["delay_mean"] * delay,
        front["loss_ratio"] * loss,
        xerr=front["delay_mean_half_width"].fill_null(0.0) * delay,
        yerr=front["loss_ratio_half_width"].fill_null(0.0) * loss,
        marker="o",
        ms=3,
        lw=0.8,
        color="#404040",
        label="front",
    )
    for place, setting in enumerate(tuning.settings):
        found = setting.measures
        ax.plot(
            [found["delay_mean"].value * delay],
            [found["loss_ratio"].value * loss],
            "Dsv"[place % 3],
            color=f"C{place}",
            label=setting.name,
        )
    ax.set_xlabel(label("delay_mean", tuning.time_unit))
    ax.set_ylabel(label("loss_ratio", tuning.time_unit))
    ax.grid(alpha=0.25, lw=0.5)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure


def _parts(tuning: Tuning) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Candidates that keep the constraints, and those that break one."""
    able = tuning.trials.filter(pl.col("refused") == "")
    return able.filter(pl.col("violation") == 0), able.filter(pl.col("violation") > 0)


def _along(ax: Axes, axis: Axis, which: str) -> None:
    if axis.range.log:
        (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    (ax.set_xlabel if which == "x" else ax.set_ylabel)(axis.name)
    ax.grid(alpha=0.25, lw=0.5)


def _factor(tuning: Tuning) -> float:
    alone = tuning.problem.score.alone
    return 1.0 if alone is None else DEFINITIONS[alone].unit.shown(tuning.time_unit)[0]


def _score_label(tuning: Tuning) -> str:
    alone = tuning.problem.score.alone
    return "score" if alone is None else label(alone, tuning.time_unit)
