"""Runs of settings on the scenarios of a question: made once, by all cores, kept in the store."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate import store
from sluicegate.advice.cases import Case, cases, scenario
from sluicegate.advice.question import Question
from sluicegate.advice.score import COSTS, costs, over_scenarios
from sluicegate.advice.settings import Setting
from sluicegate.errors import InterruptError
from sluicegate.scenario import NetworkScenario
from sluicegate.sweeps.plan import Task
from sluicegate.sweeps.work import Done, Job
from sluicegate.sweeps.workers import Workers, made
from sluicegate.worlds import Watch
from sluicegate.worlds.network.world import Network

FloatArray = NDArray[np.float64]
Key = tuple[Setting, int, int]

# the measures of each run; None where one is not known
MEASURES = (
    "sojourn_mean",
    "sojourn_p99",
    "completion_mean",
    "loss_ratio",
    "mark_ratio",
    "utilization",
    "fairness",
)
# runs that a worker makes per request
_TASKS = 8


@dataclass
class Runs:
    """Settings of a link on each of its scenarios, under common seeds.

    Attributes:
        link: The link that is simulated, which may be scaled down.
        duration_s: Of each scenario.
        measured: By setting, place of the scenario and seed, the `MEASURES`.
    """

    link: Question
    duration_s: float
    measured: dict[Key, list[float | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cases: list[Case] = cases(self.link)
        self._finished: list[str] = []
        self._scenarios = [scenario(self.link, each, self.duration_s) for each in self.cases]

    def missing(self, settings: Iterable[Setting], seeds: Iterable[int]) -> list[Key]:
        """Which of these runs were not made yet."""
        keys = [
            (setting, place, seed)
            for setting in dict.fromkeys(settings)
            for seed in seeds
            for place in range(len(self.cases))
        ]
        return [key for key in keys if key not in self.measured]

    def make(self, keys: Sequence[Key], workers: Workers, watch: Watch, total: int) -> None:
        """Make runs.

        Args:
            keys: Which runs.
            workers: Who makes them.
            watch: Called with the progress.
            total: How many runs there will be in all, about.

        Raises:
            InterruptError: After Ctrl-C, with what the store has of what was finished.
            SluiceError: If the workers are gone for good.
        """
        try:
            for part, done in made(deque(keys), lambda: _TASKS, self._job, workers):
                self._take(part, done)
                count = len(self.measured)
                watch(
                    self.link.direction or "advise",
                    count,
                    max(total, count),
                    f"{count:,} of about {total:,} runs",
                )
        except (KeyboardInterrupt, InterruptError):
            raise InterruptError(
                f"interrupted after {len(self.measured):,} of about {total:,} runs; "
                f"{store.how_to_go_on(self._finished)}"
            ) from None

    def _job(self, keys: Sequence[Key]) -> Job:
        bases = [self.scenario(setting, place) for setting, place, _ in keys]
        changes = [{"seed": self._seed(seed)} for *_, seed in keys]
        tasks = [Task((k,), k, 0, each) for k, each in enumerate(changes)]
        return Job(bases, [Network()], tasks, threads=1)

    def _seed(self, number: int) -> int:
        # questions with neighbouring seeds have no run in common
        return 1000 * self.link.seed + number

    def scenario(self, setting: Setting, place: int) -> NetworkScenario:
        """The scenario of a case with a setting."""
        return self._scenarios[place].replace(
            disciplines=[setting.discipline(self.link)], queue=setting.queue(self.link)
        )

    def _take(self, keys: Sequence[Key], done: Done) -> None:
        for key, columns in zip(keys, done.columns, strict=True):
            self._finished.append(columns["identity"])
            self.measured[key] = [columns.get(name) for name in MEASURES]

    def costs(self, setting: Setting, seeds: Sequence[int]) -> FloatArray:
        """The costs of each scenario and seed, shape (cases, R, costs)."""
        return np.array(
            [
                [
                    costs(
                        self._columns(setting, place, seed),
                        self.link.span_s(case.rtt_s),
                        self.duration_s,
                    )
                    for seed in seeds
                ]
                for place, case in enumerate(self.cases)
            ]
        ).reshape(len(self.cases), len(seeds), len(COSTS))

    def scores(
        self, setting: Setting, seeds: Sequence[int], weights: FloatArray, place: int | None = None
    ) -> FloatArray:
        """The score under each seed, of one scenario or over all, shape (R,)."""
        found: FloatArray = self.costs(setting, seeds) @ weights
        chosen: FloatArray = over_scenarios(found) if place is None else found[place]
        return chosen

    def parts(self, setting: Setting, seeds: Sequence[int], weights: FloatArray) -> FloatArray:
        """What each cost adds to the score over all scenarios: its mean share, shape (costs,)."""
        weighted = self.costs(setting, seeds) * weights
        scores = weighted.sum(axis=2)
        shares = (weighted / scores[:, :, np.newaxis]).mean(axis=0)
        found: FloatArray = (over_scenarios(scores)[:, np.newaxis] * shares).mean(axis=0)
        return found

    def values(self, setting: Setting, name: str, seeds: Sequence[int], place: int) -> FloatArray:
        """A measure of one scenario under each seed, shape (R,); NaN where it is not known."""
        rows = [self._columns(setting, place, seed)[name] for seed in seeds]
        return np.array([np.nan if value is None else value for value in rows], dtype=np.float64)

    def _columns(self, setting: Setting, place: int, seed: int) -> dict[str, Any]:
        return dict(zip(MEASURES, self.measured[setting, place, seed], strict=True))
