"""Gradient search on the chain's exact derivatives, from each start."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.tuning.axes import Place
from sluicegate.tuning.methods.method import Method, Search
from sluicegate.tuning.problem import Problem
from sluicegate.worlds.chain.sensitivity import Sensitivity, sensitivity
from sluicegate.worlds.chain.world import Chain

FloatArray = NDArray[np.float64]

# relative change of a score at which a search ends
_TOLERANCE = 1e-8
# derivatives are taken inside of the ranges: at an end a parameter may have no neighbours
_INSIDE = 1e-6


class Gradient(Method):
    """Sequential quadratic programming (Kraft 1988), as scipy has it, for the chain alone.

    Score and constraints have exact derivatives, by one more solve of the chain for each parameter.
    """

    starts: ClassVar[bool] = True

    def check(self, problem: Problem) -> None:
        """Refuse worlds that simulate, and what is not a parameter of a chain."""
        if not isinstance(problem.world, Chain) or problem.world.limit:
            raise SluiceError("method = gradient needs exact derivatives: world = chain has them")
        for axis in problem.axes:
            if axis.param is None or axis.param.kind != "number" or axis.range.is_whole:
                raise SluiceError(
                    f"method = gradient: {axis.name} = {axis.text} must be a range of real numbers "
                    "of the AQM, such as 5.0..20.0"
                )

    def search(self, search: Search) -> None:
        """Follow the gradient from one start after the other."""
        from scipy import optimize  # takes a second to import

        minimize: Any = optimize.minimize  # its types are too narrow
        slopes = _Slopes(search)
        starts = search.problem.starts()
        # scores near 1 suit the method's tolerance
        scale = abs(slopes.score(starts[0])) or 1.0
        for number, start in enumerate(starts):
            minimize(
                lambda place: slopes.score(place) / scale,
                start,
                jac=lambda place: slopes.score_slope(place) / scale,
                method="SLSQP",
                bounds=[(0.0, 1.0)] * search.dimension,
                constraints=[
                    {
                        "type": "ineq",
                        "fun": lambda place, k=k: -slopes.excess(place, k),
                        "jac": lambda place, k=k: -slopes.excess_slope(place, k),
                    }
                    for k in range(len(search.problem.constraints))
                ],
                options={"ftol": _TOLERANCE, "maxiter": 100},
            )
            search.on_progress((number + 1) / len(starts))


class _Slopes:
    """Score and constraints with their slopes along each axis; each chain is solved once."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._found: dict[Place, Sensitivity] = {}

    def score(self, place: Any) -> float:
        """The score; very large where the scenario cannot be run."""
        (trial,) = self._search.judge([_inside(place)])
        return 1e30 if trial.refused else trial.measure.value

    def score_slope(self, place: Any) -> FloatArray:
        """Its slopes, shape (axes,)."""
        weights = self._search.problem.score.weights
        return sum(
            (weight * self._slopes(place, name) for name, weight in weights.items()),
            np.zeros(self._search.dimension),
        )

    def excess(self, place: Any, constraint: int) -> float:
        """By how much a constraint is broken."""
        (trial,) = self._search.judge([_inside(place)])
        return 1e30 if trial.refused else float(trial.excesses()[0, constraint])

    def excess_slope(self, place: Any, constraint: int) -> FloatArray:
        """Its slopes, shape (axes,)."""
        chosen = self._search.problem.constraints[constraint]
        relative = chosen.sign / abs(chosen.bound) if chosen.bound else chosen.sign
        return relative * self._slopes(place, chosen.measure)

    def _slopes(self, place: Any, measure: str) -> FloatArray:
        """The derivative of a measure with respect to each place, by that of the value."""
        problem, at = self._search.problem, _inside(place)
        found = self._found.get(at)
        if found is None:
            scenario = problem.base.replace(problem.changed(problem.at(at)))
            names = [axis.param.name for axis in problem.axes if axis.param is not None]
            world = problem.world
            assert isinstance(world, Chain)
            found = sensitivity(scenario, None, *names, grid=world.grid, method=world.method)
            self._found[at] = found
        return np.array(
            [
                found.derivative(measure, axis.param.name) * axis.slope(share)
                for axis, share in zip(problem.axes, at, strict=True)
                if axis.param is not None
            ]
        )


def _inside(place: Any) -> Place:
    return tuple(float(min(max(share, _INSIDE), 1 - _INSIDE)) for share in place)
