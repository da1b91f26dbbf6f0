"""Where losses lie: runs of losses, and the bursts and gaps that a call feels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

# received packets in a row that end a burst (RFC 3611, section 4.7.2: Gmin)
GMIN = 16


@dataclass(frozen=True)
class LossRuns:
    """Losses of one flow of numbered packets.

    Attributes:
        losses: Lengths of the runs of lost packets, in packets.
        gaps: Packets received in a row between two losses, in packets.
    """

    losses: NDArray[np.int64]
    gaps: NDArray[np.int64]

    @property
    def mean_run(self) -> float | None:
        """Mean length of a run of losses; None if nothing was lost."""
        return float(self.losses.mean()) if len(self.losses) else None

    @property
    def mean_gap(self) -> float | None:
        """Mean packets between two losses (RFC 7928, section 2.3); None for fewer than two."""
        return float(self.gaps.mean()) if len(self.gaps) else None


def loss_runs(lost: Iterable[bool]) -> LossRuns:
    """The runs of losses of a flow, and the packets between them.

    Args:
        lost: For each packet in the order of sending, whether it was lost.
    """
    marks = np.fromiter(lost, dtype=bool)
    places = np.flatnonzero(marks)
    if not len(places):
        none = np.empty(0, dtype=np.int64)
        return LossRuns(none, none)
    between = np.diff(places) - 1
    ends = np.flatnonzero(between > 0)
    edges = np.concatenate([[-1], ends, [len(places) - 1]])
    return LossRuns(np.diff(edges).astype(np.int64), between[ends].astype(np.int64))


@dataclass(frozen=True)
class BurstsAndGaps:
    """Bursts and gaps of one flow (RFC 3611, section 4.7.2).

    Attributes:
        burst_density: Share of the packets lost within bursts; None if there is no burst.
        gap_density: Share of the packets lost outside; None if all is one burst.
        burst_packets: Mean length of a burst, packets; None if there is none.
        gap_packets: Mean length of what is between; None if all is one burst.
    """

    burst_density: float | None
    gap_density: float | None
    burst_packets: float | None
    gap_packets: float | None


def bursts_and_gaps(lost: Iterable[bool], gmin: int = GMIN) -> BurstsAndGaps:
    """Divide a flow into bursts and gaps (RFC 3611, section 4.7.2).

    A burst starts and ends with a loss, has at least two, and fewer than `gmin` packets are
    received in a row within it. All else is gap, single losses among them.

    Args:
        lost: As for `loss_runs`.
        gmin: As said.
    """
    marks = np.fromiter(lost, dtype=bool)
    bursts = _bursts(np.flatnonzero(marks), gmin)
    inside = np.zeros(len(marks), dtype=bool)
    for first, last in bursts:
        inside[first : last + 1] = True
    edges = pairwise([-1, *(end for burst in bursts for end in burst), len(marks)])
    between = [stop - start - 1 for start, stop in list(edges)[::2]]
    gaps = [length for length in between if length > 0]

    def density(where: NDArray[np.bool_]) -> float | None:
        return float(marks[where].mean()) if where.any() else None

    return BurstsAndGaps(
        density(inside),
        density(~inside),
        float(np.mean([last - first + 1 for first, last in bursts])) if bursts else None,
        float(np.mean(gaps)) if gaps else None,
    )


def _bursts(places: NDArray[np.intp], gmin: int) -> list[tuple[int, int]]:
    """First and last packet of each burst."""
    ends = np.flatnonzero(np.diff(places) - 1 >= gmin)
    parts = np.split(places, ends + 1)
    return [(int(part[0]), int(part[-1])) for part in parts if len(part) > 1]
