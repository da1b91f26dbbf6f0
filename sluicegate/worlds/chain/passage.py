"""First passages: how many slots until queue and average are where they are waited for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.scenario import Scenario
from sluicegate.scenario.choice import Choice, choose
from sluicegate.worlds.chain.build import build, build_start, whole
from sluicegate.worlds.chain.steady import Method


@dataclass(frozen=True)
class Passage:
    """The slots until a set of states is reached for the first time.

    Attributes:
        mean: Mean, slots.
        deviation: Standard deviation, slots.
        error: Estimate of the mean's error, slots, the grid's left out.
        states: Number of states of the chain.
        method: `direct` or `iterative`.
        residual: The larger of the residuals of both linear systems, relative to their right sides.
    """

    mean: float
    deviation: float
    error: float
    states: int
    method: str
    residual: float


def first_passage(
    scenario: Scenario,
    discipline: Choice = None,
    *,
    queue_below: int | None = None,
    queue_at_least: int | None = None,
    average_below: float | None = None,
    average_at_least: float | None = None,
    start_queue: int = 0,
    start_average: float = 0.0,
    start: Scenario | None = None,
    grid: float = 0.25,
    method: Method = "auto",
) -> Passage:
    """Mean and standard deviation of the slots until all of the given bounds hold at once.

    A start within the bounds takes no slot.

    Args:
        scenario: As for `solve`.
        discipline: Which discipline, itself or by its name or place; the only one if None.
        queue_below: Until fewer packets wait.
        queue_at_least: Until as many packets wait.
        average_below: Until the average is below, packets.
        average_at_least: Until the average is as large, packets.
        start_queue: Packets that wait at the start (one more is in service, unless it is 0).
        start_average: The average at the start, packets. The source starts in its own steady
            state; LPF/ODA takes the start for the end of a long time with that queue.
        start: Start in the steady state of the discipline under this scenario instead: a step of
            the load. Limit, source states and all that bounds the average must be the same.
        grid: Step of the average's grid, packets.
        method: As for `solve`.

    Raises:
        SluiceError: As `solve`; without any bound; if bounds can never hold, so that the mean
            would be infinite; if the mean is beyond what the method resolves (1e200 slots for the
            direct one, about 1e11 for the iterative one); if a named start does not exist, or
            `start` has a chain of other states.
    """
    queue = (_bound("queue_below", queue_below), _bound("queue_at_least", queue_at_least))
    average = (average_below, average_at_least)
    if all(bound is None for bound in queue + average):
        raise SluiceError(
            "give queue_below, queue_at_least, average_below or average_at_least: until when"
        )
    chosen = choose(scenario, discipline)
    chain = build(scenario, chosen, grid)
    before = build_start(start, chosen, grid, start_queue, start_average)
    packets = whole("start_queue", start_queue)
    try:
        found = _engine.chain_passage(chain, queue, average, packets, start_average, before, method)
    except ValueError as error:
        raise SluiceError(str(error)) from None
    return Passage(
        mean=found.mean,
        deviation=float(np.sqrt(max(found.variance, 0.0))),
        error=found.error,
        states=found.states,
        method=found.method,
        residual=found.residual,
    )


def _bound(name: str, packets: int | None) -> int | None:
    return None if packets is None else whole(name, packets)
