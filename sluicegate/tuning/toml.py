"""The scenario with the tuned values, as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluicegate.report.text import measure_text
from sluicegate.toml import toml

if TYPE_CHECKING:
    from sluicegate.tuning.result import Tuning


def scenario_toml(tuning: Tuning) -> str:
    """The scenario as TOML, with the aim of the tuning above it."""
    problem, best = tuning.problem, tuning.best
    table = tuning.scenario.table()
    disciplines = table.pop("disciplines")
    told = [
        f"{', '.join(best.values)} tuned for the least {problem.score}",
        *(f"with {each}" for each in problem.constraints),
        f"by {tuning.method}, which gives {measure_text(best.score)} "
        f"in the {problem.world.name} world.",
    ]
    parts = ["".join(f"# {line}\n" for line in told), toml(table)]
    parts += [f"[[disciplines]]\n{toml(each)}" for each in disciplines]
    return "\n".join(parts)
