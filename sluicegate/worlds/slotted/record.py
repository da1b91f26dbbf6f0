"""Records of the slotted world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from sluicegate.record import FloatArray, Frames, Record


@dataclass(frozen=True, repr=False)
class SlottedRecord(Record):
    """A record of the slotted world.

    Attributes:
        slots: Slots simulated, all replications together, warm-up included.
        warm_up_slots: Slots left out at the start of each replication.
        replications: A row per replication: the measures of each.
    """

    slots: int
    warm_up_slots: int
    replications: pl.DataFrame

    def values(self, measure: str) -> FloatArray:
        """A column of `replications`, shape (R,)."""
        return self.replications[measure].to_numpy()

    def summary(self) -> dict[str, Any]:
        """Everything that is no table, as types that JSON has."""
        return super().summary() | {"slots": self.slots, "warm_up_slots": self.warm_up_slots}

    def frames(self) -> dict[str, pl.DataFrame]:
        """Everything that is a table, by name."""
        return super().frames() | {"replications": self.replications}

    @classmethod
    def _fields(cls, summary: dict[str, Any], frames: Frames) -> dict[str, Any]:
        return super()._fields(summary, frames) | {"replications": frames["replications"]}
