"""What stands before each link that has a queue."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.scenario import Discipline, Dumbbell, LinkSettings, NetworkScenario
from sluicegate.worlds.real.layout import constant, layout
from sluicegate.worlds.real.varying import BACK, LINK, LINKS


def before(
    scenario: NetworkScenario, discipline: Discipline, link: str
) -> tuple[NetworkScenario, Discipline]:
    """A scenario whose bottleneck has what a link has of its own, and the link's discipline."""
    own = scenario.links.get(link, LinkSettings())
    assert isinstance(scenario.topology, Dumbbell)
    rate_bps, rate = constant(scenario.topology.rate_bps, own)
    chosen = discipline if own.discipline is None else own.discipline
    alone = scenario.replace(
        topology=scenario.topology.replace(rate_bps=rate_bps),
        queue=own.queue or scenario.queue,
        links={} if rate is None else {LINK: LinkSettings(rate=rate)},
    )
    return alone, chosen


def each_before(
    scenario: NetworkScenario, discipline: Discipline
) -> Iterator[tuple[str, NetworkScenario, Discipline, str]]:
    """Each link with a queue: its name, and where it is: a dumb-bell, its discipline, its link."""
    laid = layout(scenario, discipline)
    for towards, name in laid.names.items():
        if towards == "second":
            assert laid.first is not None
            yield name, *laid.first, LINK
        else:
            yield name, laid.scenario, laid.discipline, LINKS[towards]


def links(scenario: NetworkScenario) -> list[str]:
    """The links with a queue."""
    return [link.name for link in scenario.queued_links]


def is_compared(scenario: NetworkScenario, link: str) -> bool:
    """Whether the compared discipline stands before a link."""
    return scenario.links.get(link, LinkSettings()).discipline is None


def differs_back(scenario: NetworkScenario) -> bool:
    """Whether something else stands before the link back than before that there."""
    if not (isinstance(scenario.topology, Dumbbell) and scenario.topology.two_way):
        return False
    there, back = (scenario.links.get(link, LinkSettings()) for link in (LINK, BACK))
    same = (there.discipline, there.queue, there.rate) == (back.discipline, back.queue, back.rate)
    return not same
