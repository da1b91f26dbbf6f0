"""`sluice lesson`: an assignment for a class, its figures, and its grader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console
from sluicegate.errors import InterruptError, SluiceError, UsageError
from sluicegate.extras import require
from sluicegate.files import make_folder, write_whole
from sluicegate.report.numbers import number_text
from sluicegate.report.terminal import terminal_table

if TYPE_CHECKING:
    from sluicegate.lessons import Graded, Lesson, Worked

_NAMES = ("bufferbloat", "red", "l4s")
_WORLDS = ("network", "gate")
_ANSWERS = "answers.toml"
_SCENARIOS = "scenarios"


def lesson(
    name: Annotated[
        str,
        typer.Argument(
            metavar="|".join(_NAMES),
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
            "If not given: the assignment as it is. With --grade: the files must be of this "
            "variant.",
            show_default=False,
        ),
    ] = None,
    world: Annotated[
        str,
        typer.Option(
            metavar="|".join(_WORLDS),
            autocompletion=lambda: list(_WORLDS),
            help="network: simulated, in seconds; gate: with real packets, in real time, ten "
            "minutes for bufferbloat (sluice testbed --check says what that needs).",
        ),
    ] = "network",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the page and the file of answers; if not given: the lesson's name, "
            "with the student's number.",
            show_default=False,
        ),
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="For teachers: print and write the answers, too.")
    ] = False,
    grade: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.toml|FOLDER",
            help="Grade this file of answers, or all files *.toml of a folder, instead of writing "
            "a page; may be repeated. A file says whose variant it answers.",
            show_default=False,
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="With --grade: write the results, a line for each answer, with the total of its "
            "file, and one for each file that cannot be graded.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Give a lesson: a page with figures and questions, and a file for the answers.

    Needs neither root nor a virtual machine; the runs take some seconds and are kept. With --world
    gate they are real, and no run is the same twice.
    """
    require("matplotlib", "the page of its figures")
    from sluicegate import lessons

    if name not in lessons.LESSONS:
        raise UsageError(f"{name} is no lesson; there are {', '.join(lessons.LESSONS)}")
    chosen = lessons.LESSONS[name]
    if grade:
        if out is not None or answers:
            raise UsageError("--grade writes no page: leave out --out and --answers")
        if world != "network":
            raise UsageError("--grade takes --world network: real runs are not the same twice")
        _grade(chosen, grade, student, csv)
        return
    if csv is not None:
        raise UsageError("--csv needs --grade: it writes the results")
    folder = out or Path(name if student is None else f"{name}-{student}")
    _refuse_other_answers(folder / _ANSWERS, name, student)
    _write(_work(chosen, student, world), folder, answers=answers)


def _work(chosen: Lesson, student: int | None, world: str = "network") -> Worked:
    from sluicegate import lessons

    with progress(len(chosen.runs(chosen.given))) as watch:
        return lessons.work(chosen, student, watch, world)


def _refuse_other_answers(file: Path, name: str, student: int | None) -> None:
    """Keep a page and answers of two lessons, or of two variants, out of one folder."""
    from sluicegate import lessons

    if not file.exists():
        return
    if (lesson := lessons.lesson_of(file)) not in (None, name):
        raise SluiceError(f"{file} answers the lesson {lesson}, not {name}: take another --out")
    if (found := lessons.student_of(file)) != student:
        raise SluiceError(
            f"{file} answers {lessons.whose(found)}, not {lessons.whose(student)}: take another "
            "--out"
        )


def _write(worked: Worked, out: Path, *, answers: bool) -> None:
    from sluicegate import lessons
    from sluicegate.lessons.page import answer_text

    screen = console()
    screen.print(f"[bold]{escape(worked.lesson.title)}[/], {worked.whose}")
    header = ["name", "question"] + (["answer", "unit"] if answers else ["unit"])
    rows = [
        [each.name, each.text, *([answer_text(each)] if answers else []), each.unit]
        for each in worked.questions
    ]
    screen.print(terminal_table(header, rows))
    make_folder(out / _SCENARIOS)
    for name, text in worked.scenarios().items():
        write_whole(out / _SCENARIOS / name, text)
    page, file = out / "lesson.html", out / _ANSWERS
    lessons.lesson_page(worked, answers=answers).write(page)
    screen.print(f"page: {escape(str(page))}", soft_wrap=True)
    screen.print(f"its runs, for sluice simulate: {escape(str(out / _SCENARIOS))}", soft_wrap=True)
    if file.exists():
        screen.print(f"kept: {escape(str(file))}, which was there", soft_wrap=True)
    else:
        write_whole(file, lessons.template(worked))
        screen.print(f"for the answers: {escape(str(file))}", soft_wrap=True)


def _grade(chosen: Lesson, files: Sequence[Path], student: int | None, table: Path | None) -> None:
    """Grade all files; those that cannot be graded are told of at the end."""
    if table is not None and not table.parent.is_dir():
        raise UsageError(f"--csv: {table.parent} is not a folder")
    rows: list[list[object]] = []
    totals, wrong = [], []
    for file in _files(files):
        try:
            own = _rows(chosen, file, student)
        except InterruptError:
            raise
        except (OSError, SluiceError) as error:
            wrong.append(str(error))
            # the first column has the path
            why = str(error).removeprefix(str(file)).lstrip(": ")
            rows.append([str(file), chosen.name, *[None] * 6, why])
            totals.append([str(file), "", "not graded"])
        else:
            rows += own
            _, _, whose, *_, right, asked, _ = own[0]
            totals.append([str(file), str(whose or ""), f"{right} of {asked}"])
    if len(totals) > 1:
        console().print(terminal_table(["file", "student", "right"], totals))
    if table is not None:
        import polars as pl

        from sluicegate.report.csv import csv_text

        columns = {
            "file": pl.String,
            "lesson": pl.String,
            "student": pl.Int64,
            "name": pl.String,
            "given": pl.Float64,
            "right": pl.Boolean,
            "file_right": pl.Int64,
            "file_asked": pl.Int64,
            "error": pl.String,
        }
        write_whole(table, csv_text(pl.DataFrame(rows, schema=columns, orient="row")))
        console().print(f"results: {escape(str(table))}", soft_wrap=True)
    if wrong:
        raise SluiceError("\n".join(wrong))


def _files(given: Sequence[Path]) -> list[Path]:
    """The files that were given, and those of the folders that were.

    Raises:
        UsageError: If a folder has none.
    """
    found: list[Path] = []
    for each in given:
        own = [each]
        if each.is_dir():
            own = sorted(path for path in each.glob("*.toml") if path.is_file())
        if not own:
            raise UsageError(f"--grade: the folder {each} has no file *.toml")
        found += own
    return found


def _rows(chosen: Lesson, file: Path, student: int | None) -> list[list[object]]:
    """Grade a file, print its grades, and return them as rows of the table."""
    from sluicegate import lessons

    found = lessons.student_of(file)
    if student is not None and found != student:
        raise SluiceError(f"{file} answers {lessons.whose(found)}, not {lessons.whose(student)}")
    worked = _work(chosen, found)
    graded = lessons.grade(worked, file)
    _print_grades(worked, file, graded)
    total = [sum(each.right for each in graded), len(graded)]
    return [
        [str(file), chosen.name, found, each.question.name, each.given, each.right, *total, None]
        for each in graded
    ]


def _print_grades(worked: Worked, file: Path, graded: Sequence[Graded]) -> None:
    from sluicegate.lessons.page import answer_text

    rows = [
        [
            each.question.name,
            "none" if each.given is None else number_text(each.given),
            answer_text(each.question),
            each.question.unit,
            each.result,
        ]
        for each in graded
    ]
    screen = console()
    screen.print(
        f"[bold]{escape(str(file))}[/]: {worked.lesson.name}, {worked.whose}", soft_wrap=True
    )
    screen.print(terminal_table(["name", "given", "answer", "unit", "result"], rows))
    screen.print(f"{sum(each.right for each in graded)} of {len(graded)} right")
