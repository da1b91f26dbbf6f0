"""What follows from the fields of tables; the engine computes it on request."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.registry import Aqm, PythonAqm
from sluicegate.scenario.bands import band_names
from sluicegate.scenario.table import Table
from sluicegate.traffic import Capture, Modulator

if TYPE_CHECKING:
    from sluicegate.scenario.network import Tcp


class DisciplineBase(Table):
    """What follows from a discipline."""

    aqm: str | type

    @cached_property
    def handle(self) -> _engine.Discipline:
        """The engine's own form of the discipline."""
        return _engine.Discipline(self)

    @cached_property
    def configured(self) -> Aqm | PythonAqm:
        """The AQM with its parameters set."""
        engine = self.handle.configured
        if engine is not None:
            return Aqm(engine)
        python = self.handle.python
        assert python is not None
        return PythonAqm(python)

    @property
    def name(self) -> str:
        """The label, or else the AQM's name with what was given."""
        return self.handle.name

    @property
    def bands(self) -> list[str]:
        """The names of its lanes (DualPI2), tins (CAKE) or classes of service, if it has any."""
        discipline: Any = self  # the generated class
        return band_names(self.configured.fingerprint, len(discipline.classes))


class _AnyScenarioBase(Table):
    """What follows from any scenario."""

    @cached_property
    def handle(self) -> _engine.Scenario:
        """The engine's own form of the scenario."""
        return _engine.Scenario(self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a scenario from a TOML file; paths in it start at the file's folder.

        Raises:
            SluiceError: If the file is missing, is not TOML, or is refused; every problem is on a
                line of its own.
        """
        found: Self = _engine.load_scenario(path, cls.__name__, {})
        return found

    @classmethod
    def parse(cls, table: Mapping[str, object], folder: str | Path = "", origin: str = "") -> Self:
        """Check a scenario given as a table of TOML's types; see `load`.

        Args:
            table: The fields.
            folder: Where relative paths in it start.
            origin: Where it is from, for messages.
        """
        found: Self = _engine.parse_scenario(table, cls.__name__, folder, origin)
        return found

    def classes(self) -> list[str]:
        """The class of each group of flows by its name; empty if none is counted by class."""
        return []

    def bands(self) -> list[str]:
        """The names of the lanes, tins and classes of service of all disciplines, each once."""
        return []

    def parts(self) -> list[str]:
        """The names of all whose packets are counted apart: classes, and bands of disciplines."""
        return [*self.classes(), *self.bands()]

    def _repr_html_(self) -> str:
        from sluicegate.report.notebook import of_scenario  # reports import this module

        scenario: Any = self  # one of the generated classes
        return of_scenario(scenario).cell()

    def described(self, discipline: DisciplineBase) -> dict[str, Any]:
        """Everything that determines a run of a discipline, as types that JSON has."""
        described: dict[str, Any] = json.loads(self.handle.describe(discipline.handle))
        return {**described, "aqm": discipline.configured.fingerprint}


class ScenarioBase(_AnyScenarioBase):
    """What follows from the scenario of a slotted queue."""

    @property
    def runs(self) -> int:
        """Replications of each discipline."""
        return self.handle.runs

    @property
    def duration_slots(self) -> int:
        """Slots of one replication."""
        return self.handle.duration_slots

    @property
    def slot_ns(self) -> int:
        """Duration of a slot on an AQM's clock, ns."""
        return self.handle.slot_ns

    @property
    def capture_slots(self) -> NDArray[np.uint64]:
        """The slot in which each packet of the capture comes, counted from the first packet's.

        Raises:
            SluiceError: If no capture is replayed.
        """
        return self.handle.capture_slots


class NetworkScenarioBase(_AnyScenarioBase):
    """What follows from the scenario of a network."""

    def replace(self, changes: Mapping[str, object] | None = None, /, **fields: object) -> Self:
        """See `Table.replace`.

        `rtt` is taken, too, as in sweeps: it sets the delays of a dumb-bell's clients.

        Raises:
            SluiceError: As there, or if what it sets is given, too.
        """
        from sluicegate.scenario.variables import DERIVED  # imports the classes of scenarios

        given = {**(changes or {}), **fields}
        derived = {name: DERIVED[name] for name in given if name in DERIVED}
        changed = super().replace({name: given[name] for name in given if name not in derived})
        for name, variable in derived.items():
            for own in variable.sets:
                if any(f"{other}.".startswith(f"{own}.") for other in given):
                    raise SluiceError(f"{name} sets {own}, which is given, too: give one of them")
            values = variable.fields(changed, variable.read(given[name], name))
            changed = super(NetworkScenarioBase, changed).replace(values)
        return changed

    @property
    def warm_up(self) -> float:
        """What is left out of the measures, s."""
        return self.handle.warm_up

    @property
    def queued_links(self) -> list[_engine.SimplexLink]:
        """The links with a queue, in the topology's order."""
        scenario: Any = self  # the generated class
        return [link for link in scenario.topology.simplex_links if link.queue]

    def own_discipline(self, link: _engine.SimplexLink) -> DisciplineBase | None:
        """The discipline that stands before a link whatever is compared; None: the compared one."""
        scenario: Any = self
        own = scenario.links.get(link.name)
        found: DisciplineBase | None = own.discipline if own is not None else None
        return found

    def described(self, discipline: DisciplineBase) -> dict[str, Any]:
        """See `described` of any scenario; AQMs of links' own are told apart likewise."""
        described = super().described(discipline)
        for link in self.queued_links:
            if own := self.own_discipline(link):
                described["links"][link.name]["aqm"] = own.configured.fingerprint
        return described

    def pairs(self) -> list[list[tuple[str, str]]]:
        """The pairs of nodes that the flows of each group are dealt out to."""
        return self.handle.pairs()

    def classes(self) -> list[str]:
        """As said."""
        return self.handle.classes()

    def bands(self) -> list[str]:
        """As said."""
        scenario: Any = self  # the generated class
        of_links = map(self.own_discipline, self.queued_links)
        disciplines = [*scenario.disciplines, *filter(None, of_links)]
        return list(dict.fromkeys(band for each in disciplines for band in each.bands))

    def notes(self) -> list[str]:
        """What a reader of the measures must know, a sentence each."""
        return self.handle.notes()


class TopologyBase(Table):
    """What follows from a topology."""

    @cached_property
    def simplex_links(self) -> list[_engine.SimplexLink]:
        """All links, each direction one, the most important first."""
        return _engine.simplex_links(self)

    @cached_property
    def routes(self) -> dict[str, list[tuple[str, str]]]:
        """The routes that have a name, and the pairs of nodes of each."""
        return dict(_engine.routes(self))

    @cached_property
    def nodes(self) -> list[str]:
        """Names of the nodes, in the order in which the links name them."""
        return _engine.nodes(self)


class DumbbellBase(TopologyBase):
    """What follows from a dumb-bell."""

    @cached_property
    def clients(self) -> list[str]:
        """Names of the clients, in the order of their delays."""
        return [client for client, _ in self.routes["forward"]]

    @cached_property
    def servers(self) -> list[str]:
        """Names of the servers, in the order of the clients that they talk to."""
        return [server for _, server in self.routes["forward"]]


class _ModulatedBase(Table):
    def modulator(self) -> Modulator:
        """The modulator itself."""
        return Modulator(*_engine.modulator(self))


class SelfSimilarArrivalsBase(_ModulatedBase):
    """What follows from self-similar arrivals."""


class SelfSimilarBase(_ModulatedBase):
    """What follows from self-similar datagrams."""


class _RecordedBase(Table):
    capture: str

    @cached_property
    def packets(self) -> Capture:
        """The capture's packets."""
        return Capture.read(self.capture)


class _AnyFlowsBase(Table):
    """What all kinds of flows answer. All have `tcp` and `packet_bytes`, too."""

    # whether the sender asks how long each way takes, and not only the round trip
    knows_ways: ClassVar[bool] = False

    @property
    def has_application(self) -> bool:
        """Whether an application decides during the run what they send."""
        return False

    @property
    def is_endless_tcp(self) -> bool:
        """Whether they are TCP flows that send as much as they can until the run ends."""
        return False

    @property
    def exchanges_one_packet(self) -> bool:
        """Whether each answer is one packet, so that its time is a round trip, as of a probe."""
        return False

    def most_packets(self, duration_s: float) -> int:
        """The most packets each way, of what is not sent by TCP and not known before the run."""
        return 0

    def without_capture(self) -> Any:
        """The same, or flows that read no file in place of those of a capture."""
        return self


class FlowsBase(_AnyFlowsBase):
    """What follows from flows of TCP."""

    tcp: Tcp

    @property
    def packet_bytes(self) -> int:
        """Bytes of a full data packet."""
        return self.tcp.packet_bytes


class TcpFlowsBase(FlowsBase):
    """What follows from flows that send until they stop, or so many packets."""

    packets: int | None
    rate_bps: float | None
    stop_s: float | None

    @property
    def has_application(self) -> bool:
        """As said: where their rate is limited."""
        return self.rate_bps is not None

    @property
    def is_endless_tcp(self) -> bool:
        """As said."""
        return self.packets is None and self.stop_s is None


class _ApplicationFlowsBase(FlowsBase):
    @property
    def has_application(self) -> bool:
        """As said."""
        return True


class WebFlowsBase(_ApplicationFlowsBase):
    """What follows from users of the web."""

    objects: Any  # `Sizes`, a generated class

    @property
    def exchanges_one_packet(self) -> bool:
        """As said."""
        return bool(self.objects.kind == "constant" and self.objects.mean_packets == 1)


class VideoFlowsBase(_ApplicationFlowsBase):
    """What follows from video in segments."""


# frames of a call differ, and its sender may make up for small ones: twice its greatest rate
_CALL_EXCEEDS = 2


class CallFlowsBase(_AnyFlowsBase):
    """What follows from calls, which have a transport of their own."""

    count: int
    frames_per_s: float
    max_rate_bps: float
    packet_bytes: int
    tcp: ClassVar[None] = None
    knows_ways: ClassVar[bool] = True

    @property
    def has_application(self) -> bool:
        """As said."""
        return True

    def most_packets(self, duration_s: float) -> int:
        """As said; each packet of video has an answer at most."""
        full_per_s = _CALL_EXCEEDS * self.max_rate_bps / 8 / self.packet_bytes
        return math.ceil(self.count * (full_per_s + self.frames_per_s) * duration_s)


class DatagramFlowsBase(_AnyFlowsBase):
    """What follows from flows of datagrams."""

    tcp: ClassVar[None] = None


class ReplayArrivalsBase(_RecordedBase):
    """What follows from a capture that is replayed slot by slot."""


class ReplayFlowsBase(_RecordedBase, _AnyFlowsBase):
    """What follows from a capture that is replayed in a network: sizes of packets differ."""

    tcp: ClassVar[None] = None
    packet_bytes: ClassVar[None] = None

    def without_capture(self) -> Any:
        """Datagrams of the same hosts, so that each group keeps its number."""
        from sluicegate.scenario.network import DatagramFlows  # is made from this module

        flows: Any = self  # the generated class
        hosts = {name: getattr(flows, name) for name in ("label", "route", "source", "sink")}
        return DatagramFlows(**hosts, rate_bps=1.0)
