"""The measures of a queue, in every world."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sluicegate.counts import QueueCounts, Times
from sluicegate.measures.definition import (
    PACKETS,
    SHARE,
    Definition,
    FloatArray,
    Rare,
    Unit,
    of_times,
    ratio,
)


def _queue_mean(c: QueueCounts) -> FloatArray:
    return ratio(c.queue @ np.arange(c.queue.shape[1]), c.duration)


def _queue_variance(c: QueueCounts) -> FloatArray:
    distances = np.arange(c.queue.shape[1]) - _queue_mean(c)[:, None]
    return ratio((c.queue * distances**2).sum(axis=1), c.duration)


def _queue_deviation(c: QueueCounts) -> FloatArray:
    distances = np.abs(np.arange(c.queue.shape[1]) - _queue_mean(c)[:, None])
    return ratio((c.queue * distances).sum(axis=1), c.duration)


# positions in the engine's counts of verdicts
_EARLY, _FORCED, _OVERFLOW, _MARK, _BOTH = 1, 2, 3, 4, 5
_LOSSES = (_EARLY, _FORCED, _OVERFLOW, _BOTH)


def _met(kinds: Sequence[int]) -> Callable[[QueueCounts], FloatArray]:
    """How many packets met one of these verdicts."""
    return lambda c: np.asarray(c.verdicts[:, [*kinds]].sum(axis=1))


def _of_verdicts(
    name: str, heading: str, formula: str, meaning: str, kinds: Sequence[int], *, unseen: bool
) -> Definition[QueueCounts]:
    """A share of the packets that arrived; `unseen` as in `Rare`."""
    met = _met(kinds)
    return Definition(
        name,
        heading,
        SHARE,
        formula,
        meaning,
        lambda c: ratio(met(c), c.arrivals),
        Rare(met, lambda c: c.arrivals, unseen=unseen),
    )


def _of_times(
    name: str, until: str, symbol: str, times: Callable[[QueueCounts], Times]
) -> list[Definition[QueueCounts]]:
    between = f"from a packet's arrival {until}, of the packets served"
    return of_times(name, between, symbol, times)


QUEUE: list[Definition[QueueCounts]] = [
    Definition(
        "queue_mean",
        "mean queue",
        PACKETS,
        r"\bar k = \sum_k k \, T_k / T",
        "mean number of packets that wait, without the one in service",
        _queue_mean,
    ),
    Definition(
        "queue_variance",
        "queue variance",
        Unit("packets^2"),
        r"\sum_k (k - \bar k)^2 \, T_k / T",
        "its variance over time",
        _queue_variance,
    ),
    Definition(
        "queue_deviation",
        "deviation",
        PACKETS,
        r"\sum_k \lvert k - \bar k \rvert \, T_k / T",
        "its mean absolute deviation from the mean",
        _queue_deviation,
    ),
    *_of_times("sojourn", "until its service starts", "s", lambda c: c.sojourn),
    *_of_times("delay", "until its service ends", "d", lambda c: c.delay),
    _of_verdicts(
        "loss_ratio",
        "lost",
        "(E + F + O) / A",
        "share of the arriving packets for which one was dropped, for whatever reason",
        _LOSSES,
        unseen=True,
    ),
    _of_verdicts(
        "early_loss_ratio",
        "lost early",
        "E / A",
        "of these, by chance, before it had to be",
        (_EARLY,),
        unseen=False,
    ),
    _of_verdicts(
        "forced_loss_ratio",
        "lost by force",
        "F / A",
        "because the AQM's drop function left no chance, or as one of a pair, as CHOKe drops them",
        (_FORCED, _BOTH),
        unseen=False,
    ),
    _of_verdicts(
        "overflow_loss_ratio",
        "lost by overflow",
        "O / A",
        "because the buffer was full",
        (_OVERFLOW,),
        unseen=True,
    ),
    _of_verdicts(
        "mark_ratio",
        "marked",
        "M / A",
        "share of the arriving packets that were marked instead of dropped",
        (_MARK,),
        unseen=False,
    ),
    Definition(
        "utilization",
        "link busy",
        SHARE,
        r"1 - T_\mathrm{idle} / T",
        "share of time in which a packet is in service",
        lambda c: 1 - ratio(c.idle, c.duration),
        Rare(lambda c: c.idle, lambda c: c.duration, complement=True),
    ),
    Definition(
        "throughput",
        "throughput",
        Unit("packets/{time}", power=-1),
        "S / T",
        "packets served",
        lambda c: ratio(c.served, c.duration),
    ),
    Definition(
        "throughput_bps",
        "throughput",
        Unit("bits/s", power=-1, seconds_only=True),
        "8 B / T",
        "their bits; only where a slot has a duration",
        lambda c: ratio(8 * c.served_bytes, c.duration),
    ),
]
