"""The plan of a sweep: every run that it consists of, checked before anything is run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

import polars as pl

from sluicegate import _engine, store
from sluicegate.errors import SluiceError
from sluicegate.near import nearest
from sluicegate.scenario import Table
from sluicegate.scenario.variables import DERIVED
from sluicegate.sweeps.columns import measure_columns
from sluicegate.sweeps.design import Method, Point, points, variables
from sluicegate.sweeps.folder import FORMAT
from sluicegate.worlds import AnyScenario, AnyWorld

# about how many slots are simulated in a second, and how long a simulation takes at least
_SLOTS_PER_S = 1e8
_LEAST_S = 0.01


@dataclass(frozen=True)
class Task:
    """A simulation, and the runs of the plan that it covers.

    Attributes:
        runs: Their numbers; several where the discipline lacks a variable.
        discipline: Place of the discipline.
        world: Place of the world.
        changes: Values by paths into the scenario that has only this discipline.
    """

    runs: tuple[int, ...]
    discipline: int
    world: int
    changes: Point


@dataclass(frozen=True)
class Plan:
    """All runs of a sweep: at each point every discipline in every world.

    Attributes:
        scenario: What is varied.
        worlds: Where it is run.
        method: Of the design; see `sluicegate.sweeps.design.points`.
        paths: What varies.
        points: A value for each path.
    """

    scenario: AnyScenario
    worlds: Sequence[AnyWorld]
    method: Method
    paths: Sequence[str]
    points: Sequence[Point]

    @classmethod
    def of(
        cls,
        scenario: AnyScenario,
        worlds: Sequence[AnyWorld],
        vary: Mapping[str, object],
        method: Method,
        count: int | None,
    ) -> Plan:
        """Plan a sweep; see `sluicegate.sweep`.

        Raises:
            SluiceError: As `variables` and `points`.
        """
        empty = cls(scenario, worlds, method, [], [])
        found = variables(vary, empty.as_read)
        seed: int = scenario.seed  # type: ignore[attr-defined]
        paths = [path for each in found for path in each.paths]
        for path in paths:
            empty._check_head(path)
            for own in DERIVED[path].sets if path in DERIVED else ():
                if any(f"{other}.".startswith(f"{own}.") for other in paths):
                    raise SluiceError(f"{path} sets {own}, which varies, too: vary one of them")
        return replace(empty, paths=paths, points=points(found, method, count, seed))

    def _check_head(self, path: str) -> None:
        """Refuse a path that begins nowhere: with no field, discipline or derived variable."""
        head = path.partition(".")[0]
        names = [each.configured.name for each in self.scenario.disciplines]
        known = [*self.bases[0].__getstate__(), *DERIVED, *names]
        if head not in known:
            near = nearest(head, known)
            hint = f"; did you mean {near}?" if near else ""
            raise SluiceError(f"{path}: there is no {head}{hint}")

    @property
    def size(self) -> int:
        """How many runs there are."""
        return len(self.points) * len(self.scenario.disciplines) * len(self.worlds)

    @cached_property
    def bases(self) -> list[Any]:
        """For each discipline, the scenario with it alone, under the same name in every run."""
        assert isinstance(self.scenario, Table)
        return [
            self.scenario.replace(disciplines=[each.replace(label=each.name)])
            for each in self.scenario.disciplines
        ]

    def own_path(self, path: str, discipline: int) -> str | None:
        """Where a path leads in the scenario with one discipline alone; None: to another one."""
        head, _, rest = path.partition(".")
        if head == "disciplines":
            place, _, inside = rest.partition(".")
            if not place.isdecimal() or not inside:
                raise SluiceError(
                    f"{path} must be a field of one discipline, such as disciplines.0.params.max_p"
                )
            return f"disciplines.0.{inside}" if int(place) == discipline else None
        names = [each.configured.name for each in self.scenario.disciplines]
        if head not in names or head in self.bases[0].table():
            return path
        return f"disciplines.0.params.{rest}" if names[discipline] == head else None

    def _own(self, path: str) -> Iterator[tuple[Any, str]]:
        """The scenarios with one discipline in which a path leads somewhere, and where."""
        for place, base in enumerate(self.bases):
            if own := self.own_path(path, place):
                yield base, own

    def as_read(self, path: str, value: Any) -> Any:
        """A value as its field has it: "20ms" as 0.02. What is refused stays: `check` says why.

        Raises:
            SluiceError: If it is the value of a derived variable, and no number.
        """
        if path in DERIVED:
            return DERIVED[path].read(value, path)
        if not isinstance(value, str | list):
            return value
        for base, own in self._own(path):
            with suppress(SluiceError):
                changed = base.replace({own: value})
                head, _, last = own.rpartition(".")
                in_params = head == "disciplines.0.params"
                params = changed.disciplines[0].configured.params if in_params else {}
                found = params[last] if in_params else changed.at(own)
                items = list(found) if isinstance(value, list) else [found]
                if all(isinstance(each, int | float) for each in items):
                    return items if isinstance(value, list) else found
        return value

    def unit(self, path: str) -> str:
        """The unit of what varies; empty if it has none."""
        if path in DERIVED:
            return DERIVED[path].unit
        for base, own in self._own(path):
            with suppress(SluiceError):
                head, _, last = own.rpartition(".")
                if head == "disciplines.0.params":
                    params = base.disciplines[0].configured.of.params
                    return next((each.unit for each in params if each.name == last), "")
                # an item of a list has the unit of the list
                table, _, field = head.rpartition(".") if last.isdecimal() else (head, "", last)
                return _engine.unit(base.at(table) if table else base, field)
        return ""

    def _changes(self, run: int, own: Mapping[str, str]) -> Point:
        """The fields of the scenario of a run that differ from its base, by their paths in it.

        Args:
            run: Its number.
            own: What varies there, and where its path leads.
        """
        point, rest = divmod(run, len(self.bases) * len(self.worlds))
        values = self.points[point]
        plain = {inside: values[path] for path, inside in own.items() if path not in DERIVED}
        changes = dict(plain)
        for path in own:
            if path in DERIVED:
                try:
                    changed = self.bases[rest // len(self.worlds)].replace(plain)
                    changes |= DERIVED[path].fields(changed, values[path])
                except SluiceError as error:
                    raise SluiceError(f"{self.told(run)}: {error}") from error
        return changes

    def _inside(self, place: int) -> dict[str, str]:
        """What varies of a discipline, and where its path leads."""
        return {path: inside for path in self.paths if (inside := self.own_path(path, place))}

    def tasks(self) -> list[Task]:
        """Every simulation, each once, in the order of its first run."""
        worlds, disciplines = len(self.worlds), len(self.bases)
        own = [self._inside(place) for place in range(disciplines)]
        for path in self.paths:
            if not any(path in each for each in own):
                raise SluiceError(f"{path}: there are {disciplines} disciplines, counted from 0")
        found: dict[tuple[Any, ...], tuple[list[int], Point]] = {}
        for number in range(len(self.points)):
            for place in range(disciplines):
                changes = self._changes((number * disciplines + place) * worlds, own[place])
                marks = tuple(map(repr, changes.values()))
                for world in range(worlds):
                    run = (number * disciplines + place) * worlds + world
                    runs, _ = found.setdefault((place, world, marks), ([], changes))
                    runs.append(run)
        return [
            Task(tuple(runs), place, world, changes)
            for (place, world, _), (runs, changes) in found.items()
        ]

    def check(self, tasks: Sequence[Task]) -> None:
        """Refuse values that make no sense, at any point, and what a world cannot judge.

        Raises:
            SluiceError: With the point.
        """
        asked: set[tuple[int, int]] = set()
        for task in tasks:
            where = task.discipline, task.world
            if task.world and where in asked:
                continue
            base = self.bases[task.discipline]
            try:
                scenario = base.replace(task.changes)
                if where not in asked:
                    self.worlds[task.world].check(scenario, scenario.disciplines[0])
            except SluiceError as error:
                raise SluiceError(f"{self.told(task.runs[0])}: {error}") from error
            asked.add(where)

    def expected_s(self, tasks: Sequence[Task]) -> float:
        """About how long simulations take one after the other."""
        costs = [
            [world.cost(base) / _SLOTS_PER_S + _LEAST_S for world in self.worlds]
            for base in self.bases
        ]
        return sum(costs[task.discipline][task.world] for task in tasks)

    def told(self, run: int) -> str:
        """A run in words, for messages."""
        row = self.row(run)
        values = ", ".join(f"{path} = {row[path]}" for path in self.paths)
        return f"{row['discipline']} at {values}"

    def row(self, run: int) -> dict[str, Any]:
        """What is known of a run beforehand: its columns in the results."""
        point, rest = divmod(run, len(self.bases) * len(self.worlds))
        place, world = divmod(rest, len(self.worlds))
        values = {path: _cell(value) for path, value in self.points[point].items()}
        return {
            "run": run,
            "discipline": self.scenario.disciplines[place].name,
            "world": self.worlds[world].name,
            **values,
        }

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The columns of the results and their types, all measures among them."""
        kinds: dict[str, Any] = {"run": pl.Int64, "discipline": pl.String, "world": pl.String}
        for path in self.paths:
            kinds[path] = _kind([_cell(point[path]) for point in self.points])
        kinds |= {"identity": pl.String, "time_unit": pl.String}
        kinds |= measure_columns(self.scenario.classes(), self.bands())
        return kinds | {"notes": pl.String}

    def bands(self) -> list[str]:
        """The bands of all disciplines at all points.

        They depend on words, as CAKE's tins do, and on lists, as classes of service.
        """
        first: dict[tuple[str, ...], int] = {}
        for number, point in enumerate(self.points):
            others = (value for value in point.values() if not isinstance(value, int | float))
            first.setdefault(tuple(map(_cell, others)), number)
        found = self.scenario.bands()
        for number in first.values():
            for place, base in enumerate(self.bases):
                run = (number * len(self.bases) + place) * len(self.worlds)
                # `check` tells what is refused
                with suppress(SluiceError):
                    found += base.replace(self._changes(run, self._inside(place))).bands()
        return list(dict.fromkeys(found))

    def varied(self) -> dict[str, list[Any]]:
        """The values of what varies, each once, in order."""
        return {
            path: list(dict.fromkeys(_cell(point[path]) for point in self.points))
            for path in self.paths
        }

    def about(self) -> dict[str, Any]:
        """What the results folder says of the sweep, as types that JSON has."""
        told = {
            "format": FORMAT,
            "sluicegate": version("sluicegate"),
            "build": {each.name: store.build(type(each).__module__) for each in self.worlds},
            "method": self.method,
            "paths": list(self.paths),
            "units": {path: self.unit(path) for path in self.paths},
            "disciplines": [each.name for each in self.scenario.disciplines],
            "worlds": {each.name: repr(each) for each in self.worlds},
            "points": len(self.points),
            "runs": self.size,
            "scenario": [base.described(each) for base in self.bases for each in base.disciplines],
        }
        values = [[_cell(value) for value in point.values()] for point in self.points]
        design = json.dumps(values).encode()
        return {"title": self.scenario.title, **told, "values": hashlib.sha256(design).hexdigest()}


def _cell(value: Any) -> Any:
    """A value as a column has it: a list, or a table, as text."""
    return value if isinstance(value, int | float | str) else json.dumps(value)


def _kind(values: Sequence[Any]) -> Any:
    """The type of a column of these values."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pl.Boolean
    if kinds == {int}:
        return pl.Int64 if max(values) < 2**63 else pl.UInt64
    return pl.Float64 if kinds <= {int, float} else pl.String
