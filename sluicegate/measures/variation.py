"""How much delays vary: packet delay variation, differences of successive delays, jitter."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def delay_variation(delays: ArrayLike) -> FloatArray:
    """Packet delay variation: each delay above the least one (PDV; RFC 5481, section 4.2).

    Args:
        delays: One-way delays of the packets that arrived, shape (n,), in any unit.

    Returns:
        The same shape and unit; empty if nothing arrived.
    """
    rows = np.asarray(delays, dtype=np.float64)
    return rows - rows.min() if len(rows) else rows


def successive_variation(delays: ArrayLike) -> FloatArray:
    """Differences of successive delays (IPDV; RFC 5481, section 4.1), shape (n - 1,).

    Args:
        delays: As for `delay_variation`, in the order of sending.
    """
    return np.diff(np.asarray(delays, dtype=np.float64))


def jitter(delays: ArrayLike) -> float | None:
    """Interarrival jitter after the last packet (RFC 3550, section 6.4.1).

    Args:
        delays: As for `delay_variation`, in the order of arrival.

    Returns:
        In the unit of the delays; None for fewer than two packets.
    """
    differences = np.abs(successive_variation(delays))
    if not len(differences):
        return None
    found = 0.0
    for difference in differences:
        found += (float(difference) - found) / 16
    return found
