"""The frontier of a scenario, and how far its AQMs are from it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sluicegate.errors import SluiceError
from sluicegate.frontier.admission import admission
from sluicegate.frontier.classes import Classes
from sluicegate.frontier.departure import departure
from sluicegate.frontier.front import Front, Point
from sluicegate.frontier.objectives import OBJECTIVES, Objective, pair
from sluicegate.frontier.places import Place, places
from sluicegate.frontier.policy import Policy, policy_of
from sluicegate.frontier.process import Process
from sluicegate.frontier.program import BoundedFront
from sluicegate.frontier.source import of_scenario
from sluicegate.scenario import Scenario

if TYPE_CHECKING:
    from sluicegate.worlds import Watch

# measured: what policy iteration takes for each state, bytes
_BYTES_PER_STATE = 2500
_SHARE_OF_MEMORY = 0.8
# a program for each point takes minutes beyond
_MOST_BOUNDED = 5000
_AT_HEAD = ("sojourn", "late", "loss", "in_time")


@dataclass(frozen=True)
class Frontier:
    """The frontier of two objectives on a scenario.

    Attributes:
        scenario: Whose queue it is.
        pair: The objectives of both axes.
        deadline: Slots within which a packet's service must start to count as in time; None where
            no objective needs it.
        bounds: The worst values that further objectives may have.
        front: Which finds any point.
        points: Points of the front, the best of the first objective first. Without bounds they are
            its corners; all policies between two neighbours lie on a straight line in the rates,
            or below it where there are more corners than were asked for.
        places: The scenario's AQMs.
    """

    scenario: Scenario
    pair: tuple[Objective, Objective]
    deadline: int | None
    bounds: Mapping[str, float]
    front: Front | BoundedFront
    points: list[Point]
    places: list[Place]

    @property
    def process(self) -> Process:
        """What can be decided."""
        return self.front.process

    def at(self, x: float) -> Point:
        """The best point whose first objective is as good as `x`.

        Raises:
            SluiceError: If no policy is.
        """
        return self.front.at(x)

    def policy(self, point: Point) -> Policy:
        """The policy of a point."""
        return policy_of(self.process, point.outcome)

    def frame(self) -> pl.DataFrame:
        """A row per point and per AQM.

        Columns: name, empty for a point of the front; x and y, the objectives, named as they are;
        slope, of the front; half widths of simulated AQMs; regrets, with half widths; the policy in
        words.
        """
        one, other = (each.name for each in self.pair)
        rows: list[dict[str, Any]] = [
            {
                "name": "",
                one: point.x,
                other: point.y,
                "slope": point.slope,
                "policy": str(self.policy(point)),
            }
            for point in self.points
        ]
        rows += [
            {
                "name": place.name,
                one: place.x.value,
                other: place.y.value,
                f"{one}_half_width": place.x.half_width,
                f"{other}_half_width": place.y.half_width,
                f"{one}_regret": place.regret_x.value,
                f"{one}_regret_half_width": place.regret_x.half_width,
                f"{other}_regret": place.regret_y.value,
                f"{other}_regret_half_width": place.regret_y.half_width,
            }
            for place in self.places
        ]
        names = [one, other]
        columns = ["name", one, other, "slope", "policy"]
        columns += [f"{name}_half_width" for name in names]
        for name in names:
            columns += [f"{name}_regret", f"{name}_regret_half_width"]
        texts = {"name": pl.String(), "policy": pl.String()}
        schema = {name: texts.get(name, pl.Float64()) for name in columns}
        return pl.DataFrame(rows, schema=schema)

    def summary(self) -> dict[str, Any]:
        """All of it, as types that JSON has."""
        return {
            "title": self.scenario.title,
            "scenario": self.scenario.described(self.scenario.disciplines[0]),
            "objectives": [
                {"name": each.name, "unit": each.unit, "more_is_better": each.more_is_better}
                for each in self.pair
            ],
            "deadline_slots": self.deadline,
            "bounds": dict(self.bounds),
            "decides": self.process.told,
            "points": [
                {
                    "x": point.x,
                    "y": point.y,
                    "slope": point.slope,
                    "corner": point.is_corner,
                    "drops": np.atleast_2d(self.policy(point).drops).tolist(),
                }
                for point in self.points
            ],
            "disciplines": [place.summary() for place in self.places],
        }


def frontier(
    scenario: Scenario,
    objectives: Sequence[str] = ("queue", "loss"),
    *,
    deadline: int | None = None,
    bounds: Mapping[str, float] | None = None,
    points: int = 100,
    at_head: bool = False,
    classes: Classes | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
) -> Frontier:
    """The best that any AQM could reach, and where the scenario's AQMs are.

    Its policies drop arrivals and see the queue; for `runs` also whether the last arrival was lost,
    with classes also the packet's class. Or they drop at the head, and see how long that packet has
    waited.

    Args:
        scenario: Its arrivals and service must have an exact chain: geometric or self-similar, and
            geometric.
        objectives: Two of `queue`, `sojourn`, `late`, `loss`, `in_time`, `runs`, `weighted`,
            `loss_first` and `loss_second`.
        deadline: Slots within which a packet's service must start, for `late` and `in_time`.
        bounds: Further objectives, each with the worst value that it may have.
        points: Corners of the front at most; with bounds, number of points.
        at_head: Whether policies drop at the head, instead of arrivals.
        classes: Two classes of packets, for `weighted`, `loss_first` and `loss_second`.
        watch: Called with what is being worked on, what is done and what there is to do.
        fresh: Whether to simulate AQMs again that the store has.

    Raises:
        SluiceError: If the objectives have no front, a bound is out of reach, the scenario has no
            chain, or there is not enough memory for its states.
    """
    chosen = pair(*_two(objectives))
    limits = _bounds(bounds or {}, chosen)
    _check_deadline(deadline, [*chosen, *limits])
    if not 2 <= points <= 100_000:
        raise SluiceError(f"points = {points} must lie between 2 and 100000")
    process = _process(scenario, chosen, list(limits), deadline, at_head, classes)

    def on_progress(done: int, total: int) -> None:
        if watch is not None:
            watch("frontier", done, total, f"point {done}")

    on_progress(0, points)
    front: Front | BoundedFront
    if limits:
        front = BoundedFront(process, chosen, limits)
        found = front.spread(points, on_progress)
    else:
        front = Front(process, chosen, corners=points, on_progress=on_progress)
        found = front.corners
    return Frontier(
        scenario,
        chosen,
        deadline,
        dict(bounds or {}),
        front,
        found,
        places(scenario, front, deadline, limits, watch=watch, fresh=fresh),
    )


def _process(
    scenario: Scenario,
    chosen: tuple[Objective, Objective],
    limits: Sequence[Objective],
    deadline: int | None,
    at_head: bool,
    classes: Classes | None,
) -> Process:
    """What can be decided."""
    objectives = [*chosen, *limits]
    source, limit = of_scenario(scenario), scenario.queue.limit
    _check_classes(objectives, classes)
    if at_head:
        wrong = next((e.name for e in objectives if e.name not in _AT_HEAD), None)
        if wrong is not None:
            raise SluiceError(
                f"{wrong}: with drops at the head, objectives must be of {', '.join(_AT_HEAD)}"
            )
        check_states(limit, limit, bounded=bool(limits))
        # ages below the limit: then the buffer never overflows with a packet that is still good
        return departure(source, max(limit - 1, 0), -1 if deadline is None else deadline)
    remembers = any(each.name == "runs" for each in objectives)
    if remembers and classes is not None:
        raise SluiceError("runs: with classes there is none: take one or the other")
    if any(each.needs_deadline for each in chosen) and scenario.queue.victim != "tail":
        names = ", ".join(each.name for each in chosen)
        raise SluiceError(
            f"queue.victim = {scenario.queue.victim} must be tail for {names}: a packet's time "
            "depends on later drops otherwise"
        )
    check_states(limit, (limit + 2) * source.states * (1 + remembers), bounded=bool(limits))
    return admission(source, limit, deadline, remembers=remembers, classes=classes)


def _check_classes(objectives: Sequence[Objective], classes: Classes | None) -> None:
    needing = [each.name for each in objectives if each.needs_classes]
    if classes is None and needing:
        raise SluiceError(
            f"{needing[0]} needs two classes: the share of the second one and what its loss counts"
        )
    if classes is not None and not needing:
        raise SluiceError("classes have no meaning without weighted, loss_first or loss_second")


def _two(objectives: Sequence[str]) -> tuple[str, str]:
    if len(objectives) != 2:
        raise SluiceError(f"objectives: there must be two, not {len(objectives)}")
    return objectives[0], objectives[1]


def _bounds(
    given: Mapping[str, float], chosen: tuple[Objective, Objective]
) -> dict[Objective, float]:
    found: dict[Objective, float] = {}
    for name, value in given.items():
        if name not in OBJECTIVES:
            raise SluiceError(f"bound: {name} must be one of {', '.join(OBJECTIVES)}")
        if OBJECTIVES[name] in chosen:
            raise SluiceError(
                f"bound: {name} is an objective already; take the part of the front that keeps it"
            )
        found[OBJECTIVES[name]] = value
    return found


def _check_deadline(deadline: int | None, objectives: Sequence[Objective]) -> None:
    needing = [each.name for each in objectives if each.needs_deadline]
    if deadline is None and needing:
        raise SluiceError(
            f"{needing[0]} needs a deadline: the slots within which a packet's service must start"
        )
    if deadline is not None and not needing:
        raise SluiceError("a deadline has no meaning without late or in_time")
    if deadline is not None and not 0 <= deadline <= 1e9:
        raise SluiceError(f"deadline = {deadline} must lie between 0 and 1e9 slots")


def check_states(limit: int, states: int, *, bounded: bool = False) -> None:
    """Refuse a question that takes too much memory or time.

    Args:
        limit: Of the buffer.
        states: That it leads to.
        bounded: Whether there are bounds.

    Raises:
        SluiceError: If it does, with the number of states.
    """
    needed = states * _BYTES_PER_STATE
    there = _SHARE_OF_MEMORY * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise SluiceError(
            f"queue.limit = {limit} gives {states:.2e} states, which take about "
            f"{needed / 1e9:.1f} GB, and {there / 1e9:.1f} GB are there: take a smaller limit. A "
            "long buffer that the best policy leaves empty changes nothing"
        )
    if bounded and states > _MOST_BOUNDED:
        raise SluiceError(
            f"queue.limit = {limit} gives {states} states, and with bounds there must be at most "
            f"{_MOST_BOUNDED}: take a smaller limit, or no bounds"
        )
