"""The daemon `sluiced` as the router of a replication."""

from __future__ import annotations

import math
from dataclasses import replace

from sluicegate.daemon import program
from sluicegate.scenario import Discipline, Dumbbell, NetworkScenario
from sluicegate.testbed.job import RouterJob
from sluicegate.testbed.row import First
from sluicegate.worlds.real.alone import alone
from sluicegate.worlds.real.layout import Layout
from sluicegate.worlds.real.varying import BACK, rates

# the daemon follows a rate from its own start on: so long before the flows begin
_HEAD_S = 5.0


# from the seed of a router to that of the one before it
_FIRST = 1 << 32


def daemon(
    scenario: NetworkScenario, discipline: Discipline, replication: int, ipv6: bool
) -> RouterJob:
    """What the daemon does in a replication of a dumb-bell."""
    topology = scenario.topology
    assert isinstance(topology, Dumbbell)
    found = program()
    assert found is not None
    # there as fast as the nearest client's packets, and back with the rest of the round trip
    ways_s = [
        each + topology.delay_s + topology.server_delay_s for each in topology.client_delays_s
    ]
    delay_s = min(ways_s)
    back = rates(scenario, BACK)
    # flows begin where a line of the daemon is due
    head_s = scenario.sample_s * math.ceil(1 + _HEAD_S / scenario.sample_s)
    return RouterJob(
        program=found,
        scenario=alone(scenario, discipline),
        # for ways back of their own; the last rate, as it varies only on one way back of all
        rate_bps=topology.rate_bps if back is None else float(back.rates_bps[-1]),
        delay_s=delay_s,
        reverse_delays_s=[2 * way_s - delay_s for way_s in ways_s],
        seed=scenario.seed + replication,
        sample_s=scenario.sample_s,
        flows_start_s=head_s if _varies(scenario) else None,
        ipv6=ipv6,
    )


def first_daemon(laid: Layout, second: RouterJob) -> First | None:
    """What the daemon before another one does; None: there is none.

    Propagation is the other one's. A rate that varies begins some tenths of a second early: it is
    counted from this daemon's own start, which comes before the other's.
    """
    if laid.first is None:
        return None
    varies = _varies(laid.first[0])
    router = replace(
        second,
        scenario=alone(*laid.first),
        delay_s=0.0,
        reverse_delays_s=[0.0],
        seed=second.seed + _FIRST,
        flows_start_s=second.flows_start_s if varies else None,
    )
    return First(router, laid.around)


def _varies(scenario: NetworkScenario) -> bool:
    """Whether a link has a rate in time."""
    return any(own.rate is not None for own in scenario.links.values())
