"""The model that the papers share: one slotted server behind RED or DSRED, room for 250 packets.

Domanska, Domanski & Czachorski 2008, section IV, and Domanska et al. 2014 (REDwM), section 5.
"""

from __future__ import annotations

from collections.abc import Mapping

from sluicegate.registry import Value
from sluicegate.scenario import (
    Arrivals,
    Discipline,
    GeometricArrivals,
    GeometricService,
    Queue,
    Scenario,
    Victim,
)

RATE = 0.5
GEOMETRIC = GeometricArrivals(rate=RATE)
REPLICATIONS = 8
# where a scenario's slots have no duration, an AQM's clock counts each as a millisecond
_SLOT_S = 0.001
_RED: Mapping[str, Value] = {
    "min_th": 100,
    "max_th": 200,
    "max_p": 0.1,
    "spacing": "independent",
    "idle_decay": False,
    "sampling": "clock",
    "sampling_interval": _SLOT_S,
}


def red(average: Mapping[str, float | str], victim: Victim = "tail") -> Discipline:
    """RED of the papers, updated in every slot, with the parameters of its average."""
    return Discipline(aqm="red", params={**_RED, **average}, victim=victim)


def dsred(w: float, gamma: float, victim: Victim = "tail") -> Discipline:
    """DSRED of the papers: thresholds 100, 150 and 200 packets."""
    params = {name: value for name, value in _RED.items() if name != "max_p"}
    return Discipline(aqm="dsred", params={**params, "w": w, "gamma": gamma}, victim=victim)


def scenario(
    arrivals: Arrivals,
    mu: float,
    discipline: Discipline,
    slots: int,
    *,
    replications: int = REPLICATIONS,
    seed: int = 1,
) -> Scenario:
    """One discipline in the papers' queue.

    Args:
        arrivals: With 0.5 packets per slot.
        mu: Probability that a service ends in a slot.
        discipline: From `red` or `dsred`.
        slots: Length of one replication.
        replications: Independent repetitions.
        seed: Of every random stream.
    """
    return Scenario(
        arrivals=arrivals,
        service=GeometricService(mu=mu),
        queue=Queue(limit=250),
        disciplines=[discipline],
        slots=slots,
        replications=replications,
        seed=seed,
    )
