"""Making an evaluation: what is missing in its results folder is simulated and written there."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from os import PathLike
from typing import Any

import polars as pl

from sluicegate.errors import InterruptError, SluiceError
from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.measured import Measured
from sluicegate.evaluate.plan import EvaluationFolder, Plan
from sluicegate.evaluate.profile import Profile
from sluicegate.evaluate.profile import profile as profile_named
from sluicegate.evaluate.suite import RFC7928, Suite
from sluicegate.evaluate.work import NETWORK, Replications, Run
from sluicegate.scenario import Discipline
from sluicegate.sweeps.folder import Writer
from sluicegate.sweeps.workers import Workers, here_or_beside, made, on_cluster
from sluicegate.threads import check_threads, cores
from sluicegate.worlds import Watch
from sluicegate.worlds import world as world_class

# those that take networks
WORLDS = (NETWORK, "gate", "kernel", "twin")
# about how long a job is
_JOB_S = 0.5
_MOST_RUNS = 64
# seconds between two files of results
_WRITE_S = 1.0
_SCHEMA: dict[str, Any] = {
    "identity": pl.String,
    "case": pl.String,
    "discipline": pl.String,
    "replication": pl.Int64,
    "measure": pl.String,
    "value": pl.Float64,
    "curve": pl.List(pl.Float64),
}


def evaluate(
    disciplines: Sequence[str | Discipline],
    out: str | PathLike[str],
    *,
    suite: Suite = RFC7928,
    profile: str | Profile | None = None,
    world: str = NETWORK,
    references: Sequence[str | Discipline] = (),
    sections: Sequence[str] | None = None,
    replications: int | None = None,
    seed: int = 1,
    workers: int | None = None,
    dask: str | None = None,
    shard: tuple[int, int] = (1, 1),
    watch: Watch | None = None,
    on_section: Callable[[Evaluation, str], None] | None = None,
) -> Evaluation:
    """Judge disciplines by the scenarios of RFC 7928 or L4S, beside drop-tail with the same buffer.

    What the results folder has is not run again: after any end, the same call goes on, and other
    disciplines, sections or more replications are added. Results do not depend on who makes them.

    Args:
        disciplines: AQMs by name, or disciplines.
        out: The results folder: a path, or a URL that fsspec knows.
        suite: The scenarios: `RFC7928` or `L4S`.
        profile: The path on which they are judged, see `sluicegate.evaluate.PROFILES`; that of the
            suite if None.
        world: Where the runs are made: `network`, `gate`, `kernel`, or `twin`. Scenarios that a
            world cannot do are left out, with the reason.
        references: Further disciplines to compare with, which are not judged themselves.
        sections: Of the suite, such as `6.2`, or `5` for all below it; all if None.
        replications: Of each scenario; those of the profile if None.
        seed: Of everything that is drawn; all disciplines see the same.
        workers: Processes that make the runs; all cores if None. Where runs are in real time, as in
            the gate, they are made one after the other.
        dask: Address of a Dask scheduler whose workers make them instead.
        shard: (k, n): make only the k-th of n parts of the runs, k from 1 on.
        watch: Called now and then; see `sluicegate.compare`.
        on_section: Called with what is known when a section has all its runs.

    Returns:
        The results of all runs of this evaluation that the folder has.

    Raises:
        SluiceError: If something given makes no sense, if a scenario refuses a discipline, if the
            folder has results of another profile, seed or version, or if the cluster is not there.
        InterruptError: After Ctrl-C; the runs that were finished are in the folder.
        OSError: If the folder cannot be written.
    """
    check_threads(workers)
    if world not in WORLDS:
        raise SluiceError(f"world = {world} must be one of {', '.join(WORLDS)}")
    if not world_class(world)().side_by_side:
        if dask is not None or (workers or 1) > 1:
            raise SluiceError(
                f"world = {world}: runs share this machine's time: leave out dask and workers"
            )
        workers = 1
    number, parts = shard
    if not 1 <= number <= parts:
        raise SluiceError(f"shard = {number}/{parts} must be k/n with k from 1 to n")
    named = suite.profile if profile is None else profile
    chosen = profile_named(named) if isinstance(named, str) else named
    given, beside = (
        [Discipline(aqm=each) if isinstance(each, str) else each for each in of]
        for of in (disciplines, references)
    )
    try:
        plan = Plan.of(suite, chosen, given, sections, replications, seed, world, beside)
        found = Evaluation(plan, {})
        _make(found, EvaluationFolder(out), workers, dask, shard, watch, on_section)
    except KeyboardInterrupt:  # while runs are made it is told how many are kept
        raise InterruptError(
            "interrupted while no run was made: the folder has what it had; the same command goes "
            "on"
        ) from None
    return found


def _make(
    found: Evaluation,
    folder: EvaluationFolder,
    workers: int | None,
    dask: str | None,
    shard: tuple[int, int],
    watch: Watch | None,
    on_section: Callable[[Evaluation, str], None] | None,
) -> None:
    """Have all runs made that the folder does not have; see `evaluate`."""
    plan, (number, parts) = found.plan, shard
    mine = plan.runs[number - 1 :: parts]
    folder.check(plan.about())
    folder.repair()
    found.runs.update(known(folder))
    waiting = [run for run in mine if run.identity not in found.runs]
    pool: AbstractContextManager[Workers]
    if dask is not None and waiting:
        pool = on_cluster(dask)
    else:
        pool = here_or_beside(max(1, min(workers or cores(), len(waiting))))
    try:
        with pool as by:
            folder.claim(plan.about())
            campaign = _Campaign(found, Writer(folder, _SCHEMA), watch, on_section)
            campaign.make(waiting, by)
    except (KeyboardInterrupt, InterruptError):
        raise InterruptError(_interrupted(found, mine, shard)) from None


def _interrupted(found: Evaluation, mine: Sequence[Run], shard: tuple[int, int]) -> str:
    """What is kept of the runs that this command makes: its shard, or all."""
    done, total = sum(run.identity in found.runs for run in mine), len(mine)
    number, parts = shard
    runs = "runs" if parts == 1 else f"runs of shard {number}/{parts}"
    if not done:
        return (
            "interrupted: no run had ended, and nothing new is kept; the same command starts again"
        )
    if done == total:
        return f"interrupted: all {total:,} {runs} are in the folder; the same command goes on"
    return (
        f"interrupted: {done:,} of {total:,} {runs} are in the folder; the same command makes the "
        "others"
    )


def known(folder: EvaluationFolder) -> dict[str, Measured]:
    """The runs that a folder has, by their identities."""
    found: dict[str, Measured] = {}
    for row in folder.rows():
        run = found.setdefault(row["identity"], Measured({}, {}))
        if row["curve"] is None:
            run.values[row["measure"]] = row["value"]
        else:
            run.curves[row["measure"]] = row["curve"]
    return found


def _rows(run: Run, found: Measured) -> Iterator[dict[str, Any]]:
    told = {
        "identity": run.identity,
        "case": run.case,
        "discipline": run.name,
        "replication": run.replication,
    }
    for name, value in found.values.items():
        yield {**told, "measure": name, "value": value, "curve": None}
    for name, curve in found.curves.items():
        yield {**told, "measure": name, "value": None, "curve": curve}


class _Campaign:
    """The course of an evaluation in this process."""

    def __init__(
        self,
        found: Evaluation,
        writer: Writer,
        watch: Watch | None,
        on_section: Callable[[Evaluation, str], None] | None,
    ) -> None:
        self._found = found
        self._writer = writer
        self._watch = watch
        self._on_section = on_section
        self._told: set[str] = set()
        self._each_s = _JOB_S
        self._written_s = time.monotonic()

    def make(self, waiting: Sequence[Run], by: Workers) -> None:
        """Have all runs made; what was finished before an interruption is written, too."""
        plan = self._found.plan

        def job(runs: Sequence[Run]) -> Replications:
            return Replications(plan.profile, plan.seed, plan.world, runs)

        def size() -> int:
            return min(_MOST_RUNS, int(_JOB_S / self._each_s))

        self._report_progress()
        try:
            for runs, done in made(deque(waiting), size, job, by):
                self._each_s = max(1e-4, done.seconds / len(runs))
                for run, columns in zip(runs, done.columns, strict=True):
                    measured = Measured(**columns)
                    self._found.runs[run.identity] = measured
                    for row in _rows(run, measured):
                        self._writer.add(row)
                if time.monotonic() - self._written_s >= _WRITE_S:
                    self._writer.flush()
                    self._written_s = time.monotonic()
                self._report_progress()
        finally:
            with suppress(KeyboardInterrupt):
                self._writer.flush()
        self._writer.merge()

    def _report_progress(self) -> None:
        """Report the progress, and each section that has become complete."""
        found = self._found
        if self._watch is not None:
            done, total = found.done, len(found.plan.runs)
            self._watch("evaluate", done, total, f"{done:,} of {total:,} runs")
        for section in found.sections:
            if section in self._told or not found.is_complete(section):
                continue
            self._told.add(section)
            if self._on_section is not None:
                self._on_section(found, section)
