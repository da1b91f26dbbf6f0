"""How much an AQM depends on a parameter: section 8.3 beside 8.2.3, which has the same load."""

from __future__ import annotations

from sluicegate.evaluate import words
from sluicegate.evaluate.case import Case, Fitted
from sluicegate.evaluate.cases import SENSITIVITY
from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.suite import case_named
from sluicegate.registry import Aqm
from sluicegate.scenario import Discipline

_AS_GIVEN = "8-2-3-medium"
_MEASURES = ("bulk.queueing_delay", "bulk.goodput_bps", "loss_ratio")
SENSITIVITY_HEADER = ["discipline", "parameter", "value", *map(words.labelled, _MEASURES)]
SENSITIVITY_CAPTION = (
    "The same load with a parameter halved, as it is (section 8.2.3, if it was run), and doubled. "
    "It is the first parameter in force that is a time and stays valid when halved and doubled; "
    "if there is none, the first such number. An integer must be even, and a time not longer than "
    "a run. Other parameters: sluice sweep; the loop as a whole: sluice stability."
)


def sensitivity_rows(found: Evaluation) -> list[list[str]]:
    """A row for each discipline with a parameter, and each value of it."""
    ways = list(SENSITIVITY)
    cases = {ways[0]: case_named(f"8-3-{ways[0]}"), "": case_named(_AS_GIVEN)}
    cases |= {way: case_named(f"8-3-{way}") for way in ways[1:]}
    return [
        row
        for discipline in found.plan.disciplines
        for way, case in cases.items()
        if (row := _row(found, discipline, case)) is not None
    ]


def _row(found: Evaluation, discipline: Discipline, case: Case) -> list[str] | None:
    name = _varied(discipline)
    fitted = case.fitted(discipline)
    if name is None or not isinstance(fitted, Fitted) or not found.measured(case, discipline.name):
        return None
    configured = fitted.discipline.configured
    assert isinstance(configured, Aqm)
    param = next(each for each in configured.of.params if each.name == name)
    value = f"{float(configured.params[name]):g} {param.unit}".rstrip()
    cells = [
        words.text(each, found.mean(case, discipline.name, each), units=False) for each in _MEASURES
    ]
    return [discipline.name, name, value, *cells]


def _varied(discipline: Discipline) -> str | None:
    """The parameter that section 8.3 changes; None if there is none."""
    halved = case_named(f"8-3-{next(iter(SENSITIVITY))}").fitted(discipline)
    if not isinstance(halved, Fitted):
        return None
    changed = [k for k, v in halved.discipline.params.items() if discipline.params.get(k) != v]
    return changed[0] if changed else None
