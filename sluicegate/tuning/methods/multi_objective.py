"""Multi-objective search: the whole front of delay against loss."""

from __future__ import annotations

import numpy as np

from sluicegate.tuning.assess import FRONT
from sluicegate.tuning.methods.method import Method, Search
from sluicegate.tuning.methods.studies import samplers, study
from sluicegate.tuning.score import known
from sluicegate.tuning.trial import Trial

_POPULATION = 20


class MultiObjective(Method):
    """NSGA-II (Deb et al. 2002), as optuna has it.

    It searches the front; the score decides which of its settings is the tuned one.
    """

    def search(self, search: Search) -> None:
        """Judge a hundred candidates, or as many as are granted."""
        sampler = samplers.NSGAIISampler(
            population_size=_POPULATION, seed=search.problem.seed % 2**32
        )
        study(search, sampler, _objectives, len(FRONT))


def _objectives(trial: Trial) -> list[float]:
    return [
        float(np.mean([known(columns, name, "multi-objective") for columns in trial.runs]))
        for name in FRONT
    ]
