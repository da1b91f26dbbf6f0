"""Everything that a results folder has of some disciplines: also what earlier commands made."""

from __future__ import annotations

from collections.abc import Set
from contextlib import suppress
from dataclasses import replace
from os import PathLike

from sluicegate.errors import SluiceError
from sluicegate.evaluate.case import Case
from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.plan import EvaluationFolder, Plan
from sluicegate.evaluate.run import known


def everything(found: Evaluation, out: str | PathLike[str]) -> Evaluation:
    """An evaluation with all sections and replications that its folder has of its disciplines.

    A run counts if it is of the very same discipline: same parameters, same header.

    Args:
        found: What a command asked for.
        out: Its results folder.
    """
    plan = found.plan
    folder = EvaluationFolder(out)
    folder.about()
    # the names say where to look; whether it is the same run, its identity says
    there = {
        (row["case"], row["discipline"], row["replication"])
        for row in folder.rows(["case", "discipline", "replication"])
    }
    named = [each for each in there if each[1] in plan.judged]
    most = max([plan.replications, *(number + 1 for _, _, number in named)])
    runs = known(folder)
    replications = {case.section: plan.replications for case in plan.cases}
    for case in plan.suite.cases:
        if case.name in {name for name, _, _ in named}:
            last = _last(plan, case, most, runs.keys())
            if last:
                replications[case.section] = max(last, replications.get(case.section, 0))
    # sections as a whole: a picture may need all their cases
    cases = [case for case in plan.suite.cases if case.section in replications]
    most = max(replications.values())
    return Evaluation(replace(plan, cases=cases, replications=most, of_sections=replications), runs)


def _last(plan: Plan, case: Case, most: int, there: Set[str]) -> int:
    """How many replications of a case are there of a discipline that is judged; 0 if none."""
    # a discipline of that name, but with other parameters, may be refused there
    with suppress(SluiceError):
        runs = replace(plan, cases=[case], replications=most).runs
        numbers = [
            run.replication + 1 for run in runs if run.name in plan.judged and run.identity in there
        ]
        return max(numbers, default=0)
    return 0
