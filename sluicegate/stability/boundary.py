"""Where proportional control stops being stable: lemmas 1 to 4 and theorem 1 of LRED.

With p = p0 + H (q - q0) the loop meets the imaginary axis at the frequency omega (equations 18
and 19),

    omega^2 = (sqrt(K11^4 + 4 K_C^2 H^2) - K11^2) / 2,

where its phase is -pi (equation 21),

    omega R + arctan(omega / K11) = pi/2.

H may depend on the network, as LRED's beta sqrt(p0) does. The lemmas hold if omega^2 is an
increasing function of R and of H and a decreasing one of N; `greatest_rtt_s` and `least_flows` then
give the only boundary, else the first one from the stable side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import optimize

from sluicegate.errors import SluiceError
from sluicegate.stability.model import FluidNetwork

# H of a network, 1/packet
Gain: TypeAlias = Callable[[FluidNetwork], float]

_SCANNED = 400


def crossing_frequency(network: FluidNetwork, gain: float) -> float:
    """Omega at which the loop's gain is 1, rad/s: equations 18 and 19.

    Args:
        network: The network.
        gain: H, 1/packet.
    """
    half, product = network.k11**2 / 2, network.kc * gain
    # the difference of equation 19, without its cancellation
    return float(np.sqrt(product**2 / (np.hypot(half, product) + half)))


def excess_phase(network: FluidNetwork, gain: float) -> float:
    """How far the phase is beyond -pi at `crossing_frequency`, rad: negative where it is stable.

    omega R + arctan(omega / K11) - pi/2, whose zero is equation 21.
    """
    omega = crossing_frequency(network, gain)
    return float(omega * network.rtt_s + np.arctan(omega / network.k11) - np.pi / 2)


def greatest_gain(network: FluidNetwork) -> float:
    """H*(N, C, R) of lemma 4, 1/packet: the loop is stable with every lower gain."""
    omega = boundary_frequency(network)
    return float(omega * np.hypot(omega, network.k11) / network.kc)


def boundary_frequency(network: FluidNetwork) -> float:
    """Omega on the boundary H*(N, C, R), rad/s: equation 21 alone, which does not depend on H."""

    def excess(phase: float) -> float:
        return float(phase + np.arctan(phase / (network.rtt_s * network.k11)) - np.pi / 2)

    return float(optimize.brentq(excess, 0.0, np.pi / 2, xtol=1e-15, rtol=1e-14)) / network.rtt_s


def greatest_rtt_s(
    flows: float, capacity_pps: float, gain: Gain, span_s: tuple[float, float] = (1e-6, 1e4)
) -> float:
    """R*(N, C) of lemma 2, s: the loop is stable with every shorter round trip.

    Args:
        flows: N.
        capacity_pps: C, packets/s.
        gain: H of a network, 1/packet.
        span_s: Where to look.

    Raises:
        SluiceError: If there is no boundary within the span.
    """

    def excess(log_rtt: float) -> float:
        network = FluidNetwork(flows, capacity_pps, float(np.exp(log_rtt)))
        return excess_phase(network, gain(network))

    return _first_zero(excess, span_s, "rtt_s")


def least_flows(
    capacity_pps: float, rtt_s: float, gain: Gain, span: tuple[float, float] = (1e-6, 1e9)
) -> float:
    """N*(C, R) of lemma 3: the loop is stable with more flows; not rounded.

    Args:
        capacity_pps: C, packets/s.
        rtt_s: R, s.
        gain: H of a network, 1/packet.
        span: Where to look.

    Raises:
        SluiceError: If there is no boundary within the span.
    """

    def excess(log_flows: float) -> float:
        network = FluidNetwork(float(np.exp(log_flows)), capacity_pps, rtt_s)
        return excess_phase(network, gain(network))

    # from the stable side: from many flows down
    return _first_zero(excess, span[::-1], "flows")


def _first_zero(excess: Callable[[float], float], span: tuple[float, float], name: str) -> float:
    """The first zero of a function of a logarithm, from one end of a span to the other."""
    places = np.linspace(np.log(span[0]), np.log(span[1]), _SCANNED)
    values = np.array([excess(float(place)) for place in places])
    changes = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))
    if not len(changes):
        side = "stable" if values[0] < 0 else "unstable"
        raise SluiceError(f"no boundary: every {name} from {span[0]:g} to {span[1]:g} is {side}")
    first = changes[0]
    low, high = sorted((float(places[first]), float(places[first + 1])))
    return float(np.exp(optimize.brentq(excess, low, high, xtol=1e-13, rtol=1e-13)))
