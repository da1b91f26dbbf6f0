"""Records of the worlds in the laboratory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from sluicegate.record import Frames
from sluicegate.worlds.network.record import NetworkRecord


@dataclass(frozen=True, repr=False)
class KernelRecord(NetworkRecord):
    """What was measured in the laboratory, in the columns of the network world.

    Of our qdiscs it is known why they dropped packets in the whole run (`whole`); of the part after
    the warm-up only if there was one reason. Else `unknown` says so. `run` says with which kernel,
    emulator and programs it was measured.

    Attributes:
        connections: As in `GateRecord`.
    """

    connections: pl.DataFrame

    def frames(self) -> dict[str, pl.DataFrame]:
        """Everything that is a table, by name."""
        return super().frames() | {"connections": self.connections}

    @classmethod
    def _fields(cls, summary: dict[str, Any], frames: Frames) -> dict[str, Any]:
        return super()._fields(summary, frames) | {"connections": frames["connections"]}
