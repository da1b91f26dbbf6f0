"""The network world: from a scenario and a discipline to a record."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl

from sluicegate import _engine
from sluicegate.aqm import Aqm
from sluicegate.checked import check_threads
from sluicegate.errors import InterruptError, SluiceError
from sluicegate.network import measures
from sluicegate.network.flows import ns
from sluicegate.network.record import NetworkRecord, PortRecord
from sluicegate.network.scenario import NetworkScenario
from sluicegate.scenario import Discipline

Watch = Callable[[float, float], None]


def simulate(
    scenario: NetworkScenario,
    discipline: Discipline | None = None,
    *,
    threads: int | None = None,
    watch: Watch | None = None,
) -> NetworkRecord:
    """Run one discipline on a scenario, all replications, on all cores.

    The result does not depend on the number of threads. Ctrl-C ends the run; the replications
    finished by then are returned in a record that says `interrupted`.

    Args:
        scenario: What to run.
        discipline: Which discipline; the scenario's only one if None.
        threads: Threads to use; all cores if None.
        watch: Called now and then with the seconds simulated and the seconds in all.

    Raises:
        SluiceError: If the scenario has several disciplines and none is named, if flows have no
            route, or if `threads` is no number from 1 to 256.
        InterruptError: If Ctrl-C came before a replication was finished.
    """
    check_threads(threads)
    if discipline is None:
        if len(scenario.disciplines) != 1:
            raise SluiceError("the scenario has several disciplines; name one")
        discipline = scenario.disciplines[0]
    total_s = scenario.duration_s * scenario.replications
    try:
        runs = _engine.simulate_network(
            _plan(scenario, discipline),
            threads,
            None if watch is None else lambda done_ns: watch(done_ns / 1e9, total_s),
        )
    except ValueError as error:
        raise SluiceError(str(error)) from None
    if not runs:
        raise InterruptError("interrupted before anything was finished")
    return _record(scenario, discipline, runs)


def _queue(scenario: NetworkScenario, discipline: Discipline) -> dict[str, Any]:
    own = {"victim": discipline.victim, "ecn": discipline.ecn}
    given = {name: value for name, value in own.items() if value is not None}
    scheduler = discipline.scheduler.plan()
    return {**scenario.queue.model_dump(), **given, "scheduler": scheduler}


def _plan(scenario: NetworkScenario, discipline: Discipline) -> dict[str, Any]:
    """What the engine takes a scenario and a discipline as."""
    aqm = discipline.configured
    assert isinstance(aqm, Aqm)
    place = {name: number for number, name in enumerate(scenario.nodes)}
    links = [
        {
            "from": place[wire.source],
            "to": place[wire.sink],
            "rate_bps": round(wire.rate_bps),
            "delay_ns": ns(wire.delay_s),
            "queue": wire.queue,
        }
        for wire in scenario.topology.wires()
    ]
    groups = []
    for flows in scenario.flows:
        pairs = scenario.pairs(flows)
        for number, (source, sink) in enumerate(pairs):
            count = (flows.count + len(pairs) - 1 - number) // len(pairs)
            ends = {"from": place[source], "to": place[sink], "count": count}
            groups.append({**flows.plan(), **ends})
    return {
        **_queue(scenario, discipline),
        "aqm": aqm.engine,
        "nodes": scenario.nodes,
        "links": links,
        "groups": groups,
        "duration_ns": ns(scenario.duration_s),
        "warm_up_ns": ns(scenario.warm_up),
        "sample_ns": ns(scenario.sample_s),
        "windows": scenario.windows,
        "replications": scenario.replications,
        "seed": scenario.seed,
    }


def _group_numbers(scenario: NetworkScenario) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The scenario's group of each of the engine's groups."""
    counts = [len(scenario.pairs(flows)) for flows in scenario.flows]
    return np.repeat(np.arange(len(counts)), counts)


def _flows(scenario: NetworkScenario, runs: list[dict[str, Any]]) -> pl.DataFrame:
    group_of = _group_numbers(scenario)
    frames = []
    for number, run in enumerate(runs):
        tcp, datagrams = run["tcp"], run["datagrams"]
        groups = np.concatenate([tcp["group"], datagrams["group"]])
        packets = np.concatenate([tcp["acknowledged"].astype(np.uint64), datagrams["received"]])
        frames.append(
            pl.DataFrame(
                {
                    "replication": np.full(len(groups), number),
                    "group": group_of[groups],
                    "packets": packets,
                    "goodput": packets / scenario.duration_s,
                }
            )
        )
    return pl.concat(frames)


def _record(
    scenario: NetworkScenario, discipline: Discipline, runs: list[dict[str, Any]]
) -> NetworkRecord:
    flows = _flows(scenario, runs)
    # the warm-up, if there is one, is a stretch of its own before the rest
    after = [run["stretches"][-1:] for run in runs]
    whole = [run["stretches"] for run in runs]
    names = [f"{w.source} -> {w.sink}" for w in scenario.topology.wires() if w.queue]
    ports = [
        PortRecord(
            name=name,
            measures=_intervals(_port_rows(after, place)),
            whole=_intervals(_port_rows(whole, place)),
            queue_distribution=_distribution(after, place),
            samples=np.array([run["ports"][place]["queue"] for run in runs]),
            sample_s=scenario.sample_s,
        )
        for place, name in enumerate(names)
    ]
    fair = [
        measures.fairness(rows["packets"].to_numpy())
        for rows in flows.partition_by("replication", maintain_order=True)
    ]
    rows = _all_rows(after, fair)
    return NetworkRecord(
        discipline=discipline.name,
        run=describe(scenario, discipline),
        interrupted=len(runs) < scenario.replications,
        method=f"95 % intervals from {len(runs)} replications; "
        f"the first {scenario.warm_up:g} s of each left out",
        measures=_intervals(rows),
        whole=_intervals(_all_rows(whole, fair)),
        ports=ports,
        flows=flows,
        replications=pl.DataFrame(rows),
    )


def describe(scenario: NetworkScenario, discipline: Discipline) -> dict[str, Any]:
    """Everything that determines a run, as types that JSON has."""
    described = scenario.model_dump(exclude={"title", "disciplines", "queue"})
    return {
        "world": "network",
        "version": version("sluicegate"),
        **described,
        "queue": _queue(scenario, discipline),
        "aqm": discipline.configured.fingerprint,
    }


def _port_rows(stretches: list[list[dict[str, Any]]], place: int) -> list[dict[str, float]]:
    return [
        measures.port_measures([stretch["ports"][place] for stretch in run]) for run in stretches
    ]


def _all_rows(stretches: list[list[dict[str, Any]]], fair: list[float]) -> list[dict[str, float]]:
    ports = _port_rows(stretches, 0)
    return [
        {**port, **measures.flow_measures(run), "fairness": fairness}
        for port, run, fairness in zip(ports, stretches, fair, strict=True)
    ]


def _intervals(rows: list[dict[str, float]]) -> dict[str, Any]:
    return {name: measures.interval(name, [row[name] for row in rows]) for name in rows[0]}


def _distribution(
    stretches: list[list[dict[str, Any]]], place: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    held = [stretch["ports"][place]["queue_ns"] for run in stretches for stretch in run]
    total = np.trim_zeros(measures.sum_padded(held), "b")
    return np.asarray(total / total.sum())
