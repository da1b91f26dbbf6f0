"""Wang, Li, Hou, Sohraby & Lin 2007: LRED, experiments 1 to 6 and every claim of the text.

"LRED: a robust and responsive AQM algorithm using packet loss ratio measurement", IEEE
Transactions on Parallel and Distributed Systems 18(1). Sections 3 to 6; figures 2 and 5 to 17.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from sluicegate.papers.campaign import Campaign
from sluicegate.papers.claims import Claim
from sluicegate.papers.comparison import Plot, Reproduction, Row
from sluicegate.papers.lred import (
    experiment1,
    experiment2,
    experiment3,
    experiment4,
    experiment5,
    experiment6,
    extensions,
    loss_ratio,
    parameters,
    theory,
)
from sluicegate.papers.lred.findings import CHOICES, REMARK, UNITS, findings
from sluicegate.papers.lred.measured import Records, Scenarios
from sluicegate.papers.lred.scenarios import MAIN, Reading
from sluicegate.worlds import Watch
from sluicegate.worlds.network.world import Network

PAPER = (
    "LRED: Wang, Li, Hou, Sohraby & Lin, IEEE Transactions on Parallel and Distributed Systems, "
    "2007"
)


class Experiment(Protocol):
    """What one of the paper's experiments is made of.

    Attributes:
        READINGS: Those in which it is repeated besides the main one.
    """

    READINGS: tuple[Reading, ...]

    def scenarios(self, reading: Reading) -> Scenarios:
        """All runs, by what is varied and by discipline."""

    def claims(self, records: Records) -> list[Claim]:
        """What the paper says of it; the same claims in the same order in every reading."""

    def rows(self, records: Records) -> Iterator[Row]:
        """Our figures."""

    def plots(self, records: Records) -> Iterator[Plot]:
        """The paper's figures."""


EXPERIMENTS: tuple[Experiment, ...] = (
    theory,
    loss_ratio,
    parameters,
    experiment1,
    experiment2,
    experiment3,
    experiment4,
    experiment5,
    experiment6,
    extensions,
)


def reproduce(
    *, threads: int | None = None, watch: Watch | None = None, fresh: bool = False
) -> Reproduction:
    """Run all experiments in all readings and judge every claim.

    Args:
        threads: Threads to use; all cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.

    Raises:
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    world = Network()
    plans = [
        [(reading, experiment.scenarios(reading)) for reading in (MAIN, *experiment.READINGS)]
        for experiment in EXPERIMENTS
    ]
    cost = sum(
        world.cost(scenario)
        for plan in plans
        for _, scenarios in plan
        for scenario in scenarios.values()
    )
    campaign = Campaign("lred", cost, threads=threads, watch=watch, fresh=fresh)
    parts = [
        _repeat(experiment, plan, campaign)
        for experiment, plan in zip(EXPERIMENTS, plans, strict=True)
    ]
    claims = [claim for part in parts for claim in part.claims]
    return Reproduction(
        paper=PAPER,
        rows=[row for part in parts for row in part.rows],
        findings=findings([claim for claim in claims if not claim.ours]),
        choices=CHOICES,
        plots=[plot for part in parts for plot in part.plots],
        units=UNITS,
        remark=REMARK,
        claims=claims,
    )


class _Part(NamedTuple):
    """What one experiment gives."""

    claims: list[Claim]
    rows: list[Row]
    plots: list[Plot]


def _repeat(
    experiment: Experiment, plan: Sequence[tuple[Reading, Scenarios]], campaign: Campaign
) -> _Part:
    """Run an experiment in all readings; the claims are those of the first."""
    part = _Part([], [], [])
    verdicts: list[tuple[str, list[Claim]]] = []
    for reading, scenarios in plan:
        records = {case: campaign.run(scenario, Network()) for case, scenario in scenarios.items()}
        rows = list(experiment.rows(records))
        if reading == MAIN:
            part.claims.extend(experiment.claims(records))
            part.plots.extend(experiment.plots(records))
        else:
            verdicts.append((reading.name, experiment.claims(records)))
            rows = [replace(row, row=f"{row.row}; {reading.name}") for row in rows]
        part.rows.extend(rows)
    told = [with_readings(claim, place, verdicts) for place, claim in enumerate(part.claims)]
    return part._replace(claims=told)


def with_readings(
    claim: Claim, place: int, readings: Sequence[tuple[str, Sequence[Claim]]]
) -> Claim:
    """The claim, its evidence with the verdicts of the other readings."""
    if not readings:
        return claim
    told = "; ".join(f"{name}: {claims[place].verdict}" for name, claims in readings)
    return replace(claim, evidence=f"{claim.evidence} With {told}.")
