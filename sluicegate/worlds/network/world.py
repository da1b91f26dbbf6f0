"""The network world, as comparisons use it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.network.simulate import simulate
from sluicegate.worlds.one_network import PACKETS, OneNetwork
from sluicegate.worlds.world import OPTION, Progress, check_alone

_PACKET_BITS = 4000


@dataclass(frozen=True)
class Network(OneNetwork[NetworkRecord]):
    """Packets from end to end, with TCP that reacts.

    Attributes:
        packets: File to write the packets to, of a scenario with one discipline and one
            replication; see `sluicegate.network.simulate`.
        decisions: File to write the decision log to, likewise.
    """

    name: ClassVar[str] = "network"
    column: ClassVar[str] = "measured"
    SLOTS_OF_A_PACKET: ClassVar[float] = 20

    packets: Path | None = field(default=None, metadata={OPTION: PACKETS})
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
        on_progress: Progress,
        fresh: bool,
    ) -> NetworkRecord:
        """Simulate; see `sluicegate.network.simulate`."""
        return simulate(
            scenario,
            discipline,
            threads=threads,
            watch=lambda done_s, total_s: on_progress(
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
