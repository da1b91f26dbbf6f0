"""From what the engine gives for each replication to a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate.estimate import Measure, student
from sluicegate.record import FloatArray
from sluicegate.scenario import DatagramFlows, Flows, NetworkScenario, ReplayFlows
from sluicegate.worlds.network import measures
from sluicegate.worlds.network.record import NetworkRecord, PortRecord, lasting, main_place

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
    lasts = lasting(flows, run).partition_by("replication", as_dict=True)
    fair = [
        measures.fairness(lasts[number,]["goodput_bps"].to_numpy())
        if (number,) in lasts
        else np.nan
        for number in range(len(runs))
    ]
    main = main_place(ports)
    rows = _all_rows(runs, after, main, fair, scenario.warm_up)
    arrivals = sum(stretch["ports"][main]["arrivals"] for each in after for stretch in each)
    return NetworkRecord(
        identity=identity,
        discipline=discipline,
        run=run,
        done=len(runs) / scenario.replications,
        method=_method(scenario, rows),
        time_unit="s",
        measures=_intervals(rows),
        queue_distribution=ports[main].queue_distribution,
        wait_distribution=ports[main].wait_distribution,
        wait_bin=ports[main].wait_bin_s,
        # what happened once lasted about as long as a packet
        resolution=1 / max(arrivals, 1),
        whole=_intervals(_all_rows(runs, whole, main, fair, 0.0)),
        ports=ports,
        flows=flows,
        replications=pl.DataFrame(rows),
        series=_stacked([_sampled(scenario, each["flows"]) for each in runs]),
    )


def _method(scenario: NetworkScenario, rows: Sequence[Mapping[str, float]]) -> str:
    counted = "all of each counts"
    if scenario.warm_up:
        counted = f"the first {scenario.warm_up:g} s of each left out"
    if len(rows) == 1:
        return f"no intervals from 1 replication; {counted}"
    if pl.DataFrame(rows).n_unique() == 1:
        return f"all {len(rows)} replications came out alike: intervals have no width; {counted}"
    return f"95 % intervals from {len(rows)} replications; {counted}"


def _ports(
    scenario: NetworkScenario, runs: Sequence[Run], after: Stretches, whole: Stretches
) -> list[PortRecord]:
    names = [
        f"{link.source} -> {link.sink}" for link in scenario.topology.simplex_links if link.queue
    ]
    ports = []
    for place, name in enumerate(names):
        tallies = [stretch["ports"][place] for stretches in after for stretch in stretches]
        waits, bin_ns = measures.waits(tallies)
        port = PortRecord(
            name=name,
            measures=_intervals(_port_rows(after, place)),
            whole=_intervals(_port_rows(whole, place)),
            queue_distribution=_shares(measures.sum_padded([each["queue_ns"] for each in tallies])),
            wait_distribution=_shares(waits),
            wait_bin_s=bin_ns / 1e9,
            sample_s=scenario.sample_s,
            series=_stacked([_sampled(scenario, each["ports"][place]) for each in runs]),
        )
        ports.append(port)
    return ports


def _shares(counts: FloatArray) -> FloatArray:
    """Counts as shares of all, up to the last that is not 0; empty if there are none."""
    counts = np.trim_zeros(counts, "b")
    return np.asarray(counts / max(counts.sum(), 1))


def _sampled(scenario: NetworkScenario, series: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
    """What was noted at each sample of a replication; null where there is nothing to note."""
    length = max(map(len, series.values()))
    columns = {
        name: pl.Series(values, nan_to_null=True) if len(values) else _nothing(length)
        for name, values in series.items()
    }
    return pl.DataFrame({"time_s": np.arange(length) * scenario.sample_s, **columns})


def _nothing(length: int) -> pl.Series:
    return pl.Series([None] * length, dtype=pl.Float64)


def _stacked(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The frames of all replications, one below the other."""
    numbered = [
        frame.select(pl.lit(number, pl.UInt32).alias("replication"), pl.all())
        for number, frame in enumerate(frames)
    ]
    return pl.concat(numbered)


def _flows(scenario: NetworkScenario, runs: Sequence[Run]) -> pl.DataFrame:
    groups = _groups(scenario)

    def outcomes(run: Run) -> pl.DataFrame:
        tcp, datagrams = run["tcp"], run["datagrams"]
        rows = [
            {
                "of": tcp["group"],
                "packets": tcp["acknowledged"].astype(np.uint64),
                "retransmissions": tcp["retransmissions"],
                "timeouts": tcp["timeouts"],
                "start_s": _seconds(tcp["start_ns"]),
                "completion_s": _seconds(tcp["completion_ns"]),
            },
            {
                "of": datagrams["group"],
                "packets": datagrams["received"],
                "start_s": _seconds(datagrams["start_ns"]),
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
            pl.col("retransmissions", "timeouts", "start_s", "completion_s"),
        )

    return _stacked([outcomes(run) for run in runs])


def _groups(scenario: NetworkScenario) -> pl.DataFrame:
    """A row for each of the engine's groups: one for each pair of nodes."""
    rows = [
        {"group": place, "source": source, "sink": sink, "packet_bytes": _bytes(flows)}
        for place, (flows, pairs) in enumerate(zip(scenario.flows, scenario.pairs(), strict=True))
        for source, sink in pairs
    ]
    types = {"group": pl.UInt32, "packet_bytes": pl.UInt32}
    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)


def _bytes(flows: Flows) -> int | None:
    """A data packet on the wire; None where they differ."""
    if isinstance(flows, ReplayFlows):
        return None
    return flows.packet_bytes if isinstance(flows, DatagramFlows) else flows.tcp.packet_bytes


def _seconds(times_ns: NDArray[np.uint64]) -> pl.Series:
    """The same times in seconds, null where there is none."""
    return pl.Series(
        np.where(times_ns == measures.NO_TIME_NS, np.nan, times_ns / 1e9), nan_to_null=True
    )


def _port_rows(stretches: Stretches, place: int) -> list[dict[str, float]]:
    return [
        measures.port_measures([stretch["ports"][place] for stretch in run]) for run in stretches
    ]


def _all_rows(
    runs: Sequence[Run], stretches: Stretches, main: int, fair: Sequence[float], since_s: float
) -> list[dict[str, float]]:
    """The measures of each replication from its `stretches`, which begin at `since_s`.

    Those of a port are of the one at place `main`.
    """
    ports = _port_rows(stretches, main)
    parts = zip(ports, stretches, _completions(runs, since_s), fair, strict=True)
    return [
        {**port, **measures.flow_measures(part), **completions, "fairness": fairness}
        for port, part, completions, fairness in parts
    ]


def _completions(runs: Sequence[Run], since_s: float) -> list[dict[str, float]]:
    """Measures of the times that flows took; none where no flow of any replication finished."""
    outcomes = [run["tcp"] for run in runs]
    if not any((tcp["completion_ns"] != measures.NO_TIME_NS).any() for tcp in outcomes):
        return [{} for _ in runs]
    return [measures.completion_measures(tcp, round(since_s * 1e9)) for tcp in outcomes]


def _intervals(rows: Sequence[Mapping[str, float]]) -> dict[str, Measure]:
    return {name: student([row[name] for row in rows], measures.UNITS[name]) for name in rows[0]}
