"""What is tuned: parameters with their ranges, each laid out from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluicegate.errors import SluiceError
from sluicegate.near import nearest
from sluicegate.registry import Aqm, Param
from sluicegate.scenario import Discipline, Table
from sluicegate.sweeps.design import Range

# in place of a range: all that the descriptor allows, but no further from the default than this
ALL = "all"
_AROUND = 100.0
# fields of a scenario that determine how it is measured, not what is measured
_OF_THE_RUNS = {"seed", "replications", "slots", "duration_s", "warm_up_s"}

# the position on each axis, from 0 to 1
Place = tuple[float, ...]


@dataclass(frozen=True)
class Axis:
    """One parameter and its range.

    Attributes:
        name: As the user writes it: `red.max_p`, or a path into the scenario.
        path: Its path in the scenario that has only the tuned discipline.
        range: Its values.
        param: Its descriptor; None: it is not a parameter of an AQM.
    """

    name: str
    path: str
    range: Range
    param: Param | None

    def at(self, share: float) -> float:
        """The value at a share of the way through the range."""
        return self.range.at(share)

    def share(self, value: float) -> float:
        """The share of a value; one outside of the range is at its nearer end."""
        first, last = float(self.range.first), float(self.range.last)
        inside = min(max(value, first), last)
        if self.range.log:
            return math.log(inside / first) / math.log(last / first)
        return (inside - first) / (last - first)

    def slope(self, share: float) -> float:
        """How fast the value rises with its share of the way."""
        first, last = float(self.range.first), float(self.range.last)
        return self.at(share) * math.log(last / first) if self.range.log else last - first

    @property
    def text(self) -> str:
        """The range in words."""
        return self.range.text


def axes(
    given: Mapping[str, object] | Sequence[str] | None, scenario: Any, discipline: Discipline
) -> list[Axis]:
    """Read what is tuned.

    Args:
        given: Ranges by name: a text such as `0.01..0.5` or `1e-4..1e-1:log`, or `all`. A list of
            names: all of each. None: every number of the AQM that has a meaning.
        scenario: With the tuned discipline alone.
        discipline: The tuned discipline.

    Raises:
        SluiceError: If a name is no number of the AQM and no path, or if a range is none, empty, or
            wider than the descriptor's.
    """
    aqm = discipline.configured
    if given is None:
        if not isinstance(aqm, Aqm):
            raise SluiceError(f"{aqm.name} is a Python class, whose parameters are not known")
        given = [f"{aqm.name}.{name}" for name, param in _numbers(aqm).items() if _real(param)]
    if not isinstance(given, Mapping):
        given = dict.fromkeys(given, ALL)
    if not given:
        raise SluiceError(f"nothing to tune: {aqm.name} has no number, or vary names none")
    return [_axis(name, value, scenario, discipline) for name, value in given.items()]


def _axis(name: str, value: object, scenario: Any, discipline: Discipline) -> Axis:
    if not isinstance(value, str):
        raise SluiceError(f"{name} = {value!r} must be a range such as 0.01..0.5, or {ALL}")
    aqm = discipline.configured
    head, _, rest = name.partition(".")
    if isinstance(aqm, Aqm) and head == aqm.name:
        param = _param(aqm, rest)
        chosen = _whole_range(param, scenario) if value == ALL else Range.read(value, name)
        if chosen.first < param.least or chosen.last > param.greatest:
            raise SluiceError(f"{name} = {value} must lie within {param.range}")
        if param.kind == "integer" and not chosen.is_whole:
            raise SluiceError(f"{name} = {value} must have whole ends: it is an integer")
        return Axis(name, f"disciplines.0.params.{rest}", chosen, param)
    if value == ALL:
        raise SluiceError(f"{name} = {ALL} must be a range: only an AQM's parameters have one")
    if name in _OF_THE_RUNS:
        raise SluiceError(
            f"{name} cannot be tuned: all candidates must be measured in the same way"
        )
    path = f"disciplines.0.{rest.partition('.')[2]}" if head == "disciplines" else name
    chosen = Range.read(value, name)
    assert isinstance(scenario, Table)
    try:
        scenario.replace({path: chosen.first})
    except SluiceError as error:
        raise SluiceError(f"{name} is no parameter of {aqm.name} and no path: {error}") from error
    return Axis(name, path, chosen, None)


def _numbers(aqm: Aqm) -> dict[str, Param]:
    """The parameters that are numbers and have a meaning with the others' values."""
    return {
        param.name: param
        for param in aqm.of.params
        if param.kind in ("number", "integer") and aqm.of.applies(param, aqm.params)
    }


def _real(param: Param) -> bool:
    return param.kind == "number"


def _param(aqm: Aqm, name: str) -> Param:
    known = _numbers(aqm)
    if name in known:
        return known[name]
    for param in aqm.of.params:
        if param.name == name and param.kind in ("number", "integer"):
            raise SluiceError(f"{aqm.name}.{name} has no effect: it needs {param.when}")
        if param.name == name:
            raise SluiceError(f"{aqm.name}.{name} is no number: compare its values instead")
    near = nearest(name, known)
    hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
    raise SluiceError(f"{aqm.name} has no parameter {name}; {hint}")


def _whole_range(param: Param, scenario: Any) -> Range:
    """All that a descriptor allows, as far as it can make sense here.

    Thresholds go in whole packets up to the queue's limit; other numbers no further from their
    default than a factor of 100, in equal ratios.
    """
    default = float(param.default)
    first, last = param.least, param.greatest
    if param.unit == "packets":
        first, last = max(first, 1.0), min(last, float(scenario.queue.limit))
        return Range(f"{first:.0f}..{last:.0f}", int(first), int(last), None, False)
    log = default > 0
    if log:
        first, last = max(first, default / _AROUND), min(last, default * _AROUND)
    if param.kind == "integer":
        low, high = math.ceil(first), math.floor(last)
        return Range(f"{low}..{high}{':log' * log}", low, high, None, log)
    return Range(f"{first:g}..{last:g}{':log' * log}", first, last, None, log)
