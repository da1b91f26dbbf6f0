"""The measures of each band of a queue: lanes of DualPI2, tins of CAKE, classes of service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from sluicegate.counts import QueueCounts, shares
from sluicegate.estimate import Measure, means
from sluicegate.measures import AT_QUEUE, BETWEEN, FloatArray
from sluicegate.worlds.network.classes import known, met_frame, of_times
from sluicegate.worlds.network.record import BANDS_SAMPLED, OF_BANDS

if TYPE_CHECKING:
    from sluicegate._engine import Period, PortSeries

_NS_PER_S = 1e9
Counted: TypeAlias = "Mapping[str, QueueCounts]"


def counted(own: Sequence[str], periods: Sequence[Sequence[Period]], port: int) -> Counted:
    """The counts of each band; none where packets are not counted by band.

    Args:
        own: The names of the bands.
        periods: Of each replication those that count.
        port: Whose queue.
    """
    if not all(period.bands for each in periods for period in each):
        return {}
    found = [[period.bands[port] for period in each] for each in periods]
    if not own or not all(len(bands) == len(own) for each in found for bands in each):
        return {}
    return {
        name: QueueCounts.of([[bands[place] for bands in each] for each in found])
        for place, name in enumerate(own)
    }


def rows(bands: Counted) -> dict[str, FloatArray]:
    """The measures of each replication, by their names with that of the band."""
    return {
        f"{name}{BETWEEN}{measure.name}": values
        for name, counts in bands.items()
        for measure, values in known(counts, AT_QUEUE)
    }


def measures(bands: Counted) -> dict[str, Measure]:
    """Their means, with intervals."""
    return {
        f"{name}{BETWEEN}{measure}": value
        for name, counts in bands.items()
        for measure, value in means(counts, known(counts, AT_QUEUE)).items()
    }


def distributions(bands: Counted) -> pl.DataFrame:
    """See `PortRecord.band_distributions`."""
    frames = [
        met_frame(name, distribution, share, width)
        for name, counts in bands.items()
        for total in [counts.total()]
        for distribution, share, width in (
            ("queue", shares(total.queue[0]), 1.0),
            ("sojourn", *of_times(total.sojourn)),
            ("delay", *of_times(total.delay)),
        )
    ]
    if not frames:
        return pl.DataFrame(schema=OF_BANDS)
    return pl.concat(frames).rename({"class": "band"})


def series(bands: Counted, runs: Sequence[PortSeries], sample_s: float) -> pl.DataFrame:
    """See `PortRecord.band_series`."""
    if not bands:
        return pl.DataFrame(schema=BANDS_SAMPLED)
    frames = [
        pl.DataFrame(
            {
                "band": pl.Series([name] * len(sent), dtype=pl.String),
                "replication": pl.Series([number] * len(sent), dtype=pl.UInt32),
                "time_s": np.arange(len(sent)) * sample_s,
                # null where it is not known
                "queue": pl.Series([None] * len(sent) if queue is None else queue, dtype=pl.UInt32),
                "sent": sent,
                "sojourn_s": sojourn_ns / _NS_PER_S,
            }
        )
        for number, run in enumerate(runs)
        for name, (queue, sent, sojourn_ns) in zip(bands, run.bands, strict=True)
    ]
    return pl.concat(frames)
