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
from sluicegate.scenario import common, network, slotted
from sluicegate.scenario.common import *
from sluicegate.scenario.network import *
from sluicegate.scenario.network import NetworkScenario
from sluicegate.scenario.slotted import *
from sluicegate.scenario.slotted import Scenario
from sluicegate.scenario.table import Table

__all__ = ["Table", "load", "opened"]
__all__ += common.__all__
__all__ += network.__all__
__all__ += slotted.__all__


S = TypeVar("S", Scenario, NetworkScenario)


def load(
    path: str | Path, changes: Mapping[str, object] | None = None
) -> Scenario | NetworkScenario:
    """Read whichever scenario a TOML file holds; paths in it start at the file's folder.

    Args:
        path: The file.
        changes: Fields at the top that replace those of the file.

    Raises:
        SluiceError: If the file is missing, is not TOML, or is refused; every problem is on a line
            of its own.
    """
    found: Scenario | NetworkScenario = _engine.load_scenario(path, None, changes or {})
    return found


def opened(scenario: object, kind: type[S]) -> S:
    """A scenario of that class; of a path, the one in its file.

    Raises:
        SluiceError: If it is of another class, or as `load`.
    """
    name = "the scenario"
    if isinstance(scenario, str | PathLike):
        name, scenario = str(scenario), load(Path(scenario))
    if isinstance(scenario, kind):
        return scenario
    what = type(scenario).__name__
    takes = {"Scenario": "sluicegate.simulate", "NetworkScenario": "sluicegate.network.simulate"}
    hint = f": {takes[what]} takes it" if what in takes else ", or a file's path"
    raise SluiceError(f"{name} is a {what} and must be a {kind.__name__}{hint}")
