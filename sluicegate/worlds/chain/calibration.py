"""The parameter at which a measure is as wanted, by Newton's method with the exact derivative."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, Scenario
from sluicegate.scenario.choice import Choice, choose
from sluicegate.worlds.chain.parameters import Parameter
from sluicegate.worlds.chain.sensitivity import sensitivity
from sluicegate.worlds.chain.steady import Method

_MOST_STEPS = 20
# times that a step out of the parameter's range is halved
_HALVINGS = 30


@dataclass(frozen=True)
class Calibration:
    """A parameter solved for.

    Attributes:
        value: The parameter.
        scenario: The scenario with it.
        discipline: The discipline with it.
        steps: One row for each chain that was solved: `value` of the parameter, the `measure`, its
            `derivative`.
    """

    value: float
    scenario: Scenario
    discipline: Discipline
    steps: pl.DataFrame


def solve_for(
    scenario: Scenario,
    discipline: Choice = None,
    *,
    parameter: str,
    measure: str,
    target: float,
    tolerance: float = 1e-9,
    grid: float = 0.25,
    method: Method = "auto",
) -> Calibration:
    """Find the parameter at which a measure reaches a target.

    Args:
        scenario: As for `solve`; its value of the parameter is where the search starts.
        discipline: Which discipline, itself or by its name or place; the only one if None.
        parameter: As for `sensitivity`.
        measure: A measure that has a derivative, as `loss_ratio`.
        target: What it is to be, in the measure's unit.
        tolerance: By how much it may miss the target, relative to it.
        grid: Step of the average's grid, packets.
        method: As for `solve`.

    Raises:
        SluiceError: As `sensitivity`; if the target is not reached within 20 steps.
    """
    if not (math.isfinite(target) and tolerance > 0):
        raise SluiceError(f"target = {target} must be finite, and tolerance = {tolerance} above 0")
    chosen = choose(scenario, discipline)
    steps: list[dict[str, float]] = []
    while len(steps) < _MOST_STEPS:
        at = Parameter(scenario, chosen, parameter)
        found = sensitivity(scenario, chosen, parameter, grid=grid, method=method)
        value, slope = found.value(measure), found.derivative(measure, parameter)
        steps.append({"value": at.value, measure: value, "derivative": slope})
        if abs(value - target) <= tolerance * abs(target):
            return Calibration(at.value, scenario, chosen, pl.DataFrame(steps))
        if slope == 0:
            raise SluiceError(f"{measure} does not depend on {parameter} at {at.value:g}")
        scenario, chosen = _moved(at, (target - value) / slope)
    last = steps[-1]
    raise SluiceError(
        f"{measure} = {target:g} is not reached: after {len(steps)} steps {parameter} is "
        f"{last['value']:g} and {measure} {last[measure]:g}"
    )


def _moved(parameter: Parameter, change: float) -> tuple[Scenario, Discipline]:
    """The scenario after the change, or the largest half, quarter, ... that is in range."""
    for halving in range(_HALVINGS):
        try:
            return parameter.at(parameter.value + change / 2**halving)
        except SluiceError:
            continue
    raise SluiceError(f"{parameter.name} = {parameter.value:g} has no value beside it in range")
