"""What the papers recommend for a network (N-, R+, C): the fewest flows and the longest round trip.

A loop that is designed for N- and R+ is stable with more flows and with shorter round trips.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sluicegate.stability.boundary import greatest_gain
from sluicegate.stability.model import FluidNetwork


class SafeBeta(NamedTuple):
    """Theorem 2 of LRED.

    Attributes:
        boundary: beta_0, at which the loop meets the imaginary axis (equation 31), 1/packet.
        monotone: Up to where lemma 5 makes omega an increasing function of R, 1/packet.
    """

    boundary: float
    monotone: float

    @property
    def safe(self) -> float:
        """The lower of the two: LRED is stable with any N >= N- and R <= R+ up to it."""
        return min(self)


def safe_beta(network: FluidNetwork) -> SafeBeta:
    """The largest beta of LRED that theorem 2 allows.

    Wang et al. 2007, equation 31 and lemma 5: beta <= sqrt(2 eta) (2 N)^2 / (R C)^3.

    Args:
        network: N-, R+ and C.
    """
    boundary = greatest_gain(network) / math.sqrt(network.drop_probability)
    pipe = network.rtt_s * network.capacity_pps
    return SafeBeta(boundary, math.sqrt(2 * network.eta) * (2 * network.flows) ** 2 / pipe**3)


class PiDesign(NamedTuple):
    """Coefficients of PI: p(k) = p(k-1) + a (q(k) - q_ref) - b (q(k-1) - q_ref).

    Attributes:
        a: 1/packet.
        b: 1/packet.
    """

    a: float
    b: float


def designed_pi(network: FluidNetwork, interval_s: float) -> PiDesign:
    """PI*: the coefficients that Hollot et al. 2001 (proposition 2) design for a network.

    The zero z = 2 N / (R^2 C) cancels the window's pole, and the gain is 1 at z:
    K = z abs(1 + j z R) (2 N)^2 / (R C)^3; a, b = K/z +- K T/2.

    Args:
        network: N-, R+ and C; eta is not used: the authors' TCP has eta = 2.
        interval_s: T, s.
    """
    # z R = 2 N / (R C)
    x = 2 / network.window
    level = x**2 * math.hypot(1, x) / (network.rtt_s * network.capacity_pps)
    half_step = level * x / network.rtt_s * interval_s / 2
    return PiDesign(level + half_step, level - half_step)


def greatest_red_slope(network: FluidNetwork, w: float) -> float:
    """The steepest drop function of RED, max_p / (max_th - min_th), 1/packet.

    Hollot et al. 2001 ("A control theoretic analysis of RED", proposition 1):
    slope (R C)^3 / (2 N)^2 <= sqrt(omega_g^2 / K^2 + 1), with K = -C ln(1 - w) the average's pole
    and omega_g = min(2 N / (R^2 C), 1 / R) / 10.

    Args:
        network: N-, R+ and C; eta is not used: the authors' TCP has eta = 2.
        w: Weight of the average.
    """
    pole = -math.log1p(-w) * network.capacity_pps
    omega = 0.1 * min(network.k11, 1 / network.rtt_s)
    pipe = network.rtt_s * network.capacity_pps
    return math.hypot(omega / pole, 1) * (2 * network.flows) ** 2 / pipe**3
