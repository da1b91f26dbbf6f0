"""The runs of one discipline on a scenario: what stands before the links, and what is counted."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sluicegate import _engine
from sluicegate.lab import kernel
from sluicegate.lab.testbed import LabTestbed
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.scenario.derived import DisciplineBase
from sluicegate.testbed.addresses import address
from sluicegate.testbed.here import HereTestbed
from sluicegate.testbed.job import Job
from sluicegate.testbed.outcome import Outcome, Seen
from sluicegate.testbed.row import Behind
from sluicegate.worlds.kernel.begun import begun
from sluicegate.worlds.kernel.packets import write_packets
from sluicegate.worlds.kernel.plan import (
    Layer,
    LayerOf,
    first_router,
    lab_plan,
    modules_of_flows,
)
from sluicegate.worlds.kernel.prague import with_prague
from sluicegate.worlds.kernel.seen import LinkSeen, Reasons, WireSeen, reasons_of
from sluicegate.worlds.real.counts import Flows, replication
from sluicegate.worlds.real.layout import Layout, Towards, layout
from sluicegate.worlds.real.outcome import Replication
from sluicegate.worlds.real.plan import in_a_row
from sluicegate.worlds.real.refusals import PRAGUE, controls
from sluicegate.worlds.real.varying import rates

Watch = Callable[[int, int], None]
# what a replication counted, and the looks at its connections
Run = tuple[Replication, pl.DataFrame]

_SEEDS = 1 << 32
# from the seeds of the links there to those of the links back, where these have a kind of their
# own, and to those of the first of two links
_BACK, _FIRST = 1 << 32, 2 << 32
# of the kernel: what leads packets around a first queue
AROUND = ("sch_ingress", "cls_matchall", "act_mirred")


@dataclass(frozen=True)
class Runs:
    """The replications of one discipline.

    Attributes:
        scenario: What is run.
        discipline: Which discipline.
        layers: The discipline as a qdisc in each replication.
        back: What stands before the link back; None: the same.
        first: What stands before the first of two links in a row; None: there is one there.
        congestion_control: Of all TCP flows; None: as the scenario says.
        here: On this machine, not in the laboratory.
        packets: File to write the packets of the only replication to; None: none.
        laid: Where its links are.
    """

    scenario: NetworkScenario
    discipline: Discipline
    layers: Sequence[Layer]
    back: Sequence[Layer | None]
    first: Sequence[Layer | None]
    congestion_control: str | None
    here: bool
    packets: Path | None
    laid: Layout

    @classmethod
    def of(
        cls,
        scenario: NetworkScenario,
        discipline: Discipline,
        layer_of: LayerOf,
        back_of: LayerOf | None,
        first_of: LayerOf | None,
        *,
        congestion_control: str | None,
        here: bool,
        packets: Path | None,
    ) -> Runs:
        """Those of a scenario; `measure` in `measure.py` explains the arguments."""
        seeds = range(scenario.seed, scenario.seed + scenario.replications)
        layers = [layer_of(seed) for seed in seeds]
        if not here:
            layers = [with_prague(layer, scenario, congestion_control) for layer in layers]
        back = [None if back_of is None else back_of(seed + _BACK) for seed in seeds]
        first = [None if first_of is None else first_of(seed + _FIRST) for seed in seeds]
        return cls(
            scenario,
            discipline,
            layers,
            back,
            first,
            congestion_control,
            here,
            packets,
            layout(scenario, discipline),
        )

    def bed(self) -> LabTestbed | HereTestbed:
        """Where they are run."""
        if self.here:
            return HereTestbed([each.undo for each in self._at_first])
        return LabTestbed.of(
            kernel.ready(),
            programs=list(dict.fromkeys(name for each in self._at_first for name in each.programs)),
            modules=[
                *dict.fromkeys(name for each in self._at_first for name in each.modules),
                *modules_of_flows(self.laid.scenario, self.congestion_control),
                *_modules(controls(self.scenario, self.congestion_control)),
                *(AROUND if self.laid.around else ()),
            ],
            applications=any(flows.has_application for flows in self.scenario.flows),
            row=self.laid.first is not None,
        )

    @property
    def described(self) -> dict[str, Any]:
        """What determines them, but for where they are run."""
        return {
            "version": version("sluicegate"),
            **self.scenario.described(self.discipline),
            "congestion_control": self.congestion_control,
            "qdisc": ", then ".join(each.words for each in (self.first[0], self.layers[0]) if each),
            "commands": [
                words
                for each in self._at_first
                for words in (*each.before, *each.more, *each.during)
            ],
            "files": {
                path: hashlib.sha256(content).hexdigest()
                for each in self._at_first
                for path, content in each.files.items()
            },
        }

    def run(self, bed: LabTestbed | HereTestbed, number: int, ended: threading.Event) -> Run:
        """Make one replication; it is given up where `ended` is set meanwhile."""
        planned = lab_plan(
            self.laid.scenario,
            self.laid.discipline,
            number,
            self.layers[number],
            self.congestion_control,
            back=self.back[number],
            headers=self.packets is not None,
        )
        planned = in_a_row(planned, first_router(planned, self.laid, self.first[number]))
        seed = (self.scenario.seed + number) % _SEEDS
        outcome = bed.run(planned.job, seed=seed, ended=ended)
        outcome = replace(
            outcome,
            seen=[
                self._begun(each, towards, layer, outcome.start_ns)
                for each, (towards, layer) in zip(
                    outcome.seen, self._of_sides(number).items(), strict=False
                )
            ],
        )
        links, wires = self._links(number, outcome), _wires(planned.job, outcome)
        if self.packets is not None:
            write_packets(self.packets, self.scenario, planned, outcome)
        own = pl.lit(number, pl.UInt32).alias("replication")
        looks = Flows(planned, outcome).connections.select(own, pl.all())
        return replication(self.scenario, planned, outcome, links, wires), looks

    def stands(self, place: int) -> DisciplineBase:
        """What stands before a link with a queue."""
        return self.scenario.own_discipline(self.scenario.queued_links[place]) or self.discipline

    @property
    def _at_first(self) -> list[Layer]:
        """What stands before the links in the first replication."""
        of_each = self.layers[0], self.back[0], self.first[0]
        return [each for each in of_each if each is not None]

    def _of_sides(self, number: int) -> dict[Towards, Layer]:
        """What stands before the link to each side."""
        layer = self.layers[number]
        return {"servers": layer, "clients": self.back[number] or layer}

    def _begun(self, seen: Seen, towards: Towards, layer: Layer, start_ns: int) -> Seen:
        """What was seen of a link, with packets that leave as their transmission begins."""
        own = rates(self.scenario, self.laid.names[towards]) if layer.keeps else None
        return seen if own is None else begun(seen, own, start_ns)

    def _links(self, number: int, outcome: Outcome) -> list[LinkSeen]:
        """What was seen of the links with a queue."""
        seen = [*outcome.seen]
        layers = self._of_sides(number)
        told = outcome.router
        clients, first = outcome.hosts[0], self.first[number]
        if isinstance(clients, Behind) and first is not None:
            passed = _not_around(clients.seen[0], self.laid.around)
            seen.insert(0, self._begun(passed, "second", first, outcome.start_ns))
            layers = {"second": first, **layers}
            told = clients.router + told
        reasons: Sequence[Reasons | None] = reasons_of(told) or [None] * len(seen)
        # where the first router's packets are marked behind it, the second one sees no other marks
        behind = isinstance(clients, Behind) and any(each.marks_behind for each in layers.values())
        found = dict[str, LinkSeen]()
        names = [link.name for link in self.scenario.queued_links]
        for each, own, towards in zip(seen, reasons, layers, strict=False):
            name = self.laid.names[towards]
            found[name] = LinkSeen(
                each,
                behind or layers[towards].marks_behind,
                own,
                keeps=layers[towards].keeps,
                rates=rates(self.scenario, name),
                start_ns=outcome.start_ns,
                **self._bands(names.index(name), layers[towards]),
            )
        return [found[name] for name in names]

    def _bands(self, place: int, layer: Layer) -> dict[str, Any]:
        """The bands of what stands before a link, as `LinkSeen` takes them; none without bands."""
        if not layer.has_bands:
            return {}
        band_of = _engine.bands_of_traffic_classes(
            self.scenario.handle, self.discipline.handle, place
        )
        return {
            "band_of": None if band_of is None else np.array(band_of),
            "bands": len(self.stands(place).bands),
        }


def _not_around(seen: Seen, around: Sequence[int]) -> Seen:
    """What was seen of a link, without the packets that came to its router and went around it."""
    addresses = [int(ip_address(address("clients", place, False))) for place in around]
    return replace(seen, came=seen.came[~np.isin(seen.came["source"], addresses)])


def _wires(job: Job, outcome: Outcome) -> list[WireSeen]:
    """What was seen of the wires behind the links."""
    return [
        WireSeen(outcome, place, job.hosts[place].sample_ns)
        for place in (1, 0)
        if job.hosts[place].wire is not None
    ]


def in_order(
    run: Callable[[int, threading.Event], Run], count: int, threads: int, watch: Watch | None
) -> list[Run]:
    """All runs, or after Ctrl-C those before the first that is not finished.

    Raises:
        SluiceError: As the first run that fails; the others are stopped.
    """
    ended = threading.Event()
    with ThreadPoolExecutor(threads) as pool:
        runs: list[Future[Run]] = [pool.submit(run, number, ended) for number in range(count)]
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
