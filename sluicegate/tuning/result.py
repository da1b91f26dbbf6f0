"""What a tuning found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from sluicegate.estimate import Measure
from sluicegate.measures import check_names
from sluicegate.record import measure_rows
from sluicegate.scenario import Discipline
from sluicegate.tuning.problem import Problem

if TYPE_CHECKING:
    from sluicegate.report.page import Page


@dataclass(frozen=True)
class Setting:
    """A setting, judged under random numbers on which nothing was chosen.

    Attributes:
        name: `tuned`, `scenario` (as its file has it) or `default` (of the AQM's header).
        values: By parameter.
        score: With its 95 % interval.
        measures: All that are known, with theirs.
        minus_tuned: The score minus that of the tuned setting, run by run under the same seeds;
            None: it is that setting, or there is nothing to pair.
        keeps: Whether it keeps every constraint, in the mean.
        surely: Whether the 95 % intervals of all constraints say so.
        runs: How many stand behind it.
    """

    name: str
    values: Mapping[str, float]
    score: Measure
    measures: Mapping[str, Measure] = field(repr=False)
    minus_tuned: Measure | None
    keeps: bool
    surely: bool
    runs: int

    def summary(self) -> dict[str, Any]:
        """The setting as types that JSON has."""
        pairs = {"score": self.score}
        if self.minus_tuned is not None:
            pairs["minus_tuned"] = self.minus_tuned
        return {
            "name": self.name,
            "values": dict(self.values),
            **measure_rows(pairs),
            "measures": measure_rows(self.measures),
            "keeps": self.keeps,
            "surely": self.surely,
            "runs": self.runs,
        }


@dataclass(frozen=True, repr=False)
class Tuning:
    """What a tuning found; shown as `sluice tune` does.

    Attributes:
        problem: What was asked.
        method: How it was searched.
        scenario: The scenario with the tuned values, all of its disciplines in it.
        discipline: The tuned one.
        settings: The tuned setting first, then the scenario's own and the defaults, where they
            are others; all under the same fresh random numbers.
        trials: A row for each candidate of the search: `number`, a column for each parameter,
            `runs`, `score`, `half_width`, `violation` (0: keeps the constraints), `stopped` (it
            could not win), `refused` (why the scenario cannot be run so).
        front: Candidates that no other one beats in both delay and loss, under fresh random
            numbers: a column for each parameter, `delay_mean` and `loss_ratio` with their
            `_half_width`; by rising delay in the search.
        sensitivity: How the score changes with each parameter around the tuned values: `parameter`,
            `value`, `change` (of the score, with `half_width`).
        runs: Runs that the search took.
        fresh_runs: Runs of the settings, the sensitivity and the front.
        time_unit: `slots` or `s`, of everything that is a time.
        notes: What a reader must know, a sentence each.
        columns: The measures that the table of settings shows; None: those of the score and the
            constraints, and those that matter most.
    """

    problem: Problem
    method: str
    scenario: Any
    discipline: Discipline
    settings: Sequence[Setting]
    trials: pl.DataFrame
    front: pl.DataFrame
    sensitivity: pl.DataFrame
    runs: int
    fresh_runs: int
    time_unit: str
    notes: Sequence[str] = field(default=())
    columns: Sequence[str] | None = None

    def showing(self, *measures: str) -> Self:
        """The same result, whose table of settings shows these measures.

        Raises:
            SluiceError: If one is no measure.
        """
        return replace(self, columns=check_names(measures, "measures") or None)

    @property
    def best(self) -> Setting:
        """The tuned setting."""
        return self.settings[0]

    @property
    def values(self) -> dict[str, float]:
        """The tuned values by parameter."""
        return dict(self.best.values)

    @property
    def score(self) -> Measure:
        """The tuned setting's score with its 95 % interval, under fresh random numbers."""
        return self.best.score

    def __repr__(self) -> str:
        from sluicegate.report.terminal import as_text
        from sluicegate.tuning.tables import settings_table

        return as_text(settings_table(self), width=120)

    def _repr_html_(self) -> str:
        from sluicegate.tuning.page import in_notebook

        return in_notebook(self).cell()

    def summary(self) -> dict[str, Any]:
        """Everything as types that JSON has."""
        return {
            **self.problem.about(),
            "method": self.method,
            "settings": [each.summary() for each in self.settings],
            "trials": self.trials.to_dicts(),
            "front": self.front.to_dicts(),
            "sensitivity": self.sensitivity.to_dicts(),
            "runs": self.runs,
            "fresh_runs": self.fresh_runs,
            "notes": list(self.notes),
        }

    def toml(self) -> str:
        """The scenario with the tuned values, as a file has it."""
        from sluicegate.tuning.toml import scenario_toml

        return scenario_toml(self)

    def page(self) -> Page:
        """The report's page."""
        from sluicegate.tuning.page import tuning_page

        return tuning_page(self)

    def write(self, folder: str | Path) -> None:
        """Write `report.html` and `tuned.toml` into a folder, which is made if it is missing.

        Raises:
            OSError: If they cannot be written.
        """
        from sluicegate.files import write_whole

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.page().write(folder / "report.html")
        write_whole(folder / "tuned.toml", self.toml())
