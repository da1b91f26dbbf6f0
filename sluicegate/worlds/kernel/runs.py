"""The runs of one discipline on a scenario: what stands before the links, and what is counted."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sluicegate import _engine
from sluicegate.lab import kernel
from sluicegate.lab.testbed import LabTestbed
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.scenario.derived import DisciplineBase
from sluicegate.testbed.here import HereTestbed
from sluicegate.testbed.job import Job
from sluicegate.testbed.outcome import Outcome
from sluicegate.worlds.kernel.packets import write_packets
from sluicegate.worlds.kernel.plan import Layer, LayerOf, lab_plan, modules_of_flows
from sluicegate.worlds.kernel.prague import with_prague
from sluicegate.worlds.kernel.seen import LinkSeen, Reasons, WireSeen, reasons_of
from sluicegate.worlds.real.counts import Flows, replication
from sluicegate.worlds.real.outcome import Replication
from sluicegate.worlds.real.plan import has_application
from sluicegate.worlds.real.refusals import PRAGUE, controls
from sluicegate.worlds.real.varying import LINKS, Rates, rates

Watch = Callable[[int, int], None]
# what a replication counted, and the looks at its connections
Run = tuple[Replication, pl.DataFrame]

_SEEDS = 1 << 32
# from the seeds of the links there to those of the links back, where these have a kind of their own
_BACK = 1 << 32


@dataclass(frozen=True)
class Runs:
    """The replications of one discipline.

    Attributes:
        scenario: What is run.
        discipline: Which discipline.
        layers: The discipline as a qdisc in each replication.
        back: What stands before the link back; None: the same.
        congestion_control: Of all TCP flows; None: as the scenario says.
        here: On this machine, not in the laboratory.
        packets: File to write the packets of the only replication to; None: none.
        varying: How the rate of each link varies.
    """

    scenario: NetworkScenario
    discipline: Discipline
    layers: Sequence[Layer]
    back: Sequence[Layer | None]
    congestion_control: str | None
    here: bool
    packets: Path | None
    varying: Sequence[Rates | None]

    @classmethod
    def of(
        cls,
        scenario: NetworkScenario,
        discipline: Discipline,
        layer_of: LayerOf,
        back_of: LayerOf | None,
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
        varying = [rates(scenario, link) for link in LINKS.values()]
        return cls(scenario, discipline, layers, back, congestion_control, here, packets, varying)

    def bed(self) -> LabTestbed | HereTestbed:
        """Where they are run."""
        if self.here:
            return HereTestbed([each.undo for each in self._first])
        return LabTestbed.of(
            kernel.ready(),
            programs=list(dict.fromkeys(name for each in self._first for name in each.programs)),
            modules=[
                *dict.fromkeys(name for each in self._first for name in each.modules),
                *modules_of_flows(self.scenario, self.congestion_control),
                *_modules(controls(self.scenario, self.congestion_control)),
            ],
            applications=any(map(has_application, self.scenario.flows)),
        )

    @property
    def described(self) -> dict[str, Any]:
        """What determines them, but for where they are run."""
        return {
            "version": version("sluicegate"),
            **self.scenario.described(self.discipline),
            "congestion_control": self.congestion_control,
            "qdisc": self.layers[0].words,
            "commands": [
                words for each in self._first for words in (*each.before, *each.more, *each.during)
            ],
            "files": {
                path: hashlib.sha256(content).hexdigest()
                for each in self._first
                for path, content in each.files.items()
            },
        }

    def run(self, bed: LabTestbed | HereTestbed, number: int, ended: threading.Event) -> Run:
        """Make one replication; it is given up where `ended` is set meanwhile."""
        planned = lab_plan(
            self.scenario,
            self.discipline,
            number,
            self.layers[number],
            self.congestion_control,
            back=self.back[number],
            headers=self.packets is not None,
        )
        seed = (self.scenario.seed + number) % _SEEDS
        outcome = bed.run(planned.job, seed=seed, ended=ended)
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
    def _first(self) -> list[Layer]:
        """What stands before the links in the first replication."""
        return [each for each in (self.layers[0], self.back[0]) if each is not None]

    def _links(self, number: int, outcome: Outcome) -> list[LinkSeen]:
        """What was seen of the links with a queue."""
        told = reasons_of(outcome.router)
        reasons: Sequence[Reasons | None] = told or [None] * len(outcome.seen)
        layers = [self.layers[number], self.back[number] or self.layers[number]]
        return [
            LinkSeen(
                each,
                layer.marks_behind,
                own,
                rates=its,
                start_ns=outcome.start_ns,
                **self._bands(place, layer),
            )
            for place, (each, own, layer, its) in enumerate(
                zip(outcome.seen, reasons, layers, self.varying, strict=False)
            )
        ]

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
