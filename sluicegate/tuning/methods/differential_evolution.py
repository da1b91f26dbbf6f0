"""Differential evolution: a population that spreads over all ranges and contracts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sluicegate.tuning.methods.method import Method, Search

# generations at most, if the population does not contract before
_GENERATIONS = 60


class DifferentialEvolution(Method):
    """Storn & Price 1997, as scipy has it; each generation is judged together."""

    def search(self, search: Search) -> None:
        """Make generations until the population is at one place."""
        from scipy import optimize  # takes a second to import

        evolve: Any = optimize.differential_evolution  # its types are too narrow
        generations = 0

        def judge_all(_score: Callable[..., float], places: Iterable[Any]) -> list[float]:
            nonlocal generations
            asked = [tuple(map(float, place)) for place in places]
            # a score counts even if it is better only than its parent's: no run is stopped
            found = search.judge(asked, [None] * len(asked))
            generations += 1
            search.on_progress(min(generations / _GENERATIONS, 1.0))
            return [trial.merit for trial in found]

        evolve(
            lambda place: search.judge([tuple(map(float, place))])[0].merit,
            [(0.0, 1.0)] * search.dimension,
            popsize=max(5, 20 // search.dimension),
            maxiter=_GENERATIONS,
            tol=0.003,
            rng=search.problem.seed,
            polish=False,
            updating="deferred",
            workers=judge_all,
        )
