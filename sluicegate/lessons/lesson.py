"""What a lesson is, and how its runs are made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sluicegate.errors import InterruptError, SluiceError
from sluicegate.lessons.real import with_classes
from sluicegate.report.figure import Figure
from sluicegate.scenario import NetworkScenario, load
from sluicegate.toml import scenario_text
from sluicegate.worlds import Watch
from sluicegate.worlds import world as world_class
from sluicegate.worlds.network import NetworkRecord

Values = Mapping[str, float]
Records = Mapping[str, NetworkRecord]

NETWORK, GATE = WORLDS = ("network", "gate")
# runs of each case with real packets, which take their time
_REAL_REPLICATIONS = 2

_SCENARIOS = Path(__file__).parents[1] / "examples" / "scenarios" / "lessons"


@dataclass(frozen=True, kw_only=True)
class Question:
    """One number that a student gives.

    Attributes:
        name: Its name in the file of answers.
        text: What is asked.
        unit: Unit of the answer; empty: a plain number.
        answer: The right one: measured in the lesson's runs, or computed.
        interval: Half width of its 95 % interval; 0 if it is computed.
        tolerance: Share of the answer by which a student's may differ.
        why: What explains it.
    """

    name: str
    text: str
    unit: str
    answer: float
    interval: float = 0.0
    tolerance: float = 0.1
    why: str

    def takes(self, given: float) -> bool:
        """Whether a student's number is right: within the tolerance."""
        return abs(given - self.answer) <= self.tolerance * abs(self.answer)


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A figure with its title and what to look for."""

    figure: Figure
    title: str
    caption: str


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """An assignment.

    Attributes:
        name: The word on the command line.
        title: Its title.
        text: What it is about, paragraph by paragraph.
        given: The values that a student's variant may change, as the assignment gives them.
        choices: For each of them what a variant draws from.
        runs: The scenarios of a variant, by the labels of figures.
        figures: Draws the finished runs.
        questions: Asks about the finished runs.
        discuss: Questions without a number, which a teacher reads.
        worlds: Those that measure what it asks.
    """

    name: str
    title: str
    text: Sequence[str]
    given: Values
    choices: Mapping[str, Sequence[float]]
    runs: Callable[[Values], dict[str, NetworkScenario]]
    figures: Callable[[Values, Records], list[Drawn]]
    questions: Callable[[Values, Records], list[Question]]
    discuss: Sequence[str]
    worlds: Sequence[str] = WORLDS

    def variant(self, student: int | None) -> Values:
        """The values of a student's variant; those of the assignment for None.

        The same number gives the same variant everywhere.
        """
        if student is None:
            return self.given
        rng = np.random.default_rng(student)
        return {
            name: float(rng.choice(self.choices[name])) if name in self.choices else value
            for name, value in self.given.items()
        }


@dataclass(frozen=True, kw_only=True)
class Worked:
    """A lesson with the finished runs of one variant.

    Attributes:
        lesson: The lesson.
        student: Whose variant it is; None: the assignment as it is given.
        world: Where the runs were made, one of `WORLDS`.
        values: The variant.
        records: The runs by their labels.
        questions: The questions with their answers.
    """

    lesson: Lesson
    student: int | None
    world: str
    values: Values
    records: Records
    questions: Sequence[Question]

    @property
    def whose(self) -> str:
        """Whose variant it is, and where it was run, in words."""
        return whose(self.student) + (", with real packets" if self.world == GATE else "")

    def scenarios(self) -> dict[str, str]:
        """The runs as scenario files: names, such as `reno-20-packets.toml`, and texts."""
        return {
            f"{re.sub('[^a-z0-9.]+', '-', label.lower())}.toml": scenario_text(run.table())
            for label, run in _runs(self.lesson, self.values, self.world).items()
        }

    def figures(self) -> list[Drawn]:
        """Draw the runs."""
        return self.lesson.figures(self.values, self.records)

    def _repr_html_(self) -> str:
        from sluicegate.lessons.page import lesson_page  # it imports this module

        return lesson_page(self).cell()


def _runs(lesson: Lesson, values: Values, world: str) -> Mapping[str, NetworkScenario]:
    runs = lesson.runs(values)
    if world == GATE:
        return {label: run.replace(replications=_REAL_REPLICATIONS) for label, run in runs.items()}
    return runs


def whose(student: int | None) -> str:
    """Whose variant has this number, in words."""
    return "the assignment as given" if student is None else f"variant of student {student}"


def scenario(name: str) -> NetworkScenario:
    """The scenario of a lesson, which comes with the package."""
    found = load(_SCENARIOS / f"{name}.toml")
    assert isinstance(found, NetworkScenario)
    return found


def work(
    lesson: Lesson,
    student: int | None = None,
    watch: Watch | None = None,
    world: str = NETWORK,
) -> Worked:
    """Run a lesson's variant. Finished runs are kept in the store, but for those of real packets.

    Args:
        lesson: The lesson.
        student: Number of the student; None: the assignment as it is given.
        watch: Called now and then with the run's label, the seconds done, and those in all.
        world: `network`, or `gate`: real packets, in real time, each case in two runs.

    Raises:
        InterruptError: After Ctrl-C.
        SluiceError: If the lesson has no such world, or if it cannot run the scenarios.
    """
    if world not in lesson.worlds:
        known = ", ".join(lesson.worlds)
        raise SluiceError(f"world = {world} must be one of {known} for the lesson {lesson.name}")
    values = lesson.variant(student)
    runs = _runs(lesson, values, world)
    place = world_class(world)()
    for each in runs.values():
        place.check(each, each.disciplines[0])
    records: dict[str, NetworkRecord] = {}
    for label, each in runs.items():
        told = partial(watch or (lambda *_: None), label)
        found = place.run(each, each.disciplines[0], threads=None, on_progress=told, fresh=False)
        records[label] = with_classes(each, found) if world == GATE else found
        if records[label].interrupted:
            raise InterruptError("interrupted: the finished runs are kept")
    return Worked(
        lesson=lesson,
        student=student,
        world=world,
        values=values,
        records=records,
        questions=lesson.questions(values, records),
    )


def measured(record: NetworkRecord, measure: str, scale: float = 1.0) -> dict[str, float]:
    """A measure as answer and interval of a question, in another unit."""
    found = record[measure]
    return {"answer": found.value * scale, "interval": (found.half_width or 0.0) * scale}
