"""The linear program over occupation measures, for points with more than one bound.

Variables are how often each action is taken per slot, y(a) >= 0; every node is entered as often as
it is left; the actions take one slot per slot. Bounds on objectives are linear in y (Altman 1999).
HiGHS finds an optimal basis; the policy that it names is then evaluated anew, to the last digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from sluicegate.errors import SluiceError
from sluicegate.frontier.front import Point, Progress
from sluicegate.frontier.objectives import Objective, Rates
from sluicegate.frontier.process import Outcome, Process, evaluate

FloatArray = NDArray[np.float64]
Bounds = Sequence[tuple[Objective, float]]

_TOLERANCE = 1e-10
_ROOM = 1e-9
_INFEASIBLE = 2


@dataclass(frozen=True)
class Optimum:
    """The answer of a program.

    Attributes:
        outcome: The optimal policy and its rates.
        duals: How much the least cost per slot changes with the right side of each bound.
    """

    outcome: Outcome
    duals: list[float]


def solve(process: Process, cost: Rates, bounds: Bounds) -> Optimum | None:
    """The policy of the least cost per slot that keeps all bounds; None if there is none.

    Args:
        process: The process.
        cost: Weights of the rates.
        bounds: Objectives, each with the worst value that it may have.

    Raises:
        SluiceError: If HiGHS gives up.
    """
    actions = len(process.node)
    leaves = sparse.csr_array(
        (np.ones(actions), (process.node, np.arange(actions))), shape=(process.nodes, actions)
    )
    flows = sparse.vstack(
        [leaves - process.after.T, sparse.csr_array(process.slots[None, :])], format="csr"
    )
    rows = [process.weighted(each.bound(value)) for each, value in bounds]
    found = linprog(
        process.weighted(cost),
        A_ub=np.array(rows) if rows else None,
        b_ub=[each.right_side(value) for each, value in bounds] if rows else None,
        A_eq=flows,
        b_eq=np.append(np.zeros(process.nodes), 1.0),
        method="highs",
        options={
            "primal_feasibility_tolerance": _TOLERANCE,
            "dual_feasibility_tolerance": _TOLERANCE,
        },
    )
    if found.status == _INFEASIBLE:
        return None
    if found.status != 0:
        raise SluiceError(f"the linear program of {actions:,} variables: {found.message}")
    outcome = evaluate(process, _shares(process, np.maximum(np.asarray(found.x), 0.0)))
    return Optimum(outcome, list(found.ineqlin.marginals) if rows else [])


def _shares(process: Process, occupation: FloatArray) -> FloatArray:
    """The policy of an occupation measure; what is never met is dropped if it can be."""
    visits = np.bincount(process.node, occupation, process.nodes)[process.node]
    last = np.append(np.diff(process.node) > 0, True)
    shares = last.astype(float)
    np.divide(occupation, visits, out=shares, where=visits > _TOLERANCE**2)
    return shares


class BoundedFront:
    """The front of two objectives among the policies that keep further bounds.

    Its points are found one by one, each by a program.
    """

    def __init__(
        self, process: Process, pair: tuple[Objective, Objective], bounds: Mapping[Objective, float]
    ) -> None:
        """Check the bounds.

        Raises:
            SluiceError: If no policy keeps all bounds.
        """
        self.process, self.pair = process, pair
        self._bounds = list(bounds.items())
        self._check()

    def at(self, x: float) -> Point:
        """As of `Front`."""
        return self._best(1, (self.pair[0], x))

    def where(self, y: float) -> Point:
        """As of `Front`."""
        return self._best(0, (self.pair[1], y))

    def spread(self, count: int, on_progress: Progress) -> list[Point]:
        """Points from one end of the front to the other, evenly by the first objective."""
        first, last = self._ends()
        points = []
        for x in np.linspace(first, last, count):
            points.append(self.at(float(x)))
            on_progress(len(points), count)
        return points

    def _check(self) -> None:
        for count in range(1, len(self._bounds) + 1):
            if solve(self.process, {}, self._bounds[:count]) is None:
                wrong, value = self._bounds[count - 1]
                best = self._reachable(wrong, self._bounds[: count - 1])
                others = " with the bounds before it" if count > 1 else ""
                says = ">=" if wrong.more_is_better else "<="
                raise SluiceError(
                    f"bound {wrong.name}{says}{value:g} is out of reach{others}: the best that any "
                    f"policy gives is {best:.9g}"
                )

    def _reachable(self, objective: Objective, bounds: Bounds) -> float:
        """The best value of an objective."""
        found = solve(self.process, objective.cost, bounds)
        assert found is not None
        return objective.value(found.outcome.rates)

    def _ends(self) -> tuple[float, float]:
        """The first objective at its best, and where the second is at its best."""
        first, second = self.pair
        best = self._reachable(first, self._bounds)
        other = self._reachable(second, self._bounds)
        # room for rounding
        other += _ROOM * abs(other) * (-1 if second.more_is_better else 1)
        return best + _ROOM * max(abs(best), _ROOM), self.where(other).x

    def _best(self, axis: int, kept: tuple[Objective, float]) -> Point:
        """The best of the objective of an axis if the other is as good as is said."""
        objective, other = self.pair[axis], kept[0]
        found = solve(self.process, objective.cost, [kept, *self._bounds])
        if found is None:
            best = self._reachable(other, self._bounds)
            raise SluiceError(
                f"{other.name} = {kept[1]:g} is out of reach: the best that any policy gives is "
                f"{best:.9g}"
            )
        rates = found.outcome.rates
        x, y = (each.value(rates) for each in self.pair)
        # the second objective's cost is a share of what arrives, which no policy changes
        slope = found.duals[0] * self.pair[0].weight(rates) / self.pair[1].weight(rates)
        if axis == 0:
            slope = math.nan
        elif self.pair[1].more_is_better:
            slope = -slope
        return Point(x, y, slope, found.outcome, is_corner=False)
