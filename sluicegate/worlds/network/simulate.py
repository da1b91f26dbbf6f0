"""The network world: from a scenario and a discipline to a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from os import PathLike, fspath
from typing import Any

from sluicegate import _engine, apart, store
from sluicegate.errors import NOTHING_FINISHED, InterruptError, SluiceError
from sluicegate.registry import PythonAqm
from sluicegate.scenario import Discipline, NetworkScenario, opened
from sluicegate.scenario.choice import Choice, choose
from sluicegate.threads import check_threads
from sluicegate.worlds.network.assemble import record
from sluicegate.worlds.network.record import NetworkRecord

Watch = Callable[[float, float], None]


def simulate(
    scenario: NetworkScenario | str | PathLike[str],
    discipline: Choice = None,
    *,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
    packets: str | PathLike[str] | None = None,
    decisions: str | PathLike[str] | None = None,
) -> NetworkRecord:
    """Run one discipline on a scenario, all replications, on all cores.

    The result does not depend on the number of threads. A finished run is kept in the store and
    not computed again. Ctrl-C ends the run; the replications finished by then are returned in a
    record that says `interrupted`, which is not kept.

    Args:
        scenario: What to run, or the path of its file.
        discipline: Which discipline, itself or by its name or place; the only one if None.
        threads: Threads to use; all cores if None.
        watch: Called now and then with the seconds simulated and the seconds in all.
        fresh: Run again even if the store has the run.
        packets: File to write the packets to, while the run goes on. Its suffix says as what: `.tr`
            as ns-2 does, every packet on every link, or `.pcapng` with what the links that have
            the discipline sent. The scenario must have one replication, which is then run whether
            the store has it or not.
        decisions: File to write the decision log to (see `sluicegate.decisions`), likewise; not
            together with `packets`.

    Raises:
        SluiceError: If the scenario has several disciplines and none is named, if flows have no
            route, if `threads` is no number from 1 to 256, if the packets or the decision log of
            several replications or both are asked for, or if the packets cannot be written.
        OSError: If the decision log cannot be written.
        InterruptError: If Ctrl-C came before a replication was finished.
        Exception: Whatever a Python AQM raises.
    """
    check_threads(threads)
    scenario = opened(scenario, NetworkScenario)
    discipline = choose(scenario, discipline)
    if packets is not None and decisions is not None:
        raise SluiceError("a run writes its packets or a decision log, not both")
    for file, what in ((packets, "packet file"), (decisions, "decision log")):
        if file is not None and scenario.replications != 1:
            raise SluiceError(f"replications = {scenario.replications} must be 1: a {what} has one")
    run = describe(scenario, discipline)
    name = identity(run)
    fresh = fresh or packets is not None or decisions is not None
    if not fresh and (known := store.find(name, NetworkRecord)) is not None:
        return replace(known, discipline=discipline.name)
    files = [None if file is None else fspath(file) for file in (packets, decisions)]
    found = apart.run(_run, scenario, discipline, run, name, threads, *files, watch=watch)
    if not found.interrupted and not isinstance(discipline.configured, PythonAqm):
        store.keep(found)
    return found


def _run(
    scenario: NetworkScenario,
    discipline: Discipline,
    run: dict[str, Any],
    identity: str,
    threads: int | None,
    packets: str | None,
    decisions: str | None,
    *,
    watch: Watch | None,
) -> NetworkRecord:
    total_s = scenario.duration_s * scenario.replications
    handles = scenario.handle, discipline.handle

    def report(done_ns: int) -> None:
        if watch is not None:
            watch(done_ns / 1e9, total_s)

    if packets is not None:
        outcome = _engine.record_network(*handles, packets, report)
    elif decisions is not None:
        outcome = _engine.log_network_decisions(*handles, decisions, report)
    else:
        outcome = _engine.simulate_network(*handles, threads, report)
    if not outcome:
        raise InterruptError(NOTHING_FINISHED)
    return record(scenario, outcome, identity=identity, discipline=discipline.name, run=run)


def identity(run: dict[str, Any]) -> str:
    """The identity of a run, as `describe` gives it."""
    return store.identity(run, __name__)


def describe(scenario: NetworkScenario, discipline: Discipline) -> dict[str, Any]:
    """Everything that determines a run, as types that JSON has."""
    described = scenario.described(discipline)
    return {"world": "network", "version": version("sluicegate"), **described}
