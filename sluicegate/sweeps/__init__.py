"""Sweeps: a scenario run with many values of its fields, on all cores or on a cluster."""

from sluicegate.sweeps.run import sweep
from sluicegate.sweeps.sweep import Sweep

__all__ = ["Sweep", "sweep"]
