"""Which discipline of a scenario is meant."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from sluicegate.errors import SluiceError
from sluicegate.near import nearest
from sluicegate.scenario.common import Discipline
from sluicegate.scenario.network import NetworkScenario
from sluicegate.scenario.slotted import Scenario

# a discipline itself, or one of the scenario's: by its name, its place from 0 on, or the only one
Choice: TypeAlias = Discipline | str | int | np.integer[Any] | None


def choose(scenario: Scenario | NetworkScenario, choice: Choice) -> Discipline:
    """The discipline that is meant.

    Raises:
        SluiceError: If the scenario has no such discipline, or several where none is named.
    """
    if isinstance(choice, Discipline):
        return choice
    there = scenario.disciplines
    names = [each.name for each in there]
    if choice is None:
        if len(there) == 1:
            return there[0]
        raise SluiceError(
            f"the scenario has several disciplines; name one of {', '.join(names)}, or use "
            "compare()"
        )
    if isinstance(choice, str) and names.count(choice) == 1:
        return there[names.index(choice)]
    # NumPy has integers of its own, too
    if isinstance(choice, int | np.integer) and not isinstance(choice, bool):
        place = int(choice)
        if 0 <= place < len(there):
            return there[place]
    near = nearest(choice, names) if isinstance(choice, str) else None
    meant = f"did you mean {near}? " if near and near != choice else ""
    raise SluiceError(
        f"discipline = {choice!r} must be one of the scenario, by its name or its place from 0 "
        f"on; {meant}there are {', '.join(names)}"
    )
