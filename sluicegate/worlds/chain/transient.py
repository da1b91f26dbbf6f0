"""Transients: the distribution of queue and average some slots after a start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.scenario import Scenario
from sluicegate.scenario.choice import Choice, choose
from sluicegate.worlds.chain.build import build, build_start, whole
from sluicegate.worlds.chain.steady import Method

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Transient:
    """What is known after each of T numbers of slots.

    Attributes:
        slots: Slots since the start, shape (T,).
        queue_distribution: Probability that k packets wait, shape (T, limit + 1).
        average_levels: The average at each level of the grid, packets, shape (M,).
        average_distribution: Probability of each level, shape (T, M).
        loss_ratio: Probability that a packet that arrives in the slot after is lost, or
            another in its place, shape (T,).
        error: Bound of the sum of the errors of all probabilities of the chain, shape (T,): that
            of the projection, and one unit of rounding for all that each multiplication adds up.
        multiplications: Multiplications by the transition matrix since the start, shape (T,).
    """

    slots: NDArray[np.int64]
    queue_distribution: FloatArray
    average_levels: FloatArray
    average_distribution: FloatArray
    loss_ratio: FloatArray
    error: FloatArray
    multiplications: NDArray[np.uint64]

    @property
    def queue_mean(self) -> FloatArray:
        """Packets that wait, mean, shape (T,)."""
        return self.queue_distribution @ np.arange(self.queue_distribution.shape[1])

    @property
    def average_mean(self) -> FloatArray:
        """Mean of the average, packets, shape (T,)."""
        return self.average_distribution @ self.average_levels


def transient(
    scenario: Scenario,
    discipline: Choice = None,
    *,
    slots: Sequence[int],
    start_queue: int = 0,
    start_average: float = 0.0,
    start: Scenario | None = None,
    grid: float = 0.25,
    tolerance: float = 1e-9,
    method: Method = "auto",
) -> Transient:
    """Follow the distribution through time, by projection on Krylov subspaces.

    Args:
        scenario: As for `solve`.
        discipline: Which discipline, itself or by its name or place; the only one if None.
        slots: When to look: slots since the start, rising.
        start_queue: Packets that wait at the start (one more is in service, unless it is 0).
        start_average: The average at the start, packets. The source starts in its own steady
            state.
        start: Start in the steady state of the discipline under this scenario instead: a step of
            the load. Limit, source states and all that bounds the average must be the same.
        grid: Step of the average's grid, packets.
        tolerance: What the projections may add to `error`, by the last of `slots`.
        method: As for `solve`, for the steady state under `start`.

    Raises:
        SluiceError: As `solve`; if `slots` or `tolerance` make no sense, if a named state does
            not exist, or if `start` has a chain of other states.
    """
    times = list(slots)
    if not times or times != sorted(times) or not all(map(_is_time, times)):
        raise SluiceError(
            f"slots = {times} must be whole numbers from 0 on, rising, below 2^63, at least one"
        )
    if not 0 < tolerance < 1:
        raise SluiceError(f"tolerance = {tolerance} must lie between 0 and 1")
    chosen = choose(scenario, discipline)
    chain = build(scenario, chosen, grid)
    before = build_start(start, chosen, grid, start_queue, start_average)
    packets = whole("start_queue", start_queue)
    try:
        found = _engine.chain_transient(
            chain, list(map(int, times)), tolerance, packets, start_average, before, method
        )
    except ValueError as error:
        raise SluiceError(str(error)) from None
    return Transient(
        slots=np.array(times, dtype=np.int64),
        queue_distribution=found.queue,
        average_levels=found.levels,
        average_distribution=found.average,
        loss_ratio=found.lost / found.arrivals,
        error=found.error,
        multiplications=found.multiplications,
    )


def _is_time(slot: float) -> bool:
    return 0 <= slot < 2**63 and slot == int(slot)
