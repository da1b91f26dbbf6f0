"""The fluid model of TCP through one bottleneck: what it knows of a network, and its equilibrium.

Misra, Gong & Towsley 2000, as written by Wang et al. 2007 (LRED), section 4.1:

    w' = 1/R - w(t) w(t - R) p(t - R) / (eta R),       (4)
    q' = N w / R - C,                                  (5)

with w the window of one flow, q the queue and p the drop probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sluicegate.errors import SluiceError

# eta of a receiver that acknowledges every packet (section 4.1)
_ETA = 1.5
# unit, symbol, and limits beyond any network, so that all results are finite
_NAMES = {
    "flows": ("flows", "N", 1e-7, 1e10),
    "capacity_pps": ("packets/s", "C", 1e-3, 1e9),
    "rtt_s": ("s", "R", 1e-7, 1e6),
    "acked": ("packets per ACK", "b", 1e-3, 1e3),
}


@dataclass(frozen=True)
class FluidNetwork:
    """N long-lived TCP flows with one round trip through one bottleneck.

    Attributes:
        flows: N; any number above 0, as all of the model.
        capacity_pps: C, packets/s.
        rtt_s: R, the whole round trip, the wait in the queue included, s.
        acked: b, packets that one ACK acknowledges: 1, or 2 with delayed ACKs.

    Raises:
        SluiceError: If one of them is out of range.
    """

    flows: float
    capacity_pps: float
    rtt_s: float
    acked: float = 1.0

    def __post_init__(self) -> None:
        for name, (unit, symbol, least, most) in _NAMES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise SluiceError(
                    f"{name} = {value:g} must lie between {least:g} and {most:g} ({unit}; {symbol})"
                )

    def with_(self, **changes: float) -> FluidNetwork:
        """The same network with other values of some attributes."""
        return replace(self, **changes)

    @property
    def eta(self) -> float:
        """TCP's constant, 3 / (2 b): a flow sends sqrt(eta / p) packets per round trip."""
        return _ETA / self.acked

    @property
    def window(self) -> float:
        """w0 = R C / N, packets (equation 6)."""
        return self.rtt_s * self.capacity_pps / self.flows

    @property
    def drop_probability(self) -> float:
        """p0 = eta / w0^2 (equation 6); above 1 where windows are below sqrt(eta) packets."""
        return self.eta / self.window**2

    @property
    def k11(self) -> float:
        """K11 = 2 N / (R^2 C), 1/s (equation 7)."""
        return 2 / (self.rtt_s * self.window)

    @property
    def k12(self) -> float:
        """K12 = R C^2 / (eta N^2), packets/s (equation 7)."""
        return self.window**2 / (self.eta * self.rtt_s)

    @property
    def k21(self) -> float:
        """K21 = N / R, 1/s (equation 8)."""
        return self.flows / self.rtt_s

    @property
    def kc(self) -> float:
        """K_C = K12 K21 = C^2 / (eta N), packets/s^2 (equation 13)."""
        return self.k12 * self.k21

    def check_equilibrium(self) -> None:
        """Refuse a network without an equilibrium.

        Raises:
            SluiceError: If p0 would be 1 or more.
        """
        if self.drop_probability >= 1:
            raise SluiceError(
                f"a flow has a window of rtt_s capacity_pps / flows = {self.window:.3g} packets, "
                f"which must exceed {math.sqrt(self.eta):.3g}: no drop probability below 1 keeps "
                f"{self.flows:g} flows in it"
            )
