"""The limit of an infinitely fine grid, from chains on grids finer and finer where it matters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure
from sluicegate.record import Record
from sluicegate.scenario import Scenario
from sluicegate.scenario.choice import Choice
from sluicegate.worlds.chain.build import identity
from sluicegate.worlds.chain.steady import Solution, solve

if TYPE_CHECKING:
    from sluicegate.worlds.world import Progress

FloatArray = NDArray[np.float64]

# which measures must be known to the tolerance
_LEADING = ("queue_mean", "queue_variance", "loss_ratio")
# the next grid would have twice as many
_MOST_STATES = 2_000_000
# how many times as dense as even ones levels are at most: an average that stays at one value
# would draw all levels there, closer than rounding
_FINEST = 1000


def extrapolate(
    scenario: Scenario,
    discipline: Choice = None,
    *,
    grid: float = 0.25,
    tolerance: float = 1e-3,
    on_progress: Progress | None = None,
) -> Record:
    """Solve the chain on finer and finer grids and take each measure to their limit.

    The average on a grid is rounded, which adds diffusion. Each solution tells where the
    average stays, and so where the next grid, of twice as many levels, is to be fine. The last
    three tell the order of the error, and with it the limit (Aitken; Richardson where the order
    is known). Grids follow until the half widths of queue mean, queue variance and loss ratio are
    within `tolerance`, or the last chain has more than two million states.

    The half width of each measure is how far the limit lies from the finest solution, but at
    least a third of the last difference, which an error of second order would leave; the largest
    difference where the differences show no order.

    Args:
        scenario: What to solve.
        discipline: Which discipline, itself or by its name or place; the only one if None.
        grid: The third grid has as many levels as one with this step has, packets.
        tolerance: Half width over value that is small enough.
        on_progress: Called now and then, as by `solve`: how far the grid at hand is.

    Raises:
        SluiceError: As `solve`; if `grid` is above a quarter of the limit, with which the first
            of its grids would have no level between; if `tolerance` is not above 0.
    """
    limit = scenario.queue.limit
    if not 0 < grid <= limit / 4:
        raise SluiceError(
            f"grid = {grid:g} must be above 0 and at most a quarter of the limit of {limit} packets"
        )
    if not tolerance > 0:
        raise SluiceError(f"tolerance = {tolerance:g} must be above 0")
    solution = solve(scenario, discipline, grid=4 * grid, on_progress=on_progress)
    levels = round(limit / (4 * grid)) + 1
    records: list[Record] = []
    while True:
        if len(solution.average_levels) > 1:
            places = levels_for(solution, levels, limit)
            solution = solve(scenario, discipline, grid=places, on_progress=on_progress)
        records.append(solution.record)
        levels = 2 * levels - 1
        if len(records) < 3:
            continue
        limits = _limits(records[-3:])
        widest = max(_relative(limits[name]) for name in _LEADING)
        if widest <= tolerance or solution.states > _MOST_STATES:
            break
    finest = records[-1]
    run = {**finest.run, "grid": grid, "tolerance": tolerance}
    return replace(
        finest,
        identity=identity(run),
        run=run,
        measures=limits,
        method=f"limit of {len(records)} exact chains of up to {solution.states:,} states; "
        "distributions are those of the last",
    )


def levels_for(solution: Solution, count: int, limit: int) -> FloatArray:
    """A grid that is fine where the average of a solution stays.

    Half of the levels lie as in the best quantiser of the average, as dense as the cube root of
    its density (Panter & Dite 1951); half lie evenly, so that rare averages converge, too.

    Args:
        solution: With an average that moves.
        count: Levels up to the highest average that the solution reaches.
        limit: Packets that the grid must reach; one more level where the solution does not.

    Returns:
        Averages, packets, rising from 0, shape (count,) or (count + 1,).
    """
    known, place = np.unique(solution.average_levels, return_inverse=True)
    gaps = np.diff(known)
    widths = np.convolve(gaps, [0.5, 0.5])
    dense = np.cbrt(np.bincount(place, solution.average_distribution) / widths)
    by_mass = gaps * (dense[1:] + dense[:-1])
    evenly = gaps / gaps.sum()
    shares = np.minimum(by_mass / by_mass.sum(), _FINEST * evenly) + evenly
    below = np.concatenate(([0.0], np.cumsum(shares)))
    levels = np.interp(np.linspace(0, below[-1], count), below, known)
    return levels if levels[-1] >= limit else np.append(levels, float(limit))


def _relative(measure: Measure) -> float:
    return (measure.half_width or 0.0) / measure.value if measure.value else 0.0


def _limits(records: list[Record]) -> dict[str, Measure]:
    return {
        name: _limit([record[name].value for record in records], measure.unit)
        for name, measure in records[-1].measures.items()
    }


def _limit(values: list[float], unit: str) -> Measure:
    coarse, middle, fine = values
    first, second = middle - coarse, fine - middle
    # an order between 1/2 and 3 of the error in the step; else the differences show none
    if second == 0 or not 2**0.5 <= first / second <= 2**3:
        return Measure(fine, max(abs(first), abs(second)), unit)
    shift = second / (first / second - 1)
    # an order above 2 is passing: moves of the average are long against the step only now
    return Measure(fine + shift, max(abs(shift), abs(second) / 3), unit)
