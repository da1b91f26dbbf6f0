"""Records of the worlds of real packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from sluicegate.record import Frames
from sluicegate.worlds.network.record import NetworkRecord


@dataclass(frozen=True, repr=False)
class RealRecord(NetworkRecord):
    """What was measured with real packets, in the columns of the network world.

    Attributes:
        connections: A row for each look at a TCP flow: replication; flow (its place among the TCP
            flows of a replication); time_s; received (data packets that arrived since the look
            before); and the sender's `TCP_INFO`: cwnd, ssthresh, unacknowledged, lost, delivered,
            delivered_ce, retransmissions (packets), rtt_s, rtt_variance_s, min_rtt_s, timeouts,
            pacing_rate_bps (null: no limit), delivery_rate_bps (its last sample); and for BBR
            rate_estimate_bps, pacing_gain, window_gain, else null. Rates are of data, without
            headers.
    """

    connections: pl.DataFrame

    def frames(self) -> dict[str, pl.DataFrame]:
        """Everything that is a table, by name."""
        return super().frames() | {"connections": self.connections}

    @classmethod
    def _fields(cls, summary: dict[str, Any], frames: Frames) -> dict[str, Any]:
        return super()._fields(summary, frames) | {"connections": frames["connections"]}
