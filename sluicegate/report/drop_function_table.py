"""Drop functions in numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sluicegate.registry import Aqm

FloatArray = NDArray[np.float64]

_GREATEST_AVERAGE = 1e6
_STEPS = (1, 2, 2.5, 5, 10)
_MOST_STEPS = 10


def drop_function_table(aqm: Aqm) -> tuple[FloatArray, FloatArray]:
    """A handful of round averages (packets) that span the function, and its value at each."""
    last = 1.1 * settled(aqm)
    magnitude = 10.0 ** math.floor(math.log10(last / _MOST_STEPS))
    step = next(step for each in _STEPS if (step := each * magnitude) * _MOST_STEPS >= last)
    averages = step * np.arange(math.ceil(last / step) + 1, dtype=np.float64)
    return averages, aqm.drop_probability(averages)


def settled(aqm: Aqm) -> float:
    """The average (packets) from which on the function changes no more; 1 if it never changes."""
    averages = np.append(0.0, np.geomspace(1e-2, _GREATEST_AVERAGE, 4000))
    function = aqm.drop_probability(averages)
    changing = np.flatnonzero(function != function[-1])
    return float(averages[max(1, changing[-1])]) if changing.size else 1.0
