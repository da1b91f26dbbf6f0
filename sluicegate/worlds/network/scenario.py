"""Scenarios of the network world, as TOML or as Python objects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from sluicegate.checked import Checked, Text, Whole, explained
from sluicegate.errors import SluiceError
from sluicegate.registry import PythonAqm
from sluicegate.scenario import Discipline, Queue, placed, read_toml
from sluicegate.worlds.network.flows import DatagramFlows, Flows, ReplayFlows
from sluicegate.worlds.network.laws import Duration, Time
from sluicegate.worlds.network.topology import Dumbbell, Graph, Pair, ParkingLot, Star

# a row is kept of each flow in each replication, which takes about 80 bytes
_MOST_ROWS = 50_000_000

AnyTopology = Annotated[Dumbbell | ParkingLot | Star | Graph, Field(discriminator="kind")]
AnyFlows = Annotated[Flows, Field(discriminator="kind")]


def _ecn_capable(flows: Flows) -> bool:
    """Whether any packet of these flows can be marked."""
    if isinstance(flows, ReplayFlows):
        return bool(flows.packets.ecn_capable.any())
    return not isinstance(flows, DatagramFlows) and flows.tcp.ecn


class NetworkScenario(Checked):
    """Everything that determines a comparison in the network world.

    Attributes:
        title: One line.
        topology: Nodes and links.
        flows: Groups of flows.
        queue: The buffer of each link that has the discipline.
        disciplines: What is compared.
        duration_s: Simulated time of a replication.
        warm_up_s: What is left out of the measures; None: half of the duration.
        sample_s: Between two samples of all series, the first at 0.
        windows: Whether the series have the mean congestion window: it takes a look at every flow
            at each sample.
        replications: Independent repetitions, which the intervals rest on.
        seed: Of every random stream; all disciplines see the same flows.
    """

    title: Text = ""
    topology: AnyTopology
    flows: Annotated[list[AnyFlows], Field(min_length=1)]
    queue: Queue = Queue()
    disciplines: Annotated[list[Discipline], Field(min_length=1)]
    # what the engine's clock takes: from 2 ns to 1000 days
    duration_s: Annotated[float, Field(ge=2e-9, le=86.4e6)]
    warm_up_s: Time | None = None
    sample_s: Duration = 0.01
    windows: bool = False
    replications: Annotated[Whole, Field(ge=1, le=10_000)] = 8
    seed: Annotated[Whole, Field(ge=0, lt=2**64)] = 1

    @model_validator(mode="after")
    def _complete(self) -> NetworkScenario:
        if self.warm_up >= self.duration_s:
            raise SluiceError(
                f"warm_up_s = {self.warm_up:g} must be below duration_s = {self.duration_s:g}, or "
                "be left out for half of it"
            )
        if not any(wire.queue for wire in self.topology.wires()):
            raise SluiceError("topology.links: at least one must have queue = true")
        self.pairs()
        if (rows := self.replications * sum(flows.count for flows in self.flows)) > _MOST_ROWS:
            raise SluiceError(
                f"replications = {self.replications} must be fewer: with all groups of flows they "
                f"make {rows} flows, and at most {_MOST_ROWS} are kept"
            )
        for place, discipline in enumerate(self.disciplines):
            with explained(f"disciplines.{place}"):
                if isinstance(discipline.configured, PythonAqm):
                    raise SluiceError("a Python AQM runs in the slotted world only")
        names = [discipline.name for discipline in self.disciplines]
        if doubles := {name for name in names if names.count(name) > 1}:
            raise SluiceError(f"disciplines: two are called {doubles.pop()!r}; give each a label")
        return self

    @property
    def warm_up(self) -> float:
        """What is left out of the measures, s."""
        return self.duration_s / 2 if self.warm_up_s is None else self.warm_up_s

    @property
    def nodes(self) -> list[str]:
        """Names of the nodes, in the order in which the links name them."""
        wires = self.topology.wires()
        return list(dict.fromkeys(node for wire in wires for node in (wire.source, wire.sink)))

    @property
    def group_numbers(self) -> list[int]:
        """The place in `flows` of each of the engine's groups: one for each pair of nodes."""
        return [place for place, pairs in enumerate(self.pairs()) for _ in pairs]

    def pairs(self) -> list[list[Pair]]:
        """The pairs of nodes that the flows of each group are dealt out to.

        Raises:
            SluiceError: If the topology has no such way or no such node.
        """
        ways, nodes = self.topology.ways(), set(self.nodes)
        pairs = []
        for place, flows in enumerate(self.flows):
            with explained(f"flows.{place}"):
                pairs.append(_pairs(flows, ways, nodes))
        return pairs

    def notes(self) -> list[str]:
        """What a reader of the measures must know, a sentence each."""
        marking = [each for each in self.disciplines if self._marks(each)]
        if not marking or any(map(_ecn_capable, self.flows)):
            return []
        names = ", ".join(each.name for each in marking)
        return [f"Nothing can be marked ({names}): no flow has tcp = {{ ecn = true }}."]

    def _marks(self, discipline: Discipline) -> bool:
        return self.queue.ecn if discipline.ecn is None else discipline.ecn

    @classmethod
    def load(cls, path: str | Path) -> NetworkScenario:
        """Read a scenario from a TOML file; paths in it start at the file's folder.

        Raises:
            SluiceError: If the file is missing, is no TOML, or says what makes no sense; every
                problem stands on a line of its own.
        """
        path = Path(path)
        return cls.parse(read_toml(path), path.parent, str(path))

    @classmethod
    def parse(cls, table: dict[str, Any], folder: Path = Path(), origin: str = "") -> Self:
        """Check a scenario given as a table of TOML's types; see `load`."""
        with explained(origin):
            return cls.model_validate(placed(table, folder))


def _pairs(flows: AnyFlows, ways: dict[str, list[Pair]], nodes: set[str]) -> list[Pair]:
    """The pairs of nodes that a group's flows are dealt out to; see `NetworkScenario.pairs`."""
    if flows.source is None or flows.sink is None:
        if not ways:
            raise SluiceError("source and sink are missing: this topology names no ways")
        way = next(iter(ways)) if flows.way is None else flows.way
        if way not in ways:
            raise SluiceError(f"way = {way} must be one of {', '.join(ways)}")
        return ways[way]
    for name in (flows.source, flows.sink):
        if name not in nodes:
            raise SluiceError(f"{name} is no node of the topology")
    return [(flows.source, flows.sink)]
