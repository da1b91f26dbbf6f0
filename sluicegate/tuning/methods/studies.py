"""What the methods of optuna share: a study whose candidates are judged in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sluicegate.extras import lacking
from sluicegate.tuning.methods.method import Search
from sluicegate.tuning.trial import Trial

# candidates judged at a time, whatever the number of cores: the result must not depend on it
_TOGETHER = 4
_USUAL = 100

__all__ = ["samplers", "study"]

try:
    import optuna
    from optuna import samplers
except ImportError as error:
    raise lacking("optuna", "a method bayesian or multi-objective") from error

# else it reports every candidate
optuna.logging.set_verbosity(optuna.logging.WARNING)


def study(
    search: Search,
    sampler: samplers.BaseSampler,
    values: Callable[[Trial], Sequence[float]],
    objectives: int,
) -> None:
    """Judge the candidates that a sampler proposes.

    Args:
        search: What is searched.
        sampler: Of optuna.
        values: For each candidate, what is to be least.
        objectives: How many values there are.
    """
    made = optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)
    own = search.problem.place(search.problem.given)
    made.enqueue_trial({str(axis): share for axis, share in enumerate(own)})
    most = search.most or _USUAL
    while len(made.trials) < most:
        count = min(_TOGETHER, most - len(made.trials))
        asked = [made.ask() for _ in range(count)]
        places = [
            tuple(each.suggest_float(str(axis), 0.0, 1.0) for axis in range(search.dimension))
            for each in asked
        ]
        # the sampler needs every result: none is stopped early
        for each, trial in zip(asked, search.judge(places, [None] * count), strict=True):
            if trial.refused:
                made.tell(each, state=optuna.trial.TrialState.FAIL)
                continue
            for number, excess in enumerate(trial.excesses().mean(axis=0)):
                each.set_constraint(str(number), float(excess))
            made.tell(each, list(values(trial)))
        search.on_progress(len(made.trials) / most)
