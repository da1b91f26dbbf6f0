"""Comparisons: several disciplines on one scenario, in one world or in several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any, Self

import polars as pl

from sluicegate import store
from sluicegate.errors import NOTHING_FINISHED, InterruptError, SluiceError
from sluicegate.estimate import paired
from sluicegate.measures import check_classes, check_names
from sluicegate.record import Record, names
from sluicegate.scenario import Discipline, load
from sluicegate.worlds import AnyScenario, AnyWorld, Watch, of_scenario
from sluicegate.worlds import world as world_class

_WORDS = dict.fromkeys(("discipline", "other", "world", "measure"), pl.String())
_DIFFERENCE = {**_WORDS, "value": pl.Float64(), "half_width": pl.Float64(), "unit": pl.String()}


@dataclass(frozen=True, repr=False)
class Comparison:
    """Records of several disciplines on one scenario; shown as `sluice compare` does.

    Attributes:
        scenario: What was run.
        worlds: Where.
        records: One per discipline and world that was finished: discipline after discipline in the
            scenario's order, each in the worlds' order.
        columns: The measures that its tables show; None: those that matter most.
        ended: What the run that Ctrl-C ended said, if it said anything.
    """

    scenario: AnyScenario
    worlds: Sequence[AnyWorld]
    records: list[Record]
    columns: Sequence[str] | None = None
    ended: str = ""

    def showing(self, *measures: str) -> Self:
        """The same comparison, whose tables show these measures.

        Raises:
            SluiceError: If one is no measure, or of a class that the scenario does not have.
        """
        columns = check_names(measures, "measures")
        check_classes(columns, self.scenario.parts(), "measures")
        return replace(self, columns=columns or None)

    def __repr__(self) -> str:
        # the package of reports imports this module
        from sluicegate.report.tables import comparison_table
        from sluicegate.report.terminal import as_text

        return as_text(comparison_table(self))

    def _repr_html_(self) -> str:
        from sluicegate.report.notebook import of_comparison

        return of_comparison(self).cell()

    def frame(self) -> pl.DataFrame:
        """A row per record and measure.

        Columns: discipline, world, measure, value, half_width, bound, unit; see `Measure`.
        """
        rows = [
            {
                "discipline": record.discipline,
                "world": record.world,
                "measure": name,
                "value": measure.value,
                "half_width": measure.half_width,
                "bound": measure.bound,
                "unit": measure.unit,
            }
            for record in self.records
            for name, measure in record.measures.items()
        ]
        return pl.DataFrame(rows, schema_overrides={"half_width": pl.Float64, "bound": pl.Float64})

    def differences(self) -> pl.DataFrame:
        """A row per world, pair of disciplines and measure: the first one's value less the other's.

        Both see the same arrivals, and the intervals are those of the differences in each
        replication: they leave out what the arrivals change in both alike. Worlds whose single
        replications are not known have no rows.

        Columns: discipline, other, world, measure, value, half_width, unit.
        """
        rows = [
            (one.discipline, other.discipline, one.world, name, found.value, found.half_width, unit)
            for world, records in self.records_by_world()
            for other, one in combinations(records, 2)
            for name, unit in ((each, one[each].unit) for each in one.measures)
            if name in other.measures
            and (found := paired(one.values(name), other.values(name), unit)) is not None
        ]
        return pl.DataFrame(rows, schema=_DIFFERENCE, orient="row")

    def distributions(self) -> pl.DataFrame:
        """All distributions: discipline, world, distribution, at, probability."""
        return pl.concat(
            record.frame().select(
                pl.lit(record.discipline).alias("discipline"),
                pl.lit(record.world).alias("world"),
                pl.all(),
            )
            for record in self.records
        )

    def summary(self) -> dict[str, Any]:
        """Everything but the distributions, as types that JSON has."""
        return {
            "title": self.scenario.title,
            "records": [record.summary() for record in self.records],
        }

    def records_by_world(self) -> Iterator[tuple[AnyWorld, list[Record]]]:
        """Each world that finished anything, with its records."""
        for world in self.worlds:
            if own := [record for record in self.records if record.world == world.name]:
                yield world, own

    @property
    def interrupted(self) -> bool:
        """Whether something is missing or shorter than planned."""
        planned = len(self.scenario.disciplines) * len(self.worlds)
        return len(self.records) < planned or any(record.interrupted for record in self.records)

    def notes(self) -> list[str]:
        """What a reader must know: which queue is meant, what has no effect, what is missing."""
        notes = []
        if name := self.records[0].queue_name:
            notes.append(f"Sojourn times, queue and losses are of the queue {name}.")
        told = (world.notes(self.scenario, own) for world, own in self.records_by_world())
        notes += dict.fromkeys(note for each in told for note in each)
        notes += [
            f"Differences from {own[0].discipline} are not shown: they need more than one "
            "replication."
            for _, own in self.records_by_world()
            if len(own) > 1 and all(len(record.values("queue_mean")) == 1 for record in own)
        ]
        notes += [
            f"{record.discipline} was stopped after {record.done:.0%} of its run."
            for record in self.records
            if record.interrupted
        ]
        planned = _tasks(self.scenario, self.worlds)
        if self.ended:
            notes.append(self.ended)
        if missing := [name for name, *_ in planned[len(self.records) :]]:
            notes.append(f"Not finished: {', '.join(missing)}.")
        return notes

    def how_to_go_on(self, again: str = "command") -> str:
        """What the same command, or else the same call, does after Ctrl-C, a sentence."""
        # runs with real packets or Python AQMs are not kept, and none is where the disk is full
        finished = [record for record in self.records if not record.interrupted]
        kept = [record for record in finished if store.has(record.identity)]
        if not finished:
            return "Unfinished disciplines are not kept."
        if not kept:
            return f"None is kept: the same {again} runs all again."
        return f"Finished and kept: {', '.join(names(kept))}; the same {again} runs the others."


def _tasks(
    scenario: AnyScenario, worlds: Sequence[AnyWorld]
) -> list[tuple[str, Discipline, AnyWorld]]:
    """Name, discipline and world of every run, in order."""
    return [
        (name if len(worlds) == 1 else f"{name} ({world.name})", each, world)
        for each in scenario.disciplines
        for world in worlds
        for name in [world.called(each)]
    ]


def chosen_worlds(
    scenario: AnyScenario, world: str | AnyWorld | Sequence[str | AnyWorld] | None
) -> list[AnyWorld]:
    """The worlds that were named, or else the usual one of the scenario.

    Raises:
        SluiceError: If there is no such world, or if one does not take such a scenario.
    """
    if world is None:
        world = of_scenario(scenario)[0]()
    given = [world] if isinstance(world, str) or not isinstance(world, Sequence) else world
    worlds = [world_class(each)() if isinstance(each, str) else each for each in given]
    names = [each.name for each in worlds]
    if len(set(names)) != len(names) or not names:
        raise SluiceError(f"world = {names} must name one world or more, each once")
    for each in worlds:
        if not isinstance(scenario, each.takes):
            able = of_scenario(scenario)
            raise SluiceError(
                f"world = {each.name} must be {' or '.join(other.name for other in able)}: "
                f"the scenario has {' and '.join(able[0].tables)}"
            )
    return worlds


def compare(
    scenario: AnyScenario | str | PathLike[str],
    *,
    world: str | AnyWorld | Sequence[str | AnyWorld] | None = None,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
) -> Comparison:
    """Judge every discipline of a scenario; all see the same arrivals.

    Finished disciplines are kept: after Ctrl-C the same call runs the others.

    Args:
        scenario: What to run, or the path of its file.
        world: `slotted` simulates, `chain` solves exactly (see `sluicegate.chain`), `network`
            simulates a network scenario, and `gate`, `kernel` and `twin` run it with real packets;
            several give each discipline once in each. A world with settings of its own is an
            object, such as `sluicegate.worlds.Chain(grid=0.125)`. None: the one that simulates
            such a scenario.
        threads: Threads that a simulation uses; all cores if None.
        watch: Called now and then with a name, what is done, what there is to do (slots, seconds,
            or the progress of a solution), and a text that says what that means.
        fresh: Run again even what the store has.

    Raises:
        SluiceError: If there is no such world, or if one cannot judge such a scenario or a
            discipline; before anything is run.
        InterruptError: After Ctrl-C; what was finished is kept.
        Exception: Whatever a Python AQM raises.
    """
    found = until_interrupted(scenario, world=world, threads=threads, watch=watch, fresh=fresh)
    if found.interrupted:
        raise InterruptError(f"interrupted. {found.how_to_go_on('call')}")
    return found


def until_interrupted(
    scenario: AnyScenario | str | PathLike[str],
    *,
    world: str | AnyWorld | Sequence[str | AnyWorld] | None = None,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
) -> Comparison:
    """As `compare`, but Ctrl-C ends the comparison with what is finished by then.

    Raises:
        InterruptError: If Ctrl-C came before anything was finished.
    """
    if isinstance(scenario, str | PathLike):
        scenario = load(Path(scenario))
    worlds = chosen_worlds(scenario, world)
    tasks = _tasks(scenario, worlds)
    for _, discipline, where in tasks:
        where.check(scenario, discipline)
    records: list[Record] = []
    # a run that did not come to an end says so
    told_by_run = ""
    try:
        for name, discipline, where in tasks:

            def on_progress(done: float, total: float, stage: str = "", name: str = name) -> None:
                if watch is not None:
                    watch(name, done, total, stage)

            record = where.run(
                scenario, discipline, threads=threads, on_progress=on_progress, fresh=fresh
            )
            records.append(record)
            on_progress(1, 1)
            if record.interrupted:
                break
    except KeyboardInterrupt:
        pass
    except InterruptError as error:
        # others are
        told_by_run = "" if str(error) == NOTHING_FINISHED else str(error)
    if not records:
        raise InterruptError(told_by_run or NOTHING_FINISHED)
    return Comparison(scenario, worlds, records, ended=told_by_run)
