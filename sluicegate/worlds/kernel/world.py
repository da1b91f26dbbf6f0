"""The kernel, as comparisons use it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from sluicegate import store
from sluicegate.daemon import sluiced
from sluicegate.lab import kernel
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.testbed.addresses import SIDES
from sluicegate.testbed.here import missing_here
from sluicegate.worlds.kernel.links import before, differs_back, is_compared, links
from sluicegate.worlds.kernel.measure import measure
from sluicegate.worlds.kernel.own import KIND, own
from sluicegate.worlds.kernel.packets import check_suffix
from sluicegate.worlds.kernel.plan import LayerOf
from sluicegate.worlds.kernel.record import KernelRecord
from sluicegate.worlds.kernel.refusals import refuse
from sluicegate.worlds.one_network import PACKETS
from sluicegate.worlds.real.refusals import of_discipline
from sluicegate.worlds.real.varying import BACK, LINK, LINKS
from sluicegate.worlds.real.world import RealNetwork
from sluicegate.worlds.world import OPTION, Option, Progress, check_alone

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
        here = missing_here(ours=self.ours) if self.here else None
        against = list(dict.fromkeys(self._against_each(scenario, discipline)))
        refuse(scenario, self.congestion_control, against, here=here, ours=self.ours)

    def _against_each(self, scenario: NetworkScenario, discipline: Discipline) -> Iterator[str]:
        """Likewise of what stands before each link with a queue."""
        for link in links(scenario):
            place = "" if is_compared(scenario, link) else f'links."{link}".discipline: '
            yield from (f"{place}{why}" for why in self.against(scenario, discipline, link))

    def against(
        self, scenario: NetworkScenario, discipline: Discipline, link: str = LINK
    ) -> Iterator[str]:
        """Why what stands before a link cannot be a qdisc, with the path of the field."""
        own = before(scenario, discipline, link)[1]
        yield from of_discipline(own)

    def layer(self, scenario: NetworkScenario, discipline: Discipline, link: str = LINK) -> LayerOf:
        """What stands before a link, as a qdisc."""
        alone = not differs_back(scenario)
        # with a process id of 7 digits there are 14 letters, of 15 that a kind may have
        kind = KIND if link == LINK else f"{KIND}b"
        return own(
            *before(scenario, discipline, link),
            kind=f"{kind}{os.getpid()}" if self.here else kind,
            daemon=sluiced() if self.here else "sluiced",
            towards=SIDES if alone else [side for side in SIDES if LINKS[side] == link],
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
        back = self.layer(scenario, discipline, BACK) if differs_back(scenario) else None
        return measure(
            scenario,
            discipline,
            self.layer(scenario, discipline),
            back_of=back,
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
