"""The chain of a scenario: which discipline, the engine's chain of it, how far its solution is."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine, apart, beside, store
from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, Scenario

if TYPE_CHECKING:
    from sluicegate.worlds.world import Progress

# the system and other programs need some, too
_SHARE_OF_MEMORY = 0.8
# the engine counts in 32 bits
_LARGEST = 2**32 - 1
# digits of the residual that the iterative method aims at
_DIGITS = 12.0
_LEAST = 10.0**-_DIGITS


def build(
    scenario: Scenario, discipline: Discipline, grid: float | NDArray[np.float64]
) -> _engine.Chain:
    """The chain of one discipline on a scenario, ready to be asked.

    Args:
        scenario: Its arrivals, service and queue.
        discipline: Drop-tail, a member of the RED family, or a header without a state.
        grid: Step of the average's grid, packets; or the averages on it.

    Raises:
        SluiceError: If there is no such chain, or if it needs more memory than there is.
    """
    if apart.is_needed(discipline.configured):
        # a fault of a user's header ends the process beside; without a state, it then has none here
        apart.run(_try, scenario, discipline, grid, watch=None)
    return _built(scenario, discipline, grid)


def _try(
    scenario: Scenario,
    discipline: Discipline,
    grid: float | NDArray[np.float64],
    *,
    watch: beside.Watch | None,
) -> None:
    _built(scenario, discipline, grid)


def _built(
    scenario: Scenario, discipline: Discipline, grid: float | NDArray[np.float64]
) -> _engine.Chain:
    memory = _SHARE_OF_MEMORY * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return _engine.Chain(scenario.handle, discipline.handle, grid, memory)


def build_start(
    start: Scenario | None,
    discipline: Discipline,
    grid: float,
    start_queue: int,
    start_average: float,
) -> _engine.Chain | None:
    """The chain in whose steady state to start; None for a start by queue and average.

    Raises:
        SluiceError: As `build`; if both are given.
    """
    if start is None:
        return None
    if (start_queue, start_average) != (0, 0.0):
        raise SluiceError("start: give a scenario, or start_queue and start_average, not both")
    return build(start, discipline, grid)


def whole(name: str, value: float, least: int = 0) -> int:
    """The value, if it is a whole number that the engine takes.

    Raises:
        SluiceError: If it is none.
    """
    if not (least <= value <= _LARGEST and value == int(value)):
        raise SluiceError(f"{name} = {value} must be a whole number from {least} to {_LARGEST}")
    return int(value)


def describe_chain(
    scenario: Scenario, discipline: Discipline, **settings: float | str | bool
) -> dict[str, Any]:
    """Everything that determines a chain and its solution, as types that JSON has."""
    run = scenario.described(discipline)
    for name in ("slots", "replications", "seed"):
        del run[name]
    return {**run, "world": "chain", "version": version("sluicegate"), **settings}


def identity(run: dict[str, Any]) -> str:
    """Hash of everything that determines a chain's record."""
    return store.identity(run, "sluicegate.worlds.chain.run")


def progress(on_progress: Progress | None) -> Callable[[str, int, float], None] | None:
    """What the engine tells of its progress, as what `tell` takes."""
    if on_progress is None:
        return None

    def told(method: str, done: int, rest: float) -> None:
        if method == "direct":
            on_progress(done, rest, f"{done} of {rest:.0f} sizes eliminated")
        else:
            digits = max(-math.log10(max(rest, _LEAST)), 0.0)
            on_progress(digits, _DIGITS, f"{done} sweeps, residual {rest:.0e}")

    return told
