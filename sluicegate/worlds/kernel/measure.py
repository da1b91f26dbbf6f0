"""From a scenario and a discipline to a record, by runs in the laboratory."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from sluicegate import _engine, store
from sluicegate.errors import NOTHING_FINISHED, InterruptError, SluiceError
from sluicegate.estimate import Measure
from sluicegate.lab import kernel
from sluicegate.lab.testbed import LabTestbed
from sluicegate.measures import BETWEEN
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.scenario.derived import DisciplineBase
from sluicegate.testbed.here import HereTestbed
from sluicegate.worlds.kernel.packets import write_packets
from sluicegate.worlds.kernel.plan import Layer, LayerOf, lab_plan, modules_of_flows
from sluicegate.worlds.kernel.prague import with_prague
from sluicegate.worlds.kernel.record import KernelRecord
from sluicegate.worlds.kernel.seen import LinkSeen, Reasons, WireSeen, reasons_of
from sluicegate.worlds.network.assemble import record as network_record
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.real.counts import Flows, replication
from sluicegate.worlds.real.outcome import Replication, Tally
from sluicegate.worlds.real.refusals import PRAGUE, controls, has_application
from sluicegate.worlds.real.varying import LINKS, rates

Watch = Callable[[int, int], None]
_Run = tuple[Replication, pl.DataFrame]

_REASONS = ("early_loss_ratio", "forced_loss_ratio", "overflow_loss_ratio")
_REORDERED = "wire_reordered_ratio"
_UNTOLD = "Linux's qdiscs do not tell why they drop a packet"
_MIXED = (
    "the qdisc tells at the end of a run how many packets it dropped for each reason: there were "
    "several, and how many of each after the warm-up is not known"
)
_UNSEEN = "how long packets waited that were lost is not told of a part of the queue"
_TOGETHER = "the qdisc counts the marks of all parts of the queue together"
_SEEDS = 1 << 32
# from the seeds of the links there to those of the links back, where these have a kind of their own
_BACK = 1 << 32


def measure(
    scenario: NetworkScenario,
    discipline: Discipline,
    layer_of: LayerOf,
    *,
    back_of: LayerOf | None = None,
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
    layers = [layer_of(scenario.seed + number) for number in range(scenario.replications)]
    if not here:
        layers = [with_prague(layer, scenario, congestion_control) for layer in layers]
    back = [
        None if back_of is None else back_of(scenario.seed + n + _BACK) for n in range(len(layers))
    ]
    first = [layers[0], *([] if back[0] is None else [back[0]])]
    bed: LabTestbed | HereTestbed
    if here:
        bed, threads, fresh = HereTestbed([each.undo for each in first]), 1, True
    else:
        bed = LabTestbed.of(
            kernel.ready(),
            programs=list(dict.fromkeys(name for each in first for name in each.programs)),
            modules=[
                *dict.fromkeys(name for each in first for name in each.modules),
                *modules_of_flows(scenario, congestion_control),
                *_modules(controls(scenario, congestion_control)),
            ],
            applications=any(map(has_application, scenario.flows)),
        )
    described = {
        "world": world,
        "version": version("sluicegate"),
        **scenario.described(discipline),
        "congestion_control": congestion_control,
        "qdisc": layers[0].words,
        "commands": [words for each in first for words in (*each.before, *each.more, *each.during)],
        "files": {
            path: hashlib.sha256(content).hexdigest()
            for each in first
            for path, content in each.files.items()
        },
        **bed.described,
    }
    identity = store.identity(described, __name__)
    varying = [rates(scenario, link) for link in LINKS.values()]
    if not fresh and (known := store.find(identity, KernelRecord)) is not None:
        return replace(known, discipline=name)

    def run(number: int, ended: threading.Event) -> _Run:
        planned = lab_plan(
            scenario,
            discipline,
            number,
            layers[number],
            congestion_control,
            back=back[number],
            headers=packets is not None,
        )
        outcome = bed.run(planned.job, seed=(scenario.seed + number) % _SEEDS, ended=ended)
        told = reasons_of(outcome.router)
        reasons: Sequence[Reasons | None] = told or [None] * len(outcome.seen)
        of_links = [layers[number], back[number] or layers[number]]
        links = [
            LinkSeen(
                each,
                layer.marks_behind,
                own,
                rates=its,
                start_ns=outcome.start_ns,
                **_bands(scenario, discipline, place, layer),
            )
            for place, (each, own, layer, its) in enumerate(
                zip(outcome.seen, reasons, of_links, varying, strict=False)
            )
        ]
        if packets is not None:
            write_packets(packets, scenario, planned, outcome)
        own = pl.lit(number, pl.UInt32).alias("replication")
        looks = Flows(planned, outcome).connections.select(own, pl.all())
        hosts = planned.job.hosts
        wires = [
            WireSeen(outcome, place, host.sample_ns)
            for place, host in ((1, hosts[1]), (0, hosts[0]))
            if host.wire is not None
        ]
        return replication(scenario, planned, outcome, links, wires), looks

    runs = _in_order(run, len(layers), threads or os.cpu_count() or 1, watch)
    if not runs:
        raise InterruptError(NOTHING_FINISHED)
    found = network_record(
        scenario,
        # they have the attributes of the engine's
        cast(Sequence[_engine.Replication], [each for each, _ in runs]),
        identity=identity,
        discipline=name,
        run=described,
        uncounted="a qdisc does not count packets by class of flows or kind",
        bands_uncounted="another qdisc took the place of the discipline",
    )
    found = _known(
        found,
        [each for each, _ in runs],
        _MIXED if layers[0].after else _UNTOLD,
        [_stands(scenario, discipline, place).bands for place in range(len(found.ports))],
    )
    found = _overtaken(found, scenario)
    record = KernelRecord(**vars(found), connections=pl.concat([looks for _, looks in runs]))
    if not record.interrupted and not here:
        store.keep(record)
    return record


def _stands(scenario: NetworkScenario, discipline: Discipline, place: int) -> DisciplineBase:
    """What stands before a link with a queue."""
    return scenario.own_discipline(scenario.queued_links[place]) or discipline


def _bands(
    scenario: NetworkScenario, discipline: Discipline, place: int, layer: Layer
) -> dict[str, Any]:
    """The bands of what stands before a link, as `LinkSeen` takes them; none without bands."""
    if not layer.has_bands:
        return {}
    band_of = _engine.bands_of_traffic_classes(scenario.handle, discipline.handle, place)
    return {
        "band_of": None if band_of is None else np.array(band_of),
        "bands": len(_stands(scenario, discipline, place).bands),
    }


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


def _in_order(
    run: Callable[[int, threading.Event], _Run], count: int, threads: int, watch: Watch | None
) -> list[_Run]:
    """All runs, or after Ctrl-C those before the first that is not finished.

    Raises:
        SluiceError: As the first run that fails; the others are stopped.
    """
    ended = threading.Event()
    with ThreadPoolExecutor(threads) as pool:
        runs: list[Future[_Run]] = [pool.submit(run, number, ended) for number in range(count)]
        try:
            for done, each in enumerate(as_completed(runs), start=1):
                each.result()
                if watch is not None:
                    watch(done, count)
        except KeyboardInterrupt:
            pass
        finally:
            ended.set()
            for each in runs:
                each.cancel()
    finished = [each.done() and not each.cancelled() and each.exception() is None for each in runs]
    first = finished.index(False) if False in finished else count
    return [each.result() for each in runs[:first]]


def _modules(controls: set[str]) -> list[str]:
    """Modules of congestion controls. Reno is no module, and Prague is ours."""
    return [f"tcp_{name}" for name in sorted(controls - {"reno", PRAGUE})]
