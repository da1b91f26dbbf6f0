"""Where AQMs are beside the front, and their regret: what the best policy would have saved.

An AQM is solved exactly by the chain where it has one, with the average on a fine grid where it has
an average. Otherwise it is simulated, each replication as a run of its own, so that the regret gets
an interval, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure, student
from sluicegate.frontier.front import Point
from sluicegate.frontier.objectives import Objective
from sluicegate.record import Record
from sluicegate.scenario import Discipline, Scenario
from sluicegate.worlds.chain.losses import losses
from sluicegate.worlds.chain.run import run as solve
from sluicegate.worlds.slotted import simulate

if TYPE_CHECKING:
    from sluicegate.worlds import Watch

FloatArray = NDArray[np.float64]

# replications of a scenario that leaves their number open
_REPLICATIONS = 8
_GRID = 0.25
_LOGGED_SLOTS = 1_000_000


class AnyFront(Protocol):
    """What finds points of a front."""

    pair: tuple[Objective, Objective]

    def at(self, x: float) -> Point:
        """The best point whose first objective is as good as `x`."""
        ...

    def where(self, y: float) -> Point:
        """The best point whose second objective is as good as `y`."""
        ...


@dataclass(frozen=True)
class Place:
    """An AQM in the picture.

    Attributes:
        name: Of its discipline.
        how: `exact`, or `simulated`.
        x: The first objective.
        y: The second.
        regret_x: How much better the first could be with the second no worse; NaN where no policy
            is as good in the second as this one appears to be.
        regret_y: How much better the second could be with the first no worse.
        breaks: The bounds that it does not keep; then it has no regret.
    """

    name: str
    how: str
    x: Measure
    y: Measure
    regret_x: Measure
    regret_y: Measure
    breaks: list[str]

    def summary(self) -> dict[str, Any]:
        """As types that JSON has."""
        measures = {name: getattr(self, name) for name in ("x", "y", "regret_x", "regret_y")}
        return {
            "discipline": self.name,
            "how": self.how,
            "breaks": self.breaks,
            **{name: asdict(each) for name, each in measures.items()},
        }


def places(
    scenario: Scenario,
    front: AnyFront,
    deadline: int | None,
    bounds: Mapping[Objective, float],
    *,
    watch: Watch | None,
    fresh: bool,
) -> list[Place]:
    """Where the disciplines of a scenario are.

    Args:
        scenario: With its disciplines.
        front: To compare with.
        deadline: Of `late` and `in_time`, slots.
        bounds: The worst values of further objectives.
        watch: As for `frontier`.
        fresh: Whether to simulate again what the store has.
    """
    found = []
    for discipline in scenario.disciplines:
        how, records = _records(scenario, discipline, watch, fresh)
        slot_s = 1.0 if scenario.slot_s is None else scenario.slot_s

        def values(objective: Objective) -> FloatArray:
            if objective.name == "runs":
                return run_lengths(scenario, discipline, how, len(records))  # noqa: B023
            each = (_value(objective, record, deadline, slot_s) for record in records)  # noqa: B023
            return np.array(list(each))

        breaks = [
            objective.name
            for objective, worst in bounds.items()
            if objective.is_better(worst, float(values(objective).mean()))
        ]
        found.append(_place(discipline.name, how, list(map(values, front.pair)), front, breaks))
    return found


def _records(
    scenario: Scenario, discipline: Discipline, watch: Watch | None, fresh: bool
) -> tuple[str, Sequence[Record]]:
    """The AQM's record if there is an exact one; else a record of each replication."""

    def on_progress(done: float, total: float, stage: str = "") -> None:
        if watch is not None:
            watch(discipline.name, done, total, stage)

    if (discipline.victim or scenario.queue.victim) == "tail":
        try:
            found = solve(
                scenario,
                discipline,
                grid=_GRID,
                method="auto",
                limit=False,
                front_times=False,
                on_progress=on_progress,
                fresh=fresh,
            )
        except SluiceError:
            # the chain says why there is none; then it is simulated
            pass
        else:
            return "exact", [found]
    runs = scenario.replications or _REPLICATIONS
    records = []
    for run in range(runs):
        one = scenario.replace(replications=1, seed=scenario.seed + run)

        def follow(done: int, total: int, run: int = run) -> None:
            on_progress(run * total + done, runs * total, f"replication {run + 1} of {runs}")

        record = simulate(one, discipline, watch=follow, fresh=fresh)
        if record.interrupted:
            raise KeyboardInterrupt
        records.append(record)
    return "simulated", records


def _place(
    name: str, how: str, values: Sequence[FloatArray], front: AnyFront, breaks: list[str]
) -> Place:
    """The place of an AQM whose objectives have these values, in each replication."""
    x, y = values
    best_y, slope = _tangent(front, "at", float(x.mean()))
    best_x, back = _tangent(front, "where", float(y.mean()))
    signs = [-1.0 if each.more_is_better else 1.0 for each in front.pair]
    # along the tangent the front moves with each replication's place
    regret_y = signs[1] * (y - best_y - slope * (x - x.mean()))
    regret_x = signs[0] * (x - best_x - back * (y - y.mean()))
    if breaks:
        regret_x, regret_y = np.full_like(x, math.nan), np.full_like(y, math.nan)
    across, up = (each.unit for each in front.pair)
    return Place(
        name,
        how,
        _measure(x, across),
        _measure(y, up),
        _measure(regret_x, across),
        _measure(regret_y, up),
        breaks,
    )


def _measure(values: FloatArray, unit: str) -> Measure:
    return student(values, unit) if len(values) > 1 else Measure(float(values[0]), None, unit)


def _tangent(front: AnyFront, way: str, value: float) -> tuple[float, float]:
    """The front at a value of one axis, and its slope there; NaN where it does not reach that."""
    try:
        point: Point = getattr(front, way)(value)
    except SluiceError:
        return math.nan, 0.0
    slope = 0.0 if point.is_corner or math.isnan(point.slope) else point.slope
    return (point.y, slope) if way == "at" else (point.x, 1 / slope if slope else 0.0)


def _value(objective: Objective, record: Record, deadline: int | None, slot_s: float) -> float:
    """An objective of a record; times in slots."""
    if objective.needs_classes:
        # no AQM of a scenario sees a class, so it loses the same share of each
        return record["loss_ratio"].value
    if objective.measure is not None:
        return record[objective.measure].value / (slot_s if objective.unit == "slots" else 1.0)
    assert deadline is not None
    late = late_share(record, deadline, slot_s)
    return late if objective.name == "late" else (1 - late) * (1 - record["loss_ratio"].value)


def late_share(record: Record, deadline: int, slot_s: float) -> float:
    """Share of the packets served whose service starts after the deadline.

    Args:
        record: With the distribution of sojourn times.
        deadline: In slots.
        slot_s: Length of a slot in the record's unit of time.

    Raises:
        SluiceError: If the record's bins do not tell, as they are wider than a slot.
    """
    width = round(record.time_bin / slot_s)
    if (deadline + 1) % width:
        nearest = max(1, round((deadline + 1) / width)) * width - 1
        raise SluiceError(
            f"deadline = {deadline}: {record.discipline} has sojourn times so long that they are "
            f"counted in bins of {width} slots; take a deadline of {nearest}"
        )
    return float(record.sojourn_distribution[(deadline + 1) // width :].sum())


def run_lengths(
    scenario: Scenario, discipline: Discipline, how: str, replications: int
) -> FloatArray:
    """Mean number of packets lost in a row, exactly or in each replication.

    Args:
        scenario: As for `places`.
        discipline: Which AQM.
        how: `exact`, or `simulated`: then the decision logs are read, of at most 1e6 slots.
        replications: Of the simulated runs.
    """
    if how == "exact":
        return np.array([losses(scenario, discipline, lag=1, grid=_GRID).run_length])
    found = []
    slots = min(scenario.duration_slots, _LOGGED_SLOTS)
    with TemporaryDirectory() as folder:
        for run in range(replications):
            one = scenario.replace(replications=1, seed=scenario.seed + run, slots=slots)
            log = Path(folder) / "decisions.csv"
            simulate(one, discipline, decisions=log)
            packets = (
                pl.scan_csv(log)
                .filter(pl.col("event") == "lost")
                .select(pl.col("packet").cast(pl.Int64).unique().sort())
                .collect()["packet"]
                .to_numpy()
            )
            starts = 1 + int((np.diff(packets) > 1).sum())
            found.append(len(packets) / starts)
    return np.array(found)
