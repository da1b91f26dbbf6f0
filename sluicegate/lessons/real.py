"""What lessons ask of classes, from a run with real packets: its router does not count by class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from sluicegate.estimate import Measure, student
from sluicegate.scenario import Discipline, Dumbbell, Fifo, Flows, NetworkScenario
from sluicegate.worlds.network import NetworkRecord


def with_classes(scenario: NetworkScenario, record: NetworkRecord) -> NetworkRecord:
    """The record with completion times of classes of TCP, and one-way delays of classes of pings.

    The delay of a ping is not measured, but computed from the queue that the router measured: what
    waits as it comes, half of the packet that is in transmission, its own, and propagation.

    Args:
        scenario: What was run.
        record: Its outcome with real packets.
    """
    found: dict[str, Measure] = {}
    for number, flows in enumerate(scenario.flows):
        if flows.label is None:
            continue
        completions = _completions_s(scenario, record, number)
        if flows.tcp is not None and completions is not None:
            found[f"{flows.label}.completion_mean"] = completions
        (discipline,) = scenario.disciplines
        is_ping = flows.tcp is None and not flows.knows_ways
        if is_ping and _in_one_queue(discipline):
            found[f"{flows.label}.one_way_delay_mean"] = _one_way_s(scenario, record, flows)
    return replace(record, measures={**record.measures, **found})


def _completions_s(scenario: NetworkScenario, record: NetworkRecord, group: int) -> Measure | None:
    """Mean time of the flows of a group that finished after the warm-up; None if none did."""
    finished = record.flows.filter(
        pl.col("group") == group,
        pl.col("start_s") + pl.col("completion_s") >= scenario.warm_up,
    )
    means = finished.group_by("replication").agg(pl.mean("completion_s"))["completion_s"]
    return student(means.to_numpy(), "s") if len(means) else None


def _in_one_queue(discipline: Discipline) -> bool:
    return isinstance(discipline.scheduler, Fifo)


def _one_way_s(scenario: NetworkScenario, record: NetworkRecord, ping: Flows) -> Measure:
    topology = scenario.topology
    assert isinstance(topology, Dumbbell)
    queue, busy, packets = map(record.values, ("queue_mean", "utilization", "throughput"))
    # the time in which it was busy, over what it sent
    packet_s = busy / packets
    way_s = topology.delay_s + topology.server_delay_s + np.mean(topology.client_delays_s)
    own_s = 8 * (ping.packet_bytes or 0) / topology.rate_bps
    return student(way_s + (queue + busy / 2) * packet_s + own_s, "s")
