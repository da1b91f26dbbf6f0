"""The steady state of a scenario's chain: the slotted queue solved exactly, not simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine
from sluicegate.counts import QueueCounts
from sluicegate.errors import SluiceError
from sluicegate.estimate import jackknifed
from sluicegate.record import Record
from sluicegate.scenario import Discipline, Scenario
from sluicegate.scenario.choice import Choice, choose
from sluicegate.worlds.chain.build import build, describe_chain, identity, progress

if TYPE_CHECKING:
    from sluicegate.worlds.world import Progress

FloatArray = NDArray[np.float64]
Method: TypeAlias = Literal["auto", "direct", "iterative"]


@dataclass(frozen=True)
class Solution:
    """The steady state of one discipline on a scenario.

    Attributes:
        record: The measures that every world gives; without intervals, since nothing is random.
            Of sojourn times and delays under drop from front only mean and variance are known
            without `front_times`, under random drop nothing: the other measures are NaN, and the
            distributions are empty, as they are where they have over 10^6 slots.
        grid: Step of the average's grid, packets; or the averages on it.
        states: Number of states of the chain.
        method: `direct` or `iterative`.
        residual: Sum of the absolute differences of x P and x over all states.
        error: Estimate of the sum of the errors of all probabilities, the grid's left out.
        sweeps: Sweeps over all states; 0 for the direct method.
        times_error: Bound of what is missing of `record.sojourn_distribution`, and of
            `record.delay_distribution`.
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
    times_error: float
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

    def sojourn_quantile(self, tail: float) -> float:
        """The least sojourn time which a packet exceeds with probability `tail` at most.

        Args:
            tail: Probability, at least `times_error`, and at least `error` with the iterative
                method.

        Returns:
            The time in the record's `time_unit`.

        Raises:
            SluiceError: If the tail is not resolved, or the distribution is not known.
        """
        return self._time_quantile(self.record.sojourn_distribution, tail)

    def delay_quantile(self, tail: float) -> float:
        """The least delay which a packet exceeds with probability `tail` at most.

        Args:
            tail: As for `sojourn_quantile`.

        Returns:
            The time in the record's `time_unit`.

        Raises:
            SluiceError: As `sojourn_quantile`.
        """
        return self._time_quantile(self.record.delay_distribution, tail)

    def _time_quantile(self, times: FloatArray, tail: float) -> float:
        self._check_tail(tail)
        if tail < self.times_error:
            raise SluiceError(
                f"tail = {tail:g} must be at least {self.times_error:.1e}: "
                "times are not followed further"
            )
        if len(times) == 0:
            raise SluiceError(
                "the distribution of times is not known: under drop from front solve with "
                "front_times = True; under random drop there is none"
            )
        return _quantile(times, tail) * self.record.time_bin

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
    discipline: Choice = None,
    *,
    grid: float | FloatArray = 0.25,
    method: Method = "auto",
    front_times: bool = False,
    on_progress: Progress | None = None,
) -> Solution:
    """Solve the Markov chain of one discipline on a scenario.

    The chain follows the queue, the average (on a grid, to which it is rounded by chance so that
    its mean is kept) and the source. It exists for geometric and self-similar arrivals,
    geometric service, drop-tail, the RED family with independent drops and no idle rule, and
    headers without a state that are asked at arrivals only.

    Args:
        scenario: What to solve; its slots, replications and seed have no meaning here.
        discipline: Which discipline, itself or by its name or place; the only one if None.
        grid: Step of the average's grid, packets; or the averages on it, rising from 0 to the
            limit or beyond.
        method: `direct` (elimination without a subtraction: every probability to full relative
            accuracy), `iterative` (for millions of states), or `auto`.
        front_times: Follow packets under drop from front through time, for the distributions of
            their sojourn times and delays; more work than the solution.
        on_progress: Called now and then with what is done, what there is to do, and in words.

    Raises:
        SluiceError: If the scenario or the discipline has no such chain, if it needs more memory
            than there is, if the scenario has several disciplines and none is named, or if
            `front_times` is asked of a queue that does not drop from the front.
    """
    chosen = choose(scenario, discipline)
    victim = chosen.victim or scenario.queue.victim
    if front_times and victim != "front":
        raise SluiceError(f"front_times: the queue's victim must be front, not {victim}")
    chain = build(scenario, chosen, grid)
    try:
        solved = _engine.solve_chain(chain, method, progress(on_progress), front_times)
    except ValueError as error:
        raise SluiceError(str(error)) from None
    return Solution(
        record=_record(scenario, chosen, solved, grid=grid, front_times=front_times),
        grid=grid,
        average_levels=solved.levels,
        average_distribution=solved.average,
        states=solved.states,
        method=solved.method,
        residual=solved.residual,
        error=solved.error,
        sweeps=solved.sweeps,
        times_error=solved.times_error,
    )


def _record(
    scenario: Scenario,
    discipline: Discipline,
    solved: _engine.SteadyState,
    *,
    grid: float | FloatArray,
    front_times: bool,
) -> Record:
    followed = {"front_times": True} if front_times else {}
    run = describe_chain(scenario, discipline, grid=np.asarray(grid).tolist(), **followed)
    counts = solved.counts
    return Record(
        identity=identity(run),
        discipline=discipline.name,
        run=run,
        done=1.0,
        method=f"exact chain of {solved.states:,} states (average {_steps(grid)}), "
        f"{solved.method} method, residual {solved.residual:.1e}",
        time_unit="slots" if scenario.slot_s is None else "s",
        measures=jackknifed(QueueCounts.exact(counts, scenario.packet_bytes), scenario.slot_s),
        queue_distribution=counts.queue,
        sojourn_distribution=counts.sojourn.distribution,
        delay_distribution=counts.delay.distribution,
        time_bin=1.0 if scenario.slot_s is None else scenario.slot_s,
        # elimination without a subtraction resolves whatever a double holds
        resolution=0.0 if solved.method == "direct" else solved.error,
    )


def _steps(grid: float | FloatArray) -> str:
    if np.ndim(grid) > 0:
        return f"on {np.size(grid):,} levels"
    return f"in steps of {grid:g} packets"
