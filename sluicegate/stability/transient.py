"""The nonlinear fluid model in time: what a step of N, R or C does to queue, window and drops.

Equations 4 and 5 with the round trip of the present queue, R(t) = T_p + q(t) / C (Misra, Gong &
Towsley 2000); or with a constant one, as in LRED's section 4. The queue lies between 0 and the
limit; packets for which a full buffer has no room are lost, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.stability.aqms import AqmModel
from sluicegate.stability.delay_equations import Past, Solution, State
from sluicegate.stability.model import FluidNetwork

FloatArray = NDArray[np.float64]

# of a round trip, at least
STEPS = 40
_MOST_STEPS = 400_000


@dataclass(frozen=True)
class Transient:
    """A solution in time.

    Attributes:
        times_s: Shape (T,), s.
        queue: Packets, shape (T,).
        window: Of one flow, packets, shape (T,).
        drop_probability: Of the AQM, shape (T,).
    """

    times_s: FloatArray
    queue: FloatArray
    window: FloatArray
    drop_probability: FloatArray


@dataclass(frozen=True)
class _Equations:
    """The right-hand side between two steps of the network."""

    model: AqmModel
    network: FluidNetwork
    propagation_s: float | None
    limit: float

    def rtt_s(self, queue: float) -> float:
        """R now, s."""
        if self.propagation_s is None:
            return self.network.rtt_s
        return self.propagation_s + queue / self.network.capacity_pps

    def growth(self, state: State) -> float:
        """q', packets/s; 0 where the queue can go no further."""
        window, queue, _ = state
        net = self.network.flows * window / self.rtt_s(queue) - self.network.capacity_pps
        if (queue <= 0 and net < 0) or (queue >= self.limit and net > 0):
            return 0.0
        return net

    def lost(self, state: State) -> float:
        """Share of the packets that are lost, by the AQM or by the full buffer."""
        window, queue, own = state
        if not math.isfinite(window + queue + own):
            raise SluiceError(
                f"a flow has a window of {self.network.window:.3g} packets: the model in time "
                "changes faster than it can be integrated; give more flows, or a slower link"
            )
        queue = min(max(queue, 0.0), self.limit)
        dropped = self.model.drop(min(max(own, self.model.least), self.model.greatest), queue)
        if queue < self.limit:
            return dropped
        rate = self.network.flows * window / self.rtt_s(queue)
        return max(dropped, 1 - self.network.capacity_pps / rate) if rate > 0 else dropped

    def rate(self, time_s: float, state: State, past: Past) -> State:
        """The derivatives of window, queue and the AQM's state."""
        window, queue, own = state
        rtt_s = self.rtt_s(queue)
        before = past(time_s - rtt_s)
        losses = before[0] / self.rtt_s(before[1]) * self.lost(before)
        growth = self.growth(state)
        change = self.model.change(own, queue, growth, self.lost(state), self.network)
        return (1 / rtt_s - window * losses / self.network.eta, growth, change)

    def bound(self, state: State) -> State:
        """The state within what is possible."""
        window, queue, own = state
        own = min(max(own, self.model.least), self.model.greatest)
        return (max(window, 0.0), min(max(queue, 0.0), self.limit), own)


def transient(
    model: AqmModel,
    networks: Sequence[tuple[float, FluidNetwork]],
    until_s: float,
    *,
    limit: float = np.inf,
    constant_rtt: bool = False,
    disturbed: float = 0.0,
) -> Transient:
    """Start in the equilibrium of a network and follow what happens.

    New flows start with a window of one packet; those that leave take their windows along.

    Args:
        model: The AQM.
        networks: From when (s, ascending, the first 0) each network holds.
        until_s: End, s.
        limit: Of the buffer, packets.
        constant_rtt: Whether the round trip is constant; else it follows the queue.
        disturbed: How far the queue starts above its equilibrium, packets.

    Raises:
        SluiceError: If the first network has no equilibrium, or if the time is longer than can be
            integrated.
    """
    first = networks[0][1]
    first.check_equilibrium()
    start = (first.window, model.queue(first), model.start(first))
    shortest_s = min(_shortest_s(model, network, constant_rtt) for _, network in networks)
    steps = int(np.ceil(until_s / shortest_s * STEPS))
    if steps > _MOST_STEPS:
        longest_s = _MOST_STEPS / STEPS * shortest_s
        raise SluiceError(f"until_s = {until_s:g} must be at most {longest_s:.3g} (s)")
    solution = Solution(start, until_s / steps)
    solution.jump((start[0], start[1] + disturbed, start[2]))
    ends = [round(at_s / until_s * steps) for at_s, _ in networks[1:]] + [steps]
    flows, done, drops = first.flows, 0, []
    for (_, network), end in zip(networks, ends, strict=True):
        if network.flows > flows:
            joined = (flows * solution.end[0] + network.flows - flows) / network.flows
            solution.jump((joined, *solution.end[1:]))
        flows = network.flows
        equations = _Equations(model, network, _propagation_s(model, network, constant_rtt), limit)
        solution.advance(equations.rate, end - done, equations.bound)
        drops += [model.drop(own, queue) for _, queue, own in solution.points()[done:end]]
        done = end
    points = np.array(solution.points())
    times_s = np.linspace(until_s / steps, until_s, steps)
    return Transient(times_s, points[:, 1], points[:, 0], np.array(drops))


def _propagation_s(model: AqmModel, network: FluidNetwork, constant_rtt: bool) -> float | None:
    """T_p, s; None where the round trip is constant."""
    if constant_rtt:
        return None
    waiting_s = model.queue(network) / network.capacity_pps
    if waiting_s >= network.rtt_s:
        raise SluiceError(
            f"rtt_s = {network.rtt_s:g} must exceed {waiting_s:.3g}, the wait in a queue of "
            f"{model.queue(network):.3g} packets (s)"
        )
    return network.rtt_s - waiting_s


def _shortest_s(model: AqmModel, network: FluidNetwork, constant_rtt: bool) -> float:
    """The shortest delay that can occur, but no shorter than a quarter of the round trip."""
    propagation_s = _propagation_s(model, network, constant_rtt)
    return network.rtt_s if propagation_s is None else max(propagation_s, network.rtt_s / 4)
