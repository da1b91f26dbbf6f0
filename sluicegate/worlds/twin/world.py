"""The kernel's own qdiscs, as comparisons use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, Dumbbell, NetworkScenario
from sluicegate.worlds.kernel.links import before, is_compared
from sluicegate.worlds.kernel.plan import Layer, LayerOf
from sluicegate.worlds.kernel.record import KernelRecord
from sluicegate.worlds.kernel.world import Kernel, Place
from sluicegate.worlds.real.varying import LINK
from sluicegate.worlds.twin.classes import Qdisc, qdisc
from sluicegate.worlds.twin.qdisc import modules_of, own_rate_bps
from sluicegate.worlds.world import OPTION, Option

_MBIT = 1e6
_QDISC = Option(
    str,
    "a qdisc as tc takes it, such as 'cake unlimited', instead of the discipline's twin.",
    "WORDS",
)


@dataclass(frozen=True)
class Twin(Kernel):
    """A Linux in virtual time, with the qdisc of its own that is the twin of a discipline.

    Attributes:
        qdisc: A qdisc as `tc` takes it, in place of every discipline's twin, such as
            `cake unlimited`, of a scenario with one discipline; it stands below the shaper `tbf`.
    """

    name: ClassVar[str] = "twin"
    column: ClassVar[str] = "Linux's own"
    ours: ClassVar[bool] = False
    unlogged: ClassVar[str] = (
        "Linux's own qdiscs keep none; the network world writes one for this scenario "
        "(--world network)"
    )

    qdisc: str | None = field(default=None, metadata={OPTION: _QDISC})

    def check(self, scenario: NetworkScenario, discipline: Discipline) -> None:
        """Likewise; a qdisc in place of the twins stands before one link in each direction."""
        if self.qdisc is not None and not isinstance(scenario.topology, Dumbbell):
            raise SluiceError(
                f"topology.kind = {scenario.topology.kind} must be dumbbell for --qdisc"
            )
        super().check(scenario, discipline)

    def against(
        self, scenario: NetworkScenario, discipline: Discipline, link: str = LINK
    ) -> Iterator[str]:
        """Why what stands before a link has no twin."""
        if self.qdisc is not None and (count := len(scenario.disciplines)) != 1:
            yield f"--qdisc {self.qdisc} takes one discipline, but there are {count}"
            return
        try:
            self._twin(scenario, discipline, link)
        except SluiceError as error:
            yield from str(error).splitlines()

    def _twin(self, scenario: NetworkScenario, discipline: Discipline, link: str = LINK) -> Qdisc:
        if self.qdisc is not None and is_compared(scenario, link):
            return Qdisc(self.qdisc, (), modules_of(self.qdisc))
        return qdisc(*before(scenario, discipline, link))

    def called(self, discipline: Discipline) -> str:
        """The qdisc that takes its place, as it was given; else the discipline."""
        return self.qdisc or super().called(discipline)

    def layer(
        self,
        scenario: NetworkScenario,
        discipline: Discipline,
        link: str = LINK,
        place: Place = "alone",
    ) -> LayerOf:
        """The twin of what stands before a link, as a qdisc, whatever its router's place is."""
        found = self._twin(scenario, discipline, link)
        is_twin = self.qdisc is None or not is_compared(scenario, link)
        return lambda seed: Layer(
            found.words,
            shapes=False,
            has_bands=is_twin,
            more=found.more,
            modules=found.modules,
        )

    def notes(self, scenario: NetworkScenario, records: Sequence[KernelRecord]) -> list[str]:
        """Those of the kernel, and what stood for each discipline."""
        notes = super().notes(scenario, records)
        if self.qdisc is None:
            stood = "; ".join(f"{each.discipline}: {each.run['qdisc']}" for each in records)
            return [*notes, f"Linux's qdiscs, below the shaper tbf: {stood}."]
        notes.append(
            f"{self.qdisc} ran below the shaper tbf, in place of {scenario.disciplines[0].name}."
        )
        own_bps = own_rate_bps(self.qdisc)
        shaped_bps = scenario.topology.rate_bps  # type: ignore[union-attr]
        if own_bps is not None and own_bps != shaped_bps:
            notes.append(_two_rates(self.qdisc, own_bps, shaped_bps))
        return notes


def _two_rates(qdisc: str, own_bps: float, shaped_bps: float) -> str:
    return (
        f"{qdisc} has a rate of its own, {own_bps / _MBIT:g} Mbit/s; that of the shaper, "
        f"topology.rate_bps, is {shaped_bps / _MBIT:g} Mbit/s, and other disciplines have only "
        "that one. The lower of the two held. Leave the qdisc's own rate out to compare them."
    )
