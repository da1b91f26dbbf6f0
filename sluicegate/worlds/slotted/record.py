"""Records of the slotted world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sluicegate.record import Record


@dataclass(frozen=True, repr=False)
class SlottedRecord(Record):
    """A record of the slotted world.

    Attributes:
        slots: Slots simulated, all replications together, warm-up included.
        warm_up_slots: Slots left out at the start of each replication.
    """

    slots: int
    warm_up_slots: int

    def summary(self) -> dict[str, Any]:
        """Everything that is no table, as types that JSON has."""
        return super().summary() | {"slots": self.slots, "warm_up_slots": self.warm_up_slots}
