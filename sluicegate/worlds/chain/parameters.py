"""The real parameters of a scenario and a discipline by name: values, changes, their neighbours."""

from __future__ import annotations

from typing import Any

from sluicegate.errors import SluiceError
from sluicegate.registry import Param, PythonAqm
from sluicegate.scenario import Discipline, GeometricService, Scenario, SelfSimilarArrivals

# steps to one side that a difference quotient takes
STEPS = 4
# of those steps together: relative to a parameter of the traffic; of an AQM's range
_TRAFFIC_SHARE = 1 / 250
_RANGE_SHARE = 1 / 64


class Parameter:
    """One real parameter of a scenario's traffic or of a discipline.

    Attributes:
        name: `rate` or `a` of the arrivals, `mu` of the service, or as the AQM names it.
        value: Its value.
        unit: Of the value; empty for a pure number.
    """

    name: str
    value: float
    unit: str

    def __init__(self, scenario: Scenario, discipline: Discipline, name: str) -> None:
        """Find a parameter.

        Raises:
            SluiceError: If there is none of this name that changes in small steps.
        """
        self._scenario, self._discipline, self.name = scenario, discipline, name
        known = _traffic(scenario) | _aqm(discipline)
        if name not in known:
            raise SluiceError(
                f"{name} is no real parameter of this chain: it must be one of {', '.join(known)}"
            )
        self.value, self._param = known[name]
        self.unit = "" if self._param is None else self._param.unit

    def at(self, value: float) -> tuple[Scenario, Discipline]:
        """The same scenario and discipline with another value.

        Raises:
            SluiceError: If that value is out of range.
        """
        if self._param is not None:
            return self._scenario, self._discipline.replace({f"params.{self.name}": value})
        where = "service" if self.name == "mu" else "arrivals"
        return self._scenario.replace({f"{where}.{self.name}": value}), self._discipline

    def step(self, grid: float) -> float:
        """A step, upwards or downwards, of which four lead to plans that a derivative is made of.

        The function's mean around a level is smooth in a threshold until the threshold comes to the
        next level. So a threshold goes towards the level that is further away, half of the way
        at most: the gentle function's bend, at twice max_th, then passes one level at most.
        """
        if self._param is None:
            change = self.value if self.name == "a" else -self.value
            return change * _TRAFFIC_SHARE / STEPS
        if self._param.unit == "packets":
            beyond = self.value / grid % 1.0
            room = -beyond if beyond > 0.5 else 1.0 - beyond
            return room * grid / 2 / STEPS
        down, up = self.value - self._param.least, self._param.greatest - self.value
        room = up if up >= down else -down
        return max(-1.0, min(room, 1.0)) * _RANGE_SHARE / STEPS


def _traffic(scenario: Scenario) -> dict[str, tuple[float, Param | None]]:
    known: dict[str, tuple[float, Param | None]] = {}
    arrivals, service = scenario.arrivals, scenario.service
    for name in ("rate", "a") if isinstance(arrivals, SelfSimilarArrivals) else ("rate",):
        known[name] = (getattr(arrivals, name), None)
    if isinstance(service, GeometricService):
        known["mu"] = (service.mu, None)
    return known


def _aqm(discipline: Discipline) -> dict[str, tuple[float, Param | None]]:
    aqm = discipline.configured
    if isinstance(aqm, PythonAqm):
        return {}
    values: dict[str, Any] = aqm.params
    return {
        param.name: (float(values[param.name]), param)
        for param in aqm.of.params
        if param.kind == "number" and param.unit != "s" and aqm.of.applies(param, values)
    }
