"""The page of an evaluation: verdicts first, then pictures, then every figure."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.evaluate import plots, short, words
from sluicegate.evaluate.answer import Section, Side, share
from sluicegate.evaluate.case import Case
from sluicegate.evaluate.control import (
    CONTROL_CAPTION,
    CONTROL_HEADER,
    COST_CAPTION,
    COST_HEADER,
    control_rows,
    cost_rows,
)
from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.felt import felt
from sluicegate.evaluate.harms import CAPTION, harm_rows
from sluicegate.evaluate.requirements import rows
from sluicegate.evaluate.sensitivity import (
    SENSITIVITY_CAPTION,
    SENSITIVITY_HEADER,
    sensitivity_rows,
)
from sluicegate.evaluate.verdict import Comparison
from sluicegate.report import felt as bands
from sluicegate.report.page import Page

# sections with a course in time
_COURSES = ("8.2.5", "8.2.6", "S2")
_ROUND_TRIPS = "6.2"
# of which the RFC asks for the jitter of each application
_OF_APPLICATIONS = ("7.2", "9.1")
_SENSITIVITY = "8.3"
# of queueing delay and of goodput
# beside those by which a case judges
_ALSO = ("utilization", "loss_ratio")
# where they are known: losses of calls and of constant rate, ACKs of two-way traffic, and
# exchanges of one small packet, which take what a handshake takes
_MORE = (
    *(f"{each}.{name}" for each in ("voice", "cbr") for name in ("loss_run", "loss_gap")),
    *(
        f"{each}.{name}"
        for each in ("forward", "reverse")
        for name in ("ack_delay", "ack_loss_ratio")
    ),
    *("probes.completion_mean", "start_up_mean"),
)


def evaluation_page(found: Evaluation, others: Sequence[str]) -> Page:
    """Put the page together.

    Args:
        found: The evaluation, finished or not.
        others: With which disciplines all are compared.
    """
    plan = found.plan
    page = Page(
        f"{', '.join(plan.judged)}: the scenarios of {plan.suite.title}",
        f"Profile {plan.profile.name}: {plan.profile.told()}; {plan.told_replications()}",
    )
    if found.done < len(plan.runs):
        page.text(f"{found.done:,} of {len(plan.runs):,} runs are there; the others are missing.")
    for note in found.notes():
        page.text(note)
    page.section("In short")
    _in_short(page, found, others)
    page.section("Verdicts by section")
    _by_section(page, found, others)
    for section in found.sections:
        _section(page, found, section, others)
    header, cells = harm_rows(found)
    if cells:
        page.section("What others do to a flow of NewReno")
        page.table(header, cells, CAPTION)
    if plan.suite.requirements:
        page.section("What RFC 7928 asks for")
        page.table(
            ["requirement", "section", "weight", "here", "see"],
            rows(found),
            "Table 4 of section 13. Met: the scenario was run, beside drop-tail with the same "
            "buffer; it says nothing of how well it went. Discuss: the facts are here, the words "
            "are yours.",
        )
    page.section("What it costs, and what an operator can set")
    page.table(COST_HEADER, cost_rows(found), COST_CAPTION)
    page.table(CONTROL_HEADER, control_rows(found), CONTROL_CAPTION)
    page.section(f"What {plan.suite.title} leaves open")
    page.table(
        ["section", "open", "chosen here"],
        [[each.section, each.open, each.chosen] for each in plan.suite.choices],
        f"The profile: {plan.profile.summary}.",
    )
    page.section("Data")
    page.text(
        "measures.csv has every measure of every scenario with its interval, verdicts.csv every "
        "comparison, sections.csv the verdicts by section, and runs/ every replication "
        "(Parquet), with the curves of the pictures."
    )
    return page


def _in_short(page: Page, found: Evaluation, others: Sequence[str]) -> None:
    for title, lines in short.in_short(found, others):
        page.heading(title)
        page.points(lines)
    page.text(short.how_sure(found, others))


def _by_section(page: Page, found: Evaluation, others: Sequence[str]) -> None:
    for name, other in short.pairs(found, others):
        page.heading(f"{name} beside {other}")
        page.table(
            ["section", "about", "verdict", "queueing delay", "goodput", "better in", "worse in"],
            [_cells(found, row) for row in short.sections_beside(found, name, other)],
            f"Queueing delay and goodput: which share of those of {other} they are, as geometric "
            "means over the scenarios and classes of the section; a dash where nothing is judged "
            "by them. A trade: better in one measure, worse in another. Mixed: better in one "
            "scenario or class, worse in another.",
        )
    for other in others:
        if any(name != other for name in found.plan.names) and found.done:
            page.figure(
                plots.overview_figure(found, other),
                f"All sections beside {other}",
                "Geometric means over the scenarios and classes of a section, as "
                "ratios. Where a section has "
                "no point, nothing is judged by that measure. A short delay is worth "
                "little where goodput "
                "is lost: read both panels.",
            )


def _cells(found: Evaluation, row: Section) -> list[str]:
    return [
        row.section,
        found.plan.suite.topics[row.section],
        row.verdict,
        _side(row.delay, "shorter", "longer"),
        _side(row.goodput, "more", "less"),
        _measures(row.better),
        _measures(row.worse),
    ]


def _measures(compared: Sequence[Comparison]) -> str:
    return ", ".join(dict.fromkeys(words.heading(short.plain(each)) for each in compared))


def _side(side: Side, better: str, worse: str) -> str:
    """A verdict and the ratio: `shorter: 15 %`."""
    if side.word is None:
        return "-"
    said = side.said(better, worse, "mixed")
    if side.ratio is None:
        return said
    # the sign stays beside its number
    return f"{said}: {share(side.ratio)}".replace(" %", "\u00a0%")


def _section(page: Page, found: Evaluation, section: str, others: Sequence[str]) -> None:
    cases = found.cases(section)
    page.section(f"Section {found.plan.suite.headed(section)}")
    for case in cases:
        page.heading(f"{case.title[:1].upper()}{case.title[1:]}")
        for line in words.case_lines(found, case, others):
            page.text(line)
        page.table(*_table(found, case))
        _felt(page, found, case)
        _figures(page, found, case)
    if section == _ROUND_TRIPS and len(cases) > 1:
        page.figure(
            plots.round_trips_figure(found, cases),
            "Fairness of round trips",
            "Above 1 the flow with the other round trip gets more. The bars are 95 % intervals.",
        )
    if section == _SENSITIVITY:
        page.table(SENSITIVITY_HEADER, sensitivity_rows(found), SENSITIVITY_CAPTION)


def _felt(page: Page, found: Evaluation, case: Case) -> None:
    """Add what people feel, with what is good and who says so."""
    shown = felt(found, case)
    if not shown:
        return
    names = [name for name in found.plan.names if found.measured(case, name)]
    page.figure(
        bands.felt_figure(shown, names),
        f"What people feel: {case.section}, {case.title}",
        bands.CAPTION,
        bands.seen(shown, names),
    )
    rows, caption = bands.felt_rows(shown, names)
    page.table(bands.HEADER, rows, caption)


def _table(found: Evaluation, case: Case) -> tuple[list[str], list[list[str]], str]:
    measures = list(dict.fromkeys([*case.judged, *_shown(found, case)]))
    cells = [
        [
            name,
            *(words.text(each, found.mean(case, name, each), units=False) for each in measures),
        ]
        for name in found.plan.names
        if found.measured(case, name)
    ]
    caption = "The figure after ± is the half width of the 95 % interval over the replications."
    return ["discipline", *map(words.labelled, measures)], cells, caption


def _shown(found: Evaluation, case: Case) -> list[str]:
    """Measures that are shown beside those by which a case judges."""
    more = [*_ALSO]
    more += ["goodput_ratio"] if "goodput_fairness" in case.judged else []
    more += ["synchronisation_ratio", "lost_by_time_0"] if case.loses_together else []
    known = {
        each
        for name in found.plan.names
        for run in found.measured(case, name)
        for each in run.values
    }
    more += [each for each in _MORE if each in known]
    classes = dict.fromkeys(each.rpartition(".")[0] for each in case.judged)
    if found.plan.suite.marks:
        more += ["mark_ratio", *(f"{each}.sojourn_p99" for each in plots.classes(case))]
    if case.section in _OF_APPLICATIONS:
        more += [name for name in sorted(known) if name.endswith(".jitter")]
    if case.section.startswith(("6", "4.5")):
        more += [f"{each}.loss_ratio" for each in classes if each]
    return more


def _figures(page: Page, found: Evaluation, case: Case) -> None:
    if not any(found.measured(case, name) for name in found.plan.names):
        return
    title = f"{case.section}, {case.title}"
    if plots.classes(case) and case.section not in (_ROUND_TRIPS, "4.5"):
        page.figure(
            plots.ellipse_figure(found, case),
            f"Delay and goodput: {title}",
            "A point is a replication, a circle the median; an ellipse holds "
            f"{100 * plots.SHARE:g} % of the Gaussian that fits them best.",
        )
    if plots.waiting(found, case):
        page.figure(
            plots.distribution_figure(found, case),
            f"Distributions: {title}",
            "Of all replications together.",
        )
    if case.section in _COURSES:
        page.figure(
            plots.course_figure(found, case),
            f"Queue and losses in time: {title}",
            "Means over the replications in windows of ten round trips. An empty queue wastes the "
            "link.",
        )
