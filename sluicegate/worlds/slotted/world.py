"""The slotted world, as comparisons use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

from sluicegate.record import Record
from sluicegate.report.text import reading_of_intervals
from sluicegate.scenario import Discipline, Scenario
from sluicegate.worlds.one_queue import OneQueue
from sluicegate.worlds.slotted.record import SlottedRecord
from sluicegate.worlds.slotted.simulate import simulate
from sluicegate.worlds.world import Progress, check_alone


@dataclass(frozen=True)
class Slotted(OneQueue[SlottedRecord]):
    """The simulated queue of discrete time.

    Attributes:
        decisions: File to write the decision log to, of a scenario with one discipline and one
            replication; see `sluicegate.simulate`.
    """

    name: ClassVar[str] = "slotted"
    column: ClassVar[str] = "measured"

    decisions: Path | None = None

    def logged(self, path: Path) -> Self:
        """With `decisions`."""
        return replace(self, decisions=path)

    def check(self, scenario: Scenario, discipline: Discipline) -> None:
        """Every scenario can be simulated; not all logged."""
        check_alone(self.decisions, "decision log", scenario)

    def cost(self, scenario: Scenario) -> float:
        """Slots of all replications."""
        return scenario.duration_slots * scenario.runs

    def run(
        self,
        scenario: Scenario,
        discipline: Discipline,
        *,
        threads: int | None,
        on_progress: Progress,
        fresh: bool,
    ) -> SlottedRecord:
        """Simulate; see `sluicegate.simulate`."""
        return simulate(
            scenario,
            discipline,
            threads=threads,
            watch=lambda done, total: on_progress(done, total, ""),
            fresh=fresh,
            decisions=self.decisions,
        )

    def in_short(self, scenario: Scenario) -> str:
        """Runs, slots and seed."""
        runs = f"{scenario.runs} run{'s' * (scenario.runs > 1)}"
        return f"simulated in {runs} of {scenario.duration_slots:,} slots, seed {scenario.seed}"

    def reading(self, records: Sequence[Record]) -> str:
        """How the intervals were made."""
        return reading_of_intervals(records)
