"""An AQM, linear around the equilibrium: a proportional-integral controller behind a low pass."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

ComplexArray = NDArray[np.complex128]


@dataclass(frozen=True)
class Controller:
    """From the queue to the drop probability: P(s) = (k_p + k_i / s) / (1 + s / pole) Q(s).

    Attributes:
        proportional: k_p, 1/packet; the paper's H_c if there is no other part.
        integral: k_i, 1/(packet s).
        pole: Of the low pass through which the AQM sees the queue, rad/s; infinite: it has none.
    """

    proportional: float
    integral: float = 0.0
    pole: float = inf

    def transfer(self, s: ComplexArray) -> ComplexArray:
        """P(s)/Q(s), 1/packet.

        Args:
            s: Complex frequencies, rad/s, any shape; not 0 if there is an integral part.
        """
        gain = self.proportional + (self.integral / s if self.integral else 0.0)
        return np.asarray(gain / (1 + s / self.pole))

    def times(self, factor: float) -> Controller:
        """The controller with a gain that many times as high."""
        return Controller(self.proportional * factor, self.integral * factor, self.pole)


def sampled(a: float, b: float, interval_s: float) -> Controller:
    """The controller p(k) = p(k-1) + a q(k) - b q(k-1), by Tustin's rule applied in reverse.

    Args:
        a: Weight of the queue, 1/packet.
        b: Weight of the queue one interval ago.
        interval_s: Time between two updates, s.
    """
    return Controller((a + b) / 2, (a - b) / interval_s)
