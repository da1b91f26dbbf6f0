"""The bounds of response times with the paper's settings: equations 34 and 40."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sluicegate.papers.lred.scenarios import CAPACITY, LIMIT, Q_REF
from sluicegate.stability import bounds
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.rules import designed_pi

FloatArray = NDArray[np.float64]

PI_S, PI_A, PI_B = 1 / 170, 1.822e-5, 1.816e-5
REM_S = 0.002
REM = {"alpha": 0.1, "gamma": 0.001, "phi": 1.001}


def pi_bound_s(p0: FloatArray, gain: float = PI_A - PI_B, limit: int = LIMIT) -> FloatArray:
    """Equation 34: the least time in which PI's drop probability can rise to p0, s."""
    return bounds.pi_bound_s(p0, step=gain, interval_s=PI_S, limit=limit, q_ref=Q_REF)


def pi_star_gain(n_min: float, r_max: float) -> float:
    """The a - b that is designed for N- flows and R+ seconds (Hollot et al. 2001)."""
    a, b = designed_pi(FluidNetwork(n_min, CAPACITY, r_max), PI_S)
    return a - b


def rem_bound_s(p0: FloatArray, limit: int = LIMIT, *, exact: bool = False) -> FloatArray:
    """Equation 40, the same for REM, s; `exact` leaves out equation 39's approximation."""
    return bounds.rem_bound_s(p0, interval_s=REM_S, limit=limit, q_ref=Q_REF, exact=exact, **REM)


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
