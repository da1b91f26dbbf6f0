"""The steady state of a scenario's chain: the slotted queue solved exactly, not simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine, store
from sluicegate.errors import SluiceError
from sluicegate.estimate import measures
from sluicegate.record import Record
from sluicegate.scenario import Discipline, Scenario
from sluicegate.worlds.chain.build import build, describe_chain, only, progress
from sluicegate.worlds.world import Tell

FloatArray = NDArray[np.float64]
Method: TypeAlias = Literal["auto", "direct", "iterative"]

_SAME_NAMES = ("states", "method", "residual", "error", "sweeps", "wait_error")


@dataclass(frozen=True)
class Solution:
    """The steady state of one discipline on a scenario.

    Attributes:
        record: The measures that every world gives; without intervals, since nothing is random.
            Of times in the system under drop from front only mean and variance are known without
            `front_waits`, under random drop nothing: the other measures are NaN, and the
            distribution is empty, as it is where it has over 10^6 slots.
        grid: Step of the average's grid, packets; or the averages on it.
        states: Number of states of the chain.
        method: `direct` or `iterative`.
        residual: Sum of the absolute differences of x P and x over all states.
        error: Estimate of the sum of the errors of all probabilities, the grid's left out.
        sweeps: Sweeps over all states; 0 for the direct method.
        wait_error: Bound of what is missing of `record.wait_distribution`.
        average_levels: The average at each level of the grid, packets, shape (M,), rising; LPF/ODA
            has several levels for each.
        average_distribution: Probability of each level, shape (M,).
    """

    record: Record
    grid: float | FloatArray
    states: int
    method: str
    residual: float
    error: float
    sweeps: int
    wait_error: float
    average_levels: FloatArray
    average_distribution: FloatArray

    def queue_quantile(self, tail: float) -> int:
        """The least number of packets which more wait than with probability `tail` at most.

        Args:
            tail: Probability, as small as the method tells it from 0: the direct method all, the
                iterative one down to `error`.

        Raises:
            SluiceError: If the method does not resolve the tail.
        """
        self._check_tail(tail)
        return _quantile(self.record.queue_distribution, tail)

    def wait_quantile(self, tail: float) -> float:
        """The least time in the system which a packet exceeds with probability `tail` at most.

        Args:
            tail: Probability, at least `wait_error`, and at least `error` with the iterative
                method.

        Returns:
            The time in the record's `time_unit`.

        Raises:
            SluiceError: If the tail is not resolved, or the distribution is not known.
        """
        self._check_tail(tail)
        if tail < self.wait_error:
            raise SluiceError(
                f"tail = {tail:g} must be at least {self.wait_error:.1e}: "
                "times in the system are not followed further"
            )
        waits = self.record.wait_distribution
        if len(waits) == 0:
            raise SluiceError(
                "the distribution of times in the system is not known: under drop from front "
                "solve with front_waits = True; under random drop there is none"
            )
        return _quantile(waits, tail) * self.record.wait_bin

    def _check_tail(self, tail: float) -> None:
        if not 0 < tail < 1:
            raise SluiceError(f"tail = {tail:g} must lie between 0 and 1, both excluded")
        if self.method == "iterative" and tail < self.error:
            raise SluiceError(
                f"tail = {tail:g} must be at least {self.error:.1e}, the error to which the "
                "iterative method solved the chain; the direct method resolves every tail"
            )


def _quantile(distribution: FloatArray, tail: float) -> int:
    # summed from the far end, where 1 - the sum so far would have cancelled
    exceeded = np.append(np.cumsum(distribution[:0:-1])[::-1], 0.0)
    return int(np.argmax(exceeded <= tail))


def solve(
    scenario: Scenario,
    discipline: Discipline | None = None,
    *,
    grid: float | FloatArray = 0.25,
    method: Method = "auto",
    front_waits: bool = False,
    tell: Tell | None = None,
) -> Solution:
    """Solve the Markov chain of one discipline on a scenario.

    The chain follows the queue, the average (on a grid, to which it is rounded by chance so that
    its mean is kept) and the source. It exists for geometric and self-similar arrivals,
    geometric service, drop-tail and the RED family with independent drops and no idle rule.

    Args:
        scenario: What to solve; its slots, replications and seed have no meaning here.
        discipline: Which discipline; the scenario's only one if None.
        grid: Step of the average's grid, packets; or the averages on it, rising from 0 to the
            limit or beyond.
        method: `direct` (elimination without a subtraction: every probability to full relative
            accuracy), `iterative` (for millions of states), or `auto`.
        front_waits: Follow packets under drop from front through time, for the distribution of
            their times in the system; more work than the solution.
        tell: Called now and then with what is done, what there is to do, and in words.

    Raises:
        SluiceError: If the scenario or the discipline has no such chain, if it needs more memory
            than there is, if the scenario has several disciplines and none is named, or if
            `front_waits` is asked of a queue that does not drop from the front.
    """
    chosen = only(scenario, discipline)
    victim = chosen.victim or scenario.queue.victim
    if front_waits and victim != "front":
        raise SluiceError(f"front_waits: the queue's victim must be front, not {victim}")
    chain = build(scenario, chosen, grid)
    try:
        table = _engine.solve_chain(chain, method, progress(tell), front_waits)
    except ValueError as error:
        raise SluiceError(str(error)) from None
    return Solution(
        record=_record(scenario, chosen, table, grid=grid, front_waits=front_waits),
        grid=grid,
        average_levels=table["levels"],
        average_distribution=table["average"],
        **{name: table[name] for name in _SAME_NAMES},
    )


def _record(
    scenario: Scenario,
    discipline: Discipline,
    table: dict[str, Any],
    *,
    grid: float | FloatArray,
    front_waits: bool,
) -> Record:
    followed = {"front_waits": True} if front_waits else {}
    run = describe_chain(scenario, discipline, grid=np.asarray(grid).tolist(), **followed)
    found = measures([counts(table, scenario.packet_bytes)], scenario.slot_s)
    return Record(
        identity=store.identity(run),
        discipline=discipline.name,
        run=run,
        done=1.0,
        method=f"exact chain of {table['states']:,} states (average {_steps(grid)}), "
        f"{table['method']} method, residual {table['residual']:.1e}",
        time_unit="slots" if scenario.slot_s is None else "s",
        measures=found,
        queue_distribution=table["queue"],
        wait_distribution=table["wait"],
        wait_bin=1.0 if scenario.slot_s is None else scenario.slot_s,
        # elimination without a subtraction resolves whatever a double holds
        resolution=0.0 if table["method"] == "direct" else table["error"],
    )


def _steps(grid: float | FloatArray) -> str:
    if np.ndim(grid) > 0:
        return f"on {np.size(grid):,} levels"
    return f"in steps of {grid:g} packets"


def counts(table: dict[str, Any], packet_bytes: int) -> dict[str, Any]:
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
