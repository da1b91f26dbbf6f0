"""A policy as its reader sees it: what it does at each length of the queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.frontier.process import Outcome, Process

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Policy:
    """A policy that drops arrivals and sees the queue.

    Attributes:
        drops: Probability that an arrival is dropped, by the packets in the system that it finds
            (waiting, and in service), shape (limit + 1,): above that the buffer is full.
    """

    drops: FloatArray

    @property
    def threshold(self) -> tuple[int, float] | None:
        """Where it has the form "admit below, draw at, drop above".

        Returns:
            The packets in the system at which it draws, and the probability of a drop there; None
            if it has not this form.
        """
        place = int(np.argmax(np.append(self.drops, 1.0) > 0))
        if place == len(self.drops):
            return place, 1.0
        above = self.drops[place + 1 :]
        return (place, float(self.drops[place])) if (above == 1).all() else None

    def __str__(self) -> str:
        """In words."""
        found = self.threshold
        if found is None:
            draws = int(((self.drops > 0) & (self.drops < 1)).sum())
            return f"a table by the packets in the system, with chance at {draws} of them"
        place, probability = found
        if place == len(self.drops):
            return "admits while there is room"
        if probability == 1 and place == 1:
            return "admits only while the system is empty"
        if probability == 1:
            return f"admits while fewer than {place} packets are in the system"
        return (
            f"admits while fewer than {place} packets are in the system; at {place} drops with "
            f"probability {probability:.9g}; drops above"
        )


def policy_of(process: Process, outcome: Outcome) -> Policy:
    """The policy of an outcome.

    Raises:
        SluiceError: If it sees more than the queue.
    """
    packets = process.seen["packets"][process.choices]
    if len(np.unique(packets)) < len(packets):
        raise SluiceError(
            f"this policy sees more than an AQM does ({process.told}): it cannot be a header"
        )
    drops = np.empty(len(packets))
    drops[packets] = outcome.shares[process.first[process.choices] + 1]
    return Policy(drops)
