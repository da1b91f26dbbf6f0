"""The kernel, as comparisons use it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from sluicegate import store
from sluicegate.daemon import sluiced
from sluicegate.errors import SluiceError
from sluicegate.lab import kernel
from sluicegate.scenario import Discipline, Dumbbell, NetworkScenario
from sluicegate.testbed.here import missing_here
from sluicegate.testbed.row import FAR_END_BACK, FAR_END_OF_FIRST
from sluicegate.worlds.kernel.links import before, differs_back, each_before, is_compared
from sluicegate.worlds.kernel.measure import measure
from sluicegate.worlds.kernel.own import FAR_ENDS, KIND, own
from sluicegate.worlds.kernel.packets import check_suffix
from sluicegate.worlds.kernel.plan import LayerOf
from sluicegate.worlds.kernel.record import KernelRecord
from sluicegate.worlds.kernel.refusals import refuse
from sluicegate.worlds.one_network import PACKETS
from sluicegate.worlds.real.layout import layout
from sluicegate.worlds.real.refusals import of_discipline
from sluicegate.worlds.real.varying import BACK, LINK
from sluicegate.worlds.real.world import RealNetwork
from sluicegate.worlds.world import OPTION, Option, Progress, check_alone

# of a router: the only one, or which of two in a row
Place: TypeAlias = Literal["alone", "first", "second"]
_HERE = Option(bool, "on this machine's own kernel, as root, in real time.")


@dataclass(frozen=True)
class Kernel(RealNetwork[KernelRecord]):
    """A Linux in virtual time, with its TCP and our disciplines as its qdiscs.

    Attributes:
        here: On this machine's own kernel, as root and in real time, not in the laboratory.
        packets: File to write the packets to, of a scenario with one discipline and one
            replication; see `sluicegate.worlds.kernel.measure`.
    """

    name: ClassVar[str] = "kernel"
    column: ClassVar[str] = "in Linux"
    unlogged: ClassVar[str] = (
        "a qdisc installed by hand keeps one (sluiced qdisc install KIND --log MB, then "
        "sluiced qdisc log KIND), and the network world writes one for this scenario "
        "(--world network)"
    )

    here: bool = field(default=False, metadata={OPTION: _HERE})
    packets: Path | None = field(default=None, metadata={OPTION: PACKETS})
    ours: ClassVar[bool] = True

    @property
    def side_by_side(self) -> bool:
        """In virtual time only: on this machine itself the runs share its time."""
        return not self.here

    @property
    def machine(self) -> Mapping[str, str]:
        """The kernel, and the code that lays its qdiscs."""
        release = os.uname().release if self.here else kernel.ready().contents
        return {"kernel": release, "code": store.build(type(self).__module__)}

    def check(self, scenario: NetworkScenario, discipline: Discipline) -> None:
        """One router between clients and servers, and a discipline that can be a qdisc."""
        check_alone(self.packets, "packet file", scenario)
        if self.packets is not None:
            check_suffix(self.packets)
            if not isinstance(scenario.topology, Dumbbell):
                raise SluiceError(
                    f"topology.kind = {scenario.topology.kind} must be dumbbell for a packet file "
                    "(the world network writes one of any)"
                )
        here = missing_here(ours=self.ours) if self.here else None
        against = self._against_each(scenario, discipline)
        refuse(scenario, discipline, self.congestion_control, against, here=here, ours=self.ours)

    def _against_each(self, scenario: NetworkScenario, discipline: Discipline) -> Iterator[str]:
        """Likewise of what stands before each link with a queue."""
        for name, laid, stands, link in each_before(scenario, discipline):
            place = "" if is_compared(scenario, name) else f'links."{name}".discipline: '
            yield from (f"{place}{why}" for why in self.against(laid, stands, link))

    def against(
        self, scenario: NetworkScenario, discipline: Discipline, link: str = LINK
    ) -> Iterator[str]:
        """Why what stands before a link cannot be a qdisc, with the path of the field."""
        own = before(scenario, discipline, link)[1]
        yield from of_discipline(own)

    def layer(
        self,
        scenario: NetworkScenario,
        discipline: Discipline,
        link: str = LINK,
        place: Place = "alone",
    ) -> LayerOf:
        """What stands before a link of a dumb-bell, as a qdisc.

        Args:
            scenario: The dumb-bell.
            discipline: What is compared there.
            link: Its link.
            place: Of its router: the only one, or which of two in a row.
        """
        # with a process id of 7 digits there are 14 letters, of 15 that a kind may have
        kind = KIND if link == LINK else f"{KIND}b"
        ends = {BACK: FAR_ENDS[0], LINK: FAR_ENDS[1]}
        if place == "second":
            ends[BACK] = FAR_END_BACK
        far_ends = [ends[link]] if differs_back(scenario) else list(ends.values())
        if place == "first":
            kind, far_ends = f"{KIND}a", [FAR_END_OF_FIRST]
        return own(
            *before(scenario, discipline, link),
            kind=f"{kind}{os.getpid()}" if self.here else kind,
            daemon=sluiced() if self.here else "sluiced",
            far_ends=far_ends,
        )

    def run(
        self,
        scenario: NetworkScenario,
        discipline: Discipline,
        *,
        threads: int | None,
        on_progress: Progress,
        fresh: bool,
    ) -> KernelRecord:
        """Measure in the laboratory; see `sluicegate.worlds.kernel.measure`."""
        on_progress(0, scenario.replications, "starts" if self.here else "boots")
        laid = layout(scenario, discipline)
        last = laid.scenario, laid.discipline
        place: Place = "second" if laid.first else "alone"
        back = self.layer(*last, BACK, place) if differs_back(laid.scenario) else None
        return measure(
            scenario,
            discipline,
            self.layer(*last, place=place),
            back_of=back,
            first_of=self.layer(*laid.first, place="first") if laid.first else None,
            world=self.name,
            name=self.called(discipline),
            congestion_control=self.congestion_control,
            here=self.here,
            packets=self.packets,
            threads=threads,
            watch=lambda done, total: on_progress(done, total, f"{done} of {total} runs"),
            fresh=fresh,
        )

    def in_short(self, scenario: NetworkScenario) -> str:
        """Runs, seconds and seed."""
        runs = f"{scenario.replications} run{'s' * (scenario.replications > 1)}"
        return (
            f"measured in Linux, in {runs} of {scenario.duration_s:,g} s in "
            f"{'real' if self.here else 'virtual'} time, seed {scenario.seed}"
        )

    def notes(self, scenario: NetworkScenario, records: Sequence[KernelRecord]) -> list[str]:
        """Those of every network, and what is the kernel's and not the scenario's."""
        where = "On this machine" if self.here else "In the laboratory"
        return [
            *super().notes(scenario, records),
            f"{where} TCP is that of Linux {records[0].run['kernel']}: the scenario sets only "
            "congestion control, packet size, ECN, starts, stops and sizes. The links to the "
            "router have no rate.",
        ]
