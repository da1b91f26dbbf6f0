"""Real links whose rates vary in steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.addresses import Side

# the links of a dumb-bell that can have a discipline, by where they lead
LINK, BACK = "left -> right", "right -> left"
LINKS: Mapping[Side, str] = {"servers": LINK, "clients": BACK}
_HEADER = "time_s,rate_bps"
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Rates:
    """A rate as a function of time.

    Attributes:
        from_ns: When each rate begins, from the start of the run on, shape (S,).
        rates_bps: They, and before them that of the topology, shape (S + 1,).
    """

    from_ns: NDArray[np.int64]
    rates_bps: NDArray[np.float64]

    def at(self, times_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """The rates at some times; 1 bit/s in an outage, as AQMs see it."""
        place = np.searchsorted(self.from_ns, times_ns, side="right")
        return np.maximum(self.rates_bps[place], 1.0)

    def bits_until(self, times_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Bits that the link can send from the first of some times until each, shape as theirs."""
        inner = self.from_ns[(self.from_ns > times_ns[0]) & (self.from_ns < times_ns[-1])]
        knots_ns = np.concatenate([times_ns[:1], inner, times_ns[-1:]])
        place = np.searchsorted(self.from_ns, knots_ns[:-1], side="right")
        bits = np.diff(knots_ns) / _NS_PER_S * self.rates_bps[place]
        sums = np.concatenate([[0.0], np.cumsum(bits)])
        return np.asarray(np.interp(times_ns, knots_ns, sums))

    def taking_ns(
        self, starts_ns: NDArray[np.int64], sizes_bytes: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """How long packets take that begin at some times, at all rates until they are sent."""
        if not len(starts_ns):
            return starts_ns
        bits = 8.0 * sizes_bytes
        # the last rate stays, and carries them all at the latest then
        last_ns = max(int(starts_ns.max()), int(self.from_ns[-1]))
        far_ns = last_ns + math.ceil(bits.max() / self.rates_bps[-1] * _NS_PER_S)
        first_ns = min(0, int(starts_ns.min()))
        knots_ns = np.unique(np.concatenate([[first_ns, far_ns], self.from_ns]))
        carried = self.bits_until(knots_ns)
        ends_ns = np.interp(np.interp(starts_ns, knots_ns, carried) + bits, carried, knots_ns)
        return np.asarray(np.round(ends_ns).astype(np.int64) - starts_ns)

    def took_ns(
        self, ends_ns: NDArray[np.int64], sizes_bytes: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """How long packets took that ended at some times, at all rates since they began."""
        if not len(ends_ns):
            return ends_ns
        bits = 8.0 * sizes_bytes
        # the first rate was always there, and carries them all at the earliest then
        first_ns = min(0, int(ends_ns.min()), int(self.from_ns[0]))
        far_ns = first_ns - math.ceil(bits.max() / self.rates_bps[0] * _NS_PER_S)
        last_ns = int(ends_ns.max())
        knots_ns = np.unique(np.concatenate([[far_ns, first_ns, last_ns], self.from_ns]))
        carried = self.bits_until(knots_ns)
        starts_ns = np.interp(np.interp(ends_ns, knots_ns, carried) - bits, carried, knots_ns)
        return np.asarray(ends_ns - np.round(starts_ns).astype(np.int64))

    def carried(self, until_ns: int) -> float:
        """Bits that the link can send until a time."""
        return float(self.bits_until(np.array([0, until_ns]))[-1])


def rates(scenario: NetworkScenario, link: str = LINK) -> Rates | None:
    """How the rate of a link varies; None: it does not, or in no steps."""
    steps = _engine.rate_steps(scenario.handle, link)
    if steps is None:
        return None
    links = scenario.topology.simplex_links
    (rate_bps,) = (each.rate_bps for each in links if each.name == link)
    from_ns, values_bps = zip(*steps, strict=True)
    return Rates(
        np.array(from_ns, dtype=np.int64),
        np.array([rate_bps, *values_bps], dtype=np.float64),
    )


def refused(scenario: NetworkScenario, link: str) -> str:
    """What is wrong with the kind of a link's rate; empty if a real link can have it."""
    own = scenario.links.get(link)
    if own is None or own.rate is None or rates(scenario, link) is not None:
        return ""
    return (
        f".kind = {own.rate.kind} must be steps, ramp, or file with a table ({_HEADER}): a qdisc "
        "sends at a rate, and at no opportunities or grants of another (the worlds network and "
        "gate do)"
    )
