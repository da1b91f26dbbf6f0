"""Where the hosts of a scenario are in a testbed."""

from __future__ import annotations

from typing import TypeAlias

from sluicegate.scenario import Dumbbell, NetworkScenario
from sluicegate.testbed.addresses import SIDES, Side

# where a host or a flow is: its side (that of its sender), and its place among those of that side
Place: TypeAlias = tuple[Side, int]


def hosts(scenario: NetworkScenario) -> dict[str, Place]:
    """Where the hosts of a dumb-bell are, by their names; empty for any other topology."""
    topology = scenario.topology
    if not isinstance(topology, Dumbbell):
        return {}
    sides = zip(SIDES, (topology.clients, topology.servers), strict=True)
    return {name: (side, place) for side, names in sides for place, name in enumerate(names)}
