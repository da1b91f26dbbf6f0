"""The tables of a network's record: a row for each flow, and for each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate._engine import FlowSeries, PortSeries, Replication
from sluicegate.scenario import NetworkScenario

if TYPE_CHECKING:
    from sluicegate.worlds.network.record import NetworkRecord


def flow_frame(scenario: NetworkScenario, runs: Sequence[Replication]) -> pl.DataFrame:
    """What became of each flow in each replication; see `NetworkRecord.flows`."""
    groups = _groups(scenario)
    return _stacked([_outcomes(scenario, groups, run) for run in runs])


def _outcomes(scenario: NetworkScenario, groups: pl.DataFrame, run: Replication) -> pl.DataFrame:
    tcp, datagrams = run.tcp, run.datagrams
    rows = [
        {
            "of": tcp.group,
            "packets": tcp.acknowledged.astype(np.uint64),
            "retransmissions": tcp.retransmissions,
            "timeouts": tcp.timeouts,
            "start_s": pl.Series(tcp.start_s, nan_to_null=True),
            "completion_s": pl.Series(tcp.completion_s, nan_to_null=True),
        },
        {
            "of": datagrams.group,
            "packets": datagrams.received,
            "sent": datagrams.sent,
            "start_s": pl.Series(datagrams.start_s, nan_to_null=True),
        },
    ]
    flows = pl.concat([pl.DataFrame(each) for each in rows], how="diagonal")
    goodput = pl.col("packets") / scenario.duration_s
    return pl.concat([groups[flows["of"]], flows.drop("of")], how="horizontal").select(
        "group",
        "source",
        "sink",
        "packets",
        goodput.alias("goodput"),
        (8 * pl.col("packet_bytes") * goodput).alias("goodput_bps"),
        "sent",
        pl.col("retransmissions", "timeouts", "start_s", "completion_s"),
    )


def _groups(scenario: NetworkScenario) -> pl.DataFrame:
    """A row for each of the engine's groups: one for each pair of nodes."""
    rows = [
        {"group": place, "source": source, "sink": sink, "packet_bytes": flows.packet_bytes}
        for place, (flows, pairs) in enumerate(zip(scenario.flows, scenario.pairs(), strict=True))
        for source, sink in pairs
    ]
    types = {"group": pl.UInt32, "packet_bytes": pl.UInt32}
    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)


def port_series_frame(series: Sequence[PortSeries], sample_s: float) -> pl.DataFrame:
    """One port at each sample of each replication; see `PortRecord.series`."""

    def columns(of: PortSeries) -> dict[str, NDArray[Any]]:
        # a constant rate is said by the scenario
        varying = {"rate_bps": of.rate_bps} if len(of.rate_bps) else {}
        return {
            "queue": of.queue,
            "arrivals": of.arrivals,
            "losses": of.losses,
            "sent_bytes": of.sent_bytes,
            "average": of.average,
            "probability": of.probability,
            **varying,
        }

    return _stacked([_sampled(columns(of), sample_s) for of in series])


def flow_series_frame(series: Sequence[FlowSeries], sample_s: float) -> pl.DataFrame:
    """All TCP flows together likewise; see `NetworkRecord.series`."""
    return _stacked(
        [
            _sampled({"acknowledged": of.acknowledged, "window": of.window}, sample_s)
            for of in series
        ]
    )


def _sampled(series: Mapping[str, NDArray[Any]], sample_s: float) -> pl.DataFrame:
    """What was noted at each sample of a replication; null where there is nothing to note."""
    length = max(map(len, series.values()))
    columns = {
        name: pl.Series(values, nan_to_null=True) if len(values) else _nothing(length)
        for name, values in series.items()
    }
    return pl.DataFrame({"time_s": np.arange(length) * sample_s, **columns})


def _nothing(length: int) -> pl.Series:
    return pl.Series([None] * length, dtype=pl.Float64)


def _stacked(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The frames of all replications, one below the other."""
    numbered = [
        frame.select(pl.lit(number, pl.UInt32).alias("replication"), pl.all())
        for number, frame in enumerate(frames)
    ]
    return pl.concat(numbered)


def network_frames(records: Sequence[NetworkRecord]) -> dict[str, pl.DataFrame]:
    """Tables of all records together, by name: `series` of the queues and `flows`, if any."""
    if not records:
        return {}
    series = [
        port.series.select(
            pl.lit(record.discipline).alias("discipline"),
            pl.lit(port.name).alias("queue_name"),
            pl.all(),
        )
        for record in records
        for port in record.ports
    ]
    flows = [
        record.flows.select(pl.lit(record.discipline).alias("discipline"), pl.all())
        for record in records
    ]
    return {
        "series": pl.concat(series, how="diagonal"),
        "flows": pl.concat(flows, how="diagonal_relaxed"),
    }
