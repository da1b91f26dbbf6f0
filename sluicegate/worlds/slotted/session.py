"""Sessions of the slotted world."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, Queue, Scenario, opened
from sluicegate.scenario.choice import Choice, choose
from sluicegate.worlds.session import (
    QueueState,
    Session,
    check_retuned,
    described,
    target,
)
from sluicegate.worlds.slotted.record import SlottedRecord
from sluicegate.worlds.slotted.simulate import assemble, describe, identity


@dataclass(frozen=True, repr=False)
class SlottedObservation:
    """What can be seen of a slotted queue at one moment. Counts are since the start of the run.

    Attributes:
        now: The time: slots that are over.
        queue: What waits, and what was decided.
        in_service: Whether a packet is in service.
        idle_slots: Slots at whose end no packet was in service.
        arrivals: Packets that arrived.
        served: Packets whose service ended.
        served_bytes: Their bytes.
    """

    now: int
    queue: QueueState
    in_service: bool
    idle_slots: int
    arrivals: int
    served: int
    served_bytes: int

    def __repr__(self) -> str:
        service = "busy" if self.in_service else "idle"
        counts = f"{self.arrivals:,} arrived, {self.served:,} served"
        return f"after {self.now:,} slots: {self.queue}, {counts}, {service}"


class SlottedSession(Session[Scenario]):
    """A run of one discipline in the slotted world that is advanced in parts.

    It is the first replication: its record is, to the bit, that of
    `simulate(scenario.replace(replications=1))`, however it is advanced and observed. For other
    replications, start sessions of other seeds.

    Attributes:
        scenario: What is run, with one replication.
        discipline: Which discipline.
    """

    def __init__(self, scenario: Scenario | str | PathLike[str], discipline: Choice = None) -> None:
        """Start before the first slot.

        Args:
            scenario: What to run, or the path of its file.
            discipline: Which discipline, itself or by its name or place; the only one if None.

        Raises:
            SluiceError: If the scenario has several disciplines and none is named.
        """
        opened_scenario = opened(scenario, Scenario).replace(replications=1)
        super().__init__(opened_scenario, choose(opened_scenario, discipline), _AtWork)

    @property
    def now(self) -> int:
        """Slots that are over."""
        now: int = self._call("now")
        return now

    @property
    def end(self) -> int:
        """Slots of the whole run."""
        return self.scenario.duration_slots

    def advance(self, *, to: int | None = None, by: int | None = None) -> None:
        """Go on until so many slots are over.

        Ctrl-C ends the call; the session stands where it came to and can go on. Only one with a
        user's header is then over.

        Args:
            to: Slots since the start; not fewer than are over, nor more than all.
            by: Or how many slots from the present.

        Raises:
            SluiceError: If the time is none of these, if the session is over, or if an AQM returned
                an invalid verdict.
            Exception: Whatever a Python AQM raises; the session is then over.
        """
        now = self.now
        until = target(now, to=to, by=by, names=("to", "by"))
        if not now <= until <= self.end or until != int(until):
            raise SluiceError(
                f"the time to advance to, {until:,} slots, must be a whole number between {now:,}, "
                f"the present, and {self.end:,}, the end"
            )
        self._call("advance", int(until))

    def observe(self) -> SlottedObservation:
        """What can be seen now. This does not change the run.

        Raises:
            SluiceError: If the session is over.
        """
        seen: SlottedObservation = self._call("observe")
        return seen

    def retune(self, discipline: Discipline | None = None, *, queue: Queue | None = None) -> None:
        """Go on under other settings from now on; what is None stays as it is.

        What waits stays, in its order. So does the state of the AQM (averages, probabilities) if it
        stays the same AQM, and that of a scheduler if it has the same queues; otherwise they start
        anew, as a Python AQM always does. If more waits than a new limit allows, nothing is lost by
        that alone: the queue counts as full until enough has left.

        The record says what was changed, in `run["changes"]`. The same settings change nothing.

        Args:
            discipline: AQM, parameters, scheduler, victim and marking.
            queue: The buffer.

        Raises:
            SluiceError: If nothing is to change, if a header of your own was not the discipline at
                the start, or if the session is over.
        """
        check_retuned(None if self._is_beside else discipline, discipline, queue)
        self._call("retune", discipline, queue)

    def record(self) -> SlottedRecord:
        """Run what is left, and give the record; the session is then over.

        Raises:
            SluiceError: As `advance`.
        """
        found: SlottedRecord = self._call("record")
        return found


class _AtWork:
    """The engine's session, with what its record is made from."""

    def __init__(self, scenario: Scenario, discipline: Discipline) -> None:
        self._scenario = scenario
        self._discipline = discipline
        self._engine = _engine.SlottedSession(scenario.handle, discipline.handle)
        self._setting = (discipline, scenario.queue)
        self._changes: list[dict[str, Any]] = []

    def now(self) -> int:
        return self._engine.now

    def advance(self, until: int) -> None:
        self._engine.advance(until)

    def retune(self, discipline: Discipline | None, queue: Queue | None) -> None:
        old = self._setting
        new = (discipline or old[0], queue or old[1])
        self._engine.retune(new[0].handle, new[1])
        self._setting = new
        if described(*new) != described(*old):
            self._changes.append({"at": self._engine.now, **described(*new)})

    def observe(self) -> SlottedObservation:
        seen = self._engine.observe()
        return SlottedObservation(
            now=seen.now,
            queue=QueueState.of(seen.queue),
            in_service=seen.in_service,
            idle_slots=seen.idle_slots,
            arrivals=seen.arrivals,
            served=seen.served,
            served_bytes=seen.served_bytes,
        )

    def record(self) -> SlottedRecord:
        scenario, discipline = self._scenario, self._discipline
        run = describe(scenario, discipline)
        if self._changes:
            run["changes"] = self._changes
        return assemble(scenario, discipline, run, identity(run), self._engine.end())
