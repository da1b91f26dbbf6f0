"""The network world: from a scenario and a discipline to a record."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from os import PathLike, fspath
from typing import Any

from sluicegate import _engine, store
from sluicegate.checked import check_threads
from sluicegate.errors import InterruptError, SluiceError
from sluicegate.registry import Aqm
from sluicegate.scenario import Discipline
from sluicegate.worlds.network.assemble import record
from sluicegate.worlds.network.laws import ns
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.network.scenario import NetworkScenario

Watch = Callable[[float, float], None]

# what the engine says of a time out of range
_TIME = r"(tcp\.\w+)_ns = (\d+) must lie between (\d+) and (\d+) \(ns\)"


def simulate(
    scenario: NetworkScenario,
    discipline: Discipline | None = None,
    *,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
    packets: str | PathLike[str] | None = None,
) -> NetworkRecord:
    """Run one discipline on a scenario, all replications, on all cores.

    The result does not depend on the number of threads. A finished run is kept in the store and
    not computed again. Ctrl-C ends the run; the replications finished by then are returned in a
    record that says `interrupted`, which is not kept.

    Args:
        scenario: What to run.
        discipline: Which discipline; the scenario's only one if None.
        threads: Threads to use; all cores if None.
        watch: Called now and then with the seconds simulated and the seconds in all.
        fresh: Run again even if the store has the run.
        packets: File to write the packets to, while the run goes on. Its suffix says as what: `.tr`
            as ns-2 does, every packet on every link, or `.pcapng` with what the links that have
            the discipline sent. The scenario must have one replication, which is then run whether
            the store has it or not.

    Raises:
        SluiceError: If the scenario has several disciplines and none is named, if flows have no
            route, if `threads` is no number from 1 to 256, if the packets of several
            replications are asked for, or if they cannot be written.
        InterruptError: If Ctrl-C came before a replication was finished.
    """
    check_threads(threads)
    if discipline is None:
        if len(scenario.disciplines) != 1:
            raise SluiceError("the scenario has several disciplines; name one or use compare()")
        discipline = scenario.disciplines[0]
    if packets is not None and scenario.replications != 1:
        raise SluiceError(
            f"replications = {scenario.replications} must be 1: packets are written of one"
        )
    run = describe(scenario, discipline)
    identity = store.identity(run, __name__)
    if not fresh and packets is None and (known := store.find(identity, NetworkRecord)) is not None:
        return replace(known, discipline=discipline.name)
    total_s = scenario.duration_s * scenario.replications
    plan = _plan(scenario, discipline)

    def report(done_ns: int) -> None:
        if watch is not None:
            watch(done_ns / 1e9, total_s)

    try:
        if packets is None:
            outcome = _engine.simulate_network(plan, threads, report)
        else:
            outcome = _engine.record_network(plan, fspath(packets), report)
    except ValueError as error:
        raise SluiceError(_in_words_of(scenario, str(error))) from None
    if not outcome:
        raise InterruptError("interrupted before anything was finished")
    found = record(scenario, outcome, identity=identity, discipline=discipline.name, run=run)
    if not found.interrupted:
        store.keep(found)
    return found


def _in_words_of(scenario: NetworkScenario, reason: str) -> str:
    """The engine's reason with groups of flows numbered, and times called, as in the scenario."""
    numbers = scenario.group_numbers
    reason = re.sub(r"^flows\.(\d+)", lambda found: f"flows.{numbers[int(found[1])]}", reason)
    return re.sub(_TIME, lambda found: _in_seconds(*found.groups()), reason)


def _in_seconds(name: str, *times_ns: str) -> str:
    time, least, greatest = (f"{int(each) / 1e9:g}" for each in times_ns)
    return f"{name}_s = {time} must lie between {least} and {greatest} (s)"


def describe(scenario: NetworkScenario, discipline: Discipline) -> dict[str, Any]:
    """Everything that determines a run, as types that JSON has."""
    described = scenario.model_dump(exclude={"title", "disciplines", "queue", "flows"})
    return {
        "world": "network",
        "version": version("sluicegate"),
        **described,
        "flows": [flows.described() for flows in scenario.flows],
        "queue": _queue(scenario, discipline),
        "aqm": discipline.configured.fingerprint,
    }


def _queue(scenario: NetworkScenario, discipline: Discipline) -> dict[str, Any]:
    own = {"victim": discipline.victim, "ecn": discipline.ecn}
    given = {name: value for name, value in own.items() if value is not None}
    scheduler = discipline.scheduler.plan()
    return {**scenario.queue.model_dump(), **given, "scheduler": scheduler}


def _plan(scenario: NetworkScenario, discipline: Discipline) -> dict[str, Any]:
    """What the engine takes a scenario and a discipline as."""
    aqm = discipline.configured
    if not isinstance(aqm, Aqm):
        raise SluiceError("a Python AQM runs in the slotted world only")
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
    for flows, pairs in zip(scenario.flows, scenario.pairs(), strict=True):
        fields = flows.plan()
        for number, (source, sink) in enumerate(pairs):
            count = (flows.count + len(pairs) - 1 - number) // len(pairs)
            ends = {"from": place[source], "to": place[sink], "count": count}
            groups.append({**fields, **ends})
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
