"""What was run, as the rows of a page's tables."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.registry import Aqm
from sluicegate.report.text import assignments
from sluicegate.scenario import Discipline

Rows = list[list[str]]


def discipline_rows(disciplines: Sequence[Discipline]) -> Rows:
    """Each discipline, its AQM, and the parameters that apply."""
    return [[each.name, each.configured.name, _applying(each)] for each in disciplines]


def _applying(discipline: Discipline) -> str:
    """The parameters that have a meaning with the present choices, and the queue's part."""
    fields: dict[str, object] = {}
    if isinstance(aqm := discipline.configured, Aqm):
        params = [p for p in aqm.of.params if aqm.of.applies(p, aqm.params)]
        fields = {param.name: aqm.params[param.name] for param in params}
    fields |= {"victim": discipline.victim, "ecn": discipline.ecn}
    if discipline.scheduler.kind != "fifo":
        fields["scheduler"] = discipline.scheduler.table()
    return assignments(fields)
