"""What only a network's records show: a link that is no bottleneck."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.scenario import NetworkScenario
from sluicegate.worlds.network.record import NetworkRecord

# below it, no AQM has much to do
_LEAST_BUSY = 0.5


def apart(records: Sequence[NetworkRecord]) -> list[str]:
    """A sentence where wires lose packets, which no queue's figures count."""
    lossy = [
        f"{wire.name} {100 * wire.measures['wire_loss_ratio'].value:.2g} %"
        for wire in records[0].wires
        if wire.measures["wire_loss_ratio"].value > 0
    ]
    if not lossy:
        return []
    return [
        f"Wires lose packets, too ({', '.join(lossy)}): wire_loss_ratio has these; what a queue "
        "lost or an AQM dropped is counted without them."
    ]


def no_bottleneck(scenario: NetworkScenario, records: Sequence[NetworkRecord]) -> list[str]:
    """A sentence where the link that the records are of is mostly idle under every discipline."""
    busy = max(record["utilization"].value for record in records)
    if busy >= _LEAST_BUSY:
        return []
    main = records[0].main_place
    link = scenario.queued_links[main]
    links = scenario.topology.simplex_links
    slowest_bps = min((each.rate_bps for each in links if not each.queue), default=link.rate_bps)
    note = f"{link.name} is {100 * busy:.2g} % busy at most: it is no bottleneck"
    if slowest_bps < link.rate_bps:
        note += (
            f"; it has {link.rate_bps / 1e6:g} Mb/s, and links without the discipline have "
            f"{slowest_bps / 1e6:g} Mb/s"
        )
    return [f"{note}."]
