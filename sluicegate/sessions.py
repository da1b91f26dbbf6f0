"""Runs that are advanced in parts, observed, changed, and continued."""

from __future__ import annotations

from os import PathLike, fspath
from typing import overload

from sluicegate.scenario import NetworkScenario, Scenario, load
from sluicegate.scenario.choice import Choice
from sluicegate.worlds.network.session import NetworkSession
from sluicegate.worlds.slotted.session import SlottedSession


@overload
def session(scenario: Scenario, discipline: Choice = None) -> SlottedSession: ...
@overload
def session(scenario: NetworkScenario, discipline: Choice = None) -> NetworkSession: ...
@overload
def session(
    scenario: str | PathLike[str], discipline: Choice = None
) -> SlottedSession | NetworkSession: ...


def session(
    scenario: Scenario | NetworkScenario | str | PathLike[str],
    discipline: Choice = None,
) -> SlottedSession | NetworkSession:
    """Start a run of one discipline that is advanced in parts.

    It is one replication, the first one. See the guide on sessions.

    Args:
        scenario: What to run, or the path of its file; its kind decides the world.
        discipline: Which discipline, itself or by its name or place; the only one if None.

    Raises:
        SluiceError: If the scenario has several disciplines and none is named, or cannot be run.
    """
    found = scenario if isinstance(scenario, Scenario | NetworkScenario) else load(fspath(scenario))
    if isinstance(found, NetworkScenario):
        return NetworkSession(found, discipline)
    return SlottedSession(found, discipline)
