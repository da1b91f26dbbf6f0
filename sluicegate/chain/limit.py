"""The limit of an infinitely fine grid, from chains on three grids."""

from __future__ import annotations

from dataclasses import replace

from sluicegate import store
from sluicegate.chain.steady import solve
from sluicegate.estimate import Measure
from sluicegate.record import Record
from sluicegate.scenario import Discipline, Scenario


def extrapolate(
    scenario: Scenario,
    discipline: Discipline | None = None,
    *,
    grid: float = 0.25,
) -> Record:
    """Solve the chain on three grids and take each measure to the limit of an infinitely fine one.

    The average on a grid is rounded, which adds diffusion. The differences of the three solutions
    tell the order of that error, and with it the limit (Aitken; Richardson where the order is
    known). The half width of each measure is how far the limit lies from the finest solution, but
    at least the last difference; the largest difference where the differences show no order.

    Args:
        scenario: What to solve.
        discipline: Which discipline; the scenario's only one if None.
        grid: Step of the finest of the three grids, packets; the others have twice and four
            times that.

    Raises:
        SluiceError: As `solve`.
    """
    grids = [4 * grid, 2 * grid, grid]
    records = [solve(scenario, discipline, grid=step).record for step in grids]
    finest = records[-1]
    limits = {
        name: _limit([record[name].value for record in records], finest[name].unit)
        for name in finest.measures
    }
    steps = ", ".join(f"{step:g}" for step in grids)
    run = {**finest.run, "grid": grids}
    return replace(
        finest,
        identity=store.identity(run),
        run=run,
        measures=limits,
        method=f"exact chains with steps of {steps} packets, extrapolated; "
        "distributions are those of the finest",
    )


def _limit(values: list[float], unit: str) -> Measure:
    coarse, middle, fine = values
    first, second = middle - coarse, fine - middle
    # an order between 1/2 and 3 of the error in the step; else the differences show none
    if second == 0 or not 2**0.5 <= first / second <= 2**3:
        return Measure(fine, max(abs(first), abs(second)), unit)
    shift = second / (first / second - 1)
    # where the order still falls, an error of first order would leave as much as `second`
    return Measure(fine + shift, max(abs(shift), abs(second)), unit)
