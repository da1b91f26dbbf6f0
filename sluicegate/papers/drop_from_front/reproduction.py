"""Domanska, Domanski & Czachorski 2008: RED and DSRED that drop from the front, in 24 cases.

Journal of Communications Software and Systems 4(1), sections III and IV, tables I to III and
figures 1 to 7. The published figures stand in `tables.csv`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from sluicegate.estimate import CONFIDENCE, Measure
from sluicegate.papers import model
from sluicegate.papers.campaign import Campaign, Watch
from sluicegate.papers.comparison import Plot, Reproduction, Row, row_of
from sluicegate.papers.drop_from_front.findings import choices, findings
from sluicegate.papers.drop_from_front.source import SEARCH_SLOTS, self_similar
from sluicegate.papers.drop_from_front.tables import Case, published
from sluicegate.papers.figures import (
    FloatArray,
    Panel,
    mean_wait_distribution,
    rare_queue_figure,
    wait_figure,
)
from sluicegate.record import Record
from sluicegate.scenario import Arrivals, Victim

PAPER = "Domanska, Domanski & Czachorski, Journal of Communications Software and Systems 4(1), 2008"
# of a table's column, in records
MEASURES = {
    "queue_mean": "queue_mean",
    "queue_variance": "queue_variance",
    "loss": "loss_ratio",
    "loss_bracketed": "loss_ratio",
    "wait_mean": "wait_mean",
    "wait_variance": "wait_variance",
}
# near the load 1 the queue wanders slowly, at the load 2 it hardly moves
_SLOTS = {
    ("geometric", 0.5): 100_000_000,
    ("geometric", 0.25): 10_000_000,
    ("self-similar", 0.5): 100_000_000,
    ("self-similar", 0.25): 100_000_000,
}
_PAIR_SLOTS, _PAIR_REPLICATIONS, _PAIR_SEEDS = 5_000_000, 2, range(1, 6)


@dataclass(frozen=True)
class Pair:
    """Dropping from the tail and from the front, under the same arrivals and services.

    Attributes:
        gain: Share by which the front shortens the mean wait.
        waits: Distribution of the wait in slots, by victim, shape (W,) each.
    """

    gain: Measure
    waits: dict[str, FloatArray]


def reproduce(
    *, threads: int | None = None, watch: Watch | None = None, fresh: bool = False
) -> Reproduction:
    """Run all 24 cases, from the tail for the tables and in pairs for the gains.

    Args:
        threads: Threads to use; all cores if None.
        watch: Called now and then with a name, the slots done and the slots in all.
        fresh: Run again even what the store has.

    Raises:
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    cases = published()
    campaign = Campaign(
        "drop-from-front", _all_slots(cases), threads=threads, watch=watch, fresh=fresh
    )
    source = self_similar(campaign)
    sources: dict[str, Arrivals] = {"geometric": model.GEOMETRIC, "self-similar": source}
    records = [_run_case(campaign, case, sources[case.source]) for case in cases]
    pairs = [_run_pair(campaign, case, sources[case.source]) for case in cases]
    rows = [
        row
        for case, record, pair in zip(cases, records, pairs, strict=True)
        for row in _rows(case, record, pair)
    ]
    return Reproduction(
        paper=PAPER,
        rows=rows,
        findings=findings(cases, rows),
        choices=choices(cases, source.a),
        plots=[_first_figure(cases, records), *_wait_figures(cases, pairs)],
    )


def _all_slots(cases: Sequence[Case]) -> int:
    of_tables = sum(_SLOTS[case.source, case.mu] for case in cases) * model.REPLICATIONS
    of_pairs = 2 * len(cases) * len(_PAIR_SEEDS) * _PAIR_SLOTS * _PAIR_REPLICATIONS
    return SEARCH_SLOTS + of_tables + of_pairs


def _run_case(campaign: Campaign, case: Case, arrivals: Arrivals) -> Record:
    slots = _SLOTS[case.source, case.mu]
    return campaign.run(model.scenario(arrivals, case.mu, case.discipline("tail"), slots))


def _run_pair(campaign: Campaign, case: Case, arrivals: Arrivals) -> Pair:
    def run(victim: Victim, seed: int) -> Record:
        return campaign.run(
            model.scenario(
                arrivals,
                case.mu,
                case.discipline(victim),
                _PAIR_SLOTS,
                replications=_PAIR_REPLICATIONS,
                seed=seed,
            )
        )

    tail = [run("tail", seed) for seed in _PAIR_SEEDS]
    front = [run("front", seed) for seed in _PAIR_SEEDS]
    waits = {"tail": mean_wait_distribution(tail), "front": mean_wait_distribution(front)}
    return Pair(_gain(tail, front), waits)


def _gain(tail: Sequence[Record], front: Sequence[Record]) -> Measure:
    """The mean over the seeds of 1 - front / tail, with Student's interval."""
    gains = np.array(
        [
            1 - front_run["wait_mean"].value / tail_run["wait_mean"].value
            for tail_run, front_run in zip(tail, front, strict=True)
        ]
    )
    quantile = stdtrit(len(gains) - 1, (1 + CONFIDENCE) / 2)
    half_width = float(quantile * gains.std(ddof=1) / np.sqrt(len(gains)))
    return Measure(float(gains.mean()), half_width, "")


def _rows(case: Case, record: Record, pair: Pair) -> Iterator[Row]:
    for column, measure in MEASURES.items():
        if (figure := getattr(case, column)) is not None:
            yield row_of(case.name, column, figure, record[measure])
    yield row_of(case.name, "gain", case.gain, pair.gain)


def _first_figure(cases: Sequence[Case], records: Sequence[Record]) -> Plot:
    wanted = ("red", "geometric", 0.25, 0.07)
    (record,) = (
        record
        for case, record in zip(cases, records, strict=True)
        if (case.aqm, case.source, case.mu, case.w) == wanted
    )
    return Plot(
        rare_queue_figure("RED, geometric, mu 0.25, w 0.07", record.queue_distribution),
        "Figure 1: how the queue is distributed",
        f"From {record.slots:,} slots. The paper's own simulation had 250 million packets.",
    )


_FIGURES = {
    ("geometric", 0.5, 0.07): "Figure 2",
    ("self-similar", 0.5, 0.07): "Figure 3",
    ("geometric", 0.5, 0.002): "Figure 4, geometric",
    ("self-similar", 0.5, 0.002): "Figure 4, self-similar",
    ("geometric", 0.25, 0.07): "Figures 5 to 7, geometric, w = 0.07",
    ("self-similar", 0.25, 0.07): "Figures 5 to 7, self-similar, w = 0.07",
    ("geometric", 0.25, 0.002): "Figures 5 to 7, geometric, w = 0.002",
    ("self-similar", 0.25, 0.002): "Figures 5 to 7, self-similar, w = 0.002",
}


def _wait_figures(cases: Sequence[Case], pairs: Sequence[Pair]) -> Iterator[Plot]:
    """RED and DSRED side by side, as the paper has them; DSRED with gamma 0.5, run at both w."""
    shown = [(case, pair) for case, pair in zip(cases, pairs, strict=True)]
    for (source, mu, w), title in _FIGURES.items():
        panels = [
            Panel(case.name, {f"drop from {victim}": wait for victim, wait in pair.waits.items()})
            for case, pair in shown
            if (case.source, case.mu, case.w) == (source, mu, w) and case.gamma in (None, 0.5)
        ]
        yield Plot(
            wait_figure(panels),
            f"{title}: how the time in the system is distributed",
            "The same packets arrive in both; only which one is dropped differs.",
        )
