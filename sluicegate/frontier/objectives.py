"""The objectives of a frontier: what is traded against what.

Each is a ratio of rates (events per slot), so a bound on it is linear in the occupation measure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluicegate.errors import SluiceError

Rates = Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Objective:
    """One objective.

    Attributes:
        name: On the command line and in files.
        heading: Beside axes and in tables.
        unit: Empty for a share.
        above: Weights of the rates above the ratio's line.
        below: Weights below it; empty for a rate per slot.
        cost: Weights of the rate whose least value, at a given second objective, makes this
            objective best.
        more_is_better: Whether it is maximised.
        measure: The measure of records that it is, where there is one.
        needs_deadline: Whether it needs a deadline.
        needs_classes: Whether it needs two classes of packets.
    """

    name: str
    heading: str
    unit: str
    above: Rates
    below: Rates
    cost: Rates
    more_is_better: bool = False
    measure: str | None = None
    needs_deadline: bool = False
    needs_classes: bool = False

    def value(self, rates: Rates) -> float:
        """The objective, from the rates of a policy; 0 where there is nothing to divide by."""
        above = _total(self.above, rates)
        if not self.below:
            return above
        below = _total(self.below, rates)
        return above / below if below > 0 else 0.0

    def slope(self, rates: Rates, change: Rates) -> float:
        """How fast it changes as the rates change."""
        if not self.below:
            return _total(self.above, change)
        below = _total(self.below, rates)
        if below == 0:
            return 0.0
        value = _total(self.above, rates) / below
        return (_total(self.above, change) - value * _total(self.below, change)) / below

    def weight(self, rates: Rates) -> float:
        """What the ratio divides by; 1 for a rate per slot."""
        return _total(self.below, rates) if self.below else 1.0

    def bound(self, value: float) -> Rates:
        """Weights of the rates whose sum is at most the right side where it is as good as `value`.

        The right side is `value` for a rate per slot, otherwise 0.
        """
        sign = -1.0 if self.more_is_better else 1.0
        names = {**self.above, **self.below}
        return {
            name: sign * (self.above.get(name, 0.0) - value * self.below.get(name, 0.0))
            for name in names
        }

    def right_side(self, value: float) -> float:
        """Of `bound`."""
        return 0.0 if self.below else value

    def is_better(self, value: float, other: float) -> bool:
        """Whether a value is better than another."""
        return value > other if self.more_is_better else value < other


def _total(weights: Rates, rates: Rates) -> float:
    return sum(weight * rates[name] for name, weight in weights.items())


_ARRIVED = {"served": 1.0, "lost": 1.0}
OBJECTIVES = {
    each.name: each
    for each in (
        Objective(
            "queue",
            "mean queue",
            "packets",
            {"queue": 1.0},
            {},
            {"queue": 1.0},
            measure="queue_mean",
        ),
        Objective(
            "sojourn",
            "mean sojourn",
            "slots",
            {"waited": 1.0},
            {"served": 1.0},
            {"waited": 1.0},
            measure="sojourn_mean",
        ),
        Objective(
            "late",
            "served late",
            "",
            {"late": 1.0},
            {"served": 1.0},
            {"late": 1.0},
            needs_deadline=True,
        ),
        Objective("loss", "lost", "", {"lost": 1.0}, _ARRIVED, {"lost": 1.0}, measure="loss_ratio"),
        Objective(
            "in_time",
            "in time",
            "",
            {"served": 1.0, "late": -1.0},
            _ARRIVED,
            {"lost": 1.0, "late": 1.0},
            more_is_better=True,
            needs_deadline=True,
        ),
        # losses in a row: all losses over those that follow none
        Objective(
            "runs",
            "losses in a row",
            "packets",
            {"lost": 1.0},
            {"lost": 1.0, "again": -1.0},
            {"again": 1.0},
        ),
        *(
            Objective(
                name,
                heading,
                "",
                {f"lost_{event}": 1.0},
                {f"lost_{event}": 1.0, f"served_{event}": 1.0},
                {f"lost_{event}": 1.0},
                needs_classes=True,
            )
            for name, heading, event in (
                ("weighted", "lost, by weight", "worth"),
                ("loss_first", "lost of the first class", "first"),
                ("loss_second", "lost of the second class", "second"),
            )
        ),
    )
}
# pairs for which the least `cost` of the first at each value of the second is the frontier: for a
# given loss, or a given share in time, the first objective rises with its cost
_PAIRS = [
    ("queue", "loss"),
    ("sojourn", "loss"),
    ("late", "loss"),
    ("queue", "in_time"),
    ("late", "in_time"),
    ("loss", "in_time"),
    ("runs", "loss"),
    ("queue", "weighted"),
    ("sojourn", "weighted"),
    ("late", "weighted"),
    ("loss_first", "loss_second"),
]


def pair(first: str, second: str) -> tuple[Objective, Objective]:
    """Two objectives that are traded against each other, in the order of the axes.

    Raises:
        SluiceError: If there is none of a name, or if there is nothing to trade between them.
    """
    for name in (first, second):
        if name not in OBJECTIVES:
            known = ", ".join(OBJECTIVES)
            raise SluiceError(f"objectives: {name} must be one of {known}")
    for one, other in _PAIRS:
        if {first, second} == {one, other}:
            return OBJECTIVES[one], OBJECTIVES[other]
    pairs = "; ".join(", ".join(each) for each in _PAIRS)
    if first == second:
        raise SluiceError(f"objectives: {first} cannot be traded against itself; pairs are {pairs}")
    raise SluiceError(f"objectives: {first}, {second} must be one of these pairs: {pairs}")
