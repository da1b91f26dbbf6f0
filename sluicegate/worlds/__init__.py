"""The worlds: each judges a discipline on a scenario in its own way; all return records.

A world is a folder here. It holds a class with the folder's name, such as `Chain` in
`chain/world.py`, which implements the contract `World`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from sluicegate.errors import SluiceError
from sluicegate.worlds.world import AnyScenario, AnyWorld, Option, Progress, Watch, World

__all__ = [
    "NAMES",
    "AnyScenario",
    "AnyWorld",
    "Option",
    "Progress",
    "Watch",
    "World",
    "of_scenario",
    "options",
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


def options(names: Sequence[str] = NAMES) -> dict[str, tuple[Option, list[str]]]:
    """The settings of these worlds that commands offer, and the worlds that have each, by name."""
    found: dict[str, tuple[Option, list[str]]] = {}
    for name in names:
        for setting, option in world(name).options().items():
            found.setdefault(setting, (option, []))[1].append(name)
    return found


def with_settings(kinds: Sequence[type[AnyWorld]], settings: Mapping[str, Any]) -> list[AnyWorld]:
    """Worlds, each with those of the settings that it has; None or false: not given.

    Raises:
        SluiceError: If none of them has a setting that is given.
    """
    given = {name: value for name, value in settings.items() if value}
    for name in given:
        if not any(name in each.options() for each in kinds):
            _, able = options()[name]
            option = name.replace("_", "-")
            raise SluiceError(f"--{option} is for these worlds only: {', '.join(able)}")
    return [
        each(**{name: value for name, value in given.items() if name in each.options()})
        for each in kinds
    ]


def takers(field: str) -> list[type[AnyWorld]]:
    """The worlds whose scenarios have a field of that name."""
    return [each for each in map(world, NAMES) if field in each.fields()]
