"""A tuning's problem: a scenario, what is changed in it, and what is wanted of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import product
from typing import Any

import numpy as np

from sluicegate import store
from sluicegate.errors import SluiceError
from sluicegate.registry import Param, Value
from sluicegate.sweeps.design import Point
from sluicegate.sweeps.folder import FORMAT
from sluicegate.tuning.axes import Axis, Place
from sluicegate.tuning.score import Constraint, Score
from sluicegate.tuning.trial import Trial, Values
from sluicegate.worlds import AnyWorld

_MOST_STARTS = 100_000

# from values of the axes to values by paths into the scenario
Changes = Callable[[Values], Point]


@dataclass(frozen=True)
class Problem:
    """What is tuned, and for what.

    Attributes:
        base: The scenario with the tuned discipline alone.
        world: Where it is judged.
        axes: What is tuned.
        score: What is to be least.
        constraints: What must be kept.
        seed: Of the methods' random choices and of the runs.
        changes: What values of the axes change in the scenario; None: each its own path.
        own: The scenario's own values of the axes, where they are not at their paths.
        known: Other settings to compare with, by name.
    """

    base: Any
    world: AnyWorld
    axes: Sequence[Axis]
    score: Score
    constraints: Sequence[Constraint]
    seed: int
    changes: Changes | None = None
    own: Values | None = None
    known: Mapping[str, Values] = field(default_factory=dict)

    def changed(self, values: Values) -> Point:
        """Values by paths into the scenario."""
        if self.changes is not None:
            return self.changes(values)
        return {axis.path: value for axis, value in zip(self.axes, values, strict=True)}

    def at(self, place: Place) -> Values:
        """The values at a place between 0 and 1 of each axis."""
        return tuple(axis.at(share) for axis, share in zip(self.axes, place, strict=True))

    def place(self, values: Values) -> Place:
        """The place of values; those out of a range are at its end."""
        return tuple(axis.share(value) for axis, value in zip(self.axes, values, strict=True))

    @property
    def given(self) -> Values:
        """The scenario's own values, also those out of the ranges."""
        if self.own is not None:
            return self.own
        return tuple(value_at(self.base, axis) for axis in self.axes)

    @property
    def default(self) -> Values | None:
        """The defaults of the AQM's parameters, beside the scenario's own of all else."""
        if all(axis.param is None for axis in self.axes):
            return None
        return tuple(
            value if axis.param is None else _number(axis.param, axis.param.default)
            for axis, value in zip(self.axes, self.given, strict=True)
        )

    def starts(self) -> list[Place]:
        """Where searches start: at the scenario's own value of each axis, or at each of its count.

        Raises:
            SluiceError: If there are too many.
        """
        own = self.place(self.given)
        shares = []
        for axis, share in zip(self.axes, own, strict=True):
            if axis.range.count is None:
                shares.append([share])
            else:
                shares.append(list(map(float, np.linspace(0, 1, axis.range.count))))
        count = int(np.prod([len(each) for each in shares]))
        if count > _MOST_STARTS:
            raise SluiceError(
                f"{count:,} starts are more than {_MOST_STARTS:,}: give smaller counts"
            )
        return list(product(*shares))

    def trial(self, number: int, values: Values) -> Trial:
        """A candidate, which has a reason if the scenario or the world refuses it."""
        refused = ""
        try:
            scenario = self.base.replace(self.changed(values))
            self.world.check(scenario, scenario.disciplines[0])
        except SluiceError as error:
            refused = str(error)
        exact = self.world.is_exact
        return Trial(number, values, self.score, self.constraints, refused, exact=exact)

    def about(self) -> dict[str, Any]:
        """What determines every run, as types that JSON has."""
        (discipline,) = self.base.disciplines
        return {
            "format": FORMAT,
            "sluicegate": version("sluicegate"),
            "build": store.build(type(self.world).__module__),
            "title": self.base.title,
            "discipline": discipline.name,
            "world": repr(self.world),
            "axes": {axis.name: axis.text for axis in self.axes},
            "score": str(self.score),
            "constraints": list(map(str, self.constraints)),
            "scenario": self.base.described(discipline),
            "seed": self.seed,
        }


def value_at(scenario: Any, axis: Axis) -> float:
    """The value that a scenario has at an axis.

    Raises:
        SluiceError: If it is none, as of a field that was left out.
    """
    if axis.param is not None:
        return _number(axis.param, scenario.disciplines[0].configured.params[axis.param.name])
    part = scenario
    for step in axis.path.split("."):
        if isinstance(part, list | tuple):
            part = part[int(step)]
        elif isinstance(part, dict):
            part = part.get(step)
        else:
            part = getattr(part, step)
    if isinstance(part, bool) or not isinstance(part, int | float):
        raise SluiceError(f"{axis.name} must have a number in the scenario to start from")
    return part


def _number(param: Param, value: Value) -> float:
    """A parameter's value, whole if it must be."""
    number = float(value)
    return int(number) if param.kind == "integer" else number
