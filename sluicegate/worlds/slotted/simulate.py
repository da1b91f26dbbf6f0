"""The slotted world: from a scenario and a discipline to a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from os import PathLike, fspath
from typing import Any

import polars as pl

from sluicegate import _engine, apart, store
from sluicegate.counts import QueueCounts, shares
from sluicegate.errors import NOTHING_FINISHED, InterruptError, SluiceError
from sluicegate.estimate import jackknifed, of_each, unit_correlation
from sluicegate.measures import QUEUE
from sluicegate.registry import PythonAqm
from sluicegate.scenario import Discipline, ReplayArrivals, Scenario, opened
from sluicegate.scenario.choice import Choice, choose
from sluicegate.threads import check_threads
from sluicegate.worlds.slotted.record import SlottedRecord

Watch = Callable[[int, int], None]

_CORRELATED = 0.3


def simulate(
    scenario: Scenario | str | PathLike[str],
    discipline: Choice = None,
    *,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
    decisions: str | PathLike[str] | None = None,
) -> SlottedRecord:
    """Run one discipline on a scenario, all replications, on all cores.

    The result does not depend on the number of threads. A finished run is kept in the
    store and not computed again. Ctrl-C ends the run; what is finished by then is returned in a
    record that says `interrupted`.

    Args:
        scenario: What to run, or the path of its file.
        discipline: Which discipline, itself or by its name or place; the only one if None.
        threads: Threads to use; all cores if None.
        watch: Called now and then with the slots done and the slots in all.
        fresh: Run again even if the store has the run.
        decisions: File to write the decision log to (see `sluicegate.decisions`), while the run
            goes on. The scenario must have one replication, which is then run whether the store
            has it or not.

    Raises:
        SluiceError: If the scenario has several disciplines and none is named, if `threads`
            is no number from 1 to 256, or if a decision log of several replications is asked for.
        OSError: If the decision log cannot be written.
        InterruptError: If Ctrl-C came before anything was finished.
        Exception: Whatever a Python AQM raises.
    """
    check_threads(threads)
    scenario = opened(scenario, Scenario)
    discipline = choose(scenario, discipline)
    if decisions is not None and scenario.runs != 1:
        raise SluiceError(f"replications = {scenario.runs} must be 1: a decision log has one")
    run = describe(scenario, discipline)
    name = identity(run)
    fresh = fresh or decisions is not None
    if not fresh and (known := store.find(name, SlottedRecord)) is not None:
        return replace(known, discipline=discipline.name)
    file = None if decisions is None else fspath(decisions)
    record = apart.run(_run, scenario, discipline, run, name, threads, file, watch=watch)
    if not record.interrupted and not isinstance(discipline.configured, PythonAqm):
        store.keep(record)
    return record


def _run(
    scenario: Scenario,
    discipline: Discipline,
    run: dict[str, Any],
    identity: str,
    threads: int | None,
    decisions: str | None,
    *,
    watch: Watch | None,
) -> SlottedRecord:
    total = scenario.duration_slots * scenario.runs
    report = None if watch is None else lambda done: watch(done, total)
    handles = scenario.handle, discipline.handle
    outcome = _engine.simulate(*handles, threads, report, decisions)
    return assemble(scenario, discipline, run, identity, outcome)


def identity(run: dict[str, Any]) -> str:
    """The identity of a run, as `describe` gives it."""
    return store.identity(run, __name__)


def describe(scenario: Scenario, discipline: Discipline) -> dict[str, Any]:
    """Everything that determines a run, as types that JSON has."""
    described = scenario.described(discipline)
    return {"world": "slotted", "version": version("sluicegate"), **described}


def assemble(
    scenario: Scenario,
    discipline: Discipline,
    run: dict[str, Any],
    identity: str,
    outcome: _engine.SlottedOutcome,
) -> SlottedRecord:
    """The record of what the engine gave.

    Raises:
        InterruptError: If nothing was finished.
    """
    if not outcome.units:
        raise InterruptError(NOTHING_FINISHED)
    counts = QueueCounts.of([[unit.tally] for unit in outcome.units])
    total = counts.total()
    length = 1.0 if scenario.slot_s is None else scenario.slot_s
    return SlottedRecord(
        identity=identity,
        discipline=discipline.name,
        run=run,
        slots=outcome.slots,
        warm_up_slots=outcome.warm_up_slots,
        done=outcome.slots / (scenario.duration_slots * scenario.runs),
        method=_method(counts, [unit.replication for unit in outcome.units], scenario, outcome),
        time_unit="slots" if scenario.slot_s is None else "s",
        measures=jackknifed(counts, scenario.slot_s),
        queue_distribution=shares(total.queue[0]),
        sojourn_distribution=shares(total.sojourn.bins[0]),
        delay_distribution=shares(total.delay.bins[0]),
        time_bin=total.delay.bin * length,
        resolution=1 / float(total.duration[0]),
        replications=_replications(outcome, scenario.slot_s),
    )


def _replications(outcome: _engine.SlottedOutcome, slot_s: float | None) -> pl.DataFrame:
    """The measures of each replication, from its units."""
    units: dict[int, list[_engine.Tally]] = {}
    for unit in outcome.units:
        units.setdefault(unit.replication, []).append(unit.tally)
    known = [each for each in QUEUE if slot_s is not None or not each.unit.seconds_only]
    slots_per_s = 1.0 if slot_s is None else 1 / slot_s
    return pl.DataFrame(of_each(QueueCounts.of(list(units.values())), known, slots_per_s))


def _method(
    counts: QueueCounts,
    replications: list[int],
    scenario: Scenario,
    outcome: _engine.SlottedOutcome,
) -> str:
    runs = len(set(replications))
    if len(replications) == runs:
        method = f"95 % intervals from {runs} replications"
    else:
        method = f"95 % intervals by batch means: {len(replications)} units of {runs} replication"
        method += "s" * (runs > 1)
    correlation = unit_correlation(counts, replications)
    if correlation is not None and correlation > _CORRELATED:
        replayed = isinstance(scenario.arrivals, ReplayArrivals)
        mend = "only a longer capture would help" if replayed else "more slots would help"
        method += f"; too narrow, as neighbouring units are correlated ({correlation:.2f}): {mend}"
    if isinstance(scenario.arrivals, ReplayArrivals):
        part = "the part that was replayed" if outcome.interrupted else "all of the capture"
        return f"{method}; {part} counts"
    if outcome.interrupted:
        return f"{method}; interrupted, so that the warm-up was judged on what was finished"
    return f"{method}; warm-up found by MSER"
