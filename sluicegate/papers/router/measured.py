"""Runs the cases of a paper in the gate: several testbeds at a time, each run kept.

The gate keeps no records, since a measurement depends on this machine at this hour. Here many
measurements belong together, and take minutes: each is kept, so that after Ctrl-C only the runs
at work are lost. Only punctual runs are kept: see `MOST_LATE_S`.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from sluicegate import store
from sluicegate.daemon import program
from sluicegate.errors import InterruptError
from sluicegate.papers.router.found import DATAGRAM, ROUTER, Found, mean_lateness_s
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.check import missing, needs
from sluicegate.worlds.gate.measure import measure
from sluicegate.worlds.gate.record import GateRecord
from sluicegate.worlds.world import Watch

K = TypeVar("K")

# testbeds at work for each core: one with 2000 datagrams/s takes half of one
_PER_CORE = 1.5
# mean lateness above which a run does not show what the algorithm does, s
MOST_LATE_S = 0.001
# attempts at a late run before it is taken as it is
_ATTEMPTS = 2
_BETWEEN_NEWS_S = 0.5


@dataclass(frozen=True)
class Measured(Generic[K]):
    """The outcome of all cases.

    Attributes:
        found: Each case.
        runs: How many runs there are.
        late: How many of them stayed later than `MOST_LATE_S`, after every attempt.
        parallel: Testbeds that were at work at a time.
        lateness_s: Of packets that left a router: the mean over all runs.
    """

    found: Mapping[K, Found]
    runs: int
    late: int
    parallel: int
    lateness_s: float


@dataclass(frozen=True)
class _Job(Generic[K]):
    """A run: one case under one seed, and the store's name of it."""

    case: K
    scenario: NetworkScenario
    identity: str


def lacking() -> str:
    """Why this machine has no gate, and the remedy; empty if it has one."""
    return missing(needs())


def measured(
    name: str,
    scenarios: Mapping[K, NetworkScenario],
    *,
    parallel: int | None,
    watch: Watch | None,
    fresh: bool,
) -> Measured[K]:
    """Measure every case under each of its seeds: `seed`, `seed + 1` and so on.

    Args:
        name: Of the paper, shown with the progress.
        scenarios: Each case, with one discipline.
        parallel: Testbeds at a time; three for two cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.

    Raises:
        SluiceError: If a run fails.
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    # all cases under a seed before the next seed, so that changes over the hour affect all alike;
    # and all identities before there are threads, in which Python 3.11 may fail to parse modules
    jobs = [
        _job(case, scenario.replace(replications=1, seed=scenario.seed + number))
        for number in range(max(scenario.replications for scenario in scenarios.values()))
        for case, scenario in scenarios.items()
        if number < scenario.replications
    ]
    crew = _Crew(name, jobs, parallel or round(_PER_CORE * (os.cpu_count() or 1)), watch, fresh)
    records = crew.run()
    of_case: dict[K, list[GateRecord]] = {case: [] for case in scenarios}
    for job, record in zip(jobs, records, strict=True):
        of_case[job.case].append(record)
    return Measured(
        found={case: Found.of(found) for case, found in of_case.items()},
        runs=len(records),
        late=sum(not _is_punctual(record) for record in records),
        parallel=crew.parallel,
        lateness_s=sum(map(mean_lateness_s, records)) / len(records),
    )


def _is_punctual(record: GateRecord) -> bool:
    """Whether router and senders kept to their times, and nothing was lost elsewhere."""
    late_s = [mean_lateness_s(record, of) for of in (ROUTER, DATAGRAM)]
    (machine,) = record.run["machine"]
    # a NaN (there were no datagrams) is not above anything
    return not any(each > MOST_LATE_S for each in late_s) and not machine["receiver_overruns"]


def _job(case: K, scenario: NetworkScenario) -> _Job[K]:
    """A run, named by its scenario, this kernel and this daemon."""
    path = program()
    daemon = hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""
    (discipline,) = scenario.disciplines
    run = {
        "world": "gate",
        "kernel": os.uname().release,
        "daemon": daemon,
        **scenario.described(discipline),
    }
    return _Job(case, scenario, store.identity(run, "sluicegate.worlds.gate.measure"))


class _Crew(Generic[K]):
    """The testbeds at work."""

    def __init__(
        self,
        name: str,
        jobs: Sequence[_Job[K]],
        parallel: int,
        watch: Watch | None,
        fresh: bool,
    ) -> None:
        self._name = name
        self._jobs = jobs
        self.parallel = parallel
        self._watch = watch
        self._fresh = fresh
        self._stop = threading.Event()
        self._finished: list[str] = []
        self._seconds = [0.0] * len(jobs)

    def run(self) -> list[GateRecord]:
        """All jobs, in their order."""
        with ThreadPoolExecutor(self.parallel) as pool:
            futures = [pool.submit(self._one, place) for place in range(len(self._jobs))]
            try:
                self._wait(futures)
                return [future.result() for future in futures]
            except KeyboardInterrupt:
                raise self._interrupted() from None
            finally:
                # after an error, too, the others end at their next progress report
                self._stop.set()
                pool.shutdown(cancel_futures=True)

    def _wait(self, futures: Sequence[Future[GateRecord]]) -> None:
        left = set(futures)
        while left:
            done, left = wait(left, _BETWEEN_NEWS_S, FIRST_COMPLETED)
            for future in done:
                # the first error ends all
                future.result()
            self._report_progress(len(futures) - len(left))

    def _report_progress(self, finished: int) -> None:
        if self._watch is not None:
            total_s = sum(job.scenario.duration_s for job in self._jobs)
            stage = f"gate, {finished} of {len(self._jobs)} runs, {self.parallel} at a time"
            self._watch(self._name, sum(self._seconds), total_s, stage)

    def _one(self, place: int) -> GateRecord:
        scenario, identity = self._jobs[place].scenario, self._jobs[place].identity
        record = None if self._fresh else store.find(identity, GateRecord)
        if record is None:
            record = replace(self._measure(place, scenario), identity=identity)
            # a late run is measured again by the next call
            if _is_punctual(record):
                store.keep(record)
        self._finished.append(identity)
        self._seconds[place] = scenario.duration_s
        return record

    def _measure(self, place: int, scenario: NetworkScenario) -> GateRecord:
        """A punctual run, or the least late of several."""

        def watch(done_s: float, total_s: float) -> None:
            if self._stop.is_set():
                raise self._interrupted()
            self._seconds[place] = min(done_s, total_s)

        (discipline,) = scenario.disciplines
        attempts: list[GateRecord] = []
        for _ in range(_ATTEMPTS):
            attempts.append(measure(scenario, discipline, watch=watch))
            if _is_punctual(attempts[-1]):
                break
        return min(attempts, key=mean_lateness_s)

    def _interrupted(self) -> InterruptError:
        return InterruptError(f"{self._name}: interrupted; {store.how_to_go_on(self._finished)}")
