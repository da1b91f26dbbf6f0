"""Domanska, Domanski & Czachorski 2008: RED and DSRED that drop from the front, in 24 cases.

Journal of Communications Software and Systems 4(1), sections III and IV, tables I to III and
figures 1 to 7. The published figures are in `tables.csv`. What is common to the worlds in which
the paper is repeated: `simulated.py` and `exact.py` give the runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from sluicegate.estimate import Measure
from sluicegate.papers import model
from sluicegate.papers.campaign import Campaign
from sluicegate.papers.comparison import Reproduction, Row, row_of
from sluicegate.papers.drop_from_front.claims import UNJUDGED, claims
from sluicegate.papers.drop_from_front.figures import FIRST, delay_figures, first_figure
from sluicegate.papers.drop_from_front.findings import choices, findings
from sluicegate.papers.drop_from_front.tables import Case, published
from sluicegate.papers.figures import Curves
from sluicegate.record import Record
from sluicegate.scenario import SelfSimilarArrivals
from sluicegate.worlds.chain.world import Chain
from sluicegate.worlds.slotted.world import Slotted
from sluicegate.worlds.world import AnyWorld

PAPER = (
    "Drop from front: Domanska, Domanski & Czachorski, Journal of Communications Software and "
    "Systems 4(1), 2008"
)
# by column of the tables: the measure in records
MEASURES = {
    "queue_mean": "queue_mean",
    "queue_variance": "queue_variance",
    "loss": "loss_ratio",
    "loss_bracketed": "loss_ratio",
    "delay_mean": "delay_mean",
    "delay_variance": "delay_variance",
}
_FIRST_SLOTS = 10_000_000
# the elimination gives every probability to full relative accuracy, however rare
_FIRST_CHAIN = Chain(method="direct")


@dataclass(frozen=True)
class Pair:
    """Dropping from the tail and from the front, under the same arrivals and services.

    Attributes:
        gain: Share by which the front shortens the mean delay.
        delays: Distribution of the delay in slots, by victim, shape (W,) each, where it is known.
    """

    gain: Measure
    delays: Curves


class Runs(Protocol):
    """What differs between the worlds in which the paper is repeated.

    Attributes:
        campaign: What runs everything.
        source: The self-similar source.
        spread: A sentence on the figure after ±.
    """

    spread: str
    campaign: Campaign
    source: SelfSimilarArrivals

    @property
    def world(self) -> AnyWorld:
        """Where the paper is repeated."""

    def record(self, case: Case) -> Record:
        """A case with drop from the tail, for the tables."""

    def pair(self, case: Case) -> Pair:
        """A case with either victim."""

    def remarks(self) -> list[str]:
        """What else a reader must know about the runs."""


def repeat(runs: Runs) -> Reproduction:
    """Run all 24 cases, from the tail for the tables and in pairs for the gains.

    Raises:
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    cases = published()
    records = [runs.record(case) for case in cases]
    pairs = [runs.pair(case) for case in cases]
    rows = [
        row
        for case, record, pair in zip(cases, records, pairs, strict=True)
        for row in _rows(case, record, pair)
    ]
    (first,) = (case for case in cases if (case.aqm, case.source, case.mu, case.w) == FIRST)
    scenario = model.scenario(model.GEOMETRIC, first.mu, first.discipline("tail"), _FIRST_SLOTS)
    return Reproduction(
        paper=PAPER,
        rows=rows,
        findings=[*findings(cases, rows), *runs.remarks()],
        choices=choices(cases, runs.source.a),
        plots=[
            first_figure(
                runs.campaign.run(scenario, Slotted()), runs.campaign.run(scenario, _FIRST_CHAIN)
            ),
            *delay_figures(cases, [pair.delays for pair in pairs]),
        ],
        column=runs.world.column,
        spread=runs.spread,
        claims=claims(cases, rows),
        unjudged=UNJUDGED,
    )


def _rows(case: Case, record: Record, pair: Pair) -> Iterator[Row]:
    for column, measure in MEASURES.items():
        if (figure := getattr(case, column)) is not None:
            yield row_of(case.name, column, figure, record[measure])
    yield row_of(case.name, "gain", case.gain, pair.gain)
