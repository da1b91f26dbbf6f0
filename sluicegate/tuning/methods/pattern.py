"""Pattern search: the direct search of Hooke and Jeeves, from each start.

R. Hooke, T. A. Jeeves, "Direct search solution of numerical and statistical problems", Journal of
the ACM 8(2), 1961; as Algorithm 178 of the ACM has it (Kaupe 1963), with the remarks of Bell & Pike
(1966: a step keeps the sign that last helped) and of Tomlin & Smith (1969: a move must be longer
than rounding). It is the method of Domanska et al. 2014.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from sluicegate.tuning.axes import Place
from sluicegate.tuning.methods.method import Method, Search
from sluicegate.tuning.trial import Trial

# as shares of a range: the first steps, and those below which it ends
FIRST_STEP = 1 / 8
LAST_STEP = 1 / 256
SHRINK = 0.5


class Ranked(Protocol):
    """What can be compared with another one."""

    def beats(self, other: Any, /) -> bool:
        """Whether it is better."""


T = TypeVar("T", bound=Ranked)
# yields a place, what it must beat and the step's length; receives the trial at the place
Walk: TypeAlias = Generator[tuple[Place, T | None, float], T, T]
Exploring: TypeAlias = Generator[tuple[Place, T | None, float], T, tuple[list[float], T]]


class Pattern(Method):
    """Direct search; walks from all starts go on side by side.

    Attributes:
        ends: Where each walk ended, in the order of the starts, once the search is over.
    """

    starts: ClassVar[bool] = True

    def __init__(self) -> None:
        self.ends: list[Trial] = []

    def search(self, search: Search) -> None:
        """Walk from each start until steps are small."""
        steps = [FIRST_STEP] * search.dimension
        walks: list[Walk[Trial]] = [walk(start, steps) for start in search.problem.starts()]
        asked = {number: next(each) for number, each in enumerate(walks)}
        ends: dict[int, Trial] = {}
        while asked:
            found = search.judge(
                [place for place, _, _ in asked.values()],
                [rival for _, rival, _ in asked.values()],
            )
            for number, trial in zip(list(asked), found, strict=True):
                try:
                    asked[number] = walks[number].send(trial)
                except StopIteration as end:
                    ends[number] = end.value
                    del asked[number]
            shrunk = sum(_shrunk(step) for _, _, step in asked.values())
            search.on_progress((len(ends) + shrunk) / len(walks))
        self.ends = [ends[number] for number in range(len(walks))]


def _shrunk(step: float) -> float:
    """The progress of a walk, from 0 to 1, by the length of its steps."""
    return math.log(FIRST_STEP / step) / math.log(FIRST_STEP / LAST_STEP)


def walk(
    start: Place, first: list[float], shrink: float = SHRINK, last: float = LAST_STEP
) -> Walk[T]:
    """Walk from a start to a place from which no step helps; returns the trial there.

    Args:
        start: The place, each share between 0 and 1.
        first: The first step along each axis.
        shrink: Factor for all steps where none helps.
        last: The walk ends when the steps have shrunk below this.
    """
    steps, size = list(first), max(map(abs, first))
    here = list(start)
    best = yield start, None, size
    # the places so far: with noise, each of three may be better than the next
    bases = [best]
    while size > last:
        there, found = yield from _explore(here, best, steps)
        while found not in bases:
            # the same step once more, and what is better around its end
            steps = [
                math.copysign(step, -1 if new <= old else 1)
                for step, new, old in zip(steps, there, here, strict=True)
            ]
            ahead = [_inside(2 * new - old) for new, old in zip(there, here, strict=True)]
            here, best = there, found
            bases.append(best)
            there, found = yield from _explore(ahead, best, steps)
            moves = (abs(new - old) for new, old in zip(there, here, strict=True))
            if all(move <= 0.5 * abs(step) for move, step in zip(moves, steps, strict=True)):
                break
        if found in bases:
            size *= shrink
            steps = [step * shrink for step in steps]
    return best


def _explore(around: list[float], best: T, steps: list[float]) -> Exploring[T]:
    """Step along each axis in turn, forwards, or else backwards, where that is better."""
    place = list(around)
    for axis, middle in enumerate(around):
        for _ in range(2):
            place[axis] = _inside(middle + steps[axis])
            if place[axis] != middle:
                found = yield tuple(place), best, abs(steps[axis])
                if found.beats(best):
                    best = found
                    break
            steps[axis] = -steps[axis]
        else:
            # neither helps; which way comes first next time is as in Algorithm 178
            steps[axis] = -steps[axis]
            place[axis] = middle
    return place, best


def _inside(share: float) -> float:
    return min(max(share, 0.0), 1.0)
