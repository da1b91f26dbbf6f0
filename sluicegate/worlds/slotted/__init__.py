"""The slotted world: a simulated queue of discrete time."""

from sluicegate.worlds.slotted.record import SlottedRecord
from sluicegate.worlds.slotted.session import SlottedObservation, SlottedSession
from sluicegate.worlds.slotted.simulate import simulate

__all__ = ["SlottedObservation", "SlottedRecord", "SlottedSession", "simulate"]
