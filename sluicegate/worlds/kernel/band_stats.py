"""What Linux's qdiscs tell of the bands of a discipline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.worlds.kernel.shaper import HANDLE

# in which order cake tells its tins, of three or four (sch_cake.c: bulk_order)
_BULK_FIRST = (1, 0, 2, 3)
_MOST_BULK_FIRST = len(_BULK_FIRST)


@dataclass(frozen=True)
class BandStats:
    """What is told of a band at each look, shape (L,); None where it is not.

    Attributes:
        dropped: Packets that it dropped, from its start on.
        waiting: Packets that wait in it.
    """

    dropped: NDArray[np.int64] | None = None
    waiting: NDArray[np.int64] | None = None


def band_stats(
    samples: Sequence[Sequence[Mapping[str, Any]]],
    discipline: Mapping[str, Any],
    bands: int,
    looks: int,
) -> list[BandStats]:
    """What is told of each band; nothing of those of a qdisc that does not tell them apart.

    Args:
        samples: All qdiscs of the link at each look.
        discipline: That of the discipline at one of them.
        bands: How many there are.
        looks: How many looks count.

    Raises:
        SluiceError: If cake tells of other tins than there should be.
    """
    if "tins" in discipline:
        order = _BULK_FIRST if bands <= _MOST_BULK_FIRST else range(bands)
        tins = [_tins(sample) for sample in samples[:looks]]
        if wrong := {len(each) for each in tins} - {bands}:
            raise SluiceError(f"tc told of {wrong.pop()} tins of cake, where there must be {bands}")
        return [
            BandStats(_dropped([each[order[place]] for each in tins])) for place in range(bands)
        ]
    parents = [f"{HANDLE}{band + 1:x}" for band in range(bands)]
    children = [
        {each.get("parent"): each for each in sample if each.get("parent") in parents}
        for sample in samples[:looks]
    ]
    if not children or any(len(each) != bands for each in children):
        return []
    return [
        BandStats(
            _dropped([each[parent] for each in children]),
            np.array([each[parent]["qlen"] for each in children], dtype=np.int64),
        )
        for parent in parents
    ]


def _tins(sample: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The tins of a look at all qdiscs; none if cake was not told of."""
    return next((each["tins"] for each in sample if "tins" in each), [])


def _dropped(looks: Sequence[Mapping[str, Any]]) -> NDArray[np.int64]:
    """The packets that were dropped by each look; cake counts ACKs that it filtered apart."""
    return np.array([each["drops"] + each.get("ack_drops", 0) for each in looks], dtype=np.int64)
