"""The paper's settings of the averaging filter, and the readings of its equation (5)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import polars as pl

from sluicegate.papers import model
from sluicegate.scenario import Discipline

# to which term of equation (3) each of [a1, a2, b1] belongs; the fourth term gets the rest of 1
PLACES = {
    "literal": {"a1": "A(n-1)", "a2": "A(n-2)", "b1": "Q(n-1)", "rest": "Q(n)"},
    "all swapped": {"a1": "Q(n)", "a2": "Q(n-1)", "b1": "A(n-2)", "rest": "A(n-1)"},
    "only a1 swapped": {"a1": "Q(n)", "a2": "A(n-2)", "b1": "Q(n-1)", "rest": "A(n-1)"},
}
# equation (3) as the parameters of red have it; Q(n) gets the rest of 1
_PARAMS = {"A(n-1)": "a1", "A(n-2)": "a2", "Q(n-1)": "b1"}
# the reading of the preset redwm
DRAWN = "only a1 swapped"


@dataclass(frozen=True)
class Setting:
    """A setting of the paper at one load, with its score (mean delay, slots) if it prints one."""

    mu: float
    a1: float
    a2: float
    b1: float
    score: float | None

    @property
    def name(self) -> str:
        """As the paper writes it."""
        return f"[{self.a1:g}, {self.a2:g}, {self.b1:g}]"

    @property
    def weights(self) -> tuple[float, float, float]:
        """a1, a2 and b1."""
        return self.a1, self.a2, self.b1

    def discipline(self, reading: str) -> Discipline:
        """What the setting runs under a reading of equation (5)."""
        weights = {"a1": self.a1, "a2": self.a2, "b1": self.b1}
        weights["rest"] = 1 - sum(weights.values())
        by_place = {place: weights[weight] for weight, place in PLACES[reading].items()}
        params = {param: by_place[place] for place, param in _PARAMS.items()}
        return model.red({"average": "difference", **params})


def published() -> list[Setting]:
    """The paper's settings, in the order of the scores it prints at each load."""
    text = files(__package__ or "").joinpath("scores.csv").read_bytes()
    table = pl.read_csv(text, comment_prefix="#", infer_schema_length=None)
    return [Setting(**row) for row in table.cast(pl.Float64).iter_rows(named=True)]
