"""What the worlds have in common whose scenario is a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from sluicegate.report.text import assignments, reading_of_intervals
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds.network.frames import network_frames
from sluicegate.worlds.network.notes import (
    apart,
    more_than_sent,
    no_bottleneck,
    nothing_random,
    slow_packets,
)
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.world import AnyScenario, Option, World

if TYPE_CHECKING:
    import polars as pl

    from sluicegate.report.page import Page

R = TypeVar("R", bound=NetworkRecord)

# of the worlds that know each packet
PACKETS = Option(
    Path,
    "write the packets of one replication to this file: FILE.tr is a trace as ns-2's, FILE.pcapng "
    "a capture.",
    "FILE",
    of_one_run=True,
)


class OneNetwork(World[NetworkScenario, R]):
    """A world of packets from end to end, with TCP that reacts."""

    takes: ClassVar[type[AnyScenario]] = NetworkScenario
    tables: ClassVar[tuple[str, ...]] = ("[topology]", "[[flows]]")

    def reading(self, records: Sequence[R]) -> str:
        """How the intervals were made."""
        return reading_of_intervals(records)

    def settings(self, scenario: NetworkScenario) -> Iterator[tuple[str, str]]:
        """Topology, flows, queue, and what is left out."""
        yield "topology", assignments(scenario.topology.table())
        for number, flows in enumerate(scenario.flows):
            yield f"flows {number}", assignments(flows.table())
        yield "queue", assignments(scenario.queue.table())
        for name, own in scenario.links.items():
            yield f"link {name}", assignments(own.table())
        yield "time left out at the start", f"{scenario.warm_up:g} s"
        yield "time between samples", f"{scenario.sample_s:g} s"

    def key_measures(self, records: Sequence[R]) -> list[str]:
        """Times, queue and losses of the main queue, and what the flows got."""

        def have(name: str) -> bool:
            return any(name in each.measures and each[name].value > 0 for each in records)

        marked = ["mark_ratio"] if have("mark_ratio") else []
        completed = ["completion_mean"] if have("completion_mean") else []
        wires = ["wire_loss_ratio"] if have("wire_loss_ratio") else []
        return [
            "sojourn_mean",
            "sojourn_p99",
            "queue_mean",
            "queue_deviation",
            "loss_ratio",
            *marked,
            "datagram_goodput" if have("datagram_goodput") and not have("goodput") else "goodput",
            "fairness",
            *completed,
            *wires,
            "utilization",
        ]

    def notes(self, scenario: NetworkScenario, records: Sequence[R]) -> list[str]:
        """What has no effect or suits another link, and what the records show.

        That is a link that is no bottleneck, wires that lose packets, and runs that say little.
        """
        return [
            *scenario.notes(),
            *slow_packets(scenario),
            *no_bottleneck(scenario, records),
            *nothing_random(records),
            *more_than_sent(scenario, records),
            *apart(records),
        ]

    def add_figures(self, page: Page, records: Sequence[R]) -> None:
        """Add courses in time, flows, and further queues."""
        from sluicegate.worlds.network.figures import add_network  # loads matplotlib

        add_network(page, records)

    def frames(self, records: Sequence[R]) -> dict[str, pl.DataFrame]:
        """The tables `series` and `flows`."""
        return network_frames(records)
