"""The worlds: each judges a discipline on a scenario in its own way; all give records.

A world is a folder here. It holds a class with the folder's name, such as `Chain` in
`chain/world.py`, which keeps the contract `World`.
"""

from __future__ import annotations

import inspect
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


def with_settings(scenario: AnyScenario, **settings: Any) -> AnyWorld:
    """The usual world of a scenario, with settings of its own.

    Raises:
        SluiceError: If no world takes the scenario, or if its world has no such setting.
    """
    usual = of_scenario(scenario)[0]
    known = inspect.signature(usual).parameters
    for name in settings:
        if name not in known:
            others = [
                each for each in map(world, NAMES) if name in inspect.signature(each).parameters
            ]
            able = " or ".join(each.name for each in others)
            raise SluiceError(f"--{name} is for scenarios of the {able} world only")
    return usual(**settings)


def takers(field: str) -> list[type[AnyWorld]]:
    """The worlds whose scenarios have a field of that name."""
    return [each for each in map(world, NAMES) if field in each.fields()]
