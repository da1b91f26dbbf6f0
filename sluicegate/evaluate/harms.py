"""What other flows do to a flow of NewReno under a discipline: harm (Ware et al. 2019).

An evaluation has the three runs that harm needs: the flow alone, beside another of its own kind,
and beside something else.
"""

from __future__ import annotations

from sluicegate.estimate import Measure
from sluicegate.evaluate.case import Case
from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.measures.harm import mean_harm
from sluicegate.measures.names import more_is_better
from sluicegate.report.text import measure_text

_ALONE = ("5-1-1", "bulk")
# what is beside it: case, class of the flow, words
_BESIDE = (
    ("6-2-rtt-1", "I", "another of its kind (6.2)"),
    ("5-4", "bulk", "LEDBAT (5.4)"),
    ("5-3-beside", "bulk", "datagrams (5.3)"),
)
_MEASURES = (("goodput_bps", "goodput"), ("queueing_delay", "delay"))
CAPTION = (
    "How much worse a flow of NewReno fares beside others than alone (5.1.1): 0 is not at all, 1 "
    "is as much as can be, below 0 it fares better (Ware et al. 2019). Of a goodput x alone and y "
    "beside the other it is (x - y) / x, of a delay (y - x) / y; a replication without one of the "
    "two is left out. What does no more harm than another flow of the same kind may be deployed "
    "beside it, as they propose."
)


def harms(found: Evaluation, name: str, case: Case, class_: str, measure: str) -> Measure | None:
    """The harm to a measure of the flow, replication by replication; None if it is not known."""
    (alone,) = [each for each in found.plan.cases if each.name == _ALONE[0]]
    solo = found.values(alone, name, f"{_ALONE[1]}.{measure}")
    beside = found.values(case, name, f"{class_}.{measure}")
    return mean_harm(solo, beside, more_is_better=more_is_better(measure))


def harm_rows(found: Evaluation) -> tuple[list[str], list[list[str]]]:
    """Header and rows: of each discipline the harm by each of the others; no rows if not run."""
    cases = {case.name: case for case in found.plan.cases}
    there = [each for each in _BESIDE if each[0] in cases] if _ALONE[0] in cases else []
    header = ["discipline"]
    header += [f"{said} by {words}" for _, _, words in there for _, said in _MEASURES]
    rows = []
    for name in found.plan.names:
        cells = [
            harms(found, name, cases[case], class_, measure)
            for case, class_, _ in there
            for measure, _ in _MEASURES
        ]
        if any(cell is not None for cell in cells):
            texts = ["n/a" if cell is None else measure_text(cell, 3) for cell in cells]
            rows.append([name, *texts])
    return header, rows
