"""Runs of candidates: made by worker processes, kept, and never made twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from sluicegate.sweeps.plan import Task
from sluicegate.sweeps.work import Done, Job
from sluicegate.sweeps.workers import Workers, made
from sluicegate.tuning.kept import Kept
from sluicegate.tuning.problem import Problem
from sluicegate.tuning.score import Columns
from sluicegate.tuning.trial import Trial, Values

# the search's random numbers, and others that are not used to choose
Stream = Literal["search", "fresh"]
_STREAMS: dict[Stream, int] = {"search": 1, "fresh": 2}
# about how long a job is: in shorter ones the overhead dominates
_JOB_S = 0.2
_MOST_TASKS = 256

# values, stream of random numbers, and the run's number
Asked = tuple[Values, Stream, int]


def seed_of(problem: Problem, stream: Stream, number: int) -> int:
    """The seed of a run: all candidates have the same one of each number."""
    root = np.random.SeedSequence(problem.seed, spawn_key=(_STREAMS[stream], number))
    return int(root.generate_state(1, np.uint64)[0] >> np.uint64(1))


class Runner:
    """Makes the runs that judge candidates.

    Args:
        problem: What is run.
        workers: What makes them.
        kept: Where they are kept.
        on_progress: Called as runs come in.
    """

    def __init__(
        self, problem: Problem, workers: Workers, kept: Kept, on_progress: Callable[[], None]
    ) -> None:
        self._problem = problem
        self._workers = workers
        self._kept = kept
        self._report_progress = on_progress
        self._each_s = _JOB_S
        self.made = 0

    def new_trial(self, number: int, values: Values) -> Trial:
        """A candidate without runs."""
        return self._problem.trial(number, values)

    def run(self, asked: Sequence[Asked]) -> list[Columns]:
        """The measures of runs, from what is kept or made now.

        Raises:
            SluiceError: If the world refuses one, or if the workers are gone for good.
            InterruptError: After Ctrl-C; what was made is kept.
        """
        missing = [each for each in dict.fromkeys(asked) if self._kept.get(each) is None]
        try:
            self._make(deque(missing))
        finally:
            self._kept.flush()
        found = [self._kept.get(each) for each in asked]
        return [columns for columns in found if columns is not None]

    def _make(self, waiting: deque[Asked]) -> None:
        share = max(1, len(waiting) // (2 * self._workers.size))

        def size() -> int:
            return min(share, _MOST_TASKS, int(_JOB_S / self._each_s))

        for part, done in made(waiting, size, self._job, self._workers):
            self._take(part, done)
            self._report_progress()

    def _take(self, part: list[Asked], done: Done) -> None:
        self._each_s = max(1e-4, done.seconds / len(part))
        self.made += len(part)
        for each, columns in zip(part, done.columns, strict=True):
            self._kept.add(each, columns)

    def _job(self, part: Sequence[Asked]) -> Job:
        problem = self._problem
        tasks = []
        for number, (values, stream, k) in enumerate(part):
            changes: dict[str, Any] = problem.changed(values)
            if not problem.world.is_exact:
                changes |= {"seed": seed_of(problem, stream, k), "replications": 1}
            tasks.append(Task((number,), 0, 0, changes))
        # a folder has what is needed of each run; whole records would be a hundred times larger
        keep = not self._kept.has_folder
        return Job([problem.base], [problem.world], tasks, 1, keep)
