"""A candidate: one setting, the runs that judge it, and which of two is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sluicegate.estimate import Measure, student
from sluicegate.tuning.score import Columns, Constraint, Score

# for a candidate as good as its rival: the probability to be given up, over all looks together
GIVEN_UP = 0.01

Values = tuple[float, ...]


@dataclass(eq=False)
class Trial:
    """One setting and the runs that judge it, under the same seeds as all others.

    Attributes:
        number: In the order in which they came.
        values: One for each axis.
        refused: Why the scenario cannot be run so; empty if it can.
        runs: The measures of each run, in the order of the seeds.
        looks: How often it was judged whether it can still win.
        stopped: Whether it was given up before its interval was narrow.
        exact: Whether its measures have no random error.
    """

    number: int
    values: Values
    score: Score
    constraints: Sequence[Constraint]
    refused: str = ""
    runs: list[Columns] = field(default_factory=list)
    looks: int = 0
    stopped: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        self._scores: list[float] = []
        self._excesses: list[list[float]] = []

    def add(self, columns: Columns) -> None:
        """Add a run."""
        self._scores.append(self.score.of(columns))
        self._excesses.append([each.excess(columns) for each in self.constraints])
        self.runs.append(columns)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Of each run, shape (R,)."""
        return np.array(self._scores)

    def excesses(self, count: int | None = None) -> NDArray[np.float64]:
        """How far each of the first runs breaks each constraint, shape (R, constraints)."""
        rows = self._excesses[:count]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self.constraints))

    @property
    def measure(self) -> Measure:
        """The score with its interval."""
        if self.exact:
            return Measure(self._scores[0], None, "")
        return student(self.scores)

    def violation(self, count: int | None = None) -> float:
        """How far the means of the first runs break the constraints, together; 0: none."""
        if not self.constraints:
            return 0.0
        return float(np.maximum(self.excesses(count).mean(axis=0), 0.0).sum())

    @property
    def is_feasible(self) -> bool:
        """Whether it can be run and keeps every constraint, in the mean."""
        return not self.refused and self.violation() == 0

    @property
    def merit(self) -> float:
        """One number whose order is that of `beats` among trials of as many runs."""
        if self.refused:
            return 1e30
        violation = self.violation()
        return 1e15 * (1 + violation) if violation else self.measure.value

    def beats(self, other: Trial) -> bool:
        """Whether it is better, by the runs under the seeds that both have.

        What keeps the constraints is better than what breaks them, and a smaller violation is
        better than a larger one; if both keep them, the lower score counts (Deb 2000).
        """
        if self.refused or other.refused:
            return bool(other.refused) and not self.refused
        count = min(len(self.runs), len(other.runs))
        own, others = self.violation(count), other.violation(count)
        if own or others:
            return own < others
        return float((self.scores[:count] - other.scores[:count]).mean()) < 0

    def cannot_beat(self, rival: Trial) -> bool:
        """Whether the runs so far show that it is no better than a rival that keeps constraints.

        A one-sided t test of the differences under the same seeds, and one of each constraint. Of
        all looks, the k-th takes 1/(k(k+1)) of the risk `GIVEN_UP`, so that together they take no
        more (Bonferroni).
        """
        count = min(len(self.runs), len(rival.runs))
        if count < 2 or not rival.is_feasible or rival is self:
            return False
        risk = GIVEN_UP / (self.looks * (self.looks + 1)) / (1 + len(self.constraints))
        worse = [self.scores[:count] - rival.scores[:count], *self.excesses().T]
        return any(_surely_above_0(each, risk) for each in worse)


def _surely_above_0(values: NDArray[np.float64], risk: float) -> bool:
    from scipy.special import stdtrit  # takes half a second to import

    error = float(values.std(ddof=1)) / float(np.sqrt(len(values)))
    return float(values.mean()) > float(stdtrit(len(values) - 1, 1 - risk)) * error
