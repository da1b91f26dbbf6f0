"""The scenario with the tuned values, as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluicegate.report.text import measure_text
from sluicegate.toml import scenario_text

if TYPE_CHECKING:
    from sluicegate.tuning.result import Tuning


def scenario_toml(tuning: Tuning) -> str:
    """The scenario as TOML, with the aim of the tuning above it."""
    problem, best = tuning.problem, tuning.best
    told = [
        f"{', '.join(best.values)} tuned for the least {problem.score}",
        *(f"with {each}" for each in problem.constraints),
        f"by {tuning.method}, which gives {measure_text(best.score)} "
        f"in the {problem.world.name} world.",
    ]
    above = "".join(f"# {line}\n" for line in told)
    return f"{above}\n{scenario_text(tuning.scenario.table())}"
