"""Records of the worlds whose router is a kernel with a qdisc."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.worlds.real.record import RealRecord


@dataclass(frozen=True, repr=False)
class KernelRecord(RealRecord):
    """What was measured with a qdisc as the router.

    Of our qdiscs it is known why they dropped packets in the whole run (`whole`); of the part after
    the warm-up only if there was one reason. Else `unknown` says so. `run` says with which kernel,
    emulator and programs it was measured.
    """
