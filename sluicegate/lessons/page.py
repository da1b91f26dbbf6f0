"""The page of a lesson: text, figures, questions, and for teachers the answers."""

from __future__ import annotations

from sluicegate.lessons.lesson import Question, Worked
from sluicegate.report.numbers import number_text, plain_number
from sluicegate.report.page import Page


def lesson_page(worked: Worked, *, answers: bool = False) -> Page:
    """Put the page together.

    Args:
        worked: The lesson with its runs.
        answers: Whether it has the answers, with what explains them.
    """
    lesson = worked.lesson
    page = Page(lesson.title, worked.whose)
    page.section("What it is about")
    for paragraph in lesson.text:
        page.text(paragraph)
    page.table(
        ["value", "here"],
        [[name, plain_number(value, 6)] for name, value in worked.values.items()],
        "What variants differ in. Names end with the unit: bps is bits per second, s seconds; "
        "others count packets or flows, or are parameters.",
    )
    page.section("Look")
    for drawn in worked.figures():
        page.figure(drawn.figure, drawn.title, drawn.caption)
    page.section("Questions with a number")
    page.text(
        "Write your numbers into the file answers.toml beside this page: each line # name = "
        "becomes name = 12.3, in the unit of the question. The folder scenarios has each run: "
        "sluice simulate scenarios/NAME.toml prints its measures."
    )
    header = ["name", "question", "unit"]
    rows = [[each.name, each.text, each.unit] for each in worked.questions]
    if answers:
        header += ["answer", "taken within", "why"]
        rows = [
            [*row, answer_text(each), f"{each.tolerance:.0%}", each.why]
            for row, each in zip(rows, worked.questions, strict=True)
        ]
    page.table(header, rows)
    page.section("Questions to discuss")
    for text in lesson.discuss:
        page.text(text)
    return page


def answer_text(question: Question) -> str:
    """The answer with the half width of its interval."""
    shown = number_text(question.answer)
    return f"{shown} ± {plain_number(question.interval, 2)}" if question.interval else shown
