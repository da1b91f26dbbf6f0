"""`sluice lesson`: an assignment for a class, its figures, and its grader."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console
from sluicegate.errors import UsageError
from sluicegate.extras import require
from sluicegate.files import make_folder, write_whole
from sluicegate.report.numbers import number_text
from sluicegate.report.terminal import terminal_table

if TYPE_CHECKING:
    from sluicegate.lessons import Graded, Worked

_NAMES = ("bufferbloat", "red", "l4s")


def lesson(
    name: Annotated[
        str,
        typer.Argument(
            metavar="LESSON",
            autocompletion=lambda: list(_NAMES),
            help="bufferbloat: the assignment of many universities; red: why RED is hard to tune; "
            "l4s: L4S in one picture.",
        ),
    ],
    student: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="The variant of the student with this number: other rates, round trips, buffers. "
            "If not given: the assignment as it is.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the page and the file of answers; if not given: the lesson's name.",
            show_default=False,
        ),
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="For teachers: print and write the answers, too.")
    ] = False,
    grade: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Grade this file of answers instead of writing a page. It says whose variant it "
            "answers.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Give a lesson: a page with figures and questions, and a file for the answers.

    Needs neither root nor a virtual machine; the runs take some seconds and are kept.
    """
    require("matplotlib", "the page of its figures")
    from sluicegate import lessons

    if name not in lessons.LESSONS:
        raise UsageError(f"{name} is no lesson; there are {', '.join(lessons.LESSONS)}")
    if grade is not None:
        if student is not None or out is not None or answers:
            raise UsageError("--grade takes no other option: the file says whose variant it is")
        student = lessons.student_of(grade)
    chosen = lessons.LESSONS[name]
    with progress(len(chosen.runs(chosen.given))) as watch:
        worked = lessons.work(chosen, student, watch)
    if grade is not None:
        _print_grades(worked, grade)
    else:
        _write(worked, out or Path(name), answers=answers)


def _write(worked: Worked, out: Path, *, answers: bool) -> None:
    from sluicegate import lessons
    from sluicegate.lessons.page import answer_text

    screen = console()
    screen.print(f"[bold]{escape(worked.lesson.title)}[/]")
    header = ["name", "question"] + (["answer", "unit"] if answers else ["unit"])
    rows = [
        [each.name, each.text, *([answer_text(each)] if answers else []), each.unit]
        for each in worked.questions
    ]
    screen.print(terminal_table(header, rows))
    make_folder(out)
    page, file = out / "lesson.html", out / "answers.toml"
    lessons.lesson_page(worked, answers=answers).write(page)
    screen.print(f"page: {escape(str(page))}", soft_wrap=True)
    if file.exists():
        screen.print(f"kept: {escape(str(file))}, which was there", soft_wrap=True)
    else:
        write_whole(file, lessons.template(worked))
        screen.print(f"for the answers: {escape(str(file))}", soft_wrap=True)


def _print_grades(worked: Worked, path: Path) -> None:
    from sluicegate import lessons
    from sluicegate.lessons.page import answer_text

    graded = lessons.grade(worked, path)
    rows = [
        [
            each.question.name,
            "none" if each.given is None else number_text(each.given),
            answer_text(each.question),
            each.question.unit,
            _verdict(each),
        ]
        for each in graded
    ]
    screen = console()
    screen.print(terminal_table(["name", "given", "answer", "unit", "result"], rows))
    screen.print(f"{sum(each.right for each in graded)} of {len(graded)} right")


def _verdict(each: Graded) -> str:
    if each.given is None:
        return "not answered"
    return "right" if each.right else f"not within {each.question.tolerance:.0%}"
