"""Losses in time: how far apart they lie, and how much one tells of the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.scenario import Scenario
from sluicegate.scenario.choice import Choice, choose
from sluicegate.worlds.chain.build import build, whole
from sluicegate.worlds.chain.steady import Method

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Losses:
    """How losses follow each other in the steady state.

    Losses are counted by the arrivals that meet them: under drop from front or random drop the
    packet that goes is another one.

    Attributes:
        loss_ratio: Probability that an arrival meets a loss.
        slots_between: Mean slots from one loss to the next.
        again: Probability that the k-th arrival after one with a loss meets a loss, too, shape
            (lag,); entry 0 is the next arrival's.
    """

    loss_ratio: float
    slots_between: float
    again: FloatArray

    @property
    def correlation(self) -> FloatArray:
        """Correlation coefficient of losses at arrivals k = 1, 2, ... apart, shape (lag,)."""
        return (self.again - self.loss_ratio) / (1 - self.loss_ratio)

    @property
    def burstiness(self) -> float:
        """How much more probable a loss is right after one: 1 if losses are independent."""
        return float(self.again[0]) / self.loss_ratio

    @property
    def run_length(self) -> float:
        """Mean number of arrivals in a row that meet a loss."""
        return 1 / (1 - float(self.again[0]))


def losses(
    scenario: Scenario,
    discipline: Choice = None,
    *,
    lag: int = 10,
    grid: float = 0.25,
    method: Method = "auto",
) -> Losses:
    """Follow losses from arrival to arrival.

    Args:
        scenario: As for `solve`.
        discipline: Which discipline, itself or by its name or place; the only one if None.
        lag: Arrivals after a loss that are looked at.
        grid: Step of the average's grid, packets.
        method: As for `solve`. The iterative method tells nothing of losses rarer than its error.

    Raises:
        SluiceError: As `solve`; if `lag` is below 1; or if losses are too rare for the method.
    """
    chain = build(scenario, choose(scenario, discipline), grid)
    try:
        found = _engine.chain_losses(chain, method, whole("lag", lag, least=1))
    except ValueError as error:
        raise SluiceError(str(error)) from None
    lost, off = found.lost, found.error
    if found.method == "iterative" and lost <= off:
        raise SluiceError(
            f"{lost:.1e} losses per slot are no more than the error of {off:.1e} to which the "
            "iterative method solved the chain: take the direct method"
        )
    return Losses(lost / found.arrivals, 1 / lost, found.again)
