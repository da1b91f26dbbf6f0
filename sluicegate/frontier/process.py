"""A Markov decision process, and what one policy gives in it.

A node is a place where the process is; it leaves it by one of the node's actions. An action takes
some slots (0 or 1 here), leads to nodes with known probabilities, and counts events such as a lost
packet. A slot's randomness is a node with one action; a decision is a node with two.

All measures are rates: events per slot in the long run. They are linear in the occupation measure
y, where y(a) is how often action a is taken per slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import SuperLU, splu

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Process:
    """All nodes and actions.

    Every policy must lead to the last node from everywhere: then each has one long-run average.

    Attributes:
        node: The node of each action, shape (A,), rising; every node has one action or more.
        after: Probability of each node after an action, shape (A, N).
        slots: That each action takes, shape (A,).
        events: What each action counts, by name, shape (A,) each.
        drops: Whether an action is a drop that a policy may choose or not, shape (A,).
        seen: What a policy sees at each node, by name, shape (N,) each: whole numbers.
        told: What the policy sees and does, in words.
    """

    node: IntArray
    after: sparse.csr_array
    slots: FloatArray
    events: Mapping[str, FloatArray]
    drops: NDArray[np.bool_]
    seen: Mapping[str, IntArray]
    told: str

    @property
    def nodes(self) -> int:
        """Number of nodes, N."""
        return int(self.after.shape[1])

    @property
    def first(self) -> IntArray:
        """The first action of each node, shape (N,)."""
        return np.searchsorted(self.node, np.arange(self.nodes))

    @property
    def choices(self) -> IntArray:
        """The nodes where there is a choice, shape (C,)."""
        return np.unique(self.node[self.drops])

    def weighted(self, weights: Mapping[str, float]) -> FloatArray:
        """A sum of events with these weights for each action, shape (A,)."""
        cost = np.zeros(len(self.node))
        for name, weight in weights.items():
            cost += weight * self.events[name]
        return cost


@dataclass(frozen=True)
class Outcome:
    """What one policy gives in the long run.

    Attributes:
        shares: Probability of each action at its node, shape (A,).
        occupation: How often each action is taken per slot, y, shape (A,).
        rates: Events per slot, by name.
    """

    shares: FloatArray
    occupation: FloatArray
    rates: dict[str, float]


class Evaluation:
    """The linear equations of one policy, factorised once for all questions."""

    def __init__(self, process: Process, shares: FloatArray) -> None:
        """Factorise.

        Args:
            process: The process.
            shares: Probability of each action at its node, shape (A,).
        """
        self._process, self._shares = process, shares
        actions, nodes = len(process.node), process.nodes
        chosen = np.flatnonzero(shares)
        self._mix = sparse.csr_array(
            (shares[chosen], (process.node[chosen], chosen)), shape=(nodes, actions)
        )
        after = (self._mix @ process.after).tocoo()
        # the last node's relative value is 0; its column has the long-run average's factor instead
        inside = after.coords[1] != nodes - 1
        rows = np.concatenate((np.arange(nodes - 1), after.coords[0][inside], np.arange(nodes)))
        columns = np.concatenate(
            (np.arange(nodes - 1), after.coords[1][inside], np.full(nodes, nodes - 1))
        )
        values = np.concatenate(
            (np.ones(nodes - 1), -after.data[inside], self._mixed(process.slots))
        )
        matrix = sparse.csc_array((values, (rows, columns)), shape=(nodes, nodes))
        # nodes are in the order of the queue, so the matrix is a narrow band in this order. Rows
        # are exchanged where a pivot is small: under bursts values would be wrong otherwise
        self._factors: SuperLU = splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=1.0)

    def values(self, cost: FloatArray) -> tuple[float, FloatArray]:
        """The average cost per slot, and the relative value of each node (0 at the last), (N,).

        Args:
            cost: Of each action, shape (A,).
        """
        found = self._factors.solve(self._mixed(cost))
        average = float(found[-1])
        found[-1] = 0.0
        return average, found

    def _mixed(self, of_actions: FloatArray) -> FloatArray:
        """The policy's mean of a column over the actions of each node, shape (N,)."""
        return np.asarray(self._mix @ of_actions)

    def outcome(self) -> Outcome:
        """The occupation measure and the rates."""
        unit = np.zeros(self._process.nodes)
        unit[-1] = 1.0
        # SciPy's stubs lack the transposed system
        visits = np.maximum(self._factors.solve(unit, "T"), 0.0)  # type: ignore[call-overload]
        occupation = visits[self._process.node] * self._shares
        rates = {name: float(occupation @ count) for name, count in self._process.events.items()}
        return Outcome(self._shares, occupation, rates)


def evaluate(process: Process, shares: FloatArray) -> Outcome:
    """What a policy gives, exactly.

    Args:
        process: The process.
        shares: Probability of each action at its node, shape (A,).
    """
    return Evaluation(process, shares).outcome()


def mixed(process: Process, one: Outcome, other: Outcome, weight: float) -> FloatArray:
    """The shares of the policy whose occupation measure is a mean of two others'.

    Args:
        process: The process.
        one: Of one policy; decides at nodes that neither visits.
        other: Of another.
        weight: Of the other, in [0, 1].
    """
    occupation = (1 - weight) * one.occupation + weight * other.occupation
    visits = np.bincount(process.node, occupation, process.nodes)[process.node]
    shares = one.shares.copy()
    np.divide(occupation, visits, out=shares, where=visits > 0)
    return shares
