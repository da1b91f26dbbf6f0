"""The steady state of a scenario's chain: the slotted queue solved exactly, not simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine, store
from sluicegate.chain.build import Tell, build, describe_chain, only, progress
from sluicegate.errors import SluiceError
from sluicegate.estimate import measures
from sluicegate.record import Record
from sluicegate.scenario import Discipline, Scenario

FloatArray = NDArray[np.float64]
Method: TypeAlias = Literal["auto", "direct", "iterative"]


@dataclass(frozen=True)
class Solution:
    """The steady state of one discipline on a scenario.

    Attributes:
        record: The measures that every world gives; without intervals, since nothing is random.
            Of times in the system under drop from front only mean and variance are known (not
            even these where a clock samples LPF/ODA), under random drop nothing: those measures
            are NaN, and the distribution is empty, as it is where it has over 10^6 slots.
        grid: Step of the average's grid, packets.
        states: Number of states of the chain.
        method: `direct` or `iterative`.
        residual: Sum of the absolute differences of x P and x over all states.
        error: Estimate of the sum of the errors of all probabilities, the grid's left out.
        sweeps: Sweeps over all states; 0 for the direct method.
        average_levels: The average at each level of the grid, packets, shape (M,), rising; LPF/ODA
            has several levels for each.
        average_distribution: Probability of each level, shape (M,).
    """

    record: Record
    grid: float
    states: int
    method: str
    residual: float
    error: float
    sweeps: int
    average_levels: FloatArray
    average_distribution: FloatArray


def solve(
    scenario: Scenario,
    discipline: Discipline | None = None,
    *,
    grid: float = 0.25,
    method: Method = "auto",
    tell: Tell | None = None,
) -> Solution:
    """Solve the Markov chain of one discipline on a scenario.

    The chain follows the queue, the average (on a grid, to which it is rounded by chance so that
    its mean is kept) and the source. It exists for geometric and self-similar arrivals,
    geometric service, drop-tail and the RED family with independent drops and no idle rule.

    Args:
        scenario: What to solve; its slots, replications and seed have no meaning here.
        discipline: Which discipline; the scenario's only one if None.
        grid: Step of the average's grid, packets.
        method: `direct` (elimination without a subtraction: every probability to full relative
            accuracy), `iterative` (for millions of states), or `auto`.
        tell: Called now and then with what is done, what there is to do, and in words.

    Raises:
        SluiceError: If the scenario or the discipline has no such chain, if it needs more memory
            than there is, or if the scenario has several disciplines and none is named.
    """
    chosen = only(scenario, discipline)
    chain = build(scenario, chosen, grid)
    try:
        table = _engine.solve_chain(chain, method, progress(tell))
    except ValueError as error:
        raise SluiceError(str(error)) from None
    return Solution(
        record=_record(scenario, chosen, grid, table),
        grid=grid,
        average_levels=table["levels"],
        average_distribution=table["average"],
        **{name: table[name] for name in ("states", "method", "residual", "error", "sweeps")},
    )


def _record(
    scenario: Scenario,
    discipline: Discipline,
    grid: float,
    table: dict[str, Any],
) -> Record:
    run = describe_chain(scenario, discipline, grid=grid)
    found = measures([_unit(table, scenario.packet_bytes)], scenario.slot_s)
    return Record(
        identity=store.identity(run),
        discipline=discipline.name,
        run=run,
        slots=0,
        warm_up_slots=0,
        interrupted=False,
        method=f"exact chain of {table['states']:,} states (average in steps of {grid:g} packets), "
        f"{table['method']} method, residual {table['residual']:.1e}",
        time_unit="slots" if scenario.slot_s is None else "s",
        measures=found,
        queue_distribution=table["queue"],
        wait_distribution=table["wait"],
        wait_bin=1.0 if scenario.slot_s is None else scenario.slot_s,
        # elimination without a subtraction resolves whatever a double holds
        resolution=0.0 if table["method"] == "direct" else table["error"],
    )


def _unit(table: dict[str, Any], packet_bytes: int) -> dict[str, Any]:
    """The solution as the counts of one slot, of which the measures are made."""
    served = table["served"]
    return {
        "replication": 0,
        "slots": 1.0,
        "idle_slots": 1.0 - table["busy"],
        "queue": table["queue"],
        "wait": table["wait"] * served,
        "wait_bin_slots": 1,
        "served": served,
        "served_bytes": served * packet_bytes,
        "wait_sum": table["wait_sum"],
        "wait_square_sum": table["wait_square_sum"],
        "arrivals": table["arrivals"],
        "verdicts": table["verdicts"],
    }
