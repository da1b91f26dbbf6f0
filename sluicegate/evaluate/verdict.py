"""Verdicts: better, worse or no difference, by the intervals of paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sluicegate.estimate import Measure, paired, student
from sluicegate.measures.names import more_is_better

FloatArray = NDArray[np.float64]
Word = Literal["better", "worse", "no difference", "unknown"]

# a smaller share of the other's value counts as no difference
LEAST = 0.01
# nor are smaller ones of a measure that is nearly 0: seconds, shares
_LEAST_SECONDS = 0.1e-3
# parts of their names
_TIMES = (
    *("delay", "jitter", "sojourn", "completion", "frame", "page", "round_trip", "loss_gap"),
    "start_up",
)


@dataclass(frozen=True)
class Comparison:
    """A measure of one discipline beside that of another, in one case.

    Attributes:
        measure: Its name.
        value: Mean over the replications.
        other: That of the other one.
        difference: Of the pairs, with its interval; None if it is not known.
        word: The verdict.
    """

    measure: str
    value: Measure | None
    other: Measure | None
    difference: Measure | None
    word: Word


def is_time(measure: str) -> bool:
    """Whether a measure is a time, s."""
    last = measure.rpartition(".")[2]
    return any(part in last for part in _TIMES)


def compared(measure: str, values: FloatArray, others: FloatArray) -> Comparison:
    """Compare the values of two disciplines in the same replications; NaN where there is none."""
    both = np.isfinite(values) & np.isfinite(others)
    difference = paired(values[both], others[both])
    value, other = _mean(values), _mean(others)
    if difference is None or difference.half_width is None or other is None:
        return Comparison(measure, value, other, None, "unknown")
    least = LEAST * abs(float(others[both].mean()))
    if is_time(measure):
        least = max(least, _LEAST_SECONDS)
    word: Word = "no difference"
    if abs(difference.value) > max(difference.half_width, least):
        word = "better" if (difference.value > 0) == more_is_better(measure) else "worse"
    return Comparison(measure, value, other, difference, word)


def _mean(values: FloatArray) -> Measure | None:
    known = values[np.isfinite(values)]
    return student(known) if len(known) else None


def together(words: Sequence[Word]) -> str:
    """One verdict of several measures."""
    better, worse = "better" in words, "worse" in words
    if better and worse:
        return "a trade"
    if better or worse:
        return "better" if better else "worse"
    return "no difference" if "no difference" in words else "unknown"
