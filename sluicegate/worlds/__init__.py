"""The worlds: each judges a discipline on a scenario in its own way; all return records.

A world is a folder here. It holds a class with the folder's name, such as `Chain` in
`chain/world.py`, which implements the contract `World`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from sluicegate.errors import SluiceError
from sluicegate.worlds.world import AnyScenario, AnyWorld, Tell, Watch, World

__all__ = [
    "NAMES",
    "AnyScenario",
    "AnyWorld",
    "Tell",
    "Watch",
    "World",
    "of_scenario",
    "takers",
    "with_settings",
    "world",
]

# of the worlds that take a scenario, the first is the usual one
NAMES = (
    "slotted",
    "chain",
    "network",
    "gate",
    "kernel",
    "twin",
)


def __getattr__(name: str) -> Any:
    """The class or the package of a world, such as `Chain` or `chain`, loaded when asked for."""
    if name in NAMES:
        return import_module(f"{__name__}.{name}")
    if name.lower() in NAMES:
        return world(name.lower())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def world(name: str) -> type[AnyWorld]:
    """The class of the world of that name.

    Raises:
        SluiceError: If there is none.
    """
    if name not in NAMES:
        raise SluiceError(f"world = {name} must be one of {', '.join(NAMES)}")
    found: type[AnyWorld] = getattr(import_module(f"{__name__}.{name}.world"), name.capitalize())
    return found


def of_scenario(scenario: AnyScenario) -> list[type[AnyWorld]]:
    """The worlds that take such a scenario, the usual one first.

    Raises:
        SluiceError: If no world takes it.
    """
    if found := [each for each in map(world, NAMES) if isinstance(scenario, each.takes)]:
        return found
    kinds = dict.fromkeys(each.takes.__name__ for each in map(world, NAMES))
    raise SluiceError(f"{scenario!r} must be a {' or a '.join(kinds)}: their load() reads a file")


def with_settings(kinds: Sequence[type[AnyWorld]], **settings: Any) -> list[AnyWorld]:
    """Worlds, each with those of the settings that it has; None: not given.

    Raises:
        SluiceError: If none of them has a setting that is given.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    for name in given:
        if not any(_has(each, name) for each in kinds):
            able = ", ".join(each for each in NAMES if _has(world(each), name))
            raise SluiceError(f"--{name} is for these worlds only: {able}")
    return [
        each(**{name: value for name, value in given.items() if _has(each, name)}) for each in kinds
    ]


def _has(kind: type[AnyWorld], setting: str) -> bool:
    return setting in inspect.signature(kind).parameters


def takers(field: str) -> list[type[AnyWorld]]:
    """The worlds whose scenarios have a field of that name."""
    return [each for each in map(world, NAMES) if field in each.fields()]
