"""The paper's figures 1 to 7, drawn from records of either world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sluicegate.papers.comparison import Plot
from sluicegate.papers.drop_from_front.tables import Case
from sluicegate.papers.figures import Curves, Panel, delay_figure, rare_queue_figure
from sluicegate.record import Record

FIRST = ("red", "geometric", 0.25, 0.07)
_DELAYS = {
    ("geometric", 0.5, 0.07): "Figure 2",
    ("self-similar", 0.5, 0.07): "Figure 3",
    ("geometric", 0.5, 0.002): "Figure 4, geometric",
    ("self-similar", 0.5, 0.002): "Figure 4, self-similar",
    ("geometric", 0.25, 0.07): "Figures 5 to 7, geometric, w = 0.07",
    ("self-similar", 0.25, 0.07): "Figures 5 to 7, self-similar, w = 0.07",
    ("geometric", 0.25, 0.002): "Figures 5 to 7, geometric, w = 0.002",
    ("self-similar", 0.25, 0.002): "Figures 5 to 7, self-similar, w = 0.002",
}


def first_figure(simulated: Record, exact: Record) -> Plot:
    """The rare lengths of the queue, by simulation and by the chain."""
    slots = simulated.run["slots"] * simulated.run["replications"]
    curves = {
        f"{slots:.0e} slots": simulated.queue_distribution,
        "exact chain": exact.queue_distribution,
    }
    return Plot(
        rare_queue_figure("RED, geometric, mu 0.25, w 0.07", curves),
        "Figure 1: how the queue is distributed",
        "The simulation ends where nothing more was seen; the paper's own had 250 million "
        "packets. The chain goes on: an empty queue has the probability "
        f"{exact.queue_distribution[0]:.0e}.",
    )


def is_drawn(case: Case) -> bool:
    """Whether a figure shows the case's delays: DSRED with gamma 0.5 only, run at both w."""
    return (case.source, case.mu, case.w) in _DELAYS and case.gamma in (None, 0.5)


def delay_figures(cases: Sequence[Case], delays: Sequence[Curves]) -> Iterator[Plot]:
    """RED and DSRED side by side, as the paper has them.

    Args:
        cases: All of the paper's rows.
        delays: Of each case, by victim: the distribution of the delay, slots.
    """
    by_case: Mapping[Case, Curves] = dict(zip(cases, delays, strict=True))
    for (source, mu, w), title in _DELAYS.items():
        panels = [
            Panel(case.name, {f"drop from {victim}": delay for victim, delay in curves.items()})
            for case, curves in by_case.items()
            if (case.source, case.mu, case.w) == (source, mu, w) and is_drawn(case)
        ]
        yield Plot(
            delay_figure(panels),
            f"{title}: how the delay is distributed",
            "The same packets arrive in both; only which one is dropped differs.",
        )
