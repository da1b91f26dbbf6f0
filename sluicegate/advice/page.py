"""The page of `sluice advise`: one page that can be acted on."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.advice import rows, words
from sluicegate.advice.advice import Advice
from sluicegate.advice.lines import lines
from sluicegate.advice.of_capture import Recorded
from sluicegate.advice.plots import change_figure, costs_figure, scenarios_figure
from sluicegate.advice.reasons import reasons
from sluicegate.advice.replay import HEADER as REPLAY_HEADER
from sluicegate.advice.replay import NOTE as REPLAY_NOTE
from sluicegate.report.page import Page


def advice_page(
    advices: Sequence[Advice],
    recorded: Recorded | None = None,
    replayed: list[list[str]] | None = None,
) -> Page:
    """Put the page together.

    Args:
        advices: What was found: of one link, or of both directions of a line.
        recorded: The capture that was asked about, if it was one.
        replayed: Rows of its replay.
    """
    links = [each.question for each in advices]
    page = _titled(advices)
    page.section("What to take")
    _answer(page, advices)
    page.section("How to set it")
    for advice in advices:
        _heading(page, advices, advice)
        _lines(page, advice)
    page.section("Why")
    for advice in advices:
        _heading(page, advices, advice)
        _settings(page, advice)
    page.text(words.score_sentence(links[0].prefer))
    page.text(words.NAMES)
    page.section("What would change it")
    for advice in advices:
        _heading(page, advices, advice)
        _changes(page, advice)
    if recorded is not None:
        _recorded(page, recorded, replayed or [])
    page.section("What was assumed")
    for advice in advices:
        _heading(page, advices, advice)
        for sentence in words.assumptions(advice):
            page.text(sentence)
    return page


def in_notebook(advice: Advice) -> Page:
    """What a notebook shows of it: what to take, before and after, and the settings judged."""
    page = _titled([advice])
    _answer(page, [advice])
    _table(page, advice)
    return page


def _titled(advices: Sequence[Advice]) -> Page:
    links = "; ".join(words.link_text(each.question) for each in advices)
    return Page("Advice on a queue", links)


def _answer(page: Page, advices: Sequence[Advice]) -> None:
    for advice in advices:
        _heading(page, advices, advice)
        page.text(words.verdict(advice))
        page.text(words.change(advice))
    if len(advices) > 1:
        page.text(words.both(*(each.question for each in advices)))
    page.figure(
        change_figure(advices),
        "Before and after",
        "Each scenario, from what the link has today (before) to the recommended setting (after): "
        "p99 sojourn, mean time of the flows that come and go, share of the time in which the "
        "link is busy. Times are on logarithmic axes.",
        " ".join(map(words.change, advices)),
    )


def _heading(page: Page, advices: Sequence[Advice], advice: Advice) -> None:
    """Name the link, where there are several."""
    if len(advices) > 1:
        page.heading(words.link_name(advice.question))


def _of_link(title: str, advice: Advice) -> str:
    """A figure's title that says which direction it is about."""
    direction = advice.question.direction
    return f"{title}: {direction}" if direction else title


def _lines(page: Page, advice: Advice) -> None:
    page.text(words.device(advice.question))
    page.text(words.PLACES[advice.question.direction])
    undo: Sequence[str] = ()
    for each in advice.worth_having:
        found = lines(each, advice.question)
        page.heading(each.name)
        if found.sluiced:
            page.commands([found.sluiced])
        if found.tc:
            page.commands(found.tc)
            undo = found.undo
        if found.why_no_tc:
            page.text(f"No tc commands: {found.why_no_tc}.")
        page.table(
            ["parameter", "why"],
            [list(row) for row in reasons(each, advice.question)],
            f"Why {each.name} is set so.",
        )
    if undo:
        page.text(words.UNDO)
        page.commands(undo)


def _table(page: Page, advice: Advice) -> None:
    page.table(
        [cell.replace("\n", " ") for cell in rows.HEADER],
        rows.setting_cells(advice),
        "Means over all scenarios, geometric ones of times; the figure after ± is the half width "
        f"of the 95 % confidence interval. {words.COLUMNS}",
        ["", "", "", "", "sojourn_p99", "completion_mean", "loss_ratio", "utilization", "fairness"],
    )


def _settings(page: Page, advice: Advice) -> None:
    _table(page, advice)
    page.figure(
        costs_figure(advice),
        _of_link("What the score is made of", advice),
        "Each part of a bar is the mean share of this cost in the scores of the scenarios. A bar "
        "with an arrow is cut: it shows the shares of its parts.",
        "; ".join(f"{row[0]}: {row[1]}" for row in rows.setting_cells(advice)) + ".",
    )


def _changes(page: Page, advice: Advice) -> None:
    cases = rows.case_rows(advice)
    page.table(
        rows.CASE_HEADER,
        [rows.case_cells(row, advice.factor) for row in cases],
        "Each scenario alone: the best of the settings above, and how far the choice is behind it.",
    )
    page.figure(
        scenarios_figure(advice),
        _of_link("Each scenario alone", advice),
        "To the left of the line a setting is better than the choice in that scenario. The bars "
        "are 95 % intervals of differences under the same seeds.",
        "; ".join(f"{row.scenario}: {row.best} is best" for row in cases) + ".",
    )
    page.table(
        rows.PREFER_HEADER,
        [rows.prefer_cells(row) for row in rows.prefer_rows(advice)],
        "What would be best if something else mattered most: only of the settings above, which "
        f"were searched with --prefer {advice.question.prefer}.",
    )


def _recorded(page: Page, recorded: Recorded, replayed: list[list[str]]) -> None:
    page.section("What was recorded")
    page.table(
        ["of the capture", "found"],
        [list(row) for row in recorded.rows()],
        "The load of the scenarios is made from this. A round trip is the time from a SYN to "
        "the next packet of its flow; those longer than the median are left out, since they "
        "include the queueing delay of that time.",
    )
    page.table(REPLAY_HEADER, replayed, REPLAY_NOTE)
