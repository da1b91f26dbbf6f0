"""TCP and queue, linear around the equilibrium: from the drop probability to the queue.

    x' = A x(t) + A_R x(t - R) + B p(t - R),   x = (window, queue), in differences from (w0, q0).

Three linearisations. `reduced` is LRED's: the round trip is constant, and the window of one round
trip ago is assumed to equal the present one (equations 7 and 8). `constant` leaves nothing out of
equations 4 and 5: half of the window's damping comes a round trip late. In `full`, the round trip
follows the queue, too: a longer queue slows all flows down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sluicegate.stability.model import FluidNetwork

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
Linearisation: TypeAlias = Literal["reduced", "constant", "full"]


@dataclass(frozen=True)
class Plant:
    """Coefficients of the linear delay equation.

    Attributes:
        now: A, shape (2, 2), 1/s.
        delayed: A_R, shape (2, 2), 1/s.
        drop: B, shape (2,), per second.
        rtt_s: R, s.
    """

    now: FloatArray
    delayed: FloatArray
    drop: FloatArray
    rtt_s: float

    def transfer(self, s: ComplexArray) -> ComplexArray:
        """From drop probability to the queue's fall, -Q(s)/P(s), packets; exact in the delay.

        Args:
            s: Complex frequencies, rad/s, any shape.
        """
        late = np.exp(-s * self.rtt_s)
        (ww, wq), (qw, qq) = self.now
        (late_ww, late_wq), _ = self.delayed
        window = s - ww - late_ww * late
        determinant = window * (s - qq) - qw * (wq + late_wq * late)
        return np.asarray(-qw * self.drop[0] * late / determinant)


def plant(network: FluidNetwork, linearisation: Linearisation = "reduced") -> Plant:
    """The linear model of a network; see the top of this file."""
    k11, drop = network.k11, np.array([-network.k12, 0.0])
    queue = [network.k21, 0.0]
    if linearisation == "reduced":
        now = np.array([[-k11, 0.0], queue])
        return Plant(now, np.zeros((2, 2)), drop, network.rtt_s)
    rtt_s, slower = network.rtt_s, 0.0
    if linearisation == "full":
        queue[1] = -1 / rtt_s
        # how much one more packet in the queue lowers 1/R now, and raises it a round trip later
        slower = 1 / (rtt_s**2 * network.capacity_pps)
    now = np.array([[-k11 / 2, -slower], queue])
    delayed = np.array([[-k11 / 2, slower], [0.0, 0.0]])
    return Plant(now, delayed, drop, rtt_s)
