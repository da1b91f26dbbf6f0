"""Records of the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from sluicegate.record import Frames
from sluicegate.worlds.network.record import NetworkRecord


@dataclass(frozen=True, repr=False)
class GateRecord(NetworkRecord):
    """What was measured, in the columns of the network world.

    `run` also says when it was measured, with which kernel, and how busy the machine was.

    Attributes:
        connections: A row for each look at a TCP flow: replication; flow (its place among the TCP
            flows of a replication); time_s; received (data packets that arrived since the look
            before); and the sender's `TCP_INFO`: cwnd, ssthresh, unacknowledged, lost, delivered,
            delivered_ce, retransmissions (packets), rtt_s, rtt_variance_s, timeouts.
        lateness: A row for each replication and kind of event that should come at a given time
            (`router`: a packet leaves the link, `datagram`, `start` of a TCP flow): count, mean_s,
            p50_s, p99_s, max_s of how much later it came.
    """

    connections: pl.DataFrame
    lateness: pl.DataFrame

    def frames(self) -> dict[str, pl.DataFrame]:
        """Everything that is a table, by name."""
        return super().frames() | {"connections": self.connections, "lateness": self.lateness}

    @classmethod
    def _fields(cls, summary: dict[str, Any], frames: Frames) -> dict[str, Any]:
        tables = {name: frames[name] for name in ("connections", "lateness")}
        return super()._fields(summary, frames) | tables
