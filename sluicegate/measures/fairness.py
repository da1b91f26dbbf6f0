"""How evenly flows are served."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def fairness(rates: NDArray[Any]) -> float:
    """Jain's index of the rates of flows (Jain, Chiu & Hawe 1984): 1 if all are equal.

    Args:
        rates: One for each flow, shape (N,), in any unit.

    Returns:
        From 1/N to 1; NaN where there is no flow, or all rates are 0.
    """
    total, squares = float(rates.sum()), float((rates.astype(np.float64) ** 2).sum())
    return total * total / (len(rates) * squares) if squares else float("nan")


def fair_shares(total: float, demands: FloatArray) -> FloatArray:
    """The max-min fair shares of a total (Bertsekas & Gallager 1992, section 6.5.2).

    Nobody gets more than asked for, and all who get less than that get the same.

    Args:
        total: What there is, in any unit.
        demands: What each asks for, shape (N,), in the same unit; infinite where there is no limit.

    Returns:
        The shares, shape (N,).
    """
    least_first = np.sort(demands)
    before = np.concatenate([[0.0], np.cumsum(least_first)[:-1]])
    levels = (total - before) / np.arange(len(demands), 0, -1)
    # from the first on who does not get what is asked for, all get the same
    limited = np.flatnonzero(least_first >= levels)
    level = levels[limited[0]] if len(limited) else np.inf
    return np.minimum(demands, level)


def demand_fairness(rates: FloatArray, demands: FloatArray) -> float:
    """Jain's index of what flows got over their max-min fair shares of all that they got.

    Args:
        rates: What each flow got, shape (N,), in any unit.
        demands: What each asked for, in the same unit; those that asked for nothing do not count.
    """
    shares = fair_shares(float(rates.sum()), demands)
    asked = shares > 0
    rates, shares = rates[asked], shares[asked]
    # where all may have the same share the index is that of the rates, to the last bit
    return fairness(rates if np.ptp(shares) == 0 else rates / shares) if len(rates) else np.nan
