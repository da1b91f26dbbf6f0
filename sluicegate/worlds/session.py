"""What sessions of all worlds have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine, apart
from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, Queue
from sluicegate.worlds.world import AnyScenario

S = TypeVar("S", bound=AnyScenario)


@dataclass(frozen=True)
class Verdicts:
    """How often each verdict was given since the start of the run.

    There is one for each arrival, and one for each packet that was lost in addition, or was marked
    or dropped as it left. So every lost packet counts once.

    Attributes:
        admit: Packets that joined the queue.
        drop_early: Packets lost before the queue had to drop: by chance, or as the AQM decides.
        drop_forced: Packets lost because the drop function gave 1, or a mark was ruled out.
        drop_overflow: Packets lost because the buffer was full.
        mark: Packets marked instead of dropped.
        drop_both: Packets lost with, or as, the candidate.
    """

    admit: int
    drop_early: int
    drop_forced: int
    drop_overflow: int
    mark: int
    drop_both: int

    @property
    def lost(self) -> int:
        """All lost packets."""
        return self.drop_early + self.drop_forced + self.drop_overflow + self.drop_both


@dataclass(frozen=True)
class Lanes:
    """The queues of a scheduler, each with an AQM of its own; without a scheduler there is one.

    Attributes:
        packets: Packets that wait in each, shape (L,).
        bytes: Their bytes, shape (L,).
        average: The AQM's average queue, packets, shape (L,); NaN where it keeps none.
        probability: The AQM's drop probability, shape (L,); NaN where it has none.
    """

    packets: NDArray[np.uint32]
    bytes: NDArray[np.uint64]
    average: NDArray[np.float64]
    probability: NDArray[np.float64]


@dataclass(frozen=True)
class QueueState:
    """What waits before a link, and what was decided.

    Attributes:
        packets: Packets that wait, without the one in service.
        bytes: Their bytes.
        verdicts: How often each verdict was given.
        lanes: The same by the queues of the scheduler, with their AQMs.
    """

    packets: int
    bytes: int
    verdicts: Verdicts
    lanes: Lanes

    @classmethod
    def of(cls, state: _engine.QueueState) -> QueueState:
        """As the engine gives it."""
        lanes = Lanes(state.lane_packets, state.lane_bytes, state.average, state.probability)
        return cls(state.packets, state.bytes, Verdicts(*state.verdicts), lanes)

    @property
    def average(self) -> float | None:
        """The AQM's average queue, packets; None if it keeps none, or if there are several AQMs."""
        return _only(self.lanes.average)

    @property
    def probability(self) -> float | None:
        """The AQM's drop probability; None if it has none, or if there are several AQMs."""
        return _only(self.lanes.probability)

    def __str__(self) -> str:
        known = [("average", self.average), ("probability", self.probability)]
        parts = [
            f"{self.packets:,} packets ({self.bytes:,} bytes) wait",
            f"{self.verdicts.lost:,} lost",
            f"{self.verdicts.mark:,} marked",
            *(f"{name} {value:.4g}" for name, value in known if value is not None),
        ]
        return ", ".join(parts)


def _only(values: NDArray[np.float64]) -> float | None:
    if len(values) != 1 or np.isnan(values[0]):
        return None
    return float(values[0])


def target(now: float, *, to: float | None, by: float | None, names: tuple[str, str]) -> float:
    """The time to advance to, of which one of two ways of saying it must be given.

    Raises:
        SluiceError: If it is not one of them, or no number.
    """
    if (to is None) == (by is None):
        raise SluiceError(f"advance takes one of {names[0]} and {names[1]}")
    name, value = (names[0], to) if by is None else (names[1], by)
    assert value is not None
    if not np.isfinite(value) or value < 0:
        raise SluiceError(f"{name} = {value} must be a number that is not negative")
    return value if by is None else now + value


def described(discipline: Discipline, queue: Queue) -> dict[str, Any]:
    """A discipline with its buffer, as types that JSON has."""
    return {
        "aqm": discipline.configured.fingerprint,
        "scheduler": discipline.scheduler.table(),
        "victim": discipline.victim or queue.victim,
        "ecn": queue.ecn if discipline.ecn is None else discipline.ecn,
        "limit": queue.limit,
        "limit_bytes": queue.limit_bytes,
    }


def whole(value: float, name: str) -> int:
    """A number from 0 to 2^64 - 1, rounded.

    Raises:
        SluiceError: If it is none.
    """
    if not 0 <= value < 2.0**64:
        raise SluiceError(f"{name} = {value} must be a number that is not negative")
    return round(value)


def check_retuned(discipline: Discipline | None, *given: object) -> None:
    """Refuse a call that gives nothing, and code that may not run in this process.

    Args:
        discipline: The discipline, if it will run in this process.
        *given: Everything that may be given.

    Raises:
        SluiceError: With the reason.
    """
    if all(each is None for each in given):
        raise SluiceError("retune takes what is to change: a discipline, a queue or a rate")
    if discipline is not None and apart.is_needed(discipline.configured):
        raise SluiceError(
            f"{discipline.name}: a header of your own must be among the disciplines at the start: "
            "only then is the session in a process beside this one"
        )


class Session(Generic[S]):
    """A run of one discipline on a scenario that is advanced in parts."""

    def __init__(
        self,
        scenario: S,
        discipline: Discipline,
        make: Callable[[S, Discipline], object],
    ) -> None:
        self.scenario = scenario
        self.discipline = discipline
        self._kept = apart.Kept(cast(Any, make), scenario, discipline)

    @property
    def _is_beside(self) -> bool:
        return self._kept.is_beside

    def _call(self, method: str, *arguments: object) -> Any:
        return self._kept.call(method, *arguments)
