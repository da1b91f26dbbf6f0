"""The file of a student's answers, and its grader."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.lessons.lesson import Question, Worked

_KEYS = ("lesson", "student", "answers")
_MOST = 1e100
# lines such as `ping = 80,0` and `ping =`
_COMMA = re.compile(r"\s*(\w+)\s*=\s*([-+]?\d+),(\d+)\s*(?:#.*)?$")
_EMPTY = re.compile(r"\s*(\w+)\s*=\s*(?:#.*)?$")


@dataclass(frozen=True, kw_only=True)
class Graded:
    """One answer: what was given (None: nothing), and whether it is right."""

    question: Question
    given: float | None
    right: bool

    @property
    def result(self) -> str:
        """The result in words."""
        if self.given is None:
            return "not answered"
        return "right" if self.right else f"not within {self.question.tolerance:.0%}"


def template(worked: Worked) -> str:
    """The file that a student fills in: TOML, a line for each question."""
    lines = [f'lesson = "{worked.lesson.name}"']
    if worked.student is not None:
        lines.append(f"student = {worked.student}")
    lines += ["", "[answers]"]
    for each in worked.questions:
        lines += [f"# {each.text}" + (f" ({each.unit})" if each.unit else ""), f"# {each.name} = "]
    return "\n".join(lines) + "\n"


def grade(worked: Worked, path: Path) -> list[Graded]:
    """Grade a file of answers.

    Args:
        worked: The lesson with the runs of the student's variant.
        path: The file.

    Raises:
        OSError: If it cannot be read.
        SluiceError: If it is no TOML, or answers another lesson, or another student's variant, or
            a question that is not asked, or with something that is no number.
    """
    given = _answers(worked, path)
    return [
        Graded(
            question=each,
            given=given.get(each.name),
            right=each.name in given and each.takes(given[each.name]),
        )
        for each in worked.questions
    ]


def student_of(path: Path) -> int | None:
    """The number of the student in a file of answers; None if it has none.

    Raises:
        OSError, SluiceError: As for `grade`.
    """
    student = _read(path).get("student")
    if student is None:
        return None
    if isinstance(student, bool) or not isinstance(student, int) or not 0 <= student < 2**63:
        raise SluiceError(f"{path}: student = {student!r} must be a whole number from 0 on")
    return student


def lesson_of(path: Path) -> object:
    """What a file of answers says of its lesson; None if it says nothing.

    Raises:
        OSError, SluiceError: As for `grade`.
    """
    return _read(path).get("lesson")


def _read(path: Path) -> dict[str, object]:
    # to open a pipe would wait for its writer, and a device may never end
    if path.exists() and not path.is_file():
        raise SluiceError(f"{path} is not a file of answers: give a file, or a folder")
    text = ""
    try:
        # some editors write a mark of three bytes first
        text = path.read_text(encoding="utf-8-sig")
        read = tomllib.loads(text)
        # a hexadecimal number may be too long for every message
        repr(read)
    except FileNotFoundError:
        raise SluiceError(f"{path}: No such file: give a file of answers, or a folder") from None
    except (ValueError, RecursionError) as error:
        why = _mistake(text) or str(error)
        raise SluiceError(f"{path} is not a file of answers: {why}") from None
    if unknown := [name for name in read if name not in _KEYS]:
        raise SluiceError(
            f"{path}: {unknown[0]} must stand below [answers]; above it are lesson and student"
        )
    return read


def _mistake(text: str) -> str | None:
    """What students write and TOML does not take, in their words; None: it is something else."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := _COMMA.match(line):
            name, whole, part = found.groups()
            return (
                f"line {number}: {name} = {whole},{part} has a decimal comma: write {whole}.{part}"
            )
        if found := _EMPTY.match(line):
            return (
                f"line {number}: there is no number after {found[1]} =: write one, or put # before "
                "the line"
            )
    return None


def _answers(worked: Worked, path: Path) -> dict[str, float]:
    read = _read(path)
    lesson = worked.lesson.name
    if "lesson" not in read:
        raise SluiceError(f'{path}: the line lesson = "{lesson}" is missing')
    if read["lesson"] != lesson:
        raise SluiceError(f"{path}: lesson = {read.get('lesson')!r} must be {lesson!r}")
    answers = read.get("answers", {})
    if not isinstance(answers, Mapping):
        raise SluiceError(f"{path}: answers must be a table: [answers], then a line for each")
    asked = [each.name for each in worked.questions]
    for name, value in answers.items():
        if name not in asked:
            raise SluiceError(f"{path}: answers.{name} is not asked; there are {', '.join(asked)}")
        # a whole number of TOML has no bound, one of Python's float has
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not -_MOST < value < _MOST
        ):
            raise SluiceError(f"{path}: answers.{name} = {str(value)[:40]} must be a number")
    return {name: float(value) for name, value in answers.items()}
