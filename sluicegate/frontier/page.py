"""The page of `sluice frontier`: the picture, the AQMs with their regret, points and policies."""

from __future__ import annotations

from sluicegate.frontier import rows
from sluicegate.frontier.clairvoyant import Clairvoyant
from sluicegate.frontier.front import Front, Point
from sluicegate.frontier.frontier import Frontier
from sluicegate.frontier.plots import clairvoyant_figure, frontier_figure
from sluicegate.report.page import Page

_MOST_POINTS = 20


def frontier_page(found: Frontier, chosen: Point | None = None) -> Page:
    """Put the page together.

    Args:
        found: The frontier.
        chosen: A point that was asked for.
    """
    first, second = found.pair
    page = Page(
        f"The frontier of {first.heading} and {second.heading}",
        found.scenario.title or "a slotted queue",
    )
    page.section("In one picture")
    regrets = [f"{place.name}: {rows.place_cells(place, found.pair)[4]}" for place in found.places]
    page.figure(
        frontier_figure(found),
        "The frontier and the AQMs",
        f"No policy that {found.process.told} lies in the grey part.",
        f"Regret, {second.heading} at the same {first.heading}: {'; '.join(regrets)}.",
    )
    page.section("In numbers")
    page.table(
        rows.place_header(found),
        [rows.place_cells(place, found.pair) for place in found.places],
        f"Regret: what the best policy would have saved. {rows.LESSON}",
    )
    page.section("Policies")
    if chosen is not None:
        page.text(
            f"{rows.title(found, chosen)}: {second.name} = {chosen.y:.9g}; {found.policy(chosen)}."
        )
    page.table(
        rows.point_header(found),
        [rows.point_cells(found, point) for point in rows.spread(found.points, _MOST_POINTS)],
        "Corners of the frontier. Between two of them the best policy draws at one length of the "
        "queue."
        if isinstance(found.front, Front)
        else "Points of the frontier among the policies that keep the bounds.",
    )
    return page


def clairvoyant_page(found: Clairvoyant) -> Page:
    """Put together the page of a recording."""
    page = Page("Packets in time on a recording", found.scenario.title or "a recording")
    page.section("In one picture")
    cells = [rows.recorded_cells(place) for place in found.places]
    regrets = "; ".join(f"{row[0]}: {row[-1]} %" for row in cells)
    page.figure(
        clairvoyant_figure(found),
        "The clairvoyant bound and the AQMs",
        "No policy that serves first come, first served lies in the grey part, not even one that "
        "knows all arrivals ahead.",
        f"Regret, packets in time: at most {regrets}.",
    )
    page.section("In numbers")
    page.table(
        rows.recorded_header(found.deadline),
        cells,
        f"Who knows all {found.packets:,} arrivals ahead delivers {100 * found.in_time:.2f} % in "
        "time. An AQM knows none, so that its true regret is smaller.",
    )
    return page
