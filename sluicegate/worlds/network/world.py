"""The network world, as comparisons use it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from sluicegate.report.text import assignments, reading_of_intervals
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.worlds.network.frames import network_frames
from sluicegate.worlds.network.notes import no_bottleneck
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.network.simulate import simulate
from sluicegate.worlds.world import AnyScenario, Tell, World, check_alone

if TYPE_CHECKING:
    import polars as pl

    from sluicegate.report.page import Page

_PACKET_BITS = 4000


@dataclass(frozen=True)
class Network(World[NetworkScenario, NetworkRecord]):
    """Packets from end to end, with TCP that reacts.

    Attributes:
        packets: File to write the packets to, of a scenario with one discipline and one
            replication; see `sluicegate.network.simulate`.
        decisions: File to write the decision log to, likewise.
    """

    name: ClassVar[str] = "network"
    column: ClassVar[str] = "measured"
    takes: ClassVar[type[AnyScenario]] = NetworkScenario
    tables: ClassVar[tuple[str, ...]] = ("[topology]", "[[flows]]")
    SLOTS_OF_A_PACKET: ClassVar[float] = 20

    packets: Path | None = None
    decisions: Path | None = None

    def logged(self, path: Path) -> Self:
        """With `decisions`."""
        return replace(self, decisions=path)

    def check(self, scenario: NetworkScenario, discipline: Discipline) -> None:
        """Every scenario can be simulated; packets and decisions are of one discipline only."""
        check_alone(self.packets, "packet file", scenario)
        check_alone(self.decisions, "decision log", scenario)

    def cost(self, scenario: NetworkScenario) -> float:
        """Packets that all links with the discipline can send; each takes as long as some slots."""
        rate_bps = sum(link.rate_bps for link in scenario.topology.simplex_links if link.queue)
        seconds = scenario.duration_s * scenario.replications
        return self.SLOTS_OF_A_PACKET * seconds * rate_bps / _PACKET_BITS

    def run(
        self,
        scenario: NetworkScenario,
        discipline: Discipline,
        *,
        threads: int | None,
        tell: Tell,
        fresh: bool,
    ) -> NetworkRecord:
        """Simulate; see `sluicegate.network.simulate`."""
        return simulate(
            scenario,
            discipline,
            threads=threads,
            watch=lambda done_s, total_s: tell(
                done_s, total_s, f"{done_s:,.0f} of {total_s:,.0f} s"
            ),
            fresh=fresh,
            packets=self.packets,
            decisions=self.decisions,
        )

    def in_short(self, scenario: NetworkScenario) -> str:
        """Runs, seconds and seed."""
        runs = f"{scenario.replications} run{'s' * (scenario.replications > 1)}"
        return f"simulated in {runs} of {scenario.duration_s:,g} s, seed {scenario.seed}"

    def reading(self, records: Sequence[NetworkRecord]) -> str:
        """How the intervals were made."""
        return reading_of_intervals(records)

    def settings(self, scenario: NetworkScenario) -> Iterator[tuple[str, str]]:
        """Topology, flows, queue, and what is left out."""
        yield "topology", assignments(scenario.topology.table())
        for number, flows in enumerate(scenario.flows):
            yield f"flows {number}", assignments(flows.table())
        yield "queue", assignments(scenario.queue.table())
        yield "time left out at the start", f"{scenario.warm_up:g} s"
        yield "time between samples", f"{scenario.sample_s:g} s"

    def key_measures(self, records: Sequence[NetworkRecord]) -> list[str]:
        """Times, queue and losses of the main queue, and what the flows got."""

        def have(name: str) -> bool:
            return any(name in each.measures and each[name].value > 0 for each in records)

        marked = ["mark_ratio"] if have("mark_ratio") else []
        completed = ["completion_mean"] if have("completion_mean") else []
        return [
            "sojourn_mean",
            "sojourn_p99",
            "queue_mean",
            "queue_deviation",
            "loss_ratio",
            *marked,
            "goodput" if have("goodput") else "datagram_goodput",
            "fairness",
            *completed,
            "utilization",
        ]

    def notes(self, scenario: NetworkScenario, records: Sequence[NetworkRecord]) -> list[str]:
        """What has no effect, which parameters suit another link, what is no bottleneck."""
        return [*scenario.notes(), *no_bottleneck(scenario, records)]

    def add_figures(self, page: Page, records: Sequence[NetworkRecord]) -> None:
        """Add courses in time, flows, and further queues."""
        from sluicegate.worlds.network.figures import add_network  # loads matplotlib

        add_network(page, records)

    def frames(self, records: Sequence[NetworkRecord]) -> dict[str, pl.DataFrame]:
        """The tables `series` and `flows`."""
        return network_frames(records)
