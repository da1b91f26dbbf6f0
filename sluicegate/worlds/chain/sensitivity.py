"""Derivatives of a chain's measures with respect to parameters of discipline and traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sluicegate import _engine
from sluicegate.counts import QueueCounts
from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure, jackknifed
from sluicegate.scenario import Scenario
from sluicegate.scenario.choice import Choice, choose
from sluicegate.worlds.chain.build import build
from sluicegate.worlds.chain.parameters import STEPS, Parameter
from sluicegate.worlds.chain.steady import Method

# largest relative change of a count by which measures are differenced
_SMALL = 1e-5


@dataclass(frozen=True)
class Sensitivity:
    """Measures of a steady state and their derivatives.

    Attributes:
        frame: One row for each parameter and measure: `parameter`, `at` (its value), `measure`,
            `value`, `derivative`, `unit` (of the derivative).
        method: `direct` or `iterative`.
        residual: The largest residual of the solves, relative to their right sides.
        error: The largest estimate of what the solves make wrong in the sum of the derivatives
            of all probabilities.
    """

    frame: pl.DataFrame
    method: str
    residual: float
    error: float

    def derivative(self, measure: str, parameter: str) -> float:
        """The derivative of a measure with respect to a parameter.

        Raises:
            SluiceError: If it was not asked for.
        """
        return float(self._row(measure, parameter)["derivative"])

    def value(self, measure: str) -> float:
        """The measure itself.

        Raises:
            SluiceError: If it has no derivative.
        """
        return float(self._row(measure, self.frame["parameter"][0])["value"])

    def _row(self, measure: str, parameter: str) -> dict[str, Any]:
        for name, column in (("measure", measure), ("parameter", parameter)):
            if column not in (known := self.frame[name].unique(maintain_order=True).to_list()):
                raise SluiceError(f"{name} = {column} must be one of {', '.join(known)}")
        found = (pl.col("measure") == measure) & (pl.col("parameter") == parameter)
        return self.frame.filter(found).row(0, named=True)


def sensitivity(
    scenario: Scenario,
    discipline: Choice = None,
    *parameters: str,
    grid: float = 0.25,
    method: Method = "auto",
) -> Sensitivity:
    """Derivatives of every measure that has one, by one more solve of the chain for each parameter.

    Solved is x' = x' P + x P' for the derivative x' of the steady state x; nothing that was
    solved is differenced. The derivative P' of the transition matrix is a difference quotient of
    fourth order: exact but for rounding (ten digits or so) for traffic and weights. An AQM counts
    in steps of 2^-32, which leaves about seven digits for its probabilities and six for thresholds;
    four or five where a bend of the drop function passes a level of the grid within the difference
    (a cubic function held at 0 or 1, gentle's at twice max_th).

    With self-similar arrivals `rate` is the mean rate at a fixed `a`, and `a` changes at a fixed
    mean rate; `q` follows. Quantiles are whole slots and have no derivative. Where averages come
    to lie on the grid exactly, a chain changes differently with more and with less of w: the
    mean of both is given.

    Args:
        scenario: As for `solve`.
        discipline: Which discipline, itself or by its name or place; the only one if None.
        parameters: `rate` and `a` of the arrivals, `mu` of the service, and numbers of the AQM by
            their names (`w`, `min_th`, `max_th`, `max_p`, `gamma`, ...).
        grid: Step of the average's grid, packets.
        method: As for `solve`.

    Raises:
        SluiceError: As `solve`; for a name that is no real parameter; for parameters that act in
            steps on a grid (LPF/ODA's `low_queue` and `min_th`); where values beside the parameter
            are out of range; for a weight at which the average never moves.
    """
    chosen = choose(scenario, discipline)
    if not parameters:
        raise SluiceError("name at least one parameter, such as rate, mu, w or min_th")
    wanted = [Parameter(scenario, chosen, name) for name in parameters]
    chain = build(scenario, chosen, grid)
    nearby = [_nearby(parameter, grid) for parameter in wanted]
    found = _engine.chain_sensitivities(chain, nearby, method)
    rows = [
        row
        for parameter, derivative in zip(wanted, found.derivatives, strict=True)
        for row in _rows(scenario, parameter, found.value, derivative.of)
    ]
    return Sensitivity(
        frame=pl.DataFrame(rows, orient="row"),
        method=found.method,
        residual=max(derivative.residual for derivative in found.derivatives),
        error=max(derivative.error for derivative in found.derivatives),
    )


def _nearby(
    parameter: Parameter, grid: float
) -> tuple[float, list[tuple[_engine.Scenario, _engine.Discipline]]]:
    """A step, and what the engine builds chains of one to four such steps away."""
    step = parameter.step(grid)
    try:
        places = [parameter.at(parameter.value + k * step) for k in range(1, STEPS + 1)]
    except SluiceError as error:
        raise SluiceError(
            f"{parameter.name} = {parameter.value:g} has no derivative with this grid, which takes "
            f"values up to {parameter.value + STEPS * step:g}: {error}"
        ) from None
    return step, [(scenario.handle, discipline.handle) for scenario, discipline in places]


def _rows(
    scenario: Scenario,
    parameter: Parameter,
    value: _engine.ExactCounts,
    derivative: _engine.ExactCounts,
) -> list[dict[str, Any]]:
    def at(step: float) -> dict[str, Measure]:
        # without distributions of times there are no quantiles, which have no derivative
        counts = QueueCounts.exact(value, scenario.packet_bytes, change=derivative, step=step)
        return jackknifed(counts, scenario.slot_s)

    largest = max(
        float(np.abs(derivative.queue).max()), abs(derivative.busy), abs(derivative.arrivals)
    )
    # measures are ratios and moments of the counts: a small step along the derivative tells theirs
    step = _SMALL / max(largest, 1e-300)
    low, here, high = (at(k * step) for k in (-1, 0, 1))
    return [
        {
            "parameter": parameter.name,
            "at": parameter.value,
            "measure": name,
            "value": measure.value,
            "derivative": (high[name].value - low[name].value) / (2 * step),
            "unit": _unit(measure.unit, parameter.unit),
        }
        for name, measure in here.items()
        if np.isfinite(measure.value)
    ]


def _unit(above: str, below: str) -> str:
    if above == below:
        return ""
    return f"{above or '1'} / {below}" if below else above
