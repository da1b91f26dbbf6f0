"""Making a sweep: what is missing in its results folder is simulated and written there."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path

from sluicegate.comparison import chosen_worlds
from sluicegate.errors import InterruptError, SluiceError
from sluicegate.extras import require
from sluicegate.scenario import load
from sluicegate.sweeps.design import Method
from sluicegate.sweeps.folder import Folder, Writer
from sluicegate.sweeps.plan import Plan, Task
from sluicegate.sweeps.results import Sweep
from sluicegate.sweeps.work import Done, Job
from sluicegate.sweeps.workers import Workers, ended, here_or_beside, on_cluster
from sluicegate.threads import check_threads, cores
from sluicegate.worlds import AnyScenario, AnyWorld, Watch

# about how long a job is: in shorter ones the overhead dominates, in longer ones more can be lost
_JOB_S = 0.5
_MOST_TASKS = 256
# shorter work is done before other processes have started
_BRIEF_S = 1.0
# seconds between two files of results
_WRITE_S = 1.0
_PAGE = "report.html"
# the page may take this share of the time
_PAGE_SHARE = 0.05
_LEAST_PAGE_S = 5.0
_MOST_PAGE_S = 60.0


def sweep(
    scenario: AnyScenario | str | PathLike[str],
    vary: Mapping[str, object],
    out: str | PathLike[str],
    *,
    method: Method = "grid",
    points: int | None = None,
    world: str | AnyWorld | Sequence[str | AnyWorld] | None = None,
    workers: int | None = None,
    dask: str | None = None,
    shard: tuple[int, int] = (1, 1),
    report: bool = False,
    watch: Watch | None = None,
) -> Sweep:
    """Run a scenario with many values of its fields.

    At each point every discipline is run. What the results folder has is not run again: after any
    end, the same call goes on. The results do not depend on who makes the runs, nor how many.

    Args:
        scenario: What is varied, or the path of its file.
        vary: Values by path, such as `{"flows.0.count": [5, 50], "seed": "1..5"}`. A path leads
            into the scenario, as in `replace`, or names a parameter of an AQM, as `red.max_p`, of
            all disciplines with this AQM. Values are a list, or a range as text: `1..20` has all
            whole numbers, `0.1..0.9:9` nine values, `1e6..1e9:7:log` seven of equal ratios. Paths
            joined by commas vary together: each of their values is a list with one for each path.
        out: The results folder: a path, or a URL that fsspec knows, such as `s3://bucket/folder`.
        method: `grid`: every value with every other. `list`: the first values of all, then the
            second ones, and so on. `latin-hypercube`: random points that fill all ranges evenly,
            drawn with the scenario's seed.
        points: How many points a Latin hypercube has.
        world: As in `sluicegate.compare`.
        workers: Processes that make the runs; if None, all cores; one for what takes a second, and
            for the gate, whose runs would disturb each other.
        dask: Address of a Dask scheduler whose workers make the runs instead.
        shard: (k, n): make only the k-th of n parts of the runs, k from 1 on.
        report: Whether to write the page `report.html` into the folder, repeatedly.
        watch: Called now and then; see `sluicegate.compare`.

    Returns:
        The results of all runs that the folder has.

    Raises:
        SluiceError: If a path, a value, or the scenario at any point makes no sense, if the folder
            has results of another sweep or version, or if the cluster cannot be reached.
        InterruptError: After Ctrl-C; the runs that were finished are in the folder.
        OSError: If the folder cannot be written.
    """
    check_threads(workers)
    if report:
        require("matplotlib", "a page (report.html)")
        require("duckdb", "a page (report.html)")
    if isinstance(scenario, str | PathLike):
        scenario = load(Path(scenario))
    number, of = shard
    if not 1 <= number <= of:
        raise SluiceError(f"shard = {number}/{of} must be k/n with k from 1 to n")
    worlds = chosen_worlds(scenario, world)
    for each in worlds:
        if not each.side_by_side:
            _check_alone(each, workers, dask)
            workers = 1
    plan = Plan.of(scenario, worlds, vary, method, points)
    folder = Folder(out)
    tasks = plan.tasks()
    plan.check(tasks)
    about = plan.about()
    folder.check(about, plan.varied())
    folder.repair()
    done = folder.done()
    mine = tasks[number - 1 :: of]
    waiting = [task for task in mine if not done.issuperset(task.runs)]
    at_once = workers or cores()
    threads = max(1, at_once // max(1, len(waiting))) if dask is None else 1
    pool: AbstractContextManager[Workers]
    if dask is not None and waiting:
        pool = on_cluster(dask)
    elif workers is None and plan.expected_s(waiting) < _BRIEF_S:
        pool = here_or_beside(1)
    else:
        pool = here_or_beside(max(1, min(at_once, len(waiting))))
    with pool as made:
        # a cluster that does not answer leaves no folder behind
        folder.claim(about)
        found = Sweep(folder)
        runs = sum(len(task.runs) for task in mine)
        campaign = _Campaign(plan, folder, runs, found, report, watch)
        campaign.make(waiting, made, threads)
    campaign.end()
    return found


def _check_alone(world: AnyWorld, workers: int | None, dask: str | None) -> None:
    """Refuse several runs at a time where they would disturb each other."""
    asked = f"dask = {dask}" if dask is not None else f"workers = {workers}"
    if dask is not None or workers not in (None, 1):
        raise SluiceError(
            f"{asked} cannot be used with world = {world.name}, which measures in real time, one "
            "run after the other"
        )


@dataclass
class _Campaign:
    """The course of a sweep in this process."""

    plan: Plan
    folder: Folder
    runs: int
    found: Sweep
    report: bool
    watch: Watch | None

    def __post_init__(self) -> None:
        self._writer = Writer(self.folder, self.plan.schema)
        self._written_s = self._page_s = time.monotonic()
        self._waiting: deque[Task] = deque()
        self._asked: dict[Future[Done], list[Task]] = {}
        self._left = 0
        # how long a simulation takes, about
        self._each_s = _JOB_S
        # for each job, when it was done, and how many runs were left then
        self._course: list[tuple[float, int]] = []

    def make(self, tasks: Sequence[Task], workers: Workers, threads: int) -> None:
        """Have all simulations made.

        Raises:
            InterruptError: After Ctrl-C.
            SluiceError: If a world refuses one, or if the workers are gone for good.
        """
        self._waiting.extend(tasks)
        self._left = sum(len(task.runs) for task in tasks)
        try:
            while self._waiting or self._asked:
                try:
                    self._give(workers, threads)
                    self._collect(workers)
                except Exception as error:  # the workers decide what it means
                    self._take_back()
                    workers.recover(error)
                self._report_progress()
        except (KeyboardInterrupt, InterruptError):
            raise InterruptError(self._interrupted()) from None
        finally:
            with suppress(KeyboardInterrupt):
                self._writer.flush()

    def _give(self, workers: Workers, threads: int) -> None:
        """Give the workers as many jobs as they should have."""
        # asked even if none wait: a cluster that has stopped is found so
        while len(self._asked) < workers.ahead and self._waiting:
            count = max(1, min(_MOST_TASKS, int(_JOB_S / self._each_s)))
            tasks = list(islice(self._waiting, count))
            job = Job(self.plan.bases, self.plan.worlds, tasks, threads)
            self._asked[workers.submit(job)] = tasks
            for _ in tasks:
                self._waiting.popleft()

    def _collect(self, workers: Workers) -> None:
        """Take the results of finished jobs, after a short wait if there are none."""
        for future in ended(self._asked):
            done = future.result()
            tasks = self._asked.pop(future)
            workers.succeeded()
            done.warn()
            self._each_s = max(1e-4, done.seconds / len(tasks))
            self._take(tasks, done)

    def _take_back(self) -> None:
        """Put the jobs under way back among those that wait."""
        self._waiting.extendleft(reversed([task for part in self._asked.values() for task in part]))
        self._asked.clear()

    def end(self) -> None:
        """Leave the folder tidy and the page in its final state."""
        self._writer.merge()
        if self.report and (self._course or self.folder.read(_PAGE) is None):
            self._write_page()

    def _take(self, tasks: Sequence[Task], done: Done) -> None:
        for task, columns in zip(tasks, done.columns, strict=True):
            for run in task.runs:
                self._writer.add(self.plan.row(run) | columns)
            self._left -= len(task.runs)
        self._course.append((time.monotonic(), self._left))

    def _report_progress(self) -> None:
        """Write results, draw the page and report, each when it is time."""
        now_s = time.monotonic()
        if now_s - self._written_s >= _WRITE_S:
            self._writer.flush()
            self._written_s = time.monotonic()
        if self.watch is not None:
            ready = self.runs - self._left
            self.watch("sweep", ready, self.runs, f"{ready:,} of {self.runs:,} runs")
        if self.report and self._course and now_s >= self._page_s:
            self._writer.flush()
            took_s = self._write_page()
            pause_s = min(max(took_s / _PAGE_SHARE, _LEAST_PAGE_S), _MOST_PAGE_S)
            self._page_s = time.monotonic() + pause_s

    def _left_s(self) -> float | None:
        """How long the rest will take; None if it is not known."""
        if len(self._course) < 2:
            return None
        # the time before the first job includes the start of the workers
        (first_s, first), (last_s, last) = self._course[0], self._course[-1]
        return self._left * (last_s - first_s) / (first - last)

    def _write_page(self) -> float:
        """Write the page; return how long it took, s."""
        from sluicegate.sweeps.page import sweep_page  # drawing takes a second to import

        start_s = time.monotonic()
        left_s = self._left_s() if self._left else None
        if self.folder.parts():
            self.folder.write(_PAGE, sweep_page(self.found, left_s).html())
        return time.monotonic() - start_s

    def _interrupted(self) -> str:
        ready = self.runs - self._left
        return (
            f"interrupted: {ready:,} of {self.runs:,} runs are in {self.folder.path}; "
            "the same command makes the others"
        )
