"""The output of `sluice frontier` as rows of text: AQMs with their regret, and points."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sluicegate.estimate import Measure
from sluicegate.frontier.clairvoyant import Recorded
from sluicegate.frontier.front import Point
from sluicegate.frontier.frontier import Frontier
from sluicegate.frontier.objectives import Objective
from sluicegate.frontier.places import Place
from sluicegate.report.numbers import number_text
from sluicegate.report.text import measure_text

# smaller regrets of exact AQMs are rounding
_ROUNDING = 1e-9
LESSON = (
    "For independent arrivals a short drop-tail is itself the frontier of mean queue and loss: no "
    "AQM can do better, and the best that one can do is to act as a shorter buffer."
)


def heading(objective: Objective, deadline: int | None) -> str:
    """An objective and its unit, for a column or an axis."""
    unit = objective.unit or "%"
    if objective.needs_deadline:
        return f"{objective.heading}, {deadline} slots (%)"
    return f"{objective.heading} ({unit})"


def shown(objective: Objective, measure: Measure) -> Measure:
    """A value in the unit in which it is shown."""
    return measure if objective.unit else measure.times(100)


def place_header(found: Frontier) -> list[str]:
    """The header of the AQMs' table."""
    names = [heading(each, found.deadline) for each in found.pair]
    saved = [_regret_heading(found, axis) for axis in (1, 0)]
    return ["discipline", "how", *names, *saved]


def _regret_heading(found: Frontier, axis: int) -> str:
    own, other = found.pair[axis], found.pair[1 - axis]
    unit = own.unit or "%"
    return f"regret: {own.heading} at the same {other.heading} ({unit})"


def place_cells(place: Place, pair: tuple[Objective, Objective]) -> list[str]:
    """A row of the AQMs' table."""
    first, second = pair
    return [
        place.name,
        place.how,
        measure_text(shown(first, place.x)),
        measure_text(shown(second, place.y)),
        _regret(place, shown(second, place.regret_y)),
        _regret(place, shown(first, place.regret_x)),
    ]


def _regret(place: Place, regret: Measure) -> str:
    if place.breaks:
        return f"breaks {', '.join(place.breaks)}"
    if math.isnan(regret.value):
        return "below the frontier"
    if regret.half_width is None and abs(regret.value) < _ROUNDING:
        return "0"
    return measure_text(regret)


def recorded_header(deadline: int) -> list[str]:
    """The header of the AQMs' table on a recording."""
    return ["discipline", f"in time, {deadline} slots (%)", "lost (%)", "regret: in time (%)"]


def recorded_cells(place: Recorded) -> list[str]:
    """A row of it."""
    shares = (place.in_time, place.loss, place.regret)
    return [place.name, *(f"{100 * each.value:.2f}" for each in shares)]


def point_header(found: Frontier) -> list[str]:
    """The header of the table of points."""
    return [*(heading(each, found.deadline) for each in found.pair), "slope", "policy"]


def point_cells(found: Frontier, point: Point) -> list[str]:
    """A row of the table of points; the slope is in the units of files, shares from 0 to 1."""
    values = (
        shown(each, Measure(value, None, each.unit)).value
        for each, value in zip(found.pair, (point.x, point.y), strict=True)
    )
    slope = "" if math.isnan(point.slope) else f"{point.slope:.6g}"
    return [*(f"{value:.7g}" for value in values), slope, str(found.policy(point))]


def spread(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many of the points, both ends among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(k * (len(points) - 1) / (most - 1))] for k in range(most)]


def title(found: Frontier, point: Point) -> str:
    """What a policy is optimal for, one line."""
    first, second = found.pair
    says = "at least" if first.more_is_better else "at most"
    what = "greatest" if second.more_is_better else "least"
    deadline = "" if found.deadline is None else f", deadline {found.deadline} slots"
    return f"The {what} {second.name} for a {first.name} of {says} {number_text(point.x)}{deadline}"
