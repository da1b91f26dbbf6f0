"""A policy as its reader sees it: what it does at each length of the queue, or each age."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.frontier.process import Outcome, Process

FloatArray = NDArray[np.float64]
Sees = Literal["packets", "after_loss", "kind", "age"]

# by what a policy sees besides the queue: its two rows
ROWS = {
    "after_loss": ("after a packet that was admitted", "after one that was lost"),
    "kind": ("of the first class", "of the second class"),
}


@dataclass(frozen=True)
class Policy:
    """A policy that drops arrivals and sees the queue, or one that drops at the head.

    Attributes:
        drops: Probability of a drop by the packets in the system that an arrival finds (waiting,
            and in service), shape (limit + 1,): above that the buffer is full. If it also sees
            whether the last arrival was lost, or the packet's class: shape (2, limit + 1). Of a
            policy at the head: by the slots that the packet waited, shape (oldest + 1,).
        sees: `packets`, or what it sees besides, or `age` at the head.
    """

    drops: FloatArray
    sees: Sees = "packets"

    @property
    def threshold(self) -> tuple[int, float] | None:
        """Where it has the form "admit below, draw at, drop above" in one row.

        Returns:
            The packets in the system, or the age, at which it draws, and the probability of a drop
            there; None if it has not this form.
        """
        return _threshold(self.drops) if self.drops.ndim == 1 else None

    def __str__(self) -> str:
        """In words."""
        if self.sees == "age":
            return _at_head(self.drops)
        if self.drops.ndim == 1:
            return _on_arrival(self.drops)
        both = zip(ROWS[self.sees], self.drops, strict=True)
        return "; ".join(f"{when}: {_on_arrival(row)}" for when, row in both)


def _threshold(drops: FloatArray) -> tuple[int, float] | None:
    place = int(np.argmax(np.append(drops, 1.0) > 0))
    if place == len(drops):
        return place, 1.0
    return (place, float(drops[place])) if (drops[place + 1 :] == 1).all() else None


def _on_arrival(drops: FloatArray) -> str:
    found = _threshold(drops)
    if found is None:
        draws = int(((drops > 0) & (drops < 1)).sum())
        chance = f"with chance at {draws} of them" if draws else "without chance"
        return f"a table by the packets in the system, {chance}"
    place, probability = found
    if place == len(drops):
        return "admits while there is room"
    if probability == 1 and place == 1:
        return "admits only while the system is empty"
    if probability == 1:
        return f"admits while fewer than {place} packets are in the system"
    return (
        f"admits while fewer than {place} packets are in the system; at {place} drops with "
        f"probability {probability:.9g}; drops above"
    )


def _at_head(drops: FloatArray) -> str:
    found = _threshold(drops)
    if found is None:
        return "a table by the slots that the packet at the head has waited"
    place, probability = found
    if probability == 1:
        return f"serves what has waited for at most {place - 1} slots, drops the rest"
    return (
        f"serves what has waited for at most {place - 1} slots; at {place} drops with probability "
        f"{probability:.9g}; drops the rest"
    )


def policy_of(process: Process, outcome: Outcome) -> Policy:
    """The policy of an outcome.

    Raises:
        SluiceError: If it sees more than an AQM does.
    """
    nodes = process.choices
    drops = outcome.shares[process.first[nodes] + 1]
    if "age" in process.seen:
        return Policy(np.concatenate(([0.0], _row(process.seen["age"][nodes] - 1, drops))), "age")
    if "modulator" in process.seen and process.seen["modulator"].max() > 0:
        raise SluiceError(
            f"this policy sees more than an AQM does ({process.told}): it cannot be a header"
        )
    packets = process.seen["packets"][nodes]
    either: tuple[Literal["after_loss"], Literal["kind"]] = ("after_loss", "kind")
    for sees in either:
        if sees in process.seen and process.seen[sees].max() > 0:
            row = process.seen[sees][nodes]
            # of an arrival that is always admitted there is no choice
            drops_by_row = np.zeros((2, packets.max() + 1))
            drops_by_row[row, packets] = drops
            return Policy(drops_by_row, sees)
    return Policy(_row(packets, drops))


def _row(places: NDArray[np.int64], drops: FloatArray) -> FloatArray:
    found = np.empty(len(places))
    found[places] = drops
    return found
