"""Two classes of packets, one of which counts more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Classes:
    """Two classes of the arrivals, drawn packet by packet.

    A header knows the second class by its ECN codepoint ECT(1).

    Attributes:
        share: Of the arrivals that are of the second class, above 0 and below 1.
        weight: What a loss of the second class counts; one of the first counts 1.
    """

    share: float
    weight: float

    def __post_init__(self) -> None:
        """Check it.

        Raises:
            SluiceError: If share or weight is out of range.
        """
        if not 0 < self.share < 1:
            raise SluiceError(f"classes: share = {self.share:g} must lie between 0 and 1")
        if not 0 < self.weight <= 1e6:
            raise SluiceError(f"classes: weight = {self.weight:g} must be above 0, at most 1e6")

    def events(self) -> dict[str, FloatArray]:
        """What a packet of the first and of the second class counts, by the event's name."""
        return {
            "first": np.array([1.0, 0.0]),
            "second": np.array([0.0, 1.0]),
            "worth": np.array([1.0, self.weight]),
        }
