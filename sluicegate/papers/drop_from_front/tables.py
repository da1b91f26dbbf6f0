"""The paper's tables, and which of their figures contradict others of their own row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import polars as pl

from sluicegate.papers import model
from sluicegate.scenario import Discipline, Victim

_LITTLE_TOLERANCE = 0.01
_VARIANCE_TOLERANCE = 0.02


@dataclass(frozen=True)
class Case:
    """One row of the paper's tables, as `tables.csv` describes its columns."""

    aqm: str
    gamma: float | None
    gamma_printed: float | None
    w: float
    mu: float
    source: str
    queue_mean: float
    queue_variance: float
    loss: float
    loss_bracketed: float | None
    delay_mean: float
    delay_variance: float
    gain: float | None

    @property
    def name(self) -> str:
        """The row's label."""
        gamma = "" if self.gamma is None else f" gamma {self.gamma:g}"
        return f"{self.aqm.upper()}{gamma}, {self.source}, mu {self.mu:g}, w {self.w:g}"

    def discipline(self, victim: Victim) -> Discipline:
        """What the row runs."""
        if self.gamma is None:
            return model.red({"w": self.w}, victim)
        return model.dsred(self.w, self.gamma, victim)


def published() -> list[Case]:
    """The 24 rows of the paper's tables."""
    text = files(__package__ or "").joinpath("tables.csv").read_bytes()
    table = pl.read_csv(text, comment_prefix="#", infer_schema_length=None)
    return [Case(**row) for row in table.iter_rows(named=True)]


def implied_queue_mean(case: Case) -> float:
    """The mean queue that follows from the row's own loss and mean delay by Little's law.

    N + P(busy) = lambda D, with lambda the packets admitted per slot and P(busy) = lambda / mu.
    """
    admitted = 0.5 * (1 - case.loss)
    return admitted * (case.delay_mean - 1 / case.mu)


def implied_delay_variance(case: Case) -> float:
    """The variance of the delay that follows from the row's own queue under overload.

    A delay is N + 1 geometric services, where N is the queue that the packet finds; with the
    server always busy and geometric arrivals this N is distributed nearly as at any time:
    Var D = (E N + 1) (1 - mu) / mu^2 + Var N / mu^2.
    """
    services = (case.queue_mean + 1) * (1 - case.mu)
    return (services + case.queue_variance) / case.mu**2


def misprints(cases: Sequence[Case]) -> list[tuple[Case, str, float]]:
    """The published figures that contradict others of their own row.

    Returns:
        Row, quantity and the value that the row's other figures imply.
    """
    found = []
    for case in cases:
        if case.source != "geometric":
            continue
        if abs(case.queue_mean / (implied := implied_queue_mean(case)) - 1) > _LITTLE_TOLERANCE:
            found.append((case, "queue_mean", implied))
        if case.mu < 0.5:
            implied = implied_delay_variance(case)
            if abs(case.delay_variance / implied - 1) > _VARIANCE_TOLERANCE:
                found.append((case, "delay_variance", implied))
    return found
