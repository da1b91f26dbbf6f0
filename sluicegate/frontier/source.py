"""Arrivals and service of a slot: those of the exact chain, or a modulated source of one's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, Scenario
from sluicegate.worlds.chain.build import build

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Source:
    """A discrete-time Markovian arrival process before a geometric service.

    Attributes:
        quiet: Probability that the modulator goes from one state to another and nothing arrives,
            shape (M, M).
        active: Likewise, and a packet arrives, shape (M, M).
        mu: Probability that a service ends in a slot.
    """

    quiet: FloatArray
    active: FloatArray
    mu: float

    def __post_init__(self) -> None:
        """Check it.

        Raises:
            SluiceError: If probabilities are wrong, or if states are never left for others.
        """
        if not 0 < self.mu <= 1:
            raise SluiceError(f"mu = {self.mu} must be above 0 and at most 1")
        if self.quiet.shape != self.active.shape or self.quiet.ndim != 2:
            raise SluiceError("quiet and active must be square matrices of one size")
        least = min(self.quiet.min(), self.active.min())
        if least < 0 or np.abs(self.changes.sum(axis=1) - 1).max() > 1e-12:
            raise SluiceError(
                "quiet + active must be a matrix of probabilities whose rows sum to 1"
            )
        if not 0 < self.active.sum() < len(self.active):
            raise SluiceError("there must be slots with a packet and slots without one")
        parts, _ = connected_components(sparse.csr_array(self.changes), connection="strong")
        if parts > 1:
            raise SluiceError(
                f"the modulator's states fall into {parts} classes that do not lead to each other "
                "and back: long-run averages would depend on the start; every state must lead to "
                "every other"
            )

    @property
    def changes(self) -> FloatArray:
        """The modulator's transition matrix, shape (M, M)."""
        return self.quiet + self.active

    @property
    def states(self) -> int:
        """Number of the modulator's states, M."""
        return len(self.quiet)

    @property
    def rate(self) -> float:
        """Packets that arrive per slot."""
        matrix = np.vstack(((self.changes.T - np.eye(self.states))[1:], np.ones(self.states)))
        right = np.append(np.zeros(self.states - 1), 1.0)
        return float(np.linalg.solve(matrix, right) @ self.active.sum(axis=1))


def of_scenario(scenario: Scenario) -> Source:
    """The source and the service that the exact chain of a scenario has.

    Raises:
        SluiceError: If the scenario has no exact chain.
    """
    # memory and transitions are the same for every limit
    small = scenario.replace({"queue.limit": 1})
    chain = build(small, Discipline(aqm="drop_tail"), 1.0)
    found = _engine.chain_source(chain)
    quiet, active = _matrix(found.states, *found.quiet), _matrix(found.states, *found.active)
    return Source(quiet, active, found.mu)


def _matrix(
    states: int, before: NDArray[np.uint32], after: NDArray[np.uint32], probability: FloatArray
) -> FloatArray:
    matrix = np.zeros((states, states))
    np.add.at(matrix, (before, after), probability)
    return matrix


def modulated(changes: ArrayLike, rates: ArrayLike, mu: float) -> Source:
    """A source whose modulator changes its state, and then sends with the new state's probability.

    Args:
        changes: The modulator's transition matrix, shape (M, M).
        rates: Probability of a packet in a slot of each state, shape (M,).
        mu: Probability that a service ends in a slot.

    Raises:
        SluiceError: If they are no probabilities, or if states do not lead to each other.
    """
    matrix, sends = np.asarray(changes, dtype=float), np.asarray(rates, dtype=float)
    return Source(matrix * (1 - sends), matrix * sends, mu)
