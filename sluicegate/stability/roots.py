"""The roots of the closed loop's characteristic quasi-polynomial.

Two ways, independent of the frequency response and of each other. `rightmost_root` puts the
delay equation's infinitesimal generator on a Chebyshev grid over one round trip and takes the
eigenvalues of the matrix (Breda, Maset & Vermiglio 2005); Newton's method then makes the rightmost
one exact. `unstable_roots` counts those of the right half-plane by the argument principle
(Mikhailov's criterion).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.stability.controller import Controller
from sluicegate.stability.plant import Plant

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

_NODES = 14
_STEPS = 50
# largest turn of the argument between two frequencies
_TURN = np.pi / 4
_LOWEST, _MOST_FREQUENCIES = 1e-18, 2_000_000


def closed(plant: Plant, controller: Controller) -> tuple[FloatArray, FloatArray]:
    """The closed loop x' = A x(t) + A_R x(t - R); the controller's state, if it has one, is last.

    Returns:
        A and A_R, shape (2, 2) or (3, 3), 1/s.
    """
    if controller.integral and np.isfinite(controller.pole):
        raise SluiceError("a controller with both an integral part and a low pass is not supported")
    if controller.integral:
        # the state is the integral of the queue
        state, seen, shown, through = 0.0, 1.0, controller.integral, controller.proportional
    elif np.isfinite(controller.pole):
        # the state is the average queue
        state, seen, shown, through = -controller.pole, controller.pole, controller.proportional, 0
    else:
        delayed = plant.delayed.copy()
        delayed[:, 1] += plant.drop * controller.proportional
        return plant.now, delayed
    now, delayed = np.zeros((3, 3)), np.zeros((3, 3))
    now[:2, :2], delayed[:2, :2] = plant.now, plant.delayed
    now[2, 1], now[2, 2] = seen, state
    delayed[:2, 1] += plant.drop * through
    delayed[:2, 2] = plant.drop * shown
    return now, delayed


def quasi_polynomial(
    s: ComplexArray, now: FloatArray, delayed: FloatArray, rtt_s: float
) -> ComplexArray:
    """det(s I - A - A_R e^(-s R)) at each s, any shape; see `closed`."""
    late = np.exp(-s * rtt_s)
    size = range(len(now))
    m = [[(i == j) * s - now[i, j] - delayed[i, j] * late for j in size] for i in size]
    found = m[0][0] * m[1][1] - m[0][1] * m[1][0]
    if len(now) == 3:
        found = found * m[2][2]
        found = found + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
        found = found + m[1][2] * (m[0][1] * m[2][0] - m[0][0] * m[2][1])
    return np.asarray(found)


def rightmost_root(plant: Plant, controller: Controller) -> complex:
    """The root of the closed loop with the greatest real part, and imaginary part of 0 or more.

    The loop is stable if its real part is negative: a disturbance decays as e^(real t), and
    oscillates at the imaginary part, rad/s.
    """
    now, delayed = closed(plant, controller)
    rtt_s, size = plant.rtt_s, len(now)
    generator = np.kron(_differentiation(_NODES) * (2 / rtt_s), np.eye(size))
    generator[:size] = 0.0
    generator[:size, :size] = now
    generator[:size, -size:] = delayed
    found = np.linalg.eigvals(generator)
    nearest = found[np.argsort(-found.real)[:4]]
    polished = [_polished(complex(root), now, delayed, rtt_s) for root in nearest]
    best = max(polished, key=lambda root: root.real)
    return complex(best.real, abs(best.imag))


def unstable_roots(plant: Plant, controller: Controller) -> int:
    """How many roots of the closed loop have a positive real part.

    With n states, the argument of the quasi-polynomial turns by (n - 2 k) pi/2 from frequency 0 to
    infinity if k roots are in the right half-plane and none is on the imaginary axis.
    """
    now, delayed = closed(plant, controller)
    top = 100 * (np.abs(now).sum() + np.abs(delayed).sum())
    count = 4000
    while count < _MOST_FREQUENCIES:
        frequencies = np.concatenate([[0.0], np.geomspace(top * _LOWEST, top, count)])
        values = quasi_polynomial(1j * frequencies, now, delayed, plant.rtt_s)
        turns = np.angle(values[1:] / values[:-1])
        if np.abs(turns).max() < _TURN:
            # what is left from the last frequency to infinity is small: s^n leads there
            turned = float(turns.sum()) / (np.pi / 2)
            return round((len(now) - turned) / 2)
        count *= 8
    raise SluiceError("the loop has a root too near the imaginary axis to tell its side")


def _polished(root: complex, now: FloatArray, delayed: FloatArray, rtt_s: float) -> complex:
    """The root after Newton's steps; as it was, if they lead away."""
    s = root
    for _ in range(_STEPS):
        matrix = s * np.eye(len(now)) - now - delayed * np.exp(-s * rtt_s)
        slope = np.eye(len(now)) + rtt_s * delayed * np.exp(-s * rtt_s)
        # the derivative of log det is the trace of inverse times derivative (Jacobi)
        try:
            step = 1 / complex(np.trace(np.linalg.solve(matrix, slope)))
        except (np.linalg.LinAlgError, ZeroDivisionError):
            break
        s -= step
        if abs(step) <= 1e-14 * abs(s):
            break
    return s if abs(s - root) <= 1e-2 * (abs(root) + 1 / rtt_s) else root


@cache
def _differentiation(nodes: int) -> FloatArray:
    """Chebyshev's differentiation matrix on [-1, 1], from 1 down, shape (nodes + 1,) * 2."""
    places = np.arange(nodes + 1)
    x = np.cos(np.pi * places / nodes)
    weights = np.where((places == 0) | (places == nodes), 2.0, 1.0) * (-1.0) ** places
    gaps = x[:, None] - x[None, :] + np.eye(nodes + 1)
    matrix = np.outer(weights, 1 / weights) / gaps
    return np.asarray(matrix - np.diag(matrix.sum(axis=1)))
