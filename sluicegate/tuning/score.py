"""What is tuned for: a weighted sum of measures, and bounds that measures must keep."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sluicegate.errors import SluiceError
from sluicegate.measures import DEFINITIONS, check_name

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# a name, and before it that of a class of flows
_MEASURE = r"(?:[^\W\d][\w-]*\.)?[a-z_][A-Za-z_0-9]*(?:\.\d+)?"
_TERM = re.compile(rf"\s*([+-]?)\s*(?:({_NUMBER})\s*\*\s*)?({_MEASURE})\s*")
_BOUND = re.compile(rf"\s*({_MEASURE})\s*(<=|>=)\s*([+-]?{_NUMBER})\s*")

# the measures of a run, by name; None where one is not known
Columns = Mapping[str, Any]


@dataclass(frozen=True)
class Score:
    """A weighted sum of measures; the least is the best.

    Attributes:
        weights: By measure, each for the measure in the unit that records have.
    """

    weights: Mapping[str, float]

    @classmethod
    def read(cls, given: str | Mapping[str, float]) -> Score:
        """Read a score.

        Args:
            given: Weights by measure, or a sum as text: `delay_mean + 2000*loss_ratio`; what is to
                be large has a minus before it.

        Raises:
            SluiceError: If it is not a score, or names what is not a measure.
        """
        weights = _terms(given) if isinstance(given, str) else dict(given)
        if not weights:
            raise SluiceError("score = {} must have a measure at least")
        for name, weight in weights.items():
            check_name(name, "score")
            if isinstance(weight, bool) or not isinstance(weight, int | float):
                raise SluiceError(f"score: the weight of {name} must be a number, not {weight!r}")
            if not math.isfinite(weight) or weight == 0:
                raise SluiceError(f"score: the weight of {name} must be finite and not 0")
        return cls({name: float(weight) for name, weight in weights.items()})

    def of(self, columns: Columns) -> float:
        """The score of a run.

        Raises:
            SluiceError: If the run lacks one of the measures.
        """
        return sum(weight * known(columns, name, "score") for name, weight in self.weights.items())

    @property
    def alone(self) -> str | None:
        """The measure, where the score is just that; else None."""
        (name, weight), *others = self.weights.items()
        return name if weight == 1 and not others else None

    def __str__(self) -> str:
        parts = [
            f"{'-' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):g}*'}{name}"
            for name, weight in self.weights.items()
        ]
        text = " ".join(parts)
        return text.removeprefix("+ ") if text.startswith("+") else text.replace("- ", "-", 1)


@dataclass(frozen=True)
class Constraint:
    """A bound that a measure must keep.

    Attributes:
        measure: Which.
        sign: 1: at most; -1: at least.
        bound: In the unit that records have.
    """

    measure: str
    sign: int
    bound: float

    @classmethod
    def read(cls, text: str) -> Constraint:
        """Read a constraint: `loss_ratio <= 0.01` or `utilization >= 0.95`.

        Raises:
            SluiceError: If it is not a constraint, or names what is not a measure.
        """
        found = _BOUND.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise SluiceError(
                f"constraint {text!r} must be MEASURE <= NUMBER or MEASURE >= NUMBER, such as "
                "loss_ratio <= 0.01"
            )
        check_name(found[1], "constraint")
        return cls(found[1], 1 if found[2] == "<=" else -1, float(found[3]))

    def excess(self, columns: Columns) -> float:
        """By how much a run breaks it, relative to the bound; 0 or less: it is kept.

        Raises:
            SluiceError: If the run lacks the measure.
        """
        over = self.sign * (known(columns, self.measure, "constraint") - self.bound)
        return over / abs(self.bound) if self.bound else over

    def __str__(self) -> str:
        return f"{self.measure} {'<=' if self.sign > 0 else '>='} {self.bound:g}"


def known(columns: Columns, name: str, what: str) -> float:
    """A measure of a run.

    Raises:
        SluiceError: If the run lacks it; `what` asked for it.
    """
    value = columns.get(name)
    if value is None:
        there = [each for each in columns if each in DEFINITIONS and columns[each] is not None]
        raise SluiceError(f"{what}: {name} is not known here; there are {', '.join(there)}")
    return float(value)


def _terms(text: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    place = 0
    while place < len(text):
        found = _TERM.match(text, place)
        if found is None or (place and not found[1]):
            raise SluiceError(
                f"score = {text!r} must be a sum of measures with weights, such as "
                "delay_mean + 2000*loss_ratio"
            )
        sign, weight, name = found.groups()
        if name in weights:
            raise SluiceError(f"score = {text!r} has {name} twice")
        weights[name] = (-1.0 if sign == "-" else 1.0) * float(weight or 1)
        place = found.end()
    return weights
