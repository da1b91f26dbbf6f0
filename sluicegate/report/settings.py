"""What was run, as the rows of a page's tables."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.registry import Aqm
from sluicegate.report.text import assignments
from sluicegate.scenario import Discipline

Rows = list[list[str]]


def discipline_rows(disciplines: Sequence[Discipline]) -> tuple[list[str], Rows]:
    """Header and rows: each discipline, its AQM, what was given, and which defaults apply."""
    header = ["discipline", "AQM", "given", "defaults that apply"]
    return header, [[each.name, each.configured.name, *_parameters(each)] for each in disciplines]


def _parameters(discipline: Discipline) -> tuple[str, str]:
    """What was given, and the defaults that have a meaning with it."""
    applying: dict[str, object] = {}
    if isinstance(aqm := discipline.configured, Aqm):
        params = [p for p in aqm.of.params if aqm.of.applies(p, aqm.params)]
        applying = {param.name: aqm.params[param.name] for param in params}
    given = {name: value for name, value in applying.items() if name in discipline.params}
    defaults = {name: value for name, value in applying.items() if name not in given}
    given |= {"victim": discipline.victim, "ecn": discipline.ecn}
    if discipline.scheduler.kind != "fifo":
        given["scheduler"] = discipline.scheduler.table()
    return assignments(given), assignments(defaults)
