"""The Pareto front of two objectives: its corners, the policy between two of them, its slope.

In the rates of both costs the front is convex and made of straight pieces. Its corners are policies
without chance (Derman 1970; Altman 1999). Corners are found by the weighted sum of both costs: the
weights of the line through two known corners give a corner below it, or show that there is none
(Aneja & Nair 1979). Between two corners an optimal policy draws at one state (Beutler & Ross 1985).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from sluicegate.errors import SluiceError
from sluicegate.frontier.iteration import least
from sluicegate.frontier.objectives import Objective
from sluicegate.frontier.process import Outcome, Process, evaluate, mixed

# gain of a corner below a line, as a share of both costs there, that is more than rounding
_ROUNDING = 1e-11
_HALVINGS = 100
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Point:
    """A policy on the front.

    Attributes:
        x: The first objective.
        y: The second one.
        slope: dy/dx along the front; at a corner of the side on which x is less, at the first
            corner of the other side; NaN for a front of one point.
        outcome: The policy and its rates.
        is_corner: Whether the policy has no chance in it.
    """

    x: float
    y: float
    slope: float
    outcome: Outcome
    is_corner: bool


class Front:
    """The front of a process, followed as closely as it is asked for."""

    def __init__(
        self,
        process: Process,
        pair: tuple[Objective, Objective],
        *,
        corners: int = 100,
        on_progress: Progress | None = None,
    ) -> None:
        """Find both ends, and corners between them.

        Args:
            process: What can be decided.
            pair: The objectives of both axes.
            corners: How many corners at most; further ones are found where points are asked for.
            on_progress: Called with the corners found and the most to find.
        """
        self.process, self.pair = process, pair
        self._costs = [process.weighted(each.cost) for each in pair]
        first, second = self._costs
        ends = [least(process, [first, second]), least(process, [second, first])]
        self._corners = [ends[0]] if self._alike(*ends) else ends
        self._edges: set[tuple[int, int]] = set()
        self._follow(corners, on_progress)

    @property
    def corners(self) -> list[Point]:
        """The corners that are known, the best of the first objective first."""
        return [self._corner(place) for place in range(len(self._corners))]

    def at(self, x: float) -> Point:
        """The best point whose first objective is as good as `x`.

        Raises:
            SluiceError: If no policy is.
        """
        first = self.pair[0]
        ends = [first.value(end.rates) for end in (self._corners[0], self._corners[-1])]
        if first.is_better(ends[0], x) is False and not np.isclose(ends[0], x, rtol=1e-12, atol=0):
            raise SluiceError(
                f"{first.name} = {x:g} is out of reach: the best that any policy gives is "
                f"{ends[0]:.9g}"
            )
        if not first.is_better(x, ends[1]):
            return self._corner(len(self._corners) - 1)
        return self._between(lambda rates: not first.is_better(x, first.value(rates)), x, 0)

    def where(self, y: float) -> Point:
        """The best point whose second objective is as good as `y`.

        Raises:
            SluiceError: If no policy is.
        """
        second = self.pair[1]
        ends = [second.value(end.rates) for end in (self._corners[0], self._corners[-1])]
        if second.is_better(y, ends[1]) and not np.isclose(ends[1], y, rtol=1e-9, atol=0):
            raise SluiceError(
                f"{second.name} = {y:g} is out of reach: the best that any policy gives is "
                f"{ends[1]:.9g}"
            )
        if second.is_better(y, ends[1]):
            return self._corner(len(self._corners) - 1)
        if not second.is_better(y, ends[0]):
            return self._corner(0)
        return self._between(lambda rates: second.is_better(y, second.value(rates)), y, 1)

    def _follow(self, most: int, on_progress: Progress | None) -> None:
        """Find corners where the front may lie furthest below its known part."""
        open_: list[tuple[float, int, Outcome, Outcome]] = []
        count = 0

        def add(one: Outcome, other: Outcome) -> None:
            nonlocal count
            count += 1
            heappush(open_, (-self._size(one, other), count, one, other))

        if len(self._corners) == 2:
            add(*self._corners)
        while open_ and len(self._corners) < most:
            _, _, one, other = heappop(open_)
            found = self._below(one, other)
            if found is None:
                continue
            place = next(k for k, each in enumerate(self._corners) if each is other)
            self._corners.insert(place, found)
            add(one, found)
            add(found, other)
            if on_progress is not None:
                on_progress(len(self._corners), most)

    def _size(self, one: Outcome, other: Outcome) -> float:
        """How much of the picture lies between two corners, from 0 to 1."""
        ends = self._corners[0], self._corners[-1]
        shares = [
            abs((other_cost - one_cost) / (last - first))
            for one_cost, other_cost, first, last in zip(
                self._of(one), self._of(other), *map(self._of, ends), strict=True
            )
        ]
        return float(max(shares))

    def _of(self, outcome: Outcome) -> list[float]:
        """Both costs per slot."""
        return [
            sum(weight * outcome.rates[name] for name, weight in each.cost.items())
            for each in self.pair
        ]

    def _alike(self, one: Outcome, other: Outcome) -> bool:
        return any(
            np.isclose(a, b, rtol=_ROUNDING, atol=0)
            for a, b in zip(self._of(one), self._of(other), strict=True)
        )

    def _below(self, one: Outcome, other: Outcome) -> Outcome | None:
        """A corner below the line through two corners; None if there is none."""
        (a, b), (c, d) = self._of(one), self._of(other)
        weights = b - d, c - a
        costs = [weights[0] * self._costs[0] + weights[1] * self._costs[1]]
        start = max(one, other, key=lambda each: each.rates["lost"])
        found = least(self.process, costs, start=start.shares)
        line, below = (weights[0] * x + weights[1] * y for x, y in (self._of(one), self._of(found)))
        known = self._alike(found, one) or self._alike(found, other)
        return None if known or line - below <= _ROUNDING * abs(line) else found

    def _corner(self, place: int) -> Point:
        outcome = self._corners[place]
        if len(self._corners) == 1:
            return self._point(outcome, float("nan"), is_corner=True)
        beside = self._corners[place - 1] if place else self._corners[1]
        return self._point(outcome, self._slope(outcome, outcome, beside), is_corner=True)

    def _slope(self, at: Outcome, one: Outcome, other: Outcome) -> float:
        change = {name: other.rates[name] - rate for name, rate in one.rates.items()}
        across, up = (each.slope(at.rates, change) for each in self.pair)
        return up / across if across else float("nan")

    def _point(self, outcome: Outcome, slope: float, *, is_corner: bool) -> Point:
        x, y = (each.value(outcome.rates) for each in self.pair)
        return Point(x, y, slope, outcome, is_corner)

    def _between(
        self, is_before: Callable[[dict[str, float]], bool], wanted: float, axis: int
    ) -> Point:
        """The point where an objective is as wanted, between two neighbours on the front."""
        place = next(k for k, each in enumerate(self._corners) if k and not is_before(each.rates))
        one, other = self._corners[place - 1], self._corners[place]
        while (found := self._below(one, other)) is not None:
            self._corners.insert(place, found)
            if is_before(found.rates):
                one, place = found, place + 1
            else:
                other = found
        one, other = self._neighbours(one, other, is_before)
        objective = self.pair[axis]
        shares = mixed(self.process, one, other, _weight(objective, wanted, one, other))
        outcome = evaluate(self.process, shares)
        return self._point(outcome, self._slope(outcome, one, other), is_corner=False)

    def _neighbours(
        self, one: Outcome, other: Outcome, is_before: Callable[[dict[str, float]], bool]
    ) -> tuple[Outcome, Outcome]:
        """Two policies on one edge that differ at one node, with what is wanted between them.

        All policies that take at each node the action of one end or of the other are on the edge.
        """
        nodes = self.process.choices
        admits = self.process.first[nodes]
        visited = np.bincount(
            self.process.node, one.occupation + other.occupation, self.process.nodes
        )
        differ = (one.shares[admits] != other.shares[admits]) & (visited[nodes] > 0)
        low, places = one, admits[differ]
        while len(places) > 1:
            half = len(places) // 2
            shares = low.shares.copy()
            shares[places[:half]] = other.shares[places[:half]]
            shares[places[:half] + 1] = other.shares[places[:half] + 1]
            middle = evaluate(self.process, shares)
            if is_before(middle.rates):
                low, places = middle, places[half:]
            else:
                other, places = middle, places[:half]
        return low, other


def _weight(objective: Objective, wanted: float, one: Outcome, other: Outcome) -> float:
    """The weight of the other policy at which an objective has a value: a ratio of linear rates."""
    bound = objective.bound(wanted)
    right = objective.right_side(wanted)
    short, over = (
        sum(weight * each.rates[name] for name, weight in bound.items()) - right
        for each in (one, other)
    )
    return float(np.clip(short / (short - over), 0.0, 1.0)) if short != over else 0.0
