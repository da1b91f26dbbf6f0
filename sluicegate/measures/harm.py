"""Harm: what one does to another (Ware, Mukerjee, Seshan & Sherry 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from sluicegate.estimate import Measure, student


def harm(alone: float | None, beside: float | None, *, more_is_better: bool) -> float | None:
    """How much worse it fares beside another than alone.

    Args:
        alone: Its performance alone; the "solo" of a workload of several flows is the workload.
            None or not finite: not known.
        beside: Its performance beside the other, likewise.
        more_is_better: True for a goodput; False for a delay, a completion time, a loss ratio.

    Returns:
        0 for no harm, 1 for the greatest; negative where it fares better. None where one of the two
        is not known, or there is nothing to divide by.
    """
    if alone is None or beside is None or not (isfinite(alone) and isfinite(beside)):
        return None
    above, below = (alone - beside, alone) if more_is_better else (beside - alone, beside)
    return above / below if below else None


def mean_harm(
    alone: Iterable[float | None], beside: Iterable[float | None], *, more_is_better: bool
) -> Measure | None:
    """The mean of the harm in as many replications, with its interval; as `harm`.

    A replication without a value, or with nothing to divide by, is left out; None if all are.
    """
    pairs = zip(alone, beside, strict=True)
    found = [harm(*pair, more_is_better=more_is_better) for pair in pairs]
    known = [each for each in found if each is not None]
    return student(known) if known else None
