"""Tuning: the settings of an AQM that make a score of its measures least."""

from sluicegate.tuning.result import Tuning
from sluicegate.tuning.run import tune

__all__ = ["Tuning", "tune"]
