"""Many runs, one after the other, under one progress; what is finished is kept."""

from __future__ import annotations

from collections.abc import Callable

from sluicegate.errors import InterruptError
from sluicegate.record import Record
from sluicegate.scenario import Scenario
from sluicegate.simulate import simulate

Watch = Callable[[str, int, int], None]


class Campaign:
    """Runs scenarios of one discipline each, and tells how far all of them are.

    Args:
        name: Shown with the progress.
        slots: Slots of all runs together, as far as known beforehand.
        threads: Threads to use; all cores if None.
        watch: Called now and then with the name, the slots done and the slots in all.
        fresh: Run again even what the store has.
    """

    def __init__(
        self,
        name: str,
        slots: int,
        *,
        threads: int | None = None,
        watch: Watch | None = None,
        fresh: bool = False,
    ) -> None:
        self._name = name
        self._slots = slots
        self._threads = threads
        self._watch = watch
        self._fresh = fresh
        self._done = 0

    def run(self, scenario: Scenario) -> Record:
        """Run a scenario, or take it from the store.

        Raises:
            InterruptError: After Ctrl-C; what was finished before is in the store.
        """
        before = self._done
        try:
            record = simulate(
                scenario,
                threads=self._threads,
                watch=lambda done, _: self._tell(before + done),
                fresh=self._fresh,
            )
        except (InterruptError, KeyboardInterrupt):
            raise self._interrupted() from None
        if record.interrupted:
            raise self._interrupted()
        self._done += scenario.duration_slots * scenario.runs
        self._tell(self._done)
        return record

    def _tell(self, done: int) -> None:
        if self._watch is not None:
            self._watch(self._name, done, max(done, self._slots))

    def _interrupted(self) -> InterruptError:
        return InterruptError(
            f"{self._name}: interrupted; the same command goes on from what is finished"
        )
