"""The gate: a real Linux router with real TCP and UDP, measured."""

from sluicegate.worlds.gate.measure import measure
from sluicegate.worlds.gate.record import GateRecord

__all__ = ["GateRecord", "measure"]
