"""Whether flows lose together: the global synchronisation ratio."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def loss_events(times_s: ArrayLike, event_s: float) -> np.ndarray:
    """The number of the loss event of each loss, from 0 on.

    An event begins with a loss, and has all losses of the next `event_s`.

    Args:
        times_s: When packets were lost, not falling, shape (n,).
        event_s: How long an event is; one round trip is usual.
    """
    numbers = np.empty(len(np.asarray(times_s)), dtype=np.int64)
    event, end_s = -1, -np.inf
    for place, time_s in enumerate(np.asarray(times_s, dtype=np.float64)):
        if time_s >= end_s:
            event, end_s = event + 1, time_s + event_s
        numbers[place] = event
    return numbers


def synchronisation_ratio(
    times_s: ArrayLike, flows: ArrayLike, count: int, event_s: float
) -> float | None:
    """Share of the flows that lose in a loss event, the mean over events.

    The global synchronisation ratio (RFC 7928, section 2.4; Jaiswal et al. 2006): 1 if all flows
    lose together, 1 / `count` if one loses at a time.

    Args:
        times_s: When packets were lost, not falling, shape (n,).
        flows: Which flow lost each, shape (n,).
        count: How many flows there are.
        event_s: How long an event is, s.

    Returns:
        None if nothing was lost, or if there is only one flow.
    """
    events = loss_events(times_s, event_s)
    if not len(events) or count < 2:
        return None
    pairs = np.unique(np.column_stack([events, np.asarray(flows, dtype=np.int64)]), axis=0)
    return float(len(pairs) / (events[-1] + 1) / count)
