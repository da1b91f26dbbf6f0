"""The chain, as comparisons use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from sluicegate.errors import SluiceError
from sluicegate.record import Record
from sluicegate.scenario import Discipline, Scenario
from sluicegate.worlds.chain.build import build
from sluicegate.worlds.chain.run import run
from sluicegate.worlds.chain.steady import Method
from sluicegate.worlds.one_queue import OneQueue
from sluicegate.worlds.world import Progress


@dataclass(frozen=True)
class Chain(OneQueue[Record]):
    """The same queue as a Markov chain, solved exactly.

    Attributes:
        grid: Step of the average's grid, packets.
        method: How the chain is solved; see `sluicegate.chain.solve`.
        limit: Whether to go to the limit of an infinitely fine grid; see
            `sluicegate.chain.extrapolate`.
        front_times: Whether to follow packets under drop from front through time, for the
            distributions of their sojourn times and delays.
    """

    name: ClassVar[str] = "chain"
    column: ClassVar[str] = "exact"
    is_exact: ClassVar[bool] = True
    unlogged: ClassVar[str] = "it has no packets"
    SLOTS_OF_THE_SAME_TIME: ClassVar[float] = 1e9

    grid: float = 0.25
    method: Method = "auto"
    limit: bool = False
    front_times: bool = False

    def check(self, scenario: Scenario, discipline: Discipline) -> None:
        """Build the chain and throw it away: what is wrong with it is told then."""
        for name, usual in (("method", "auto"), ("front_times", False)):
            if self.limit and (given := getattr(self, name)) != usual:
                raise SluiceError(f"{name} = {given} has no meaning where limit is set")
        build(scenario, discipline, self.grid)

    def cost(self, scenario: Scenario) -> float:
        """That of a large chain: from what is there it cannot be told how fast it converges."""
        return self.SLOTS_OF_THE_SAME_TIME

    def run(
        self,
        scenario: Scenario,
        discipline: Discipline,
        *,
        threads: int | None,
        on_progress: Progress,
        fresh: bool,
    ) -> Record:
        """Solve, or go to the limit; `threads` has no meaning here."""
        return run(scenario, discipline, **asdict(self), on_progress=on_progress, fresh=fresh)

    def in_short(self, scenario: Scenario) -> str:
        """That there is no chance in it."""
        return "solved exactly as a Markov chain"

    def reading(self, records: Sequence[Record]) -> str:
        """Which error is left."""
        if self.limit:
            return "The figure after ± is how far the limit of an infinitely fine grid may be."
        return (
            "Exact figures are those of the chain with the average queue in steps of "
            f"{self.grid:g} packets; they have no random error."
        )
