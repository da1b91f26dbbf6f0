"""The paper's formulas: bounds of response times, and the greatest stable beta."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from sluicegate.papers.lred.scenarios import CAPACITY, LIMIT, Q_REF

FloatArray = NDArray[np.float64]

_PI_HZ, _PI_A, _PI_B = 170.0, 1.822e-5, 1.816e-5
_REM_HZ, _REM_ALPHA, _REM_GAMMA, _REM_PHI = 500.0, 0.1, 0.001, 1.001
# of TCP with an ACK for each packet (section 4.1)
_ETA = 2 / 3


def pi_bound_s(p0: FloatArray, gain: float = _PI_A - _PI_B, limit: int = LIMIT) -> FloatArray:
    """Equation 34: a - b and a full buffer raise PI's drop probability to p0 no sooner, s."""
    return p0 / ((limit - Q_REF) * gain * _PI_HZ)


def pi_star_gain(n_min: float, r_max: float) -> float:
    """The a - b that is designed for N- flows and R+ seconds (Hollot et al. 2001).

    a - b = K T with K = z |1 + j z R| (2 N)^2 / (R C)^3 and z = 2 N / (R^2 C).
    """
    x = 2 * n_min / (r_max * CAPACITY)
    return float(x**3 * np.sqrt(1 + x**2) / (r_max**2 * CAPACITY * _PI_HZ))


def rem_bound_s(p0: FloatArray, limit: int = LIMIT) -> FloatArray:
    """Equation 40: the same of REM, s."""
    step = _REM_ALPHA * _REM_GAMMA * (limit - Q_REF) * np.log(_REM_PHI)
    return np.asarray(p0 / (_REM_HZ * step))


def r_max_s(flows: float) -> float:
    """R+ of PI* in experiment 1, s: so long that a flow has room for two packets."""
    return 0.45 if flows <= 500 else flows / 1000 - 0.1


def bound_s(name: str, flows: float, p0: FloatArray) -> FloatArray:
    """Equation 34 or 40 for one of PI, PI* and REM in experiment 1, s."""
    if name == "REM":
        return rem_bound_s(p0)
    if name == "PI":
        return pi_bound_s(p0)
    return pi_bound_s(p0, pi_star_gain(flows, r_max_s(flows)))


def greatest_beta(n_min: int, r_max: float, capacity: float = CAPACITY) -> float:
    """Theorem 2's beta_0: the first at which the linearised loop meets the imaginary axis.

    Equations 18, 19 and 31: at omega, omega R + arctan(omega / K11) = pi/2 and the loop's gain
    is 1, where K11 = 2 N / (R^2 C), the gain's constant is eta C^2 / N and
    H = beta sqrt(p0), p0 = N^2 / (eta R^2 C^2).

    Args:
        n_min: Flows.
        r_max: Round trip, s.
        capacity: Packets/s.
    """
    k11 = 2 * n_min / (r_max**2 * capacity)

    def excess(omega: float) -> float:
        return float(omega * r_max + np.arctan(omega / k11) - np.pi / 2)

    omega = float(optimize.brentq(excess, 1e-9, np.pi / 2 / r_max))
    gain = omega * np.hypot(omega, k11)
    root_p0 = n_min / (np.sqrt(_ETA) * r_max * capacity)
    return float(gain * n_min / (_ETA * capacity**2 * root_p0))
