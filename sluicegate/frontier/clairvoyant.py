"""The clairvoyant bound of a recording: the most packets in time, with all arrivals known ahead.

Served first come, first served, a set of packets is in time or not. The best set is found exactly
by going through the arrivals: for each number of packets dropped so far, the earliest slot at which
the server can be free. A later one is never of use, so this is all that must be known (dynamic
programming, as for the number of late jobs on one machine with due dates in the order of release:
Kise, Ibaraki & Mine 1978, Operations Research 26).

No AQM reaches the bound: none knows what will come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure
from sluicegate.frontier.places import late_share
from sluicegate.scenario import (
    DeterministicService,
    PacketSizeService,
    ReplayArrivals,
    Scenario,
)
from sluicegate.worlds.slotted import simulate

if TYPE_CHECKING:
    from sluicegate.worlds import Watch

IntArray = NDArray[np.int64]

_NEVER = np.iinfo(np.int64).max // 2


@dataclass(frozen=True)
class Recorded:
    """An AQM on a recording.

    Attributes:
        name: Of its discipline.
        in_time: Share of the packets whose service starts within the deadline.
        loss: Share that is lost.
        regret: How much more the clairvoyant delivers in time; an upper limit of the true regret.
    """

    name: str
    in_time: Measure
    loss: Measure
    regret: Measure


@dataclass(frozen=True)
class Clairvoyant:
    """A recording, and how many of its packets could have been in time.

    Attributes:
        scenario: That replays it.
        deadline: Slots within which a packet's service must start.
        packets: Number of packets.
        in_time: The greatest share of packets in time.
        places: The scenario's AQMs.
    """

    scenario: Scenario
    deadline: int
    packets: int
    in_time: float
    places: list[Recorded]

    def summary(self) -> dict[str, Any]:
        """All of it, as types that JSON has."""
        return {
            "title": self.scenario.title,
            "deadline_slots": self.deadline,
            "packets": self.packets,
            "in_time": self.in_time,
            "disciplines": [
                {
                    "discipline": each.name,
                    "in_time": asdict(each.in_time),
                    "loss": asdict(each.loss),
                    "regret": asdict(each.regret),
                }
                for each in self.places
            ],
        }

    def frame(self) -> pl.DataFrame:
        """A row per AQM, and one of the bound, named `clairvoyant`."""
        rows = [("clairvoyant", self.in_time, 1 - self.in_time, 0.0)]
        rows += [(e.name, e.in_time.value, e.loss.value, e.regret.value) for e in self.places]
        return pl.DataFrame(rows, schema=["name", "in_time", "loss", "regret"], orient="row")


def clairvoyant(
    scenario: Scenario, deadline: int | None, *, watch: Watch | None = None, fresh: bool = False
) -> Clairvoyant:
    """The most packets of a recording that any policy could deliver in time, and its AQMs.

    Args:
        scenario: It replays a recording, and its service times are known ahead: `deterministic` or
            `packet-size`.
        deadline: Slots within which a packet's service must start.
        watch: As for `frontier`.
        fresh: Whether to simulate AQMs again that the store has.

    Raises:
        SluiceError: If the scenario is another one, or if there is no deadline.
    """
    if deadline is None:
        raise SluiceError(
            "a recording needs a deadline: the slots within which a packet's service must start"
        )
    if not 0 <= deadline <= 1e12:
        raise SluiceError(f"deadline = {deadline} must lie between 0 and 1e12 slots")
    arrivals, services = _recording(scenario)
    dropped = least_dropped(arrivals, services, deadline)
    best = 1 - dropped / len(arrivals)
    slot_s = 1.0 if scenario.slot_s is None else scenario.slot_s
    places = []
    for discipline in scenario.disciplines:

        def follow(done: int, total: int, name: str = discipline.name) -> None:
            if watch is not None:
                watch(name, done, total, "")

        record = simulate(scenario, discipline, watch=follow, fresh=fresh)
        if record.interrupted:
            raise KeyboardInterrupt
        loss = record["loss_ratio"].value
        in_time = (1 - late_share(record, deadline, slot_s)) * (1 - loss)
        measures = (Measure(value, None, "") for value in (in_time, loss, best - in_time))
        places.append(Recorded(discipline.name, *measures))
    return Clairvoyant(scenario, deadline, len(arrivals), best, places)


def _recording(scenario: Scenario) -> tuple[IntArray, IntArray]:
    """The slots of arrivals, and the service time of each packet, shape (n,) each."""
    if not isinstance(scenario.arrivals, ReplayArrivals):
        raise SluiceError("arrivals: kind must be replay: a clairvoyant knows a recording")
    slots = np.asarray(scenario.capture_slots, dtype=np.int64)
    service = scenario.service
    if isinstance(service, DeterministicService):
        return slots, np.full(len(slots), service.slots)
    if not isinstance(service, PacketSizeService):
        raise SluiceError(
            f"service: kind = {service.kind} must be packet-size or deterministic: a clairvoyant "
            "knows how long each packet takes"
        )
    assert scenario.slot_s is not None
    per_slot = service.rate_bps * scenario.slot_s / 8
    sizes = scenario.arrivals.packets.bytes.astype(float)
    return slots, np.maximum(np.ceil(sizes / per_slot), 1).astype(np.int64)


def least_dropped(arrivals: Sequence[int] | IntArray, services: IntArray, deadline: int) -> int:
    """The fewest packets that must be dropped so that all others are in time.

    Args:
        arrivals: Slots of arrivals, not falling, shape (n,).
        services: Slots that each service takes, shape (n,).
        deadline: Most slots from an arrival to the start of the service.
    """
    # entry k: the earliest slot at which the server is free after `fewest + k` drops
    free, fewest = np.zeros(1, dtype=np.int64), 0
    for slot, service in zip(np.asarray(arrivals).tolist(), services.tolist(), strict=True):
        begin = np.maximum(free, slot)
        served = np.where(begin - slot <= deadline, begin + service, _NEVER)
        after = np.append(served, _NEVER)
        np.minimum(after[1:], free, out=after[1:])
        # a server that is free by now gains nothing by another drop
        idle = int(np.argmax(after <= slot)) if (after <= slot).any() else len(after) - 1
        after = after[: idle + 1]
        first = int(np.argmax(after < _NEVER))
        free, fewest = after[first:], fewest + first
    return fewest
