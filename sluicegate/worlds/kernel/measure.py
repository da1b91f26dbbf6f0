"""From a scenario and a discipline to a record, by runs in the laboratory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import cast

import polars as pl

from sluicegate import _engine, store
from sluicegate.errors import NOTHING_FINISHED, InterruptError, SluiceError
from sluicegate.estimate import Measure
from sluicegate.measures import BETWEEN
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.worlds.kernel.plan import LayerOf
from sluicegate.worlds.kernel.record import KernelRecord
from sluicegate.worlds.kernel.runs import Runs, Watch, in_order
from sluicegate.worlds.network.assemble import record as network_record
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.real.outcome import Replication, Tally

_REASONS = ("early_loss_ratio", "forced_loss_ratio", "overflow_loss_ratio")
_REORDERED = "wire_reordered_ratio"
_UNTOLD = "Linux's qdiscs do not tell why they drop a packet"
_MIXED = (
    "the qdisc tells at the end of a run how many packets it dropped for each reason: there were "
    "several, and how many of each after the warm-up is not known"
)
_UNSEEN = "how long packets waited that were lost is not told of a part of the queue"
_TOGETHER = "the qdisc counts the marks of all parts of the queue together"


def measure(
    scenario: NetworkScenario,
    discipline: Discipline,
    layer_of: LayerOf,
    *,
    back_of: LayerOf | None = None,
    first_of: LayerOf | None = None,
    world: str,
    name: str,
    congestion_control: str | None = None,
    here: bool = False,
    packets: Path | None = None,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
) -> KernelRecord:
    """Measure one discipline on a scenario; each replication is a boot of its own.

    As many laboratories run at once as there are threads; the result does not depend on that. A
    finished run is kept in the store. On this machine itself, in real time, one replication
    follows the other, and nothing is kept: no run is the same twice. Ctrl-C ends the runs; the
    replications that are finished by then, without a gap, are returned in a record that says
    `interrupted`.

    Args:
        scenario: What to run.
        discipline: Which discipline.
        layer_of: The discipline as a qdisc.
        back_of: What stands before the link back; None: the same.
        first_of: What stands before the first of two links in a row; None: there is one there.
        world: What the record calls the world.
        name: Likewise the discipline.
        congestion_control: Of all TCP flows, any that the laboratory's kernel has; None: as the
            scenario says.
        here: On this machine, not in the laboratory.
        packets: File to write the packets to, of one replication, which is then run whether the
            store has it or not; see `sluicegate.worlds.kernel.packets`.
        threads: Laboratories at once; as many as cores if None.
        watch: Called with the replications that are finished, and with all.
        fresh: Run again even if the store has the run.

    Raises:
        SluiceError: If it cannot be run, with the reason.
        InterruptError: If Ctrl-C came before a replication was finished.
    """
    if packets is not None:
        fresh = True
        if scenario.replications != 1:
            raise SluiceError(
                f"replications = {scenario.replications} must be 1: a packet file has one"
            )
    runs = Runs.of(
        scenario,
        discipline,
        layer_of,
        back_of,
        first_of,
        congestion_control=congestion_control,
        here=here,
        packets=packets,
    )
    bed = runs.bed()
    if here:
        threads, fresh = 1, True
    described = {"world": world, **runs.described, **bed.described}
    identity = store.identity(described, __name__)
    if not fresh and (known := store.find(identity, KernelRecord)) is not None:
        return replace(known, discipline=name)
    finished = in_order(
        partial(runs.run, bed), scenario.replications, threads or os.cpu_count() or 1, watch
    )
    if not finished:
        raise InterruptError(NOTHING_FINISHED)
    found = network_record(
        scenario,
        # they have the attributes of the engine's
        cast(Sequence[_engine.Replication], [each for each, _ in finished]),
        identity=identity,
        discipline=name,
        run=described,
        uncounted="a qdisc does not count packets by class of flows or kind",
        bands_uncounted="another qdisc took the place of the discipline",
    )
    found = _known(
        found,
        [each for each, _ in finished],
        _MIXED if runs.layers[0].after else _UNTOLD,
        [runs.stands(place).bands for place in range(len(found.ports))],
    )
    found = _overtaken(found, scenario)
    record = KernelRecord(**vars(found), connections=pl.concat([looks for _, looks in finished]))
    if not record.interrupted and not here:
        store.keep(record)
    return record


def _known(
    found: NetworkRecord, runs: Sequence[Replication], why: str, names: Sequence[Sequence[str]]
) -> NetworkRecord:
    """The record without what is not known: reasons of losses, and what is not told of bands.

    Args:
        found: The record.
        runs: Its replications.
        why: Why the reasons are not known, where they are not.
        names: The bands of what stands before each port.
    """

    def unknown(place: int, since: int) -> dict[str, str]:
        """Why measures of a port are not known, by their names or patterns of these."""
        parts = [period for run in runs for period in run.periods[since:]]
        told = _untold([part.ports[place] for part in parts], "", why)
        for name, *of_band in zip(
            names[place], *(part.bands[place] for part in parts), strict=False
        ):
            told |= _untold(of_band, f"{name}{BETWEEN}", why)
        return told

    def kept(measures: Iterable[str], place: int, since: int) -> list[str]:
        patterns = list(unknown(place, since))
        return [name for name in measures if not any(fnmatchcase(name, each) for each in patterns)]

    def known(measures: dict[str, Measure], place: int, since: int) -> dict[str, Measure]:
        return {name: measures[name] for name in kept(measures, place, since)}

    ports = [
        replace(port, measures=known(port.measures, place, -1), whole=known(port.whole, place, 0))
        for place, port in enumerate(found.ports)
    ]
    main = found.main_place
    return replace(
        found,
        ports=ports,
        measures=known(found.measures, main, -1),
        whole=known(found.whole, main, 0),
        replications=found.replications.select(kept(found.replications.columns, main, -1)),
        unknown={**found.unknown, **unknown(main, -1)},
    )


def _untold(tallies: Sequence[Tally], prefix: str, why: str) -> dict[str, str]:
    """Which measures of a port, or of a band of it, are not known, and why; as `unknown`."""
    told = dict[str, str]()
    if not all(each.reasons_known for each in tallies):
        told |= {f"{prefix}{name}": why for name in _REASONS}
    if not all(each.queue_known for each in tallies):
        told[f"{prefix}queue_*"] = _UNSEEN
    if not all(each.marks_known for each in tallies):
        told[f"{prefix}mark_ratio"] = _TOGETHER
    return told


def _overtaken(found: NetworkRecord, scenario: NetworkScenario) -> NetworkRecord:
    """The record without the share of overtaken packets, where wires let packets overtake."""
    if not any(own.wire is not None and own.wire.reorder for own in scenario.links.values()):
        return found

    def kept(measures: dict[str, Measure]) -> dict[str, Measure]:
        return {name: each for name, each in measures.items() if name != _REORDERED}

    return replace(
        found,
        measures=kept(found.measures),
        whole=kept(found.whole),
        replications=found.replications.drop(_REORDERED),
        wires=[replace(wire, measures=kept(wire.measures)) for wire in found.wires],
        unknown={**found.unknown, _REORDERED: "netem does not tell which packets it let overtake"},
    )
