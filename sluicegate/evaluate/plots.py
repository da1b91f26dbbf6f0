"""Pictures of an evaluation: ellipses, distributions, courses in time, fairness of round trips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from sluicegate.evaluate.case import Case
from sluicegate.evaluate.cases import RTTS
from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.measured import LEVELS
from sluicegate.report.figure import Figure
from sluicegate.report.plots import GREY, WIDTH, colours, label, plain_ticks

# share of the runs that an ellipse is to hold
SHARE = 0.5
_PANEL = 3.6
# ending of the name of a class's curve
_QUANTILES = ".sojourn_quantiles"


def classes(case: Case) -> list[str]:
    """The classes whose delay and goodput a case judges."""
    both = [each.removesuffix(".goodput_bps") for each in case.judged if "." in each]
    return [
        each
        for each in both
        if {f"{each}.goodput_bps", f"{each}.queueing_delay"} <= set(case.judged)
    ]


def _names(found: Evaluation, case: Case) -> list[str]:
    return [name for name in found.plan.names if found.measured(case, name)]


def _finish(figure: Figure, axes: Sequence[Axes]) -> None:
    for ax in axes:
        ax.grid(color=GREY, alpha=0.25, lw=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=4, frameon=False, fontsize=9)


def overview_figure(found: Evaluation, other: str) -> Figure:
    """Queueing delay and goodput of each section, over those of another discipline."""
    sections = found.sections
    figure = Figure(figsize=(WIDTH, 2 + 0.3 * len(sections)), layout="constrained")
    axes = list(figure.subplots(1, 2, sharey=True))
    names = [name for name in found.plan.names if name != other]
    colour = colours(found.plan.names)
    rows = np.arange(len(sections))
    for ax, measure in zip(axes, ("queueing_delay", "goodput_bps"), strict=True):
        for place, name in enumerate(names):
            ratios = [found.ratio(section, name, other, measure) for section in sections]
            values = [np.nan if each is None else each for each in ratios]
            beside = 0.0 if len(names) == 1 else 0.5 * place / (len(names) - 1) - 0.25
            ax.plot(values, rows + beside, "o", ms=5, color=colour[name], label=label(name))
        ax.axvline(1, color=GREY, lw=1, ls=":")
    left, right = axes
    left.set_xscale("log")
    plain_ticks(left.xaxis, (1, 2, 5))
    left.set_xlabel(f"queueing delay\nover that of {other}\nleft is better")
    right.set_xlabel(f"goodput\nover that of {other}\nright is better")
    left.set_yticks(rows, map(found.plan.suite.headed, sections))
    left.invert_yaxis()
    left.set_ylabel(f"section of {found.plan.suite.title}")
    _finish(figure, axes)
    return figure


def ellipse_figure(found: Evaluation, case: Case) -> Figure:
    """Queueing delay and goodput of each class, a point for each replication."""
    shown = classes(case)
    figure = Figure(figsize=(WIDTH, _PANEL), layout="constrained")
    axes = list(figure.subplots(1, len(shown), squeeze=False)[0])
    colour = colours(found.plan.names)
    for ax, class_ in zip(axes, shown, strict=True):
        for name in _names(found, case):
            delays = 1e3 * found.values(case, name, f"{class_}.queueing_delay")
            goodputs = 1e-6 * found.values(case, name, f"{class_}.goodput_bps")
            ax.plot(delays, goodputs, ".", ms=4, alpha=0.6, color=colour[name])
            # the points are too small for a legend
            ax.plot([], [], "o", ms=5, color=colour[name], label=label(name))
            if (drawn := found.ellipse(case, name, class_)) is not None:
                ax.plot(*(drawn.contour(SHARE) * (1e3, 1e-6)).T, color=colour[name], lw=1.2)
                ax.plot(*(drawn.median * (1e3, 1e-6)), "o", ms=7, mfc="none", color=colour[name])
        ax.set_xlim(left=0)
        ax.set_title(class_, fontsize=10)
        ax.set_xlabel("queueing delay (ms): left is better")
    axes[0].set_ylabel("goodput (Mb/s): up is better")
    _finish(figure, axes)
    return figure


def waiting(found: Evaluation, case: Case) -> list[str]:
    """The classes whose data wait at the main queue, and whose delay a case judges."""
    judged = (each.removesuffix(".queueing_delay") for each in case.judged if "." in each)
    known = {
        name.removesuffix(_QUANTILES)
        for name_ in _names(found, case)
        for run in found.measured(case, name_)
        for name in run.curves
    }
    shown = [each for each in dict.fromkeys(judged) if each in known]
    # of the other direction the main queue has the ACKs
    return shown[:1] if case.kind == "two-way" else shown


def distribution_figure(found: Evaluation, case: Case) -> Figure:
    """Cumulative distributions of the time in the queue, and of the goodput of windows."""
    shown = waiting(found, case)
    goodputs = {
        name: np.sort(np.concatenate([_after(found, each.curves) for each in runs]))
        for name in _names(found, case)
        if (runs := found.measured(case, name))
    }
    with_goodput = any(len(each) for each in goodputs.values())
    figure = Figure(figsize=(WIDTH, _PANEL), layout="constrained")
    axes = list(figure.subplots(1, len(shown) + with_goodput, squeeze=False)[0])
    colour = colours(found.plan.names)
    for ax, class_ in zip(axes, shown, strict=False):
        for name in _names(found, case):
            waits = [
                each.curves[f"{class_}{_QUANTILES}"]
                for each in found.measured(case, name)
                if f"{class_}{_QUANTILES}" in each.curves
            ]
            if waits:
                times_ms = 1e3 * np.mean(waits, axis=0)
                ax.plot(times_ms, 100 * LEVELS, color=colour[name], label=label(name))
        ax.set_xlim(left=0)
        ax.set_title(f"{class_}: left is better", fontsize=10)
        ax.set_xlabel("time in the queue (ms)")
    axes[0].set_ylabel("packets that waited no longer (%)")
    if with_goodput:
        for name, values in goodputs.items():
            shares = 100 * np.arange(1, len(values) + 1) / len(values)
            axes[-1].plot(values / 1e6, shares, color=colour[name])
        axes[-1].set_xlabel("TCP's goodput in ten round trips (Mb/s)")
        axes[-1].set_title("right is better", fontsize=10)
        axes[-1].set_ylabel("windows with no more (%)")
    _finish(figure, axes)
    return figure


def _after(found: Evaluation, curves: object) -> np.ndarray:
    """The windows after the warm-up."""
    assert isinstance(curves, dict)
    profile = found.plan.profile
    skipped = int(np.ceil(profile.warm_up_s / profile.window_s))
    return np.asarray(curves.get("goodput_windows", []), dtype=np.float64)[skipped:]


def course_figure(found: Evaluation, case: Case) -> Figure:
    """Queue and losses in time, means of the replications in windows of ten round trips."""
    profile = found.plan.profile
    figure = Figure(figsize=(WIDTH, 2 * _PANEL), layout="constrained")
    axes = list(figure.subplots(2, 1, sharex=True))
    colour = colours(found.plan.names)
    for ax, curve, factor in zip(axes, ("queue_windows", "loss_windows"), (1, 100), strict=True):
        for name in _names(found, case):
            rows = [each.curves[curve] for each in found.measured(case, name)]
            times_s = (np.arange(len(rows[0])) + 0.5) * profile.window_s
            means = factor * np.ma.masked_invalid(rows).mean(axis=0)
            ax.plot(times_s, means, color=colour[name], lw=1.3, label=label(name))
        for phase in case.phases(profile):
            ax.axvline(phase.start_s, color=GREY, lw=0.8, ls=":")
        ax.set_ylim(bottom=0)
    queue, loss = axes
    for phase in case.phases(profile):
        queue.text(
            phase.start_s, 1.0, f" {phase.name}", transform=queue.get_xaxis_transform(), fontsize=8
        )
    queue.set_ylabel("queue (packets):\nlow is better")
    loss.set_ylabel("lost (%):\nlow is better")
    loss.set_xlabel("time (s)")
    _finish(figure, axes)
    return figure


def round_trips_figure(found: Evaluation, cases: Sequence[Case]) -> Figure:
    """The goodput of the second flow over that of the first, by the ratio of their round trips."""
    figure = Figure(figsize=(WIDTH, _PANEL), layout="constrained")
    ax = figure.subplots()
    colour = colours(found.plan.names)
    for name in _names(found, cases[0]):
        means = [found.mean(case, name, "goodput_ratio") for case in cases]
        rows = [(ratio, each) for ratio, each in zip(RTTS, means, strict=True) if each is not None]
        ax.errorbar(
            [ratio for ratio, _ in rows],
            [each.value for _, each in rows],
            yerr=[each.half_width or 0.0 for _, each in rows],
            color=colour[name],
            marker="o",
            ms=4,
            capsize=3,
            label=label(name),
        )
    ax.axhline(1, color=GREY, lw=1, ls=":")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(RTTS, [f"{each:g}" for each in RTTS])
    ax.minorticks_off()
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("round trip of II over that of I")
    ax.set_ylabel("goodput of II over I: 1 is fair")
    _finish(figure, [ax])
    return figure
