"""Sweeps: a scenario run with many values of its fields, on all cores or on a cluster."""

from sluicegate.sweeps.results import Sweep
from sluicegate.sweeps.run import sweep

__all__ = ["Sweep", "sweep"]
