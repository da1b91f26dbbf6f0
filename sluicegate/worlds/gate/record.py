"""Records of the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from sluicegate.record import Frames
from sluicegate.worlds.real.record import RealRecord


@dataclass(frozen=True, repr=False)
class GateRecord(RealRecord):
    """What was measured with `sluiced` as the router.

    `run` also says when it was measured, with which kernel, and how busy the machine was.

    Attributes:
        lateness: A row for each replication and kind of event that should come at a given time
            (`router`: a packet leaves the link, `datagram`, `start` of a TCP flow, `call`: a frame
            is made): count, mean_s, p50_s, p99_s, max_s of how much later it came.
    """

    lateness: pl.DataFrame

    def frames(self) -> dict[str, pl.DataFrame]:
        """Everything that is a table, by name."""
        return super().frames() | {"lateness": self.lateness}

    @classmethod
    def _fields(cls, summary: dict[str, Any], frames: Frames) -> dict[str, Any]:
        return super()._fields(summary, frames) | {"lateness": frames["lateness"]}
