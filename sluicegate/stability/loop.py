"""The feedback loop of TCP, queue and AQM: its response with exact delay, margins, verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from sluicegate.stability.aqms import AqmModel
from sluicegate.stability.controller import Controller
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.plant import Linearisation, Plant, plant
from sluicegate.stability.roots import rightmost_root

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

_PER_DECADE = 400


@dataclass(frozen=True)
class Margins:
    """How far a loop is from the boundary of stability.

    Each is None where the response does not cross, so that it has no bound.

    Attributes:
        gain: How many times as high the gain may become; below 1 in an unstable loop, which becomes
            stable with this share of its gain.
        phase_rad: How much more the phase may fall where the gain is 1, rad; negative in an
            unstable loop.
        delay_s: How much longer the round trip's delay alone may become, s; negative likewise.
        crossover_rad_s: Where the gain is 1, rad/s.
        phase_crossover_rad_s: Where the phase is -pi, rad/s.
    """

    gain: float | None
    phase_rad: float | None
    delay_s: float | None
    crossover_rad_s: float | None
    phase_crossover_rad_s: float | None


@dataclass(frozen=True)
class Loop:
    """An AQM in a network, linear around its equilibrium.

    Attributes:
        network: The network.
        controller: The AQM.
        linearisation: Of TCP and queue; see `plant.py`.
    """

    network: FluidNetwork
    controller: Controller
    linearisation: Linearisation = "reduced"
    plant: Plant = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "plant", plant(self.network, self.linearisation))

    def response(self, frequencies: FloatArray) -> ComplexArray:
        """L(j omega) e^(-j omega R), the gain once around the loop.

        Args:
            frequencies: Angular, above 0, rad/s, any shape.
        """
        s = np.asarray(1j * np.asarray(frequencies), dtype=np.complex128)
        return self.controller.transfer(s) * self.plant.transfer(s)

    @cached_property
    def rightmost_root(self) -> complex:
        """The slowest root, 1/s; see `roots.rightmost_root`."""
        return rightmost_root(self.plant, self.controller)

    @property
    def is_stable(self) -> bool:
        """Whether a small disturbance dies out."""
        return self.rightmost_root.real < 0

    def frequencies(self) -> FloatArray:
        """Angular frequencies that show all the loop does, on a logarithmic scale, rad/s."""
        rtt_s = self.network.rtt_s
        slowest = [1 / rtt_s, self.network.k11]
        if self.controller.integral:
            slowest.append(self.controller.integral / self.controller.proportional)
        if np.isfinite(self.controller.pole):
            slowest.append(self.controller.pole)
        low, high = 1e-3 * min(slowest), 100 / rtt_s
        return np.geomspace(low, high, round(_PER_DECADE * np.log10(high / low)))

    @cached_property
    def margins(self) -> Margins:
        """The margins; of several crossings, those nearest to the boundary."""
        frequencies = self.frequencies()
        response = self.response(frequencies)
        phases = {}
        for omega in self._crossings(frequencies, np.abs(response) - 1, lambda x: abs(x) - 1):
            angle = float(np.angle(self._at(omega)))
            # an angle above 0 has gone around through -pi
            phases[omega] = angle - np.pi if angle > 0 else angle + np.pi
        gains = {}
        for omega in self._crossings(frequencies, response.imag, lambda x: x.imag):
            value = self._at(omega).real
            # what is right of the origin is no crossing of -pi
            if value < 0:
                gains[omega] = -1 / value
        at_gain = min(phases, key=lambda omega: abs(phases[omega]), default=None)
        # what may be added to a stable loop, or must be taken from an unstable one
        right = {omega: gain for omega, gain in gains.items() if (gain > 1) == self.is_stable}
        at_phase = min(right, key=lambda omega: abs(np.log(right[omega])), default=None)
        return Margins(
            gain=None if at_phase is None else gains[at_phase],
            phase_rad=None if at_gain is None else phases[at_gain],
            delay_s=None if at_gain is None else phases[at_gain] / at_gain,
            crossover_rad_s=at_gain,
            phase_crossover_rad_s=at_phase,
        )

    def _at(self, omega: float) -> complex:
        return complex(self.response(np.array(omega)))

    def _crossings(
        self, frequencies: FloatArray, values: FloatArray, of: Callable[[complex], float]
    ) -> list[float]:
        changes = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))
        return [
            float(
                optimize.brentq(
                    lambda omega: of(self._at(omega)),
                    frequencies[place],
                    frequencies[place + 1],
                    xtol=1e-14,
                    rtol=1e-13,
                )
            )
            for place in changes
        ]


def loop_of(
    model: AqmModel, network: FluidNetwork, linearisation: Linearisation = "reduced"
) -> Loop:
    """The loop of an AQM in a network.

    Raises:
        SluiceError: If there is no equilibrium.
    """
    network.check_equilibrium()
    return Loop(network, model.controller(network), linearisation)
