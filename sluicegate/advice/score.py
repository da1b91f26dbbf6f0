"""The score: what delay, loss, an idle link and unfairness cost, in one number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.advice.question import Prefer
from sluicegate.estimate import Measure, paired, student

FloatArray = NDArray[np.float64]

# by cost: its description, and its weight
COSTS: Mapping[str, tuple[str, float]] = {
    "delay": ("p99 sojourn, in round trips", 0.5),
    "response": ("mean time of a flow that comes and goes, in round trips", 0.5),
    "loss": ("share of packets lost", 10.0),
    "idle": ("share of time in which the link is idle", 10.0),
    "unfairness": ("1 - Jain's index of the flows that last", 1.0),
}
# what a preference weights more
_PREFERRED: Mapping[Prefer, Sequence[str]] = {
    "balanced": (),
    "delay": ("delay", "response"),
    "loss": ("loss",),
    "throughput": ("idle",),
}
_DEARER = 4.0


def weights(prefer: Prefer) -> FloatArray:
    """The weight of each cost, shape (costs,)."""
    return np.array(
        [
            weight * (_DEARER if name in _PREFERRED[prefer] else 1.0)
            for name, (_, weight) in COSTS.items()
        ]
    )


def costs(columns: Mapping[str, Any], reference_s: float, longest_s: float) -> list[float]:
    """The costs of a run, in the order of `COSTS`.

    Args:
        columns: Its measures by name; None where one is not known.
        reference_s: The unit of times.
        longest_s: Completion time of the short flows if none of them finished.
    """

    def known(name: str, otherwise: float) -> float:
        value = columns.get(name)
        return otherwise if value is None or math.isnan(value) else float(value)

    return [
        known("sojourn_p99", 0.0) / reference_s,
        known("completion_mean", longest_s) / reference_s,
        known("loss_ratio", 0.0),
        1 - known("utilization", 0.0),
        1 - known("fairness", 1.0),
    ]


def over_scenarios(scores: FloatArray) -> FloatArray:
    """The score over all scenarios, shape (R,): the geometric mean of theirs.

    In an arithmetic mean the scenario with the longest delays would decide alone: in one with many
    transfers all scores are five times as high. Here a score that is 10 % higher counts the same
    in each (Fleming & Wallace 1986, "How not to lie with statistics").

    Args:
        scores: Of each scenario under each seed, above 0, shape (cases, R).
    """
    found: FloatArray = np.exp(np.log(scores).mean(axis=0))
    return found


@dataclass(frozen=True)
class Ranked:
    """A candidate among others.

    Attributes:
        place: Its index in what was ranked.
        score: Its mean score with its interval; the least is the best.
        behind: Its score less that of the best, by pairs; None for the best itself.
    """

    place: int
    score: Measure
    behind: Measure | None

    @property
    def is_told_apart(self) -> bool:
        """Whether it is surely worse than the best."""
        if self.behind is None:
            return False
        # without an interval nothing is sure
        return self.behind.low is not None and self.behind.low > 0


def ranking(scores: Sequence[FloatArray]) -> list[Ranked]:
    """Candidates from the best to the worst.

    Args:
        scores: For each candidate, its score under each seed, shape (R,); the same seeds for all.
    """
    order = sorted(range(len(scores)), key=lambda place: float(scores[place].mean()))
    best = scores[order[0]]
    return [
        Ranked(
            place,
            student(scores[place]),
            paired(scores[place], best) if place != order[0] else None,
        )
        for place in order
    ]
