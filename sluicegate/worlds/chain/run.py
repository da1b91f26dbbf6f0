"""One discipline's chain: solved, or taken from the store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sluicegate import store
from sluicegate.record import Record
from sluicegate.scenario import Discipline, Scenario
from sluicegate.worlds.chain.build import describe_chain, identity
from sluicegate.worlds.chain.limit import extrapolate
from sluicegate.worlds.chain.steady import Method, solve

if TYPE_CHECKING:
    from sluicegate.worlds.world import Progress


def run(
    scenario: Scenario,
    discipline: Discipline,
    *,
    grid: float,
    method: Method,
    limit: bool,
    front_times: bool,
    on_progress: Progress,
    fresh: bool,
) -> Record:
    """Solve the chain of a discipline, or go to the limit, unless the store has the record.

    Args:
        scenario: As for `solve`.
        discipline: Which discipline.
        grid: As for `solve`.
        method: Likewise.
        limit: Whether to go to the limit of an infinitely fine grid instead.
        front_times: As for `solve`; has no effect where the queue does not drop from the front.
        on_progress: As for `solve`.
        fresh: Whether to leave aside what the store has.

    Raises:
        SluiceError: As `solve`.
    """
    described = describe_chain(
        scenario, discipline, grid=grid, method=method, limit=limit, front_times=front_times
    )
    name = identity(described)
    if not fresh and (known := store.find(name, Record)) is not None:
        return replace(known, discipline=discipline.name)
    if limit:
        found = extrapolate(scenario, discipline, grid=grid, on_progress=on_progress)
    else:
        found = solve(
            scenario,
            discipline,
            grid=grid,
            method=method,
            front_times=front_times and described["queue"]["victim"] == "front",
            on_progress=on_progress,
        ).record
    record = replace(found, identity=name, run=described)
    store.keep(record)
    return record
