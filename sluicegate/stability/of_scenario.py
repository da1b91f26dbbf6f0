"""N, R and C of a scenario of the network world, where the fluid model fits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from scipy import optimize

from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, Dumbbell, NetworkScenario, TcpFlows
from sluicegate.scenario.network import Flows
from sluicegate.stability.aqms import AqmModel, model_of
from sluicegate.stability.model import FluidNetwork

_LONGEST_WAIT_S = 1e3


def network_of(scenario: NetworkScenario, discipline: Discipline) -> FluidNetwork:
    """The fluid network that describes a scenario under a discipline.

    N counts the flows; C is the bottleneck's; R is the mean of the flows' round trips on empty
    links, plus the wait in the queue that the AQM holds in equilibrium.

    Raises:
        SluiceError: If the scenario is not what the model describes, with the reason; if the AQM
            has no model or no equilibrium.
    """
    topology = scenario.topology
    if topology.kind != "dumbbell":
        raise SluiceError(
            f"topology.kind = {topology.kind!r} must be 'dumbbell': the model has one bottleneck"
        )
    flows = [_checked(group, place) for place, group in enumerate(scenario.flows)]
    sizes = {group.tcp.packet_bytes for group in flows}
    if len(sizes) > 1:
        raise SluiceError(
            f"flows.tcp.packet_bytes must be the same everywhere, not "
            f"{', '.join(map(str, sorted(sizes)))}: the model counts packets of one size"
        )
    acked = {_acked(group) for group in flows}
    if len(acked) > 1:
        raise SluiceError("flows.tcp.delayed_ack_s must be the same everywhere for the model")
    count = sum(group.count for group in flows)
    capacity_pps = topology.rate_bps / 8 / sizes.pop()
    rtts_s = np.concatenate(
        [np.resize(_empty_rtts_s(topology, group), group.count) for group in flows]
    )
    empty_s = float(rtts_s.mean())
    model = model_of(discipline)

    def network(rtt_s: float) -> FluidNetwork:
        return FluidNetwork(count, capacity_pps, rtt_s, *acked)

    return network(empty_s + _wait_s(model, network, empty_s))


def _wait_s(model: AqmModel, network: Callable[[float], FluidNetwork], empty_s: float) -> float:
    """The wait in the equilibrium's queue, which depends on the round trip with it, s."""

    def excess(wait_s: float) -> float:
        at = network(empty_s + wait_s)
        return model.queue(at) / at.capacity_pps - wait_s

    # the longer the round trip, the fewer drops are needed: the queue shrinks, and one wait fits
    low = 0.0
    for step in np.geomspace(1e-6, _LONGEST_WAIT_S, 200):
        try:
            if excess(low) >= 0 >= excess(float(step)):
                return float(optimize.brentq(excess, low, float(step), xtol=1e-12))
        except SluiceError:
            pass
        low = float(step)
    # raises the reason why there is none
    return excess(0.0)


def _checked(group: Flows, place: int) -> TcpFlows:
    where = f"flows[{place}]"
    if not group.is_endless_tcp:
        raise SluiceError(
            f"{where} must be TCP flows without end (kind = 'tcp'): the model has no other"
        )
    group = cast(TcpFlows, group)
    if group.route not in (None, "forward") or group.source is not None:
        raise SluiceError(f"{where}.route must be 'forward': the model has one direction")
    if group.tcp.congestion_control != "reno":
        raise SluiceError(
            f"{where}.tcp.congestion_control = {group.tcp.congestion_control!r} must be 'reno': "
            "the model's windows grow by a packet per round trip and are halved"
        )
    return group


def _acked(group: TcpFlows) -> float:
    """b: by how many ACKs a window's growth is held back; like the RFCs' it counts packets."""
    delayed = group.tcp.like == "ns2" and bool(group.tcp.delayed_ack_s)
    return 2.0 if delayed else 1.0


def _empty_rtts_s(topology: Dumbbell, group: TcpFlows) -> list[float]:
    """The round trip of each pair on empty links, with the time to send packet and ACK, s."""
    bits = 8 * (group.tcp.packet_bytes + group.tcp.ack_bytes)
    sending_s = bits * (1 / topology.rate_bps + 2 / topology.access_rate_bps)
    there_s = topology.delay_s + topology.server_delay_s
    return [2 * (client_s + there_s) + sending_s for client_s in topology.client_delays_s]
