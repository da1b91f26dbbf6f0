"""What a method of tuning must do, and what it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from sluicegate.tuning.axes import Place
from sluicegate.tuning.judge import Judge
from sluicegate.tuning.problem import Problem
from sluicegate.tuning.trial import Trial


class SpentError(Exception):
    """All evaluations that were granted are spent."""


class Search:
    """What a method is given: the problem, and candidates judged on demand.

    Args:
        problem: What is tuned.
        judge: Judges candidates.
        most: Candidates that may be judged; None: as many as the method wants.
        on_progress: Called with the share of the search that is done.
    """

    def __init__(
        self, problem: Problem, judge: Judge, most: int | None, on_progress: Callable[[float], None]
    ) -> None:
        self.problem = problem
        self.most = most
        self.on_progress = on_progress
        self._judge = judge

    @property
    def dimension(self) -> int:
        """How many axes there are."""
        return len(self.problem.axes)

    @property
    def judged(self) -> int:
        """How many candidates were judged."""
        return len(self._judge.trials)

    def judge(
        self, places: Sequence[Place], rivals: Sequence[Trial | None] | None = None
    ) -> list[Trial]:
        """Judge candidates together; the more at a time, the more cores are at work.

        Args:
            places: The place of each.
            rivals: What each must beat; the best one so far where none is given.

        Raises:
            SpentError: If no more candidates may be judged.
        """
        wanted = [self.problem.at(place) for place in places]
        fresh = sum(values not in self._judge.trials for values in dict.fromkeys(wanted))
        if self.most is not None and fresh and self.judged + fresh > self.most:
            raise SpentError
        return self._judge.judge(wanted, rivals)


class Method(ABC):
    """A method of tuning.

    Attributes:
        starts: Whether it starts at places given by the ranges' counts.
    """

    starts: ClassVar[bool] = False

    def check(self, problem: Problem) -> None:  # noqa: B027 (most take any)
        """Refuse a problem that this method cannot solve, before anything is run.

        Raises:
            SluiceError: With the reason.
        """

    @abstractmethod
    def search(self, search: Search) -> None:
        """Judge candidates until the best is found; the judge keeps it."""
