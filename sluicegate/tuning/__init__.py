"""Tuning: finds the settings of an AQM that minimise a score of its measures."""

from sluicegate.tuning.result import Tuning
from sluicegate.tuning.run import tune

__all__ = ["Tuning", "tune"]
