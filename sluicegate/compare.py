"""Comparisons: several disciplines on one scenario."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from sluicegate.errors import InterruptError
from sluicegate.record import Record
from sluicegate.scenario import Scenario
from sluicegate.simulate import simulate

Watch = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Comparison:
    """Records of several disciplines on one scenario.

    Attributes:
        scenario: What was run.
        records: One per discipline that was finished, in the scenario's order.
    """

    scenario: Scenario
    records: list[Record]

    def frame(self) -> pl.DataFrame:
        """A row per discipline and measure: discipline, measure, value, half_width, unit."""
        rows = [
            {
                "discipline": record.discipline,
                "measure": name,
                "value": measure.value,
                "half_width": measure.half_width,
                "unit": measure.unit,
            }
            for record in self.records
            for name, measure in record.measures.items()
        ]
        return pl.DataFrame(rows, schema_overrides={"half_width": pl.Float64})

    def distributions(self) -> pl.DataFrame:
        """All distributions: discipline, distribution, at, probability."""
        return pl.concat(
            record.frame().select(pl.lit(record.discipline).alias("discipline"), pl.all())
            for record in self.records
        )

    def summary(self) -> dict[str, Any]:
        """Everything but the distributions, as types that JSON has."""
        return {
            "title": self.scenario.title,
            "records": [record.summary() for record in self.records],
        }

    @property
    def interrupted(self) -> bool:
        """Whether something is missing or shorter than planned."""
        missing = len(self.records) < len(self.scenario.disciplines)
        return missing or any(record.interrupted for record in self.records)

    def notes(self) -> list[str]:
        """What a reader must know of an interrupted comparison, a sentence each."""
        finished = [record.discipline for record in self.records]
        names = [discipline.name for discipline in self.scenario.disciplines]
        total = self.scenario.duration_slots * self.scenario.runs
        notes = [
            f"{record.discipline} was stopped after {record.slots / total:.0%} of its slots."
            for record in self.records
            if record.interrupted
        ]
        if missing := [name for name in names if name not in finished]:
            notes.append(f"Not run: {', '.join(missing)}.")
        return notes


def compare(
    scenario: Scenario,
    *,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
) -> Comparison:
    """Run every discipline of a scenario; all see the same arrivals.

    Ctrl-C ends the comparison with what is finished by then.

    Args:
        scenario: What to run.
        threads: Threads to use; all cores if None.
        watch: Called now and then with a discipline's name, its slots done and its slots in all.
        fresh: Run again even what the store has.

    Raises:
        InterruptError: If Ctrl-C came before anything was finished.
        Exception: Whatever a Python AQM raises.
    """
    records: list[Record] = []
    with contextlib.suppress(InterruptError, KeyboardInterrupt):
        for discipline in scenario.disciplines:
            name = discipline.name

            def seen(done: int, total: int, name: str = name) -> None:
                if watch is not None:
                    watch(name, done, total)

            record = simulate(scenario, discipline, threads=threads, watch=seen, fresh=fresh)
            records.append(record)
            seen(record.slots, record.slots)
            if record.interrupted:
                break
    if not records:
        raise InterruptError("interrupted before anything was finished")
    return Comparison(scenario, records)
