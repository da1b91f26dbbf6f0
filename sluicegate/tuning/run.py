"""Making a tuning: search, then judge the result again under fresh random numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from sluicegate import store
from sluicegate.comparison import chosen_worlds
from sluicegate.errors import InterruptError, SluiceError
from sluicegate.scenario import load
from sluicegate.sweeps.workers import here_or_beside
from sluicegate.threads import check_threads
from sluicegate.tuning import assess
from sluicegate.tuning.axes import axes
from sluicegate.tuning.judge import Judge, Rules
from sluicegate.tuning.kept import Kept, TuningFolder
from sluicegate.tuning.methods import Method, Search, SpentError, method_class
from sluicegate.tuning.problem import Problem
from sluicegate.tuning.result import Tuning
from sluicegate.tuning.runner import Runner
from sluicegate.tuning.score import Constraint, Score
from sluicegate.worlds import AnyScenario, AnyWorld, Watch

_LEAST, _LEAST_FRESH = 3, 8
# starting other processes takes as long as simulating this many slots here
_BRIEF_SLOTS = 2e6
# the search's share of the progress
_SEARCH_SHARE = 0.9


def tune(
    scenario: AnyScenario | str | PathLike[str],
    vary: Mapping[str, object] | Sequence[str] | None = None,
    score: str | Mapping[str, float] = "delay_mean",
    *,
    constraints: Sequence[str] = (),
    method: str = "pattern",
    discipline: str | None = None,
    evaluations: int | None = None,
    precision: float = 0.05,
    replications: int = 64,
    world: str | AnyWorld | None = None,
    workers: int | None = None,
    out: str | PathLike[str] | None = None,
    watch: Watch | None = None,
) -> Tuning:
    """Search the settings of an AQM that make a score least, and judge the result again.

    All candidates see the same random numbers (seeds that follow from the scenario's), so that
    they differ by their settings. One runs again and again until the 95 % interval of its score is
    narrow, or until it surely cannot beat what it must. The result does not depend on the number
    of workers.

    Args:
        scenario: What is tuned, or the path of its file. Its replications have no meaning here.
        vary: What is tuned: ranges by parameter, such as `{"red.max_p": "0.01..0.5",
            "red.w": "1e-4..1e-1:log"}`, written as in `sluicegate.sweep`; `all` is what the AQM's
            descriptor allows. From a range with a count, as `0.1..0.9:5`, a search starts at each
            of these values, else at the scenario's own. A list of names: all of each. None: every
            number of the AQM.
        score: What is to be least: a measure, or a sum such as `delay_mean + 2000*loss_ratio`, as
            text or as weights by measure; a minus before what is to be large.
        constraints: What must be kept, such as `loss_ratio <= 0.01`.
        method: One of `sluicegate.tuning.methods.METHODS`.
        discipline: The name of the tuned one; None: the only one, or the one that `vary` names.
        evaluations: Candidates at most; None: the method's own end.
        precision: Half width of the 95 % interval of a score, relative to it.
        replications: Runs of a candidate at most.
        world: As in `sluicegate.compare`, but only one.
        workers: Processes that make the runs; if None, all cores, except for brief work.
        out: Folder that keeps every run, and has those of an earlier call that was ended; None:
            the store keeps them.
        watch: Called now and then; see `sluicegate.compare`.

    Raises:
        SluiceError: If a name, a range, a measure, a constraint or the method makes no sense, if no
            candidate keeps the constraints (with the nearest), or if the folder has something
            else.
        InterruptError: After Ctrl-C; the same call goes on from what was finished.
        OSError: If the folder cannot be written.
    """
    check_threads(workers)
    _check_names(vary)
    if isinstance(scenario, str | PathLike):
        scenario = load(Path(scenario))
    place = _place(scenario, discipline, vary)
    problem = make_problem(scenario, place, vary, score, constraints, world)
    if evaluations is not None and evaluations < 1:
        raise SluiceError(f"evaluations = {evaluations} must be at least 1")
    chosen_method = method_class(method)()
    _check(problem, chosen_method, method)
    found = run(
        problem,
        chosen_method,
        method,
        Rules(precision, _LEAST, replications),
        evaluations=evaluations,
        workers=workers,
        folder=None if out is None else TuningFolder(out),
        watch=watch,
    )
    return replace(found, **_whole(scenario, place, found))


def make_problem(
    scenario: Any,
    place: int,
    vary: Mapping[str, object] | Sequence[str] | None,
    score: str | Mapping[str, float],
    constraints: Sequence[str],
    world: str | AnyWorld | None,
) -> Problem:
    """Read what is asked; see `tune`.

    Raises:
        SluiceError: If it makes no sense.
    """
    (chosen_world,) = chosen_worlds(scenario, world)
    own = scenario.disciplines[place]
    base = scenario.replace(disciplines=[own.replace(label=own.name)])
    chosen_world.check(base, base.disciplines[0])
    return Problem(
        base=base,
        world=chosen_world,
        axes=axes(vary, base, base.disciplines[0]),
        score=Score.read(score),
        constraints=[Constraint.read(each) for each in constraints],
        seed=base.seed,
    )


def _check_names(vary: Mapping[str, object] | Sequence[str] | None) -> None:
    for name in [vary] if isinstance(vary, str) else vary or ():
        if isinstance(vary, str) or not isinstance(name, str):
            raise SluiceError(
                f"vary: {name!r} must be in a list of names, such as ['red.max_p'], or a "
                "mapping, such as {'red.max_p': '0.01..0.5'}"
            )


def _check(problem: Problem, method: Method, name: str) -> None:
    method.check(problem)
    for axis in problem.axes:
        if axis.range.count is not None and not method.starts:
            raise SluiceError(
                f"{axis.name} = {axis.range.text} must have no count with method = {name}, which "
                f"has no starts: {axis.range.ends}"
            )


def run(
    problem: Problem,
    method: Method,
    name: str,
    rules: Rules,
    *,
    evaluations: int | None,
    workers: int | None,
    folder: TuningFolder | None,
    watch: Watch | None,
    least_fresh: int = _LEAST_FRESH,
) -> Tuning:
    """Search and judge again; see `tune`.

    Args:
        problem: What is asked.
        method: How it is searched.
        name: Of the method.
        rules: How precise a score must be in the search.
        evaluations: As of `tune`.
        workers: Likewise.
        folder: Where runs are kept; None: in the store.
        watch: As of `tune`.
        least_fresh: The fewest runs when judging again.
    """
    kept = Kept(problem, folder)
    progress = _Progress(watch)
    size = _processes(problem, workers)
    try:
        with here_or_beside(size) as pool:
            runner = Runner(problem, pool, kept, progress.report)
            judge = Judge(runner, "search", rules)
            progress.judge = judge
            search = Search(problem, judge, evaluations, progress.search)
            with suppress(SpentError):
                method.search(search)
            progress.end_search()
            fresh = replace(rules, least=min(least_fresh, rules.most))
            return _assessed(problem, name, fresh, judge, runner)
    except (KeyboardInterrupt, InterruptError):
        kept.end()
        raise InterruptError(_interrupted(folder, kept)) from None
    finally:
        kept.end()


def _assessed(problem: Problem, name: str, rules: Rules, judge: Judge, runner: Runner) -> Tuning:
    fresh = Judge(runner, "fresh", rules)
    tuned, failed = assess.chosen(problem, judge, fresh)
    settings, notes = assess.settings(problem, tuned, fresh)
    sensitivity = assess.sensitivity(problem, tuned, fresh)
    if failed:
        notes.append(
            f"{failed} better candidates did not keep the constraints under fresh random numbers."
        )
    scenario = problem.base.replace(problem.changed(tuned.values))
    return Tuning(
        problem=problem,
        method=name,
        scenario=scenario,
        discipline=scenario.disciplines[0],
        settings=settings,
        trials=assess.trial_rows(problem, judge),
        front=assess.front(problem, judge, fresh),
        sensitivity=sensitivity,
        runs=judge.runs,
        fresh_runs=fresh.runs,
        time_unit=str(tuned.runs[0]["time_unit"]),
        notes=notes,
    )


def _whole(scenario: Any, place: int, found: Tuning) -> dict[str, Any]:
    """The scenario with all of its disciplines and the tuned values."""
    values = tuple(found.best.values.values())
    changes = {
        path.replace("disciplines.0.", f"disciplines.{place}.", 1): value
        for path, value in found.problem.changed(values).items()
    }
    whole = scenario.replace(changes)
    return {"scenario": whole, "discipline": whole.disciplines[place]}


def _place(
    scenario: AnyScenario,
    discipline: str | None,
    vary: Mapping[str, object] | Sequence[str] | None,
) -> int:
    """Which discipline is tuned."""
    names = [each.name for each in scenario.disciplines]
    if discipline is not None:
        if discipline not in names:
            raise SluiceError(f"discipline = {discipline} must be one of {', '.join(names)}")
        return names.index(discipline)
    heads = {name.partition(".")[0] for name in vary or ()}
    meant = [
        place
        for place, each in enumerate(scenario.disciplines)
        if len(names) == 1 or each.configured.name in heads
    ]
    if len(meant) != 1:
        raise SluiceError(f"only one discipline is tuned: give one of {', '.join(names)}")
    return meant[0]


def _processes(problem: Problem, workers: int | None) -> int:
    """How many processes make the runs."""
    if not problem.world.side_by_side:
        return 1
    if workers is not None:
        return workers
    one = problem.base if problem.world.is_exact else problem.base.replace(replications=1)
    if problem.world.cost(one) < _BRIEF_SLOTS / 20:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _interrupted(folder: TuningFolder | None, kept: Kept) -> str:
    if folder is None:
        return f"interrupted; {store.how_to_go_on(kept.identities())}"
    return (
        f"interrupted: what was finished is in {folder.path}; the same command goes on from there"
    )


class _Progress:
    """Reports the progress of a tuning."""

    def __init__(self, watch: Watch | None) -> None:
        self._watch = watch
        self._share = 0.0
        self.judge: Judge | None = None

    def search(self, share: float) -> None:
        """Note the progress of the search."""
        self._share = max(self._share, _SEARCH_SHARE * share)
        self.report()

    def end_search(self) -> None:
        """Note that the search is over."""
        self._share = _SEARCH_SHARE

    def report(self) -> None:
        """Report it."""
        if self._watch is not None and self.judge is not None:
            trials, runs = len(self.judge.trials), self.judge.runs
            self._watch("tune", self._share, 1.0, f"{trials:,} candidates, {runs:,} runs")
