"""The page of `sluice advise`: one page that can be acted on."""

from __future__ import annotations

from sluicegate.advice import rows, words
from sluicegate.advice.advice import Advice
from sluicegate.advice.lines import lines
from sluicegate.advice.of_capture import Recorded
from sluicegate.advice.plots import costs_figure, scenarios_figure
from sluicegate.advice.replay import HEADER as REPLAY_HEADER
from sluicegate.advice.replay import NOTE as REPLAY_NOTE
from sluicegate.report.page import Page


def advice_page(
    advice: Advice, recorded: Recorded | None = None, replayed: list[list[str]] | None = None
) -> Page:
    """Put the page together.

    Args:
        advice: What was found.
        recorded: The capture that was asked about, if it was one.
        replayed: Rows of its replay.
    """
    page = Page("Advice on a queue", next(words.assumptions(advice)).split(";")[0])
    page.section("What to take")
    page.text(words.verdict(advice))
    page.table(
        [cell.replace("\n", " ") for cell in rows.HEADER],
        rows.setting_cells(advice),
        "Means over all scenarios; the figure after ± is the half width of the 95 % confidence "
        f"interval. {words.COLUMNS}",
        ["", "", "", "", "sojourn_p99", "completion_mean", "loss_ratio", "utilization", "fairness"],
    )
    page.text(words.score_sentence(advice.question.prefer))
    page.text(words.NAMES)
    page.figure(
        costs_figure(advice),
        "What the score is made of",
        "The bars are means over all scenarios.",
        "; ".join(f"{row[0]}: {row[1]}" for row in rows.setting_cells(advice)) + ".",
    )
    page.section("How to set it")
    for each in advice.worth_having:
        found = lines(each, advice.question)
        page.heading(each.name)
        page.commands([found.sluiced])
        if found.tc:
            page.commands(found.tc)
        if found.why_no_tc:
            page.text(f"No tc commands: {found.why_no_tc}.")
    page.text(words.DEVICE)
    page.section("What would change it")
    cases = rows.case_rows(advice)
    page.table(
        rows.CASE_HEADER,
        [rows.case_cells(row, advice.factor) for row in cases],
        "Each scenario alone: the best of the settings above, and how far the choice is behind it.",
    )
    page.figure(
        scenarios_figure(advice),
        "Each scenario alone",
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
    if recorded is not None:
        page.section("What was recorded")
        page.table(
            ["of the capture", "found"],
            [list(row) for row in recorded.rows()],
            "The load of the scenarios is made from this. A round trip is the time from a SYN to "
            "the next packet of its flow; those longer than the median are left out, since they "
            "include the queueing delay of that time.",
        )
        page.table(REPLAY_HEADER, replayed or [], REPLAY_NOTE)
    page.section("What was assumed")
    for sentence in words.assumptions(advice):
        page.text(sentence)
    return page
