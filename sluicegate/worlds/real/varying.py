"""A real link whose rate varies: in steps, which `sluiced` follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.scenario import Dumbbell, NetworkScenario, RateFile, RateStep, Steps

# the link of a dumb-bell that has the discipline
LINK = "left -> right"
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


def rates(scenario: NetworkScenario) -> Rates | None:
    """How the rate of the bottleneck varies; None: it does not."""
    own = scenario.links.get(LINK)
    if own is None or own.rate is None:
        return None
    assert isinstance(scenario.topology, Dumbbell)
    steps = _steps(own.rate)
    assert steps is not None
    times_s, values_bps = steps.T
    return Rates(
        np.round(times_s * _NS_PER_S).astype(np.int64),
        np.concatenate([[scenario.topology.rate_bps], values_bps]),
    )


def later(scenario: NetworkScenario, by_s: float) -> NetworkScenario:
    """The same with each rate of the bottleneck later, and the first one until then."""
    found = rates(scenario)
    if found is None:
        return scenario
    own = scenario.links[LINK]
    times_s = by_s + found.from_ns / _NS_PER_S
    steps = [
        RateStep(time_s=time_s, rate_bps=rate_bps)
        for time_s, rate_bps in zip(times_s.tolist(), found.rates_bps[1:].tolist(), strict=True)
    ]
    links = {**scenario.links, LINK: replace(own, rate=Steps(steps=steps))}
    return scenario.replace(links=links)


def refused(rate: object) -> str:
    """Why a rate cannot be followed; empty if it can."""
    if _steps(rate) is not None:
        return ""
    return (
        f"it must be steps, or a table in a file ({_HEADER}): real links here follow nothing else"
    )


def _steps(rate: object) -> NDArray[np.float64] | None:
    """Times, s, and rates, bits/s, a row each; None: it has no steps."""
    if isinstance(rate, Steps):
        return np.array([[each.time_s, each.rate_bps] for each in rate.steps])
    if isinstance(rate, RateFile):
        return _table(Path(rate.path))
    return None


def _table(path: Path) -> NDArray[np.float64] | None:
    """The rows of a table in a file; None if it is no table.

    Raises:
        SluiceError: If the file cannot be read, or a row is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SluiceError(f"{path}: {error}") from None
    header, *rows = [line for line in text.splitlines() if line.strip()] or [""]
    if header.replace(" ", "") != _HEADER:
        return None
    wanted = f"below {_HEADER} each line must have two numbers"
    try:
        found = (
            np.loadtxt(rows, delimiter=",", ndmin=2, comments=None) if rows else np.empty((0, 0))
        )
    except ValueError as error:
        raise SluiceError(f"{path}: {wanted}: {error}") from None
    if found.shape[1] != 2:
        raise SluiceError(f"{path}: {wanted}")
    return found
