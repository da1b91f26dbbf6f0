"""Delay differential equations in time: classical Runge-Kutta steps, and a past that is dense.

Small and fixed-step on purpose: the equations here are smooth between known times, their delay
follows from their state, and no delay is shorter than a step. Between two steps the past is a
cubic (Hermite's), which keeps the method's fourth order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

State: TypeAlias = tuple[float, ...]
# the state at a time of the past, s
Past: TypeAlias = Callable[[float], State]
# time (s), state, past: the derivative, per second
Rate: TypeAlias = Callable[[float, State, Past], State]
# keeps a state within its bounds after a step
Bound: TypeAlias = Callable[[State], State]


class Solution:
    """A delay equation's solution, which is its own past.

    Args:
        before: The state before time 0.
        step_s: Length of a step, s.
    """

    def __init__(self, before: State, step_s: float) -> None:
        self._step_s = step_s
        self._before = before
        self._steps: list[tuple[State, State, State, State]] = []
        self.end = before

    @property
    def end_s(self) -> float:
        """How far it goes, s."""
        return len(self._steps) * self._step_s

    def __call__(self, time_s: float) -> State:
        """The state at a time up to the end, s."""
        place = time_s / self._step_s
        if place <= 0 or not self._steps:
            return self._before
        whole = min(int(place), len(self._steps) - 1)
        u = place - whole
        start, slope, end, end_slope = self._steps[whole]
        v = 1 - u
        at_start, at_end = v * v * (1 + 2 * u), u * u * (1 + 2 * v)
        slope_at_start, slope_at_end = self._step_s * u * v * v, -self._step_s * u * u * v
        return tuple(
            at_start * a + at_end * b + slope_at_start * c + slope_at_end * d
            for a, b, c, d in zip(start, end, slope, end_slope, strict=True)
        )

    def advance(self, rate: Rate, steps: int, bound: Bound = lambda state: state) -> None:
        """Integrate so many steps further.

        Args:
            rate: The derivative; may ask for the past until the present time less a step.
            steps: How many.
            bound: Applied to the state after each step.
        """
        step_s = self._step_s
        for _ in range(steps):
            now, state = self.end_s, self.end
            slope = rate(now, state, self)
            second = rate(now + step_s / 2, _moved(state, slope, step_s / 2), self)
            third = rate(now + step_s / 2, _moved(state, second, step_s / 2), self)
            fourth = rate(now + step_s, _moved(state, third, step_s), self)
            end = bound(
                tuple(
                    x + step_s / 6 * (a + 2 * b + 2 * c + d)
                    for x, a, b, c, d in zip(state, slope, second, third, fourth, strict=True)
                )
            )
            self._steps.append((state, slope, end, rate(now + step_s, end, self)))
            self.end = end

    def jump(self, state: State) -> None:
        """Go on from another state; the past stays as it is."""
        self.end = state

    def points(self) -> Sequence[State]:
        """The states after each step, the first at one step."""
        return [end for _, _, end, _ in self._steps]


def _moved(state: State, slope: State, by_s: float) -> State:
    return tuple(x + by_s * d for x, d in zip(state, slope, strict=True))
