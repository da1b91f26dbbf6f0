"""The daemon `sluiced` as the router of a replication."""

from __future__ import annotations

import math

from sluicegate.daemon import program
from sluicegate.scenario import Discipline, Dumbbell, NetworkScenario
from sluicegate.testbed.job import RouterJob
from sluicegate.worlds.real.alone import alone

# the daemon follows a rate from its own start on: so long before the flows begin
_HEAD_S = 5.0


def daemon(
    scenario: NetworkScenario, discipline: Discipline, replication: int, ipv6: bool
) -> RouterJob:
    """What the daemon does in a replication."""
    topology = scenario.topology
    assert isinstance(topology, Dumbbell)
    found = program()
    assert found is not None
    # there as fast as the nearest client's packets, and back with the rest of the round trip
    ways_s = [
        each + topology.delay_s + topology.server_delay_s for each in topology.client_delays_s
    ]
    delay_s = min(ways_s)
    # flows begin where a line of the daemon is due
    head_s = scenario.sample_s * math.ceil(1 + _HEAD_S / scenario.sample_s)
    varies = any(own.rate is not None for own in scenario.links.values())
    return RouterJob(
        program=found,
        scenario=alone(scenario, discipline),
        rate_bps=topology.rate_bps,
        delay_s=delay_s,
        reverse_delays_s=[2 * way_s - delay_s for way_s in ways_s],
        seed=scenario.seed + replication,
        sample_s=scenario.sample_s,
        flows_start_s=head_s if varies else None,
        ipv6=ipv6,
    )
