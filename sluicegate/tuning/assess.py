"""Judges what a search found again, under random numbers that were not used to choose.

The best of many noisy scores also had the best luck (the winner's curse): its score in the search
is too good. So all that is reported of it comes from fresh seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure, paired, student
from sluicegate.measures import DEFINITIONS
from sluicegate.report.text import value_text
from sluicegate.tuning.judge import Judge
from sluicegate.tuning.problem import Problem
from sluicegate.tuning.result import Setting
from sluicegate.tuning.trial import Trial, Values

# how many of the best may fail their constraints under fresh seeds
_MOST_FAILED = 10
FRONT = ("delay_mean", "loss_ratio")
# most settings of the front that are judged again
_MOST_OF_FRONT = 12
# share of a range, to both sides of the tuned value
_ASIDE = 0.1


def chosen(problem: Problem, search: Judge, fresh: Judge) -> tuple[Trial, int]:
    """The best candidate that keeps the constraints under fresh seeds, too, and how many did not.

    Raises:
        SluiceError: If no candidate could be run, or if none keeps the constraints; with the
            nearest.
    """
    found = [trial for trial in search.trials.values() if not trial.refused]
    if not found:
        first = next(iter(search.trials.values()))
        raise SluiceError(f"no candidate can be run; the first: {first.refused}")
    best = search.best
    assert best is not None
    if not best.is_feasible:
        raise SluiceError(_infeasible(problem, best, f"of {len(found)} candidates "))
    # the best itself first, then the others by their score
    others = sorted((each for each in found if each.is_feasible), key=lambda each: each.merit)
    ranked = list(dict.fromkeys([best, *others]))[:_MOST_FAILED]
    tried = []
    for failed, trial in enumerate(ranked):
        (again,) = fresh.judge([trial.values], [None])
        if again.is_feasible:
            return again, failed
        tried.append(again)
    nearest = min(tried, key=lambda each: each.violation())
    raise SluiceError(_infeasible(problem, nearest, "under fresh random numbers "))


def settings(problem: Problem, tuned: Trial, fresh: Judge) -> tuple[list[Setting], list[str]]:
    """The tuned setting, the scenario's own and the defaults, and notes on them."""
    others: dict[Values, str] = {problem.given: "scenario"}
    if problem.default is not None:
        others.setdefault(problem.default, "default")
    for name, values in problem.known.items():
        others.setdefault(values, name)
    others.pop(tuned.values, None)
    wanted = {tuned.values: "tuned", **others}
    trials = fresh.level(list(wanted))
    found, notes = [], []
    for trial, name in zip(trials, wanted.values(), strict=True):
        if trial.refused:
            notes.append(f"The setting '{name}' cannot be run: {trial.refused}")
        else:
            found.append(_setting(problem, name, trial, tuned))
    return found, notes


def sensitivity(problem: Problem, tuned: Trial, fresh: Judge) -> pl.DataFrame:
    """The score at a tenth of each range to both sides of the tuned values."""
    place = problem.place(tuned.values)
    asked: list[tuple[str, Values]] = []
    for number, axis in enumerate(problem.axes):
        for aside in (-_ASIDE, _ASIDE):
            share = min(max(place[number] + aside, 0.0), 1.0)
            value = axis.at(share)
            # at an end of its range there is nothing beyond
            if abs(share - place[number]) > _ASIDE / 10 and value != tuned.values[number]:
                values = (*tuned.values[:number], value, *tuned.values[number + 1 :])
                asked.append((axis.name, values))
    names = [axis.name for axis in problem.axes]
    trials = fresh.level([tuned.values, *(values for _, values in asked)])[1:]
    rows = [
        {
            "parameter": name,
            "value": float(values[names.index(name)]),
            "change": change.value,
            "half_width": change.half_width,
        }
        for (name, values), trial in zip(asked, trials, strict=True)
        if not trial.refused and (change := _difference(trial, tuned)) is not None
    ]
    schema = {"parameter": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema={**schema, "change": pl.Float64, "half_width": pl.Float64})


def trial_rows(problem: Problem, search: Judge) -> pl.DataFrame:
    """A row for each candidate; see `Tuning.trials`."""
    names = [axis.name for axis in problem.axes]
    rows = [
        {
            "number": trial.number,
            **dict(zip(names, map(float, trial.values), strict=True)),
            "runs": len(trial.runs),
            "score": None if trial.refused else trial.measure.value,
            "half_width": None if trial.refused else trial.measure.half_width,
            "violation": None if trial.refused else trial.violation(),
            "stopped": trial.stopped,
            "refused": trial.refused,
        }
        for trial in search.trials.values()
    ]
    schema: dict[str, Any] = {"number": pl.Int64, **dict.fromkeys(names, pl.Float64)}
    schema |= {"runs": pl.Int64, "score": pl.Float64, "half_width": pl.Float64}
    schema |= {"violation": pl.Float64, "stopped": pl.Boolean, "refused": pl.String}
    return pl.DataFrame(rows, schema=schema)


def front(problem: Problem, search: Judge, fresh: Judge) -> pl.DataFrame:
    """Candidates that no other one beats in both delay and loss, judged again; by falling loss."""
    names = [axis.name for axis in problem.axes]
    schema: dict[str, Any] = dict.fromkeys(names, pl.Float64)
    for name in FRONT:
        schema |= {name: pl.Float64, f"{name}_half_width": pl.Float64}
    ends = front_trials(list(search.trials.values()))
    if len(ends) > _MOST_OF_FRONT:
        places = np.linspace(0, len(ends) - 1, _MOST_OF_FRONT).round().astype(int)
        ends = [ends[place] for place in places]
    rows = []
    for trial in fresh.level([trial.values for trial in ends]):
        found = measures(trial)
        row: dict[str, Any] = dict(zip(names, map(float, trial.values), strict=True))
        for name in FRONT:
            row |= {name: found[name].value, f"{name}_half_width": found[name].half_width}
        rows.append(row)
    return pl.DataFrame(rows, schema=schema)


def front_trials(trials: list[Trial]) -> list[Trial]:
    """Those that no other one beats in both, under the seeds that all have; by rising delay."""
    able = [trial for trial in trials if trial.is_feasible and _knows(trial, FRONT)]
    count = min((len(trial.runs) for trial in able), default=0)
    places = {trial: [_mean(trial, name, count) for name in FRONT] for trial in able}
    found, least = [], np.inf
    for trial in sorted(able, key=lambda each: places[each]):
        if places[trial][1] < least:
            found.append(trial)
            least = places[trial][1]
    return found


def _setting(problem: Problem, name: str, trial: Trial, tuned: Trial) -> Setting:
    excesses = [student(column) for column in trial.excesses().T]
    # what is exact has no interval
    errors = [0.0 if each.half_width is None else each.half_width for each in excesses]
    pairs = list(zip(excesses, errors, strict=True))
    keeps = trial.is_feasible
    if keeps:
        sure = all(each.value + error <= 0 for each, error in pairs)
    else:
        sure = any(each.value - error > 0 for each, error in pairs)
    return Setting(
        name=name,
        values={axis.name: value for axis, value in zip(problem.axes, trial.values, strict=True)},
        score=trial.measure,
        measures=measures(trial),
        minus_tuned=None if trial is tuned else _difference(trial, tuned),
        keeps=keeps,
        surely=sure,
        runs=len(trial.runs),
    )


def measures(trial: Trial) -> dict[str, Measure]:
    """The measures of a candidate, with intervals over its runs."""
    found = {}
    unit = str(trial.runs[0].get("time_unit", ""))
    for name in dict.fromkeys(name for columns in trial.runs for name in columns):
        definition = DEFINITIONS.get(name)
        if definition is None:
            continue
        values = [columns.get(name) for columns in trial.runs]
        known = [float(value) for value in values if value is not None]
        if len(known) == len(values):
            each = student(known) if len(known) > 1 else Measure(known[0], None, "")
            found[name] = Measure(each.value, each.half_width, definition.unit.of(unit))
    return found


def _knows(trial: Trial, names: Sequence[str]) -> bool:
    return all(columns.get(name) is not None for columns in trial.runs for name in names)


def _mean(trial: Trial, name: str, count: int | None = None) -> float:
    return float(np.mean([columns[name] for columns in trial.runs[:count]]))


def _difference(trial: Trial, tuned: Trial) -> Measure | None:
    if trial.exact:
        return Measure(float(trial.scores[0] - tuned.scores[0]), None, "")
    return paired(trial.scores, tuned.scores)


def _infeasible(problem: Problem, trial: Trial, among: str) -> str:
    found = measures(trial)
    broken = [
        each
        for each, excess in zip(problem.constraints, trial.excesses().mean(axis=0), strict=True)
        if excess > 0
    ]
    has = " and ".join(f"{each.measure} = {found[each.measure]:.4g}" for each in broken)
    at = ", ".join(
        f"{axis.name} = {value_text(value)}"
        for axis, value in zip(problem.axes, trial.values, strict=True)
    )
    return f"{among}none keeps {' and '.join(map(str, broken))}; the nearest, at {at}, has {has}"
