"""Many runs, one after the other, under one progress; what is finished is kept."""

from __future__ import annotations

from sluicegate import store
from sluicegate.errors import InterruptError
from sluicegate.worlds.world import R, S, Watch, World


class Campaign:
    """Runs scenarios of one discipline each, and reports the progress of all.

    Args:
        name: Shown with the progress.
        cost: Of all runs together (see `sluicegate.worlds.World`), as far as known beforehand.
        threads: Threads that a simulation uses; all cores if None.
        watch: Called now and then with the name, the cost so far, in all, and what is done now.
        fresh: Run again even what the store has.
    """

    def __init__(
        self,
        name: str,
        cost: float,
        *,
        threads: int | None = None,
        watch: Watch | None = None,
        fresh: bool = False,
    ) -> None:
        self._name = name
        self._cost = cost
        self._threads = threads
        self._watch = watch
        self._fresh = fresh
        self._done = 0.0
        self._runs = 0
        self._finished: list[str] = []

    def run(self, scenario: S, world: World[S, R]) -> R:
        """Run a scenario in a world, or take it from the store.

        Raises:
            InterruptError: After Ctrl-C, with what the store has of what was finished.
        """
        (discipline,) = scenario.disciplines
        before, cost = self._done, world.cost(scenario)
        self._runs += 1
        run = f"run {self._runs}, {discipline.name}"
        try:
            record = world.run(
                scenario,
                discipline,
                threads=self._threads,
                on_progress=lambda done, total, stage: self._report_progress(
                    before + cost * done / total, f"{run}: {stage or 'under way'}"
                ),
                fresh=self._fresh,
            )
        except (InterruptError, KeyboardInterrupt):
            raise self.interrupted() from None
        if record.interrupted:
            raise self.interrupted()
        self._finished.append(record.identity)
        self._done += cost
        self._report_progress(self._done, "")
        return record

    def _report_progress(self, done: float, stage: str) -> None:
        if self._watch is not None:
            self._watch(self._name, done, max(done, self._cost), stage)

    def interrupted(self) -> InterruptError:
        """What to raise after Ctrl-C."""
        return InterruptError(f"{self._name}: interrupted; {store.how_to_go_on(self._finished)}")
