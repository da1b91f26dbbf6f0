"""What the worlds of real packets have in common, as comparisons use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from sluicegate.scenario import NetworkScenario
from sluicegate.worlds.one_network import OneNetwork
from sluicegate.worlds.real.record import RealRecord
from sluicegate.worlds.world import OPTION, Option

if TYPE_CHECKING:
    import polars as pl

R = TypeVar("R", bound=RealRecord)

# slots that the slotted world simulates while real packets take a second, about
_SLOTS_PER_S = 1e8
_CONGESTION_CONTROL = Option(
    str,
    "congestion control of all TCP flows, instead of the scenario's: any that the kernel has.",
    "NAME",
)


@dataclass(frozen=True)
class RealNetwork(OneNetwork[R]):
    """A world whose senders are a kernel's.

    Attributes:
        congestion_control: Of all TCP flows, in place of the scenario's: any that the kernel has.
    """

    congestion_control: str | None = field(default=None, metadata={OPTION: _CONGESTION_CONTROL})

    def cost(self, scenario: NetworkScenario) -> float:
        """About the time that the packets take."""
        return _SLOTS_PER_S * scenario.duration_s * scenario.replications

    def frames(self, records: Sequence[R]) -> dict[str, pl.DataFrame]:
        """The tables of every network under the world's name, and those of `TCP_INFO`."""
        import polars as pl

        connections = [
            record.connections.select(pl.lit(record.discipline).alias("discipline"), pl.all())
            for record in records
        ]
        found = {f"{self.name}-{name}": frame for name, frame in super().frames(records).items()}
        return found | {f"{self.name}-connections": pl.concat(connections)}
