"""Lower bounds of response times: how fast a full buffer raises the drop probability to p0.

Wang et al. 2007, section 5.2. The buffer is assumed to be full from the start until p0 is reached.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatOrArray: TypeAlias = float | NDArray[np.float64]


def pi_bound_s(
    p0: FloatOrArray, *, step: float, interval_s: float, limit: float, q_ref: float
) -> NDArray[np.float64]:
    """Equation 34: p0 / (f (a - b) (Q - q0)), s.

    Args:
        p0: Drop probabilities to be reached, any shape.
        step: a - b, 1/packet.
        interval_s: 1 / f, s.
        limit: Q, packets.
        q_ref: q0, packets.
    """
    return np.asarray(p0) * interval_s / (step * (limit - q_ref))


def rem_bound_s(
    p0: FloatOrArray,
    *,
    gamma: float,
    alpha: float,
    phi: float,
    interval_s: float,
    limit: float,
    q_ref: float,
    exact: bool = False,
) -> NDArray[np.float64]:
    """Equation 40: p0 / (f gamma alpha (Q - q0) ln phi), s.

    Args:
        p0: Drop probabilities to be reached, any shape.
        gamma: Of the price of equation 38.
        alpha: Likewise.
        phi: p = 1 - phi^-u with the price u.
        interval_s: 1 / f, s.
        limit: Q, packets.
        q_ref: q0, packets.
        exact: Take phi^-u as it is, not as 1 - u ln phi (equation 39): the bound is higher then.
    """
    needed = -np.log1p(-np.asarray(p0)) if exact else np.asarray(p0)
    return np.asarray(needed * interval_s / (gamma * alpha * (limit - q_ref) * np.log(phi)))
