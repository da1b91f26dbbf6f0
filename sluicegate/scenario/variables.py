"""Variables that are no field of a scenario: the fields that they set follow from their value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sluicegate._engine import quantity
from sluicegate.errors import SluiceError
from sluicegate.scenario.network import Dumbbell

# tables and axes have milliseconds: from this number of seconds on, a unit was forgotten
_SURE = 1.0


@dataclass(frozen=True)
class Derived:
    """A variable that sets other fields.

    Attributes:
        heading: In pictures and tables.
        unit: Of its values.
        shown: The unit in pictures and tables, and the factor to it.
        sets: Paths of the fields that it sets.
        fields: Their values, from the scenario with all else that varies and the variable's value.
    """

    heading: str
    unit: str
    shown: tuple[str, float]
    sets: tuple[str, ...]
    fields: Callable[[Any, float], Mapping[str, object]]

    def read(self, value: object, where: str) -> float:
        """A value, as a number or as a text with its unit.

        Raises:
            SluiceError: If it is neither, or a number without a unit that is more likely of
                another one; `where` names the variable in the message.
        """
        found = quantity(value, self.unit) if isinstance(value, str) else value
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise SluiceError(
                f"{where} = {value!r} must be a number ({self.unit}), or have its unit behind it"
            )
        if not isinstance(value, str) and found >= _SURE:
            raise SluiceError(
                f"{where} = {found:g} must have its unit behind it, as in {found:g}ms or {found:g}s"
            )
        return float(found)


def _client_delays(scenario: Any, rtt_s: float) -> Mapping[str, object]:
    """The delays of a dumb-bell's clients at which each of its flows has this base RTT."""
    topology = getattr(scenario, "topology", None)
    if not isinstance(topology, Dumbbell):
        raise SluiceError("rtt is for networks with the topology dumbbell: it sets client_delays_s")
    rest_s = topology.delay_s + topology.server_delay_s
    # a nanosecond is the engine's unit: what is below it is a rounding error
    own_s = round(rtt_s / 2 - rest_s, 9)
    if not own_s >= 0:
        raise SluiceError(
            f"rtt = {1e3 * rtt_s:g} ms must be at least {2e3 * rest_s:g} ms, twice "
            "topology.delay_s + topology.server_delay_s, which it leaves as they are"
        )
    return {"topology.client_delays_s": [own_s] * len(topology.client_delays_s)}


DERIVED = {
    "rtt": Derived("base RTT", "s", ("ms", 1e3), ("topology.client_delays_s",), _client_delays)
}
