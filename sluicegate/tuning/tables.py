"""The tables of a tuning, for the terminal and for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluicegate.estimate import Measure
from sluicegate.measures import DEFINITIONS
from sluicegate.report.tables import Column
from sluicegate.report.terminal import TerminalTable, terminal_table
from sluicegate.report.text import measure_text, value_text

if TYPE_CHECKING:
    from sluicegate.tuning.result import Setting, Tuning

# shown of every setting, beside what the score and the constraints are of
_KEY = ("delay_mean", "sojourn_p99", "loss_ratio", "goodput", "utilization")


def setting_rows(tuning: Tuning) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the settings: values, score, its excess over the tuned one, measures."""
    problem = tuning.problem
    alone = problem.score.alone
    columns = [Column(name, tuning.time_unit) for name in shown(tuning) if name != alone]
    header = ["setting", *(axis.name for axis in problem.axes), _score_header(tuning)]
    header += ["minus tuned", *(column.header for column in columns)]
    if problem.constraints:
        header.append("constraints")
    rows = []
    for each in tuning.settings:
        row = [each.name, *(value_text(float(value)) for value in each.values.values())]
        row.append(score_text(tuning, each.score))
        row.append("" if each.minus_tuned is None else score_text(tuning, each.minus_tuned))
        row += [column.text(each.measures) for column in columns]
        if problem.constraints:
            row.append(_keeps(each))
        rows.append(row)
    return header, rows


def settings_table(tuning: Tuning) -> TerminalTable:
    """The settings for the terminal."""
    return terminal_table(*setting_rows(tuning))


def sensitivity_rows(tuning: Tuning) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the sensitivity."""
    rows = [
        [
            row["parameter"],
            value_text(tuning.best.values[row["parameter"]]),
            value_text(row["value"]),
            score_text(tuning, Measure(row["change"], row["half_width"], "")),
        ]
        for row in tuning.sensitivity.iter_rows(named=True)
    ]
    return ["parameter", "tuned", "instead", f"change of {_score_header(tuning)}"], rows


def score_text(tuning: Tuning, measure: Measure) -> str:
    """A score as tables show it: that of one measure in the measure's own unit."""
    return measure_text(measure.times(_score_factor(tuning)[0]))


def _score_header(tuning: Tuning) -> str:
    _, unit = _score_factor(tuning)
    name = "score" if tuning.problem.score.alone is None else tuning.problem.score.alone
    return f"{name}\n({unit})" if unit else name


def _score_factor(tuning: Tuning) -> tuple[float, str]:
    """From a score to what is shown, and its unit."""
    alone = tuning.problem.score.alone
    if alone is None:
        return 1.0, ""
    return DEFINITIONS[alone].unit.shown(tuning.time_unit)


def in_short(tuning: Tuning) -> str:
    """What was found, in a sentence or two."""
    values = ", ".join(f"{name} = {value_text(v)}" for name, v in tuning.values.items())
    problem = tuning.problem
    kept = f" with {' and '.join(map(str, problem.constraints))}" if problem.constraints else ""
    text = f"The lowest {problem.score}{kept} is {score_text(tuning, tuning.score)} at {values}."
    for each in tuning.settings[1:]:
        if each.minus_tuned is not None:
            text += f" The setting '{each.name}' {_compared(tuning, each, each.minus_tuned)}."
    return text


def _compared(tuning: Tuning, setting: Setting, difference: Measure) -> str:
    if not setting.keeps:
        return "breaks a constraint"
    low, high = difference.low, difference.high
    if low is not None and high is not None and low <= 0 <= high:
        return f"cannot be distinguished from it ({score_text(tuning, difference)})"
    where = "above" if difference.value > 0 else "below"
    shift = Measure(abs(difference.value), difference.half_width, "")
    return f"is {score_text(tuning, shift)} {where} it"


def search_text(tuning: Tuning) -> str:
    """How many candidates and runs it took."""
    trials = tuning.trials
    stopped = int(trials["stopped"].sum())
    refused = int((trials["refused"] != "").sum())
    text = f"{trials.height:,} candidates and {tuning.runs:,} runs by {tuning.method}"
    if stopped:
        text += f"; {stopped:,} could not win and were stopped early"
    if refused:
        text += f"; {refused:,} were refused by the AQM or the world"
    return f"{text}; {tuning.fresh_runs:,} runs under fresh random numbers."


def shown(tuning: Tuning) -> list[str]:
    """The measures that a table of settings has: those that were chosen, or the usual ones."""
    if tuning.columns is not None:
        return list(tuning.columns)
    problem = tuning.problem
    wanted = [*problem.score.weights, *(each.measure for each in problem.constraints), *_KEY]
    return [name for name in dict.fromkeys(wanted) if name in tuning.best.measures]


def _keeps(setting: Setting) -> str:
    return ("kept" if setting.keeps else "broken") + ("" if setting.surely else ", not surely")
