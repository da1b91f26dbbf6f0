"""The kernel: our disciplines as qdiscs of a Linux in virtual time, with real TCP and UDP."""

from sluicegate.worlds.kernel.measure import measure
from sluicegate.worlds.kernel.record import KernelRecord

__all__ = ["KernelRecord", "measure"]
