"""From what client, server and router counted to the outcome of a replication."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate._engine import ClassCounts
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.addresses import SIDES, Side
from sluicegate.testbed.outcome import SENT, HostOutcome, Outcome
from sluicegate.testbed.tcp_info import COLUMNS, UNKNOWN
from sluicegate.worlds.real.applied import felt
from sluicegate.worlds.real.outcome import (
    DatagramFlows,
    FlowSeries,
    Period,
    PortSeries,
    Replication,
    Tally,
    TcpFlows,
)
from sluicegate.worlds.real.plan import Plan

_NS_PER_S = 1e9
_BITS = 8
# BBR's unit of gains in Linux (BBR_UNIT)
_GAIN = 256


class LinkCounts(Protocol):
    """What was counted of a link with the discipline."""

    def tally(self, since_ns: int, until_ns: int, rate_bps: float) -> Tally:
        """What was counted between two times."""

    def bands(self, since_ns: int, until_ns: int, rate_bps: float) -> Sequence[Tally]:
        """The same of each band of its discipline; of none where they are not counted."""

    def series(self, times_ns: NDArray[np.int64]) -> PortSeries:
        """How the link stood at some times."""


class WireCounts(Protocol):
    """What was counted on a wire of the scenario."""

    def wire(self, since_ns: int, until_ns: int) -> tuple[int, int, int]:
        """Packets that came to it between two times, that it lost, and that were overtaken."""


def replication(
    scenario: NetworkScenario,
    plan: Plan,
    outcome: Outcome,
    counts: Sequence[LinkCounts],
    wires: Sequence[WireCounts] = (),
) -> Replication:
    """The outcome in the shape of the engine's.

    Args:
        scenario: What was run.
        plan: Of this replication.
        outcome: Of the testbed.
        counts: Of each link with the discipline.
        wires: Of each link whose wire does something.
    """
    flows = Flows(plan, outcome)
    links = scenario.queued_links
    samples = plan.job.hosts[0].sample_ns
    count = -(-plan.job.hosts[0].duration_ns // samples)
    times_ns = outcome.start_ns + samples * np.arange(count, dtype=np.int64)
    # a part of the run begins where a sample does: what arrived is known there
    last = (plan.job.hosts[0].duration_ns - 1) // samples
    warm_up_ns = samples * min(round(scenario.warm_up * _NS_PER_S / samples), last)
    cuts = sorted({0, warm_up_ns, plan.job.hosts[0].duration_ns})
    felt_in_parts = felt(plan.job.hosts[0].drawn, outcome, cuts[1:])

    def period(since_ns: int, until_ns: int, of_classes: Sequence[ClassCounts]) -> Period:
        part = outcome.start_ns + since_ns, outcome.start_ns + until_ns
        of_links = list(zip(counts, links, strict=True))
        return flows.period(
            since_ns,
            until_ns,
            ports=[each.tally(*part, link.rate_bps) for each, link in of_links],
            bands=[each.bands(*part, link.rate_bps) for each, link in of_links],
            wires=[each.wire(*part) for each in wires],
            classes=of_classes,
        )

    periods = [
        period(since_ns, until_ns, of_classes)
        for (since_ns, until_ns), of_classes in zip(
            itertools.pairwise(cuts), felt_in_parts, strict=True
        )
    ]
    return Replication(
        periods=periods,
        tcp=flows.tcp(),
        datagrams=flows.datagrams(),
        ports=[each.series(times_ns) for each in counts],
        flows=flows.series(count, windows=scenario.windows),
    )


def _known(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != UNKNOWN).then(pl.col(name)).alias(name)


class Flows:
    """What the two ends of all flows saw."""

    def __init__(self, plan: Plan, outcome: Outcome) -> None:
        self._plan = plan
        self._hosts: dict[Side, HostOutcome] = dict(zip(SIDES, outcome.hosts, strict=True))
        self._info_ns = plan.job.hosts[0].info_ns
        self._sample_ns = plan.job.hosts[0].sample_ns
        self.connections = self._connections()

    def _arrived(self, place: tuple[Side, int]) -> NDArray[np.int64]:
        """Bytes of a TCP flow that arrived, by looks, at the other side."""
        side, number = place
        other = self._hosts[SIDES[1 - SIDES.index(side)]]
        return np.asarray(other.received.stream_bytes[number])

    def _connections(self) -> pl.DataFrame:
        """The looks at each TCP flow, as `RealRecord.connections` without the replication."""
        of = {place: flow for flow, place in enumerate(self._plan.streams)}
        frames = []
        for side, host in self._hosts.items():
            info = pl.DataFrame(host.sent.info, schema=list(COLUMNS))
            flow = [of[side, number] for number in info["flow"].to_list()]
            frames.append(info.with_columns(pl.Series("flow", flow, dtype=pl.Int64)))
        looks = pl.concat(frames).sort("flow", "time_ns")
        return looks.with_columns(received=self._received(looks)).select(
            "flow",
            (pl.col("time_ns") / _NS_PER_S).alias("time_s"),
            "received",
            "cwnd",
            # the kernel's infinity
            pl.when(pl.col("ssthresh") < 2**31 - 1).then("ssthresh").alias("ssthresh"),
            *("unacknowledged", "lost", "delivered", "delivered_ce", "retransmissions"),
            (pl.col("rtt_us") / 1e6).alias("rtt_s"),
            (pl.col("rtt_variance_us") / 1e6).alias("rtt_variance_s"),
            (pl.col("min_rtt_us") / 1e6).alias("min_rtt_s"),
            _known("timeouts"),
            *(
                (_BITS * _known(name)).alias(f"{name}_bps")
                for name in ("pacing_rate", "delivery_rate", "rate_estimate")
            ),
            *((_known(name) / _GAIN).alias(name) for name in ("pacing_gain", "window_gain")),
        )

    def _received(self, looks: pl.DataFrame) -> pl.Series:
        """Data packets that arrived in the time between a look and the one before."""
        values = []
        for flow, time_ns in looks.select("flow", "time_ns").iter_rows():
            bins = self._arrived(self._plan.streams[flow])
            # the last look may be at the end of a part of a bin
            before = -(-time_ns // self._info_ns) - 1
            values.append(bins[before] / self._payload(flow) if before >= 0 else 0.0)
        return pl.Series(values, dtype=pl.Float64)

    def _payload(self, flow: int) -> int:
        """Bytes of data in a full packet; of a flow that was never connected, 1."""
        side, number = self._plan.streams[flow]
        return self._hosts[side].sent.streams[number].payload or 1

    def _last(self, name: str, until_s: float) -> NDArray[np.int64]:
        """A count of each TCP flow at its last look before a time; 0 if there was none."""
        looks = self.connections.filter(pl.col("time_s") <= until_s + 1e-9)
        last = looks.group_by("flow").agg(pl.col(name).last())
        found = np.zeros(len(self._plan.streams), dtype=np.int64)
        known = last.drop_nulls()
        found[known["flow"].to_numpy()] = known[name].to_numpy()
        return found

    def period(
        self,
        since_ns: int,
        until_ns: int,
        *,
        ports: Sequence[Tally],
        bands: Sequence[Sequence[Tally]],
        wires: Sequence[tuple[int, int, int]],
        classes: Sequence[ClassCounts],
    ) -> Period:
        """What was counted in a part of the run."""
        first, last = since_ns // self._sample_ns, -(-until_ns // self._sample_ns)
        since_s, until_s = since_ns / _NS_PER_S, until_ns / _NS_PER_S

        def grown(name: str) -> int:
            return int((self._last(name, until_s) - self._last(name, since_s)).sum())

        received = [host.received for host in self._hosts.values()]
        sent = [
            np.searchsorted(each.datagrams.time_ns, [since_ns, until_ns])
            for each in self._plan.job.hosts
        ]
        return Period(
            ports=ports,
            bands=bands,
            acknowledged=round(float(self._acknowledged()[first:last].sum())),
            retransmissions=grown("retransmissions"),
            timeouts=grown("timeouts"),
            datagrams_sent=int(
                sum(end - start for start, end in sent)
                + self._video(since_ns, until_ns)[:, 3].sum()
            ),
            datagrams_received=int(
                sum(each.sampled_datagrams[first:last].sum() for each in received)
            ),
            wires=wires,
            classes=classes,
        )

    def _video(self, since_ns: int, until_ns: int) -> NDArray[np.int64]:
        """When packets of calls left between two times: rows of `HostOutcome.calls`."""
        rows = np.concatenate([host.calls for host in self._hosts.values()])
        within = (rows[:, 0] >= since_ns) & (rows[:, 0] < until_ns)
        return np.asarray(rows[within & (rows[:, 2] == SENT)])

    def _acknowledged(self) -> NDArray[np.float64]:
        """Data packets of all TCP flows that arrived in sequence, by samples."""
        total = np.zeros(len(self._hosts["servers"].received.sampled_bytes))
        for side, host in self._hosts.items():
            payloads = [
                self._payload(flow) for flow, (of, _) in enumerate(self._plan.streams) if of != side
            ]
            if not payloads:
                continue
            bytes_ = host.received.stream_bytes.sum(axis=1)
            packets = float((bytes_ / np.array(payloads)).sum())
            # flows of several packet sizes share the bins: in proportion to what they sent
            total += host.received.sampled_bytes * (packets / max(1, bytes_.sum()))
        return total

    def tcp(self) -> TcpFlows:
        """What became of each TCP flow."""
        plan = self._plan
        streams = [plan.job.hosts[SIDES.index(side)].streams[k] for side, k in plan.streams]
        outcomes = [self._hosts[side].sent.streams[k] for side, k in plan.streams]
        arrived = [
            round(self._arrived(place).sum() / self._payload(flow))
            for flow, place in enumerate(plan.streams)
        ]
        took = [each.completion_ns for each in outcomes]
        return TcpFlows(
            group=np.array(plan.groups, dtype=np.uint32),
            acknowledged=np.array(arrived, dtype=np.uint32),
            retransmissions=self._last("retransmissions", np.inf).astype(np.uint32),
            timeouts=self._last("timeouts", np.inf).astype(np.uint32),
            start_s=np.array([each.start_ns / _NS_PER_S for each in streams]),
            completion_s=np.array([np.nan if ns is None else ns / _NS_PER_S for ns in took]),
        )

    def datagrams(self) -> DatagramFlows:
        """What became of each UDP flow."""
        received = [
            self._hosts[SIDES[1 - SIDES.index(side)]].received.datagrams[k]
            for side, k in self._plan.datagrams
        ]
        sent = [
            int(np.count_nonzero(self._plan.job.hosts[SIDES.index(side)].datagrams.flow == k))
            for side, k in self._plan.datagrams
        ]
        video = self._video(0, self._plan.job.hosts[0].duration_ns)
        for side, host in zip(SIDES, self._plan.job.hosts, strict=True):
            for call in host.calls:
                flow = self._plan.datagrams.index((side, call.place))
                sent[flow] = int(video[video[:, 1] == call.number, 3].sum())
        starts = [np.nan if start is None else start for start in self._plan.starts_s]
        return DatagramFlows(
            group=np.array(self._plan.datagram_groups, dtype=np.uint32),
            sent=np.array(sent, dtype=np.uint64),
            received=np.array(received, dtype=np.uint64),
            start_s=np.array(starts, dtype=np.float64),
        )

    def series(self, count: int, *, windows: bool) -> FlowSeries:
        """All TCP flows at each sample: what had arrived, and their mean congestion window."""
        arrived = np.concatenate([[0.0], np.cumsum(self._acknowledged())])[:count]
        mean = np.empty(0)
        if windows:
            looks = self.connections.group_by("time_s", maintain_order=True).agg(pl.mean("cwnd"))
            looks = looks.sort("time_s")
            times_s = np.arange(count) * self._sample_ns / _NS_PER_S
            last = np.searchsorted(looks["time_s"].to_numpy(), times_s + 1e-9, side="right") - 1
            values = looks["cwnd"].to_numpy().astype(np.float64)
            mean = np.where(last >= 0, values[last], np.nan)
        return FlowSeries(acknowledged=np.round(arrived).astype(np.uint64), window=mean)
