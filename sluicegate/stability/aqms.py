"""The AQMs that the fluid model knows: their equilibrium, their linear controller, their dynamics.

Each has one state z besides the queue: the drop probability itself, a price, an average, a measured
loss ratio. Its `change` and `drop` are the nonlinear model's, its `controller` their linearisation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from scipy import optimize

from sluicegate.errors import SluiceError
from sluicegate.registry import Aqm
from sluicegate.scenario import Discipline, Fifo
from sluicegate.stability.controller import Controller, sampled
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.rules import designed_pi

# RFC 8033, section 4.2: below each p the steps are divided by this number
_PIE_SCALES = (
    (1e-6, 2048),
    (1e-5, 512),
    (1e-4, 128),
    (1e-3, 32),
    (1e-2, 8),
    (1e-1, 2),
)
# section 5.4: p adds up to 0.85 before random drops begin
_PIE_ACCUMULATED = 0.85


class AqmModel(ABC):
    """One AQM with its parameters.

    Attributes:
        name: Its name.
        params: All of its parameters.
        least: Of the state.
        greatest: Of the state.
    """

    least, greatest = 0.0, 1.0

    def __init__(self, aqm: Aqm) -> None:
        self.name = aqm.name
        self.params: dict[str, Any] = aqm.params
        if self.params.get("unit") == "bytes":
            raise SluiceError(f"{self.name}.unit must be packets: the model counts no bytes")

    @abstractmethod
    def queue(self, network: FluidNetwork) -> float:
        """q0, packets.

        Raises:
            SluiceError: If the AQM has no equilibrium there.
        """

    @abstractmethod
    def controller(self, network: FluidNetwork) -> Controller:
        """The linear controller in the equilibrium; errors as `queue`."""

    @abstractmethod
    def start(self, network: FluidNetwork) -> float:
        """The state in the equilibrium; errors as `queue`."""

    @abstractmethod
    def drop(self, state: float, queue: float) -> float:
        """The share of packets that are dropped with a state and a queue (packets)."""

    @abstractmethod
    def change(
        self, state: float, queue: float, growth: float, lost: float, network: FluidNetwork
    ) -> float:
        """The state's derivative, per second.

        Args:
            state: z.
            queue: q, packets.
            growth: q', packets/s.
            lost: Share of packets that are lost, by the AQM or by a full buffer.
            network: As it is now.
        """


class Lred(AqmModel):
    """LRED: the state is the measured loss ratio l; near the equilibrium l = p0 (equation 26)."""

    def __init__(self, aqm: Aqm) -> None:
        super().__init__(aqm)
        t_m, w_m = self.params["t_m"], self.params["w_m"]
        # mean age of what l measures: half of m periods, half of one until the next, and the EWMA's
        self._age_s = t_m * ((self.params["m"] + 1) / 2 + w_m / (1 - w_m))

    def queue(self, network: FluidNetwork) -> float:
        """q_ref."""
        return float(self.params["q_ref"])

    def controller(self, network: FluidNetwork) -> Controller:
        """H = beta sqrt(p0) (equation 29)."""
        return Controller(self.params["beta"] * math.sqrt(network.drop_probability))

    def start(self, network: FluidNetwork) -> float:
        """p0."""
        return network.drop_probability

    def drop(self, state: float, queue: float) -> float:
        """Equation 3."""
        gain = self.params["beta"] * math.sqrt(state)
        return _share(state + gain * (queue - self.params["q_ref"]))

    def change(
        self, state: float, queue: float, growth: float, lost: float, network: FluidNetwork
    ) -> float:
        """Equations 1 and 2 as a low pass of the same mean age."""
        return float((lost - state) / self._age_s)


class _Regulating(AqmModel):
    """An AQM whose state follows a discrete PI controller, k_i (q - q0) + k_p q'."""

    @abstractmethod
    def gains(self, state: float, network: FluidNetwork) -> Controller:
        """How the queue, and its growth, change the state."""

    def change(
        self, state: float, queue: float, growth: float, lost: float, network: FluidNetwork
    ) -> float:
        """From the queue's length and growth."""
        gains = self.gains(state, network)
        return gains.integral * (queue - self.queue(network)) + gains.proportional * growth


class Pi(_Regulating):
    """PI: the state is the drop probability."""

    def queue(self, network: FluidNetwork) -> float:
        """q_ref."""
        return float(self.params["q_ref"])

    def gains(self, state: float, network: FluidNetwork) -> Controller:
        """Of a and b, given or designed."""
        a, b = self.params["a"], self.params["b"]
        interval_s = self.params["sampling_interval"]
        if self.params["coefficients"] == "designed":
            least = FluidNetwork(
                self.params["n_min"], self.params["capacity"], self.params["r_max"]
            )
            a, b = designed_pi(least, interval_s)
        return sampled(a, b, interval_s)

    def controller(self, network: FluidNetwork) -> Controller:
        """As `gains`, whatever the state."""
        return self.gains(network.drop_probability, network)

    def start(self, network: FluidNetwork) -> float:
        """p0."""
        return network.drop_probability

    def drop(self, state: float, queue: float) -> float:
        """The state."""
        return state


class Rem(_Regulating):
    """REM: the state is the price u, and p = 1 - phi^-u."""

    greatest = math.inf

    def __init__(self, aqm: Aqm) -> None:
        super().__init__(aqm)
        if self.params["congestion"] != "queue":
            raise SluiceError(
                'rem.congestion must be "queue" (LRED\'s equation 36): the model knows no other'
            )
        self._log_phi = math.log(self.params["phi"])

    def queue(self, network: FluidNetwork) -> float:
        """q_ref."""
        return float(self.params["q_ref"])

    def gains(self, state: float, network: FluidNetwork) -> Controller:
        """Equation 36: gamma (q(k) - (1 - alpha) q(k-1) - alpha q_ref)."""
        gamma, alpha = self.params["gamma"], self.params["alpha"]
        return sampled(gamma, gamma * (1 - alpha), self.params["sampling_interval"])

    def controller(self, network: FluidNetwork) -> Controller:
        """The price's gains times dp/du = (1 - p0) ln phi."""
        slope = (1 - network.drop_probability) * self._log_phi
        return self.gains(0.0, network).times(slope)

    def start(self, network: FluidNetwork) -> float:
        """The price of p0."""
        network.check_equilibrium()
        return -math.log1p(-network.drop_probability) / self._log_phi

    def drop(self, state: float, queue: float) -> float:
        """Equation 35."""
        return -math.expm1(-state * self._log_phi)


class Pie(_Regulating):
    """PIE: the state is its own probability, of which spacing turns a part into drops."""

    def __init__(self, aqm: Aqm) -> None:
        super().__init__(aqm)
        # mean packets between two drops, times p: the accumulated ones and the random ones
        derandomised = self.params["spacing"] == "derandomised"
        self._share = 1 / (1 + _PIE_ACCUMULATED) if derandomised else 1.0

    def queue(self, network: FluidNetwork) -> float:
        """The packets that are sent in the target."""
        return float(self.params["target"]) * network.capacity_pps

    def gains(self, state: float, network: FluidNetwork) -> Controller:
        """RFC 8033, section 4.2, with the steps' scale at this probability."""
        scale = next((by for below, by in _PIE_SCALES if state < below), 1)
        unit = 1 / (network.capacity_pps * scale)
        alpha, beta = self.params["alpha"], self.params["beta"]
        return sampled((alpha + beta) * unit, beta * unit, self.params["t_update"])

    def controller(self, network: FluidNetwork) -> Controller:
        """The gains at the equilibrium's own probability, times the share that becomes drops."""
        return self.gains(self.start(network), network).times(self._share)

    def start(self, network: FluidNetwork) -> float:
        """The probability whose drops are p0.

        Raises:
            SluiceError: If it would exceed 1.
        """
        state = network.drop_probability / self._share
        if state >= 1:
            raise SluiceError(
                f"pie.spacing = derandomised drops {self._share:.2g} of the packets at most, but "
                f"the equilibrium needs p0 = {network.drop_probability:.3g}"
            )
        return state

    def drop(self, state: float, queue: float) -> float:
        """The share that becomes drops."""
        return state * self._share


class Red(AqmModel):
    """RED and its family: the state is the average queue."""

    greatest = math.inf

    def __init__(self, aqm: Aqm) -> None:
        super().__init__(aqm)
        if self.params["average"] != "ewma":
            raise SluiceError(
                f'{self.name}.average must be "ewma": the model knows no other filter'
            )
        if not self.params["w"]:
            raise SluiceError(f"{self.name}.w = 0 must exceed 0: the average never moves")
        self._aqm = aqm
        self._spacing = self.params["spacing"]
        self._min_th, self._max_th = float(self.params["min_th"]), float(self.params["max_th"])
        self._top = (2 if self.params["drop_function"] == "gentle" else 1) * self._max_th
        # the drop function, interpolated linearly: asking the engine takes longer than a step
        self._grid = self._max_th / 500
        count = math.ceil(1.02 * self._top / self._grid) + 2
        averages = [self._grid * k for k in range(count)]
        self._function = aqm.drop_probability(averages).tolist()

    def _happening(self, p: float) -> float:
        """Share of packets dropped where the drop function gives p: the inverse of the mean gap."""
        if self._spacing == "uniformised":
            return 2 * p / (1 + p)
        return 2 * p / (3 - p) if self._spacing == "waiting" else p

    def _exact(self, average: float) -> float:
        return self._happening(float(self._aqm.drop_probability([average])[0]))

    def queue(self, network: FluidNetwork) -> float:
        """The average at which p0 is dropped."""
        needed = network.drop_probability
        # just below where everything is dropped
        highest = self._top * (1 - 1e-9)
        if needed >= self._exact(highest):
            raise SluiceError(
                f"{self.name} has no equilibrium: it drops {self._exact(highest):.3g} of the "
                f"packets at most before it drops all, and {network.flows:g} flows with a window "
                f"of {network.window:.3g} packets need p0 = {needed:.3g}"
            )
        return float(
            optimize.brentq(
                lambda average: self._exact(average) - needed, self._min_th, highest, xtol=1e-9
            )
        )

    def controller(self, network: FluidNetwork) -> Controller:
        """The drop function's slope with the average's pole."""
        at, step = self.queue(network), 1e-4 * self._max_th
        slope = (self._exact(at + step) - self._exact(at - step)) / (2 * step)
        return Controller(slope, pole=self._pole(network))

    def _pole(self, network: FluidNetwork) -> float:
        """-ln(1 - w) for each update of the average, rad/s."""
        by_clock = self.params["sampling"] == "clock"
        updates_hz = 1 / self.params["sampling_interval"] if by_clock else network.capacity_pps
        w = self.params["w"]
        return math.inf if w >= 1 else -math.log1p(-w) * updates_hz

    def start(self, network: FluidNetwork) -> float:
        """The queue."""
        return self.queue(network)

    def drop(self, state: float, queue: float) -> float:
        """The share of packets dropped at the average."""
        place = min(state / self._grid, len(self._function) - 1.001)
        whole = int(place)
        below, above = self._function[whole : whole + 2]
        return self._happening(below + (above - below) * (place - whole))

    def change(
        self, state: float, queue: float, growth: float, lost: float, network: FluidNetwork
    ) -> float:
        """The average follows the queue."""
        return self._pole(network) * (queue - state)


_MODELS: dict[str, type[AqmModel]] = {
    "lred": Lred,
    "pi": Pi,
    "rem": Rem,
    "pie": Pie,
    **dict.fromkeys(("red", "gentle_red", "dsred", "nlred"), Red),
}


def model_of(discipline: Discipline) -> AqmModel:
    """The model of a discipline.

    Raises:
        SluiceError: If the fluid model does not know it, with the reason.
    """
    aqm = discipline.configured
    if not isinstance(aqm, Aqm) or aqm.name not in _MODELS:
        raise SluiceError(
            f"{discipline.name} has no fluid model; there are models of {', '.join(_MODELS)}"
        )
    if not isinstance(discipline.scheduler, Fifo):
        raise SluiceError(f"{discipline.name}: scheduler must be fifo: the model has one queue")
    return _MODELS[aqm.name](aqm)


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))
