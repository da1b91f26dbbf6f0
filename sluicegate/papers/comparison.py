"""A paper's figures beside ours: rows, what they show, and the plots that go with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from sluicegate.estimate import Measure
from sluicegate.papers.claims import CLAIMS_HEADER, HOW_CLAIMS_ARE_JUDGED, Claim
from sluicegate.report.page import Page
from sluicegate.report.terminal import TerminalTable, terminal_table
from sluicegate.report.text import measure_text

# digits of figures without a half width: as many as the papers print
_DIGITS = 6
# rows that a terminal shows
_MOST_ROWS = 200
# by measure; losses and gains are shares
SLOTTED_UNITS = {
    "queue_mean": "packets",
    "queue_variance": "packets^2",
    "delay_mean": "slots",
    "delay_variance": "slots^2",
}
INTERVALS = "The figure after ± is the half width of the 95 % confidence interval of our result."


@dataclass(frozen=True)
class Row:
    """One figure of a paper and what we measure for it.

    Attributes:
        row: Which case.
        quantity: What is compared, named as in records.
        published: The paper's figure; None where it prints none.
        measured: Our figure.
        half_width: The figure after ±; None where there is none.
        predicted: Our figure in another world that predicts the measured one; None: there is none.
        measure: What is compared, where rows of several quantities have the same measure; empty:
            the quantity.
        spread: The standard deviation of the published figure over several trials; None: it has
            none.
        bar: The largest difference between the figures that counts as agreement; None: rows have
            no verdict.
    """

    row: str
    quantity: str
    published: float | None
    measured: float
    half_width: float | None
    predicted: Measure | None = None
    measure: str = ""
    spread: float | None = None
    bar: float | None = None

    @property
    def verdict(self) -> str:
        """`agrees` or `differs`; empty where there is nothing to judge."""
        if self.bar is None or self.published is None:
            return ""
        return "agrees" if abs(self.measured - self.published) <= self.bar else "differs"

    @property
    def difference(self) -> float | None:
        """How far our figure is above the published figure, as a share of the latter if not 0."""
        return self.measured / self.published - 1 if self.published else None

    def summary(self) -> dict[str, Any]:
        """The row as types that JSON has."""
        predicted = {} if self.predicted is None else {"predicted": self.predicted.value}
        return {
            "row": self.row,
            "quantity": self.quantity,
            "published": self.published,
            **predicted,
            "measured": self.measured,
            "half_width": self.half_width,
            "difference": self.difference,
            **({} if self.bar is None else {"spread": self.spread, "verdict": self.verdict}),
        }

    def cells(self, units: Mapping[str, str]) -> list[str]:
        """The row as text, with the unit of its measure, if `units` has it."""
        difference = self.difference
        unit = units.get(self.measure or self.quantity)
        predicted = [] if self.predicted is None else [measure_text(self.predicted, _DIGITS)]
        return [
            self.row,
            f"{self.quantity} ({unit})" if unit else self.quantity,
            self._published(),
            *predicted,
            measure_text(Measure(self.measured, self.half_width, ""), _DIGITS),
            "" if difference is None else f"{100 * difference:+.2f} %",
            *([] if self.bar is None else [self.verdict]),
        ]

    def _published(self) -> str:
        if self.published is None:
            return ""
        spread = "" if self.spread is None else f" ± {self.spread:.3g}"
        return f"{self.published:.7g}{spread}"


def row_of(
    case: str, quantity: str, published: float | None, found: Measure, *, measure: str = ""
) -> Row:
    """The row that sets a measure of a record beside a published figure; see `Row`."""
    return Row(case, quantity, published, found.value, found.half_width, measure=measure)


class Plot(NamedTuple):
    """A figure with its title and its caption."""

    figure: Figure
    title: str
    caption: str


@dataclass(frozen=True)
class Reproduction:
    """The outcome of repeating a paper.

    Attributes:
        paper: What the paper is on, its authors, journal and year.
        rows: Every figure that was compared.
        findings: What the rows show, a sentence or two each.
        choices: What the paper leaves open, and what we took.
        plots: The paper's figures, drawn again.
        column: Heading of our figures.
        predictor: Heading of another world's figures, in all rows; empty: there are none.
        spread: A sentence on the figure after ±.
        units: Of the measures of rows that have one; see `Row.cells`.
        remark: A sentence or two on the quantities, below the table.
        claims: What the paper says in words, each with a verdict.
        unjudged: Its statements that are not about figures; a sentence or two.
    """

    paper: str
    rows: Sequence[Row]
    findings: Sequence[str]
    choices: Sequence[str]
    plots: Sequence[Plot] = field(repr=False)
    column: str = "measured"
    predictor: str = ""
    spread: str = INTERVALS
    units: Mapping[str, str] = field(default_factory=lambda: SLOTTED_UNITS)
    remark: str = ""
    claims: Sequence[Claim] = ()
    unjudged: str = ""

    @property
    def _header(self) -> list[str]:
        predictor = [self.predictor] if self.predictor else []
        verdict = ["verdict"] if any(row.bar is not None for row in self.rows) else []
        return ["row", "quantity", "published", *predictor, self.column, "difference", *verdict]

    def summary(self) -> dict[str, Any]:
        """Every row and every claim as types that JSON has."""
        return {
            "rows": [row.summary() for row in self.rows],
            "claims": [claim.summary() for claim in self.claims],
        }

    def table(self) -> TerminalTable:
        """The rows for the terminal, each case named once; of very many, the published ones."""
        rows, title = list(self.rows), ""
        if len(rows) > _MOST_ROWS:
            rows = [row for row in rows if row.published is not None]
            title = f"Published figures ({len(self.rows)} rows are on the page)"
        cells = [row.cells(self.units) for row in rows]
        for before, row in reversed(list(zip(rows, cells[1:], strict=False))):
            if row[0] == before.row:
                row[0] = ""
        return terminal_table(self._header, cells, title)

    def claims_table(self) -> TerminalTable:
        """The claims for the terminal, without their evidence, which is on the page."""
        cells = [[claim.verdict, claim.text, claim.where] for claim in self.claims]
        return terminal_table(["verdict", "claim", "where"], cells, "Claims of the text")

    def page(self) -> Page:
        """The claims, the rows, the findings, the choices and the plots as a page."""
        page = Page(self.paper, "Every published figure beside ours")
        page.section("What it shows")
        for sentence in self.findings:
            page.text(sentence)
        if self.claims:
            page.section("Claims of the text")
            cells = [claim.cells() for claim in self.claims]
            page.table(CLAIMS_HEADER, cells, f"{HOW_CLAIMS_ARE_JUDGED} {self.unjudged}".strip())
        page.section("What the paper leaves open")
        for sentence in self.choices:
            page.text(sentence)
        if self.plots:
            page.section("Figures drawn anew")
        for plot in self.plots:
            page.figure(plot.figure, plot.title, plot.caption)
        page.section("Figure by figure")
        cells = [row.cells(self.units) for row in self.rows]
        page.table(self._header, cells, f"{self.remark} {self.spread}".strip())
        return page
