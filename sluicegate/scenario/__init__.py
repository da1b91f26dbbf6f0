"""Scenarios: what is judged, as TOML or as Python objects, checked by the engine.

The classes in `common`, `slotted` and `network` are generated from what the engine says of each
field; `derived` has what follows from the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TypeVar

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.scenario.common import Discipline, Drr, Fifo, Fq, Queue, Scheduler, Sfq, Victim
from sluicegate.scenario.network import (
    Constant,
    DatagramFlows,
    Distribution,
    Dumbbell,
    Exponential,
    Fgn,
    Flows,
    Graph,
    Link,
    NetworkScenario,
    Pareto,
    ParkingLot,
    ReplayFlows,
    SelfSimilar,
    ShortTcpFlows,
    Sizes,
    Star,
    Tcp,
    TcpFlows,
    Topology,
    Uniform,
    WebFlows,
)
from sluicegate.scenario.slotted import (
    Arrivals,
    DeterministicService,
    FgnArrivals,
    GeometricArrivals,
    GeometricService,
    PacketSizeService,
    ReplayArrivals,
    Scenario,
    SelfSimilarArrivals,
    Service,
)
from sluicegate.scenario.table import Table

__all__ = [
    "Arrivals",
    "Constant",
    "DatagramFlows",
    "DeterministicService",
    "Discipline",
    "Distribution",
    "Drr",
    "Dumbbell",
    "Exponential",
    "Fgn",
    "FgnArrivals",
    "Fifo",
    "Flows",
    "Fq",
    "GeometricArrivals",
    "GeometricService",
    "Graph",
    "Link",
    "NetworkScenario",
    "PacketSizeService",
    "Pareto",
    "ParkingLot",
    "Queue",
    "ReplayArrivals",
    "ReplayFlows",
    "Scenario",
    "Scheduler",
    "SelfSimilar",
    "SelfSimilarArrivals",
    "Service",
    "Sfq",
    "ShortTcpFlows",
    "Sizes",
    "Star",
    "Table",
    "Tcp",
    "TcpFlows",
    "Topology",
    "Uniform",
    "Victim",
    "WebFlows",
    "load",
    "opened",
]


S = TypeVar("S", Scenario, NetworkScenario)


def load(
    path: str | Path, changes: Mapping[str, object] | None = None
) -> Scenario | NetworkScenario:
    """Read whichever scenario a TOML file holds; paths in it start at the file's folder.

    Args:
        path: The file.
        changes: Fields at the top that are taken instead of the file's.

    Raises:
        SluiceError: If the file is missing, is no TOML, or says what makes no sense; every problem
            stands on a line of its own.
    """
    found: Scenario | NetworkScenario = _engine.load_scenario(path, None, changes or {})
    return found


def opened(scenario: object, kind: type[S]) -> S:
    """A scenario of that class; of a path, the one in its file.

    Raises:
        SluiceError: If it is of another class, or as `load`.
    """
    if isinstance(scenario, str | PathLike):
        return kind.load(Path(scenario))
    if isinstance(scenario, kind):
        return scenario
    what = type(scenario).__name__
    raise SluiceError(f"the scenario is a {what} and must be a {kind.__name__} or a file's path")
