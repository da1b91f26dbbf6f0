"""What a world must be able to do, so that comparisons, reports and commands can use it."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

from sluicegate.errors import SluiceError
from sluicegate.record import Record
from sluicegate.scenario import Discipline

if TYPE_CHECKING:
    import polars as pl

    from sluicegate.report.page import Page

# what is done, what there is to do, and what that means in words
Progress: TypeAlias = Callable[[float, float, str], None]


class Watch(Protocol):
    """Is told how far something is."""

    def __call__(self, name: str, done: float, total: float, stage: str = "", /) -> None:
        """Take what is done of all there is to do under a name, and what that means in words."""


@dataclass(frozen=True)
class Option:
    """A setting of a world that commands offer as an option of the setting's name.

    Attributes:
        kind: `bool`, `str` or `Path`. Not given, it is false or None.
        help: What it does, in the command's help.
        metavar: What stands for its value there; empty for `bool`.
        of_one_run: Whether it is for commands that run each discipline once: it names a file.
    """

    kind: type
    help: str
    metavar: str = ""
    of_one_run: bool = False


# the key of a field's metadata under which a world declares an option
OPTION = "option"


class AnyScenario(Protocol):
    """What all kinds of scenarios have."""

    @property
    def title(self) -> str:
        """One line; empty if there is none."""

    @property
    def disciplines(self) -> Sequence[Discipline]:
        """What is compared, at least one."""

    def classes(self) -> Sequence[str]:
        """The class of each group of flows by its name; empty if none is counted by class."""

    def bands(self) -> list[str]:
        """The names of the lanes, tins and classes of service of all disciplines, each once."""

    def parts(self) -> Sequence[str]:
        """All whose packets are counted apart: classes, and lanes, tins or classes of service."""


def check_alone(file: Path | None, what: str, scenario: AnyScenario) -> None:
    """Refuse a file that is to be of one discipline, where there are several.

    Raises:
        SluiceError: If there are.
    """
    if file is not None and (count := len(scenario.disciplines)) != 1:
        raise SluiceError(f"{file}: a {what} has one discipline, but there are {count}")


S = TypeVar("S", bound=AnyScenario)
R = TypeVar("R", bound=Record)


class World(ABC, Generic[S, R]):
    """A world with its settings; `S` is the kind of its scenarios, `R` that of its records.

    Attributes:
        name: As a user writes it; also the name of the world's folder.
        column: What its results are called over a column of figures.
        takes: The kind of its scenarios.
        tables: The tables that only such scenarios have, as in TOML.
        is_exact: Whether there is no chance in its results.
        unlogged: Where it writes no decision log: why, and where one is to be had.
    """

    name: ClassVar[str]
    column: ClassVar[str]
    takes: ClassVar[type[AnyScenario]]
    tables: ClassVar[tuple[str, ...]]
    is_exact: ClassVar[bool] = False
    unlogged: ClassVar[str] = ""

    @classmethod
    def options(cls) -> dict[str, Option]:
        """The settings that commands offer, by name."""
        # every world with settings is a dataclass
        return {
            each.name: each.metadata[OPTION]
            for each in fields(cls)  # type: ignore[arg-type]
            if OPTION in each.metadata
        }

    @property
    def side_by_side(self) -> bool:
        """Whether several runs at a time leave each other's results as they are."""
        return True

    @property
    def machine(self) -> Mapping[str, str]:
        """What its results depend on besides scenario, discipline and settings; usually nothing."""
        return {}

    def called(self, discipline: Discipline) -> str:
        """What records and tables call a discipline: what was run."""
        return discipline.name

    @classmethod
    def fields(cls) -> Collection[str]:
        """Names of the fields at the top of its scenarios."""
        return inspect.signature(cls.takes).parameters

    def logged(self, path: Path) -> Self:
        """The world, which will write its decision log to a file.

        Raises:
            SluiceError: If it has none.
        """
        why = f": {self.unlogged}" if self.unlogged else ""
        raise SluiceError(f"{path}: the {self.name} world writes no decision log{why}")

    @abstractmethod
    def check(self, scenario: S, discipline: Discipline) -> None:
        """Refuse what the world cannot judge, before anything is run.

        Raises:
            SluiceError: With the reason.
        """

    @abstractmethod
    def cost(self, scenario: S) -> float:
        """How long a discipline takes: slots that would be simulated in about that time."""

    @abstractmethod
    def run(
        self,
        scenario: S,
        discipline: Discipline,
        *,
        threads: int | None,
        on_progress: Progress,
        fresh: bool,
    ) -> R:
        """Judge a discipline, or take what the store has.

        Args:
            scenario: What it is judged on.
            discipline: What is judged.
            threads: Threads that a simulation uses; all cores if None.
            on_progress: Called now and then.
            fresh: Whether to leave aside what the store has.

        Raises:
            SluiceError: As `check`.
            InterruptError: If Ctrl-C came before anything was finished.
        """

    @abstractmethod
    def in_short(self, scenario: S) -> str:
        """What is done with each discipline, as part of a sentence."""

    @abstractmethod
    def reading(self, records: Sequence[R]) -> str:
        """A sentence on what stands behind the figures of the world's records."""

    @abstractmethod
    def settings(self, scenario: S) -> Iterable[tuple[str, str]]:
        """The parts of a scenario and how they were set, for a table."""

    @abstractmethod
    def key_measures(self, records: Sequence[R]) -> list[str]:
        """The measures that matter most of those that the records have, in order."""

    def notes(self, scenario: S, records: Sequence[R]) -> list[str]:
        """What a reader of the measures of these records must know, a sentence each."""
        return []

    def add_figures(self, page: Page, records: Sequence[R]) -> None:
        """Add to a report what only this world has."""

    def frames(self, records: Sequence[R]) -> dict[str, pl.DataFrame]:
        """Tables of all records together that only this world has, by the names of their files."""
        return {}


AnyWorld: TypeAlias = World[Any, Any]
