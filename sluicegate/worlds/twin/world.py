"""The kernel's own qdiscs, as comparisons use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.worlds.kernel.plan import Layer, LayerOf
from sluicegate.worlds.kernel.record import KernelRecord
from sluicegate.worlds.kernel.world import Kernel
from sluicegate.worlds.twin.qdisc import modules_of, twin


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

    qdisc: str | None = None

    def against(self, scenario: NetworkScenario, discipline: Discipline) -> Iterator[str]:
        """Why a discipline has no twin."""
        if self.qdisc is not None and (count := len(scenario.disciplines)) != 1:
            yield f"--qdisc {self.qdisc} takes one discipline, but there are {count}"
            return
        try:
            self._words(scenario, discipline)
        except SluiceError as error:
            yield from str(error).splitlines()

    def _words(self, scenario: NetworkScenario, discipline: Discipline) -> str:
        return self.qdisc or twin(scenario, discipline)

    def layer(self, scenario: NetworkScenario, discipline: Discipline) -> LayerOf:
        """The twin as a qdisc."""
        words = self._words(scenario, discipline)
        return lambda seed: Layer(words, shapes=False, modules=modules_of(words))

    def notes(self, scenario: NetworkScenario, records: Sequence[KernelRecord]) -> list[str]:
        """Those of the kernel, and what stood for each discipline."""
        stood = "; ".join(f"{each.discipline}: {each.run['qdisc']}" for each in records)
        return [
            *super().notes(scenario, records),
            f"Linux's qdiscs, below the shaper tbf: {stood}.",
        ]
