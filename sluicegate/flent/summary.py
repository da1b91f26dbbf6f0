"""Measurements beside each other in a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sluicegate.flent.measurement import Measurement
from sluicegate.report.numbers import number_text

_HEADER = ["throughput\n(Mb/s)", "mean ping\n(ms)", "p50 ping\n(ms)", "p99 ping\n(ms)"]


def summary_rows(
    measurements: Sequence[Measurement], direction: str, warm_up_s: float
) -> tuple[list[str], list[list[str]]]:
    """Header and a row for each: means and quantiles while flows were sent.

    Args:
        measurements: What to sum up.
        direction: Of which TCP flows, one of `DIRECTIONS`.
        warm_up_s: Left out at the start of the flows.

    Raises:
        SluiceError: If one has no TCP flows in that direction.
    """
    rows = [_row(each, direction, warm_up_s) for each in measurements]
    return ["measurement", *_HEADER], rows


def _row(measurement: Measurement, direction: str, warm_up_s: float) -> list[str]:
    megabits = measurement.throughput_mbps(direction)
    counts = np.zeros(len(megabits), dtype=bool)
    sent = np.flatnonzero(megabits > 0)
    if len(sent):
        times_s = measurement.times_s
        since_s, until_s = times_s[sent[0]] + warm_up_s, times_s[sent[-1]]
        counts = (times_s >= since_s) & (times_s <= until_s)
    sent_megabits, ping_ms = megabits[counts], measurement.ping_ms()[counts]
    known = [each[~np.isnan(each)] for each in (sent_megabits, ping_ms)]
    mean = [float(known[0].mean()) if len(known[0]) else None]
    times = (
        [float(known[1].mean()), *np.quantile(known[1], [0.5, 0.99]).tolist()]
        if len(known[1])
        else [None] * 3
    )
    return [measurement.title, *map(number_text, [*mean, *times])]
