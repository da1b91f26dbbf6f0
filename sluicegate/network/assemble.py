"""From what the engine gives for each replication to a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate.estimate import Measure
from sluicegate.network import measures
from sluicegate.network.record import NetworkRecord, PortRecord
from sluicegate.network.scenario import NetworkScenario
from sluicegate.record import FloatArray

Run = Mapping[str, Any]
# some stretches of each replication
Stretches = Sequence[Sequence[Mapping[str, Any]]]


def record(
    scenario: NetworkScenario,
    runs: Sequence[Run],
    *,
    identity: str,
    discipline: str,
    run: dict[str, Any],
) -> NetworkRecord:
    """The record of the replications that were finished.

    Args:
        scenario: What was run.
        runs: The engine's dictionaries, one per replication, at least one.
        identity: As in `Record`.
        discipline: Likewise.
        run: Likewise.
    """
    flows = _flows(scenario, runs)
    # the warm-up, if there is one, is a stretch of its own before the rest
    after = [each["stretches"][-1:] for each in runs]
    whole = [each["stretches"] for each in runs]
    ports = _ports(scenario, runs, after, whole)
    fair = [
        measures.fairness(rows["packets"].to_numpy())
        for rows in flows.partition_by("replication", maintain_order=True)
    ]
    rows = _all_rows(after, fair)
    arrivals = sum(stretch["ports"][0]["arrivals"] for each in after for stretch in each)
    return NetworkRecord(
        identity=identity,
        discipline=discipline,
        run=run,
        done=len(runs) / scenario.replications,
        method=f"95 % intervals from {len(runs)} replication{'s' * (len(runs) > 1)}; "
        f"the first {scenario.warm_up:g} s of each left out",
        time_unit="s",
        measures=_intervals(rows),
        queue_distribution=ports[0].queue_distribution,
        wait_distribution=ports[0].wait_distribution,
        wait_bin=ports[0].wait_bin_s,
        # what happened once lasted about as long as a packet
        resolution=1 / max(arrivals, 1),
        whole=_intervals(_all_rows(whole, fair)),
        ports=ports,
        flows=flows,
        replications=pl.DataFrame(rows),
        series=_stacked([{"time_s": _times(scenario, each)} for each in runs]),
    )


def _ports(
    scenario: NetworkScenario, runs: Sequence[Run], after: Stretches, whole: Stretches
) -> list[PortRecord]:
    names = [f"{wire.source} -> {wire.sink}" for wire in scenario.topology.wires() if wire.queue]
    return [
        PortRecord(
            name=name,
            measures=_intervals(_port_rows(after, place)),
            whole=_intervals(_port_rows(whole, place)),
            queue_distribution=_distribution(after, place),
            wait_distribution=np.zeros(0),
            wait_bin_s=1.0,
            sample_s=scenario.sample_s,
            series=_stacked([_port_series(scenario, each, place) for each in runs]),
        )
        for place, name in enumerate(names)
    ]


def _times(scenario: NetworkScenario, run: Run) -> FloatArray:
    """When the samples of a replication were taken, s."""
    return np.arange(len(run["samples"][0]), dtype=np.float64) * scenario.sample_s


def _port_series(scenario: NetworkScenario, run: Run, place: int) -> dict[str, NDArray[Any]]:
    return {"time_s": _times(scenario, run), "queue": run["samples"][place]}


def _stacked(columns: Sequence[Mapping[str, NDArray[Any]]]) -> pl.DataFrame:
    """A frame of all replications, one below the other."""
    frames = [
        pl.DataFrame(each).select(pl.lit(number, pl.UInt32).alias("replication"), pl.all())
        for number, each in enumerate(columns)
    ]
    return pl.concat(frames)


def _flows(scenario: NetworkScenario, runs: Sequence[Run]) -> pl.DataFrame:
    # the scenario's group of each of the engine's groups
    pairs = [len(scenario.pairs(flows)) for flows in scenario.flows]
    group_of = np.repeat(np.arange(len(pairs), dtype=np.uint32), pairs)

    def columns(run: Run) -> dict[str, NDArray[Any]]:
        groups = np.concatenate([run["tcp_groups"], run["datagram_groups"]])
        packets = np.concatenate([run["acknowledged"].astype(np.uint64), run["received"]])
        return {
            "group": group_of[groups],
            "packets": packets,
            "goodput": packets / scenario.duration_s,
        }

    return _stacked([columns(run) for run in runs])


def _port_rows(stretches: Stretches, place: int) -> list[dict[str, float]]:
    return [
        measures.port_measures([stretch["ports"][place] for stretch in run]) for run in stretches
    ]


def _all_rows(stretches: Stretches, fair: Sequence[float]) -> list[dict[str, float]]:
    ports = _port_rows(stretches, 0)
    return [
        {**port, **measures.flow_measures(run), "fairness": fairness}
        for port, run, fairness in zip(ports, stretches, fair, strict=True)
    ]


def _intervals(rows: Sequence[Mapping[str, float]]) -> dict[str, Measure]:
    return {name: measures.interval(name, [row[name] for row in rows]) for name in rows[0]}


def _distribution(stretches: Stretches, place: int) -> FloatArray:
    held = [stretch["ports"][place]["queue_ns"] for run in stretches for stretch in run]
    total = np.trim_zeros(measures.sum_padded(held), "b")
    return np.asarray(total / total.sum())
