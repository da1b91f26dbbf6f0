"""How long a queue takes to come to a target, by one rule for all AQMs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError


def response_time_s(
    samples: NDArray[Any], sample_s: float, target: float, since_s: float = 0.0
) -> float:
    """How long after a change the queue has come to a target, by the rule of all reproductions.

    With `since_s` for 0: the first time from which the mean over the last 5 s stays within half and
    one and a half of the target for 10 s; infinite if there is none. Samples before `since_s` do
    not count, so that in the first 5 s the mean is over the time since the change. With samples
    further apart than 10 s each stands for itself.

    Args:
        samples: Queue, packets, shape (T,), one each `sample_s` seconds.
        sample_s: Seconds.
        target: Packets.
        since_s: When the change was: seconds after the first sample.

    Raises:
        SluiceError: If `target` is not above 0, or no sample was taken at `since_s` or later.
    """
    if not target > 0:
        raise SluiceError(f"target = {target:g} must exceed 0 (packets)")
    if not 0 <= since_s <= (len(samples) - 1) * sample_s:
        last_s = (len(samples) - 1) * sample_s
        raise SluiceError(
            f"since_s = {since_s:g} must lie between 0 and {last_s:g}, the last sample"
        )
    # a change at a sample's time counts from that sample on, however the quotient was rounded
    change = int(np.ceil(since_s / sample_s - 1e-6))
    samples = samples[change:]
    window, stay = max(1, round(5 / sample_s)), max(1, round(10 / sample_s))
    sums = np.concatenate([[0.0], np.cumsum(samples, dtype=np.float64)])
    last = np.arange(1, len(samples) + 1)
    first = np.maximum(last - window, 0)
    near = np.abs((sums[last] - sums[first]) / (last - first) - target) <= target / 2
    counts = np.concatenate([[0], np.cumsum(near)])
    starts = np.flatnonzero(counts[stay:] - counts[:-stay] == stay)
    return float(change + starts[0]) * sample_s - since_s if len(starts) else np.inf
