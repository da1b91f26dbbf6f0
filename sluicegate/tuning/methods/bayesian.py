"""Bayesian optimisation: a model of where good candidates lie proposes the next ones."""

from __future__ import annotations

from sluicegate.tuning.methods.method import Method, Search
from sluicegate.tuning.methods.studies import samplers, study


class Bayesian(Method):
    """Tree-structured Parzen estimators (Bergstra et al. 2011), as optuna has them."""

    def search(self, search: Search) -> None:
        """Judge a hundred candidates, or as many as are granted."""
        sampler = samplers.TPESampler(
            seed=search.problem.seed % 2**32, multivariate=True, constant_liar=True
        )
        study(search, sampler, lambda trial: [trial.measure.value], 1)
