"""What section IV of the paper says in words, judged by its tables as repeated here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sluicegate.estimate import Measure
from sluicegate.papers.claims import Check, Claim, judge, lies
from sluicegate.papers.comparison import Row
from sluicegate.papers.drop_from_front.tables import Case

UNJUDGED = (
    "No statements on figures: the model, its parameters and its method of solution. That "
    "simulation and chain agree down to probabilities of 1e-10 is shown by figure 1."
)
# "negligible", "about 1 %" and "about one half"
_NEGLIGIBLE, _ABOUT_1, _HALF = 0.01, (0.005, 0.02), (0.45, 0.55)
_LIGHT, _HEAVY = 0.5, 0.25


class _Rows:
    """The rows, by case and quantity."""

    def __init__(self, cases: Sequence[Case], rows: Sequence[Row]) -> None:
        self._by_name = {(row.row, row.quantity): row for row in rows}
        self._cases = cases

    def cases(self, **fields: str | float) -> list[Case]:
        """Those that have these fields."""
        return [
            case
            for case in self._cases
            if all(getattr(case, name) == value for name, value in fields.items())
        ]

    def other(self, case: Case, **fields: str | float | None) -> Case:
        """The case that differs from one in these fields."""
        wanted = [getattr(case, name) for name in ("aqm", "gamma", "w", "mu", "source")]
        keys = dict(zip(("aqm", "gamma", "w", "mu", "source"), wanted, strict=True)) | fields
        (found,) = (
            case
            for case in self._cases
            if all(getattr(case, name) == value for name, value in keys.items())
        )
        return found

    def found(self, case: Case, quantity: str) -> Measure:
        """Our figure; one without an interval is from a chain on the paper's grid, and certain."""
        row = self._by_name[case.name, quantity]
        return Measure(row.measured, row.half_width or 0.0, "")

    def gains(self, cases: Iterable[Case], low: float, high: float) -> list[Check]:
        """Whether dropping from the front shortens the mean delay by a share between two bounds."""
        return [lies(f"{case.name}, gain", self.found(case, "gain"), low, high) for case in cases]

    def more(self, many: Case, few: Case, quantity: str) -> Check:
        """Whether one figure is above the other, by more than both intervals together."""
        one, other = self.found(many, quantity), self.found(few, quantity)
        widths = (one.half_width or 0.0) + (other.half_width or 0.0)
        apart = Measure(one.value - other.value, widths, "")
        return lies(f"{quantity}, {many.name} minus {few.name}", apart, 0)


def claims(cases: Sequence[Case], rows: Sequence[Row]) -> list[Claim]:
    """Every sentence of section IV on its figures."""
    of = _Rows(cases, rows)
    light = {"mu": _LIGHT, "w": 0.07}
    geometric = of.cases(**light, source="geometric")
    # the other AQM of the text, with the gamma of all its tables but two
    dsred = [case for case in cases if case.aqm == "dsred"]
    reds = [(of.other(case, aqm="red", gamma=None), case) for case in dsred]
    both = [(of.other(case, source="self-similar"), case) for case in geometric]
    slower = [
        (of.other(case, w=0.002), case) for case in of.cases(**light) if case.gamma in (None, 0.5)
    ]
    told: list[tuple[str, list[Check]]] = [
        (
            "If the mean queue length is relatively low, the influence of dropping scheme on "
            "queueing time is negligible. [geometric, mu 0.5, w 0.07: less than 1 %]",
            of.gains(geometric, -_NEGLIGIBLE, _NEGLIGIBLE),
        ),
        (
            "The introduction of DSRED gives shorter mean queue length and shorter mean queueing "
            "time compared to RED. [all rows of the tables]",
            [
                of.more(red, case, quantity)
                for red, case in reds
                for quantity in ("queue_mean", "delay_mean")
            ],
        ),
        (
            "When the Poisson traffic is replaced by self-similar one with the same intensity, the "
            "length of the queue grows ... [mu 0.5, w 0.07]",
            [of.more(varying, case, "queue_mean") for varying, case in both],
        ),
        (
            "... and the influence of the dropping scheme is more visible. [mu 0.5, w 0.07]",
            [of.more(varying, case, "gain") for varying, case in both],
        ),
        (
            "The change of w (from 0.07 to 0.002) results in longer response time and mean queue "
            "... [mu 0.5]",
            [
                of.more(slow, case, quantity)
                for slow, case in slower
                for quantity in ("queue_mean", "delay_mean")
            ],
        ),
        (
            "... but the introduction of drop-from-front in place of tail-drop gives about 1 % of "
            "changes. [mu 0.5, w 0.002, both sources: 0.5 to 2 %]",
            of.gains((slow for slow, _ in slower), *_ABOUT_1),
        ),
        (
            "In case of heavy traffic, for both mechanisms, irrespective of w and of the traffic "
            "self-similarity, drop-from-front gives two times shorter mean queueing times. [mu "
            "0.25: 45 to 55 % shorter]",
            of.gains(of.cases(mu=_HEAVY), *_HALF),
        ),
        (
            "Drop-from-front, when applied in place of tail-drop, results in reduction of mean "
            "queueing time in RED and DSRED. [section VI; all rows]",
            of.gains(cases, 0, 1),
        ),
    ]
    return [judge(text, "section IV", checks) for text, checks in told]
