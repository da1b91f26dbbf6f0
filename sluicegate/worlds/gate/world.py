"""The gate, as comparisons use it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from sluicegate import store
from sluicegate.scenario import Discipline, Dumbbell, NetworkScenario
from sluicegate.worlds.gate.measure import measure
from sluicegate.worlds.gate.record import GateRecord
from sluicegate.worlds.gate.refusals import refuse
from sluicegate.worlds.real.layout import layout
from sluicegate.worlds.real.world import RealNetwork
from sluicegate.worlds.world import OPTION, Option, Progress

_IPV6 = Option(bool, "send all packets as IPv6, instead of IPv4.")


@dataclass(frozen=True)
class Gate(RealNetwork[GateRecord]):
    """A real router, with the TCP of this machine's kernel.

    Attributes:
        ipv6: Whether all packets are of IPv6, in place of IPv4.
    """

    name: ClassVar[str] = "gate"
    column: ClassVar[str] = "real"
    unlogged: ClassVar[str] = (
        "sluiced writes one for a capture (sluiced replay CAPTURE --decisions LOG), and the "
        "network world one for this scenario (--world network)"
    )

    ipv6: bool = field(default=False, metadata={OPTION: _IPV6})

    @property
    def side_by_side(self) -> bool:
        """No: the runs share this machine's time."""
        return False

    @property
    def machine(self) -> Mapping[str, str]:
        """The kernel, and the code of the testbed."""
        return {"kernel": os.uname().release, "code": store.build(__name__)}

    def check(self, scenario: NetworkScenario, discipline: Discipline) -> None:
        """One router between clients and servers, and what the kernel can send."""
        refuse(scenario, discipline, self.congestion_control, self.ipv6)

    def run(
        self,
        scenario: NetworkScenario,
        discipline: Discipline,
        *,
        threads: int | None,
        on_progress: Progress,
        fresh: bool,
    ) -> GateRecord:
        """Measure, always anew; see `sluicegate.worlds.gate.measure`."""
        return measure(
            scenario,
            discipline,
            congestion_control=self.congestion_control,
            ipv6=self.ipv6,
            watch=lambda done_s, total_s: on_progress(
                done_s, total_s, f"{done_s:,.0f} of {total_s:,.0f} s"
            ),
        )

    def in_short(self, scenario: NetworkScenario) -> str:
        """Runs and seconds."""
        runs = f"{scenario.replications} run{'s' * (scenario.replications > 1)}"
        return f"measured in {runs} of {scenario.duration_s:,g} s with real packets"

    def notes(self, scenario: NetworkScenario, records: Sequence[GateRecord]) -> list[str]:
        """Those of every network, and what is the kernel's and not the scenario's."""
        notes = [
            *super().notes(scenario, records),
            "In the gate TCP is the kernel's: the scenario sets only congestion control, packet "
            "size, ECN, starts, stops and sizes. The links to the router have no rate.",
        ]
        laid = layout(scenario, scenario.disciplines[0])
        assert isinstance(laid.scenario.topology, Dumbbell)
        if len(set(laid.scenario.topology.client_delays_s)) > 1:
            notes.append("Each delay has a separate way back, with the bottleneck's rate.")
        if self.ipv6:
            notes.append("All packets of the gate are of IPv6.")
        return notes
