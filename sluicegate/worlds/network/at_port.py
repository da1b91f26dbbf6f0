"""What the replications counted at one queue of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sluicegate.counts import QueueCounts
from sluicegate.estimate import Measure, over_replications
from sluicegate.measures import QUEUE
from sluicegate.scenario.bands import band_names
from sluicegate.worlds.network import bands, classes

if TYPE_CHECKING:
    from sluicegate._engine import Period, SimplexLink
    from sluicegate.scenario import NetworkScenario

_NS_PER_S = 1e9


@dataclass(frozen=True)
class AtPort:
    """The counts of one queue: of all packets, by class and by band."""

    queue: QueueCounts
    classes: classes.Counted
    bands: bands.Counted

    def measures(self) -> dict[str, Measure]:
        """Their means, with intervals, but for those at the ends of the flows."""
        return {
            **over_replications(self.queue, QUEUE, _NS_PER_S),
            **classes.measures(self.classes, ends=False),
            **bands.measures(self.bands),
        }


def at_port(
    scenario: NetworkScenario,
    run: dict[str, Any],
    periods: Sequence[Sequence[Period]],
    place: int,
) -> AtPort:
    """The counts of a queue.

    Args:
        scenario: What was run.
        run: As in `Record`.
        periods: Of each replication those that count.
        place: Of the queue.
    """
    link = scenario.queued_links[place]
    return AtPort(
        QueueCounts.of([[period.ports[place] for period in each] for each in periods]),
        classes.counted(scenario.classes(), periods, place),
        bands.counted(names_of_bands(scenario, run, link), periods, place),
    )


def names_of_bands(scenario: NetworkScenario, run: dict[str, Any], link: SimplexLink) -> list[str]:
    """The names of the bands of the discipline before a link."""
    of_link = run if scenario.own_discipline(link) is None else run["links"][link.name]
    return band_names(of_link["aqm"], len(of_link["queue"].get("classes", ())))
