"""What is said of an AQM in a network: equilibrium, margins, and how far the network may change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline
from sluicegate.stability.aqms import AqmModel, model_of
from sluicegate.stability.loop import Loop, loop_of
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.plant import Linearisation

FloatArray = NDArray[np.float64]

LINEARISATIONS: tuple[Linearisation, ...] = ("reduced", "constant", "full")
# how far R and N are followed, and in how many steps
_FARTHEST, _STEPS = 1000.0, 80
_HALVINGS = 24


@dataclass(frozen=True)
class Assessment:
    """One AQM in one network.

    Attributes:
        discipline: Its name.
        model: The AQM.
        network: The network.
        queue: q0, packets.
        loops: The loop in each linearisation, by its name.
    """

    discipline: str
    model: AqmModel
    network: FluidNetwork
    queue: float
    loops: dict[Linearisation, Loop]

    def _repr_html_(self) -> str:
        from sluicegate.stability.page import in_notebook  # pages import this module

        return in_notebook(self).cell()

    def edge_rtt_s(self, linearisation: Linearisation) -> float | None:
        """The round trip at which the verdict changes: the greatest stable R, s.

        From the present one up if the loop is stable, else down; None where it does not change, or
        where the AQM has no equilibrium before it does.
        """
        outwards = 1 if self.loops[linearisation].is_stable else -1
        factor = self._edge(
            lambda x: self.network.with_(rtt_s=x * self.network.rtt_s), outwards, linearisation
        )
        return None if factor is None else factor * self.network.rtt_s

    def edge_flows(self, linearisation: Linearisation) -> float | None:
        """The number of flows at which it changes: the fewest that are stable; see `edge_rtt_s`."""
        outwards = -1 if self.loops[linearisation].is_stable else 1
        factor = self._edge(
            lambda x: self.network.with_(flows=x * self.network.flows), outwards, linearisation
        )
        return None if factor is None else factor * self.network.flows

    def _edge(
        self,
        network: Callable[[float], FluidNetwork],
        outwards: int,
        linearisation: Linearisation,
    ) -> float | None:
        """The factor of N or R, from 1 up or down, at which the verdict changes first."""
        now = self.loops[linearisation].is_stable
        step = _FARTHEST ** (outwards / _STEPS)
        inner = 1.0
        for _ in range(_STEPS):
            outer = inner * step
            stable = self._is_stable(network(outer), linearisation)
            if stable is None:
                return None
            if stable != now:
                return self._bisected(network, inner, outer, now, linearisation)
            inner = outer
        return None

    def _bisected(
        self,
        network: Callable[[float], FluidNetwork],
        inner: float,
        outer: float,
        now: bool,
        linearisation: Linearisation,
    ) -> float:
        for _ in range(_HALVINGS):
            middle = float(np.sqrt(inner * outer))
            if self._is_stable(network(middle), linearisation) == now:
                inner = middle
            else:
                outer = middle
        return inner

    def _is_stable(self, network: FluidNetwork, linearisation: Linearisation) -> bool | None:
        """The verdict elsewhere; None where there is no equilibrium."""
        loop = possible_loop(self.model, network, linearisation)
        return None if loop is None else loop.is_stable


def possible_loop(
    model: AqmModel, network: FluidNetwork, linearisation: Linearisation
) -> Loop | None:
    """The loop of an AQM in a network; None where it has no equilibrium there.

    None, too, if the round trip follows the queue and the queue alone takes all of it.
    """
    try:
        loop = loop_of(model, network, linearisation)
        waiting_s = model.queue(network) / network.capacity_pps
    except SluiceError:
        return None
    return None if linearisation == "full" and waiting_s >= network.rtt_s else loop


def assess(discipline: Discipline, network: FluidNetwork) -> Assessment:
    """Find equilibrium and loops.

    Args:
        discipline: With an AQM that the fluid model knows.
        network: The network.

    Raises:
        SluiceError: If there is no model of the AQM, or no equilibrium.
    """
    model = model_of(discipline)
    loops = {name: loop_of(model, network, name) for name in LINEARISATIONS}
    queue = model.queue(network)
    if queue >= network.rtt_s * network.capacity_pps:
        raise SluiceError(
            f"rtt_s = {network.rtt_s:g} must exceed {queue / network.capacity_pps:.3g}, the wait "
            f"in the {queue:.4g} packets that {discipline.name} holds (s): the round trip "
            f"includes it"
        )
    return Assessment(discipline.name, model, network, queue, loops)


def stability_map(
    model: AqmModel,
    flows: FloatArray,
    rtts_s: FloatArray,
    network: FluidNetwork,
    linearisation: Linearisation,
) -> FloatArray:
    """How fast disturbances grow over numbers of flows and round trips.

    Args:
        model: The AQM.
        flows: N, shape (n,).
        rtts_s: R, s, shape (r,).
        network: For all the rest.
        linearisation: Of TCP and queue.

    Returns:
        The real part of the rightmost root, per round trip, shape (r, n): negative where the loop
        is stable, NaN where there is no equilibrium.
    """
    found = np.full((len(rtts_s), len(flows)), np.nan)
    for row, rtt_s in enumerate(rtts_s):
        for column, count in enumerate(flows):
            elsewhere = network.with_(flows=float(count), rtt_s=float(rtt_s))
            loop = possible_loop(model, elsewhere, linearisation)
            if loop is not None:
                found[row, column] = loop.rightmost_root.real * rtt_s
    return found
