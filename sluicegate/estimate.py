"""From exact counts to measures with confidence intervals.

A run's counts come in units: stretches of replications after their warm-up. Every measure is a
function of sums over the units, so leaving out one unit at a time (the jackknife) gives the
interval of each in the same way, ratios and variances included (Efron 1982).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

CONFIDENCE = 0.95
QUANTILES = (0.5, 0.9, 0.99, 0.999)

# positions in the engine's counts of verdicts
_EARLY, _FORCED, _OVERFLOW, _MARK, _BOTH = 1, 2, 3, 4, 5
# shares of the packets that arrived, and which verdicts each counts
VERDICT_RATIOS = {
    "loss_ratio": (_EARLY, _FORCED, _OVERFLOW, _BOTH),
    "early_loss_ratio": (_EARLY,),
    "forced_loss_ratio": (_FORCED, _BOTH),
    "overflow_loss_ratio": (_OVERFLOW,),
    "mark_ratio": (_MARK,),
}


@dataclass(frozen=True)
class Measure:
    """A value and the half width of its 95 % confidence interval (None: too little data)."""

    value: float
    half_width: float | None
    unit: str

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half_width is None else self.value - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half_width is None else self.value + self.half_width

    def times(self, factor: float) -> Measure:
        """The same in another unit, left open: value and half width multiplied by `factor`."""
        half_width = None if self.half_width is None else self.half_width * factor
        return Measure(self.value * factor, half_width, unit="")


@dataclass(frozen=True)
class Counts:
    """Counts of `n` sets of units; sets that leave one unit out are rows like any other.

    Attributes:
        slots: Slots observed, shape (n,), as all that follow but the histograms.
        busy: Slots at whose end a packet was in service.
        arrivals: Packets that arrived.
        served: Packets whose service ended.
        served_bytes: Their bytes.
        wait_sum: Sum of their times in the system, slots.
        wait_square_sum: Sum of the squares.
        verdicts: By kind, shape (n, 6).
        queue: Slots at whose end k packets waited, shape (n, K).
        wait: Packets by time in the system, shape (n, W), in bins of `wait_bin_slots`.
        wait_bin_slots: Width of those bins, slots.
    """

    slots: FloatArray
    busy: FloatArray
    arrivals: FloatArray
    served: FloatArray
    served_bytes: FloatArray
    wait_sum: FloatArray
    wait_square_sum: FloatArray
    verdicts: FloatArray
    queue: FloatArray
    wait: FloatArray
    wait_bin_slots: int

    @classmethod
    def of(cls, units: Sequence[dict[str, Any]]) -> Counts:
        """One row per unit, histograms padded to one length and one width of bins."""
        width = max(unit["wait_bin_slots"] for unit in units)
        waits = [coarsen(unit["wait"], width // unit["wait_bin_slots"]) for unit in units]

        def column(name: str) -> FloatArray:
            return np.array([float(unit[name]) for unit in units])

        return cls(
            slots=column("slots"),
            busy=column("slots") - column("idle_slots"),
            arrivals=column("arrivals"),
            served=column("served"),
            served_bytes=column("served_bytes"),
            wait_sum=column("wait_sum"),
            wait_square_sum=column("wait_square_sum"),
            verdicts=np.array([unit["verdicts"] for unit in units], dtype=np.float64),
            queue=_pad([unit["queue"] for unit in units]),
            wait=_pad(waits),
            wait_bin_slots=width,
        )

    def _map(self, change: Callable[[FloatArray], FloatArray]) -> Counts:
        columns: dict[str, Any] = {
            name: change(value) for name, value in vars(self).items() if name != "wait_bin_slots"
        }
        return replace(self, **columns)

    def total(self) -> Counts:
        """All rows together, as one row."""
        return self._map(lambda rows: rows.sum(axis=0, keepdims=True))

    def leave_one_out(self) -> Counts:
        """Row k: all rows but k."""
        return self._map(lambda rows: rows.sum(axis=0, keepdims=True) - rows)


def coarsen(bins: NDArray[Any], factor: int) -> NDArray[Any]:
    """The same counts or shares in bins `factor` times as wide."""
    padded = np.pad(bins, (0, -len(bins) % factor))
    return np.asarray(padded.reshape(-1, factor).sum(axis=1))


def _pad(rows: Sequence[NDArray[np.uint64]]) -> FloatArray:
    longest = max(1, *(len(row) for row in rows))
    return np.array([np.pad(row, (0, longest - len(row))) for row in rows], dtype=np.float64)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def _queue_mean(c: Counts) -> FloatArray:
    return _ratio(c.queue @ np.arange(c.queue.shape[1]), c.slots)


def _queue_variance(c: Counts) -> FloatArray:
    lengths = np.arange(c.queue.shape[1])
    return _ratio(c.queue @ lengths.astype(np.float64) ** 2, c.slots) - _queue_mean(c) ** 2


def _queue_deviation(c: Counts) -> FloatArray:
    distances = np.abs(np.arange(c.queue.shape[1]) - _queue_mean(c)[:, None])
    return _ratio((c.queue * distances).sum(axis=1), c.slots)


def _wait_mean(c: Counts) -> FloatArray:
    return _ratio(c.wait_sum, c.served)


def _wait_variance(c: Counts) -> FloatArray:
    return _ratio(c.wait_square_sum, c.served) - _wait_mean(c) ** 2


def _wait_quantile(level: float) -> Callable[[Counts], FloatArray]:
    def quantile(c: Counts) -> FloatArray:
        return np.array([bin_quantile(bins, c.wait_bin_slots, level) for bins in c.wait])

    return quantile


def bin_quantile(bins: NDArray[Any], width: int, level: float) -> float:
    """A quantile of whole numbers that were counted in bins of `width`; NaN if there are none."""
    cumulated = np.cumsum(bins)
    wanted = level * cumulated[-1] if len(bins) else 0.0
    if not wanted:
        return float("nan")
    bin_ = int(np.searchsorted(cumulated, wanted))
    below = cumulated[bin_ - 1] if bin_ else 0
    inside = (wanted - below) / (cumulated[bin_] - below)
    # a bin of width 1 holds one value; a wider one is filled evenly
    return float((bin_ + inside) * width - 0.5)


def _verdict_ratio(kinds: Sequence[int]) -> Callable[[Counts], FloatArray]:
    return lambda c: _ratio(c.verdicts[:, [*kinds]].sum(axis=1), c.arrivals)


# name: (function of the counts, unit, power of slots in it)
_SLOTS, _SLOTS2 = 1, 2
MEASURES: dict[str, tuple[Callable[[Counts], FloatArray], str, int]] = {
    "queue_mean": (_queue_mean, "packets", 0),
    "queue_variance": (_queue_variance, "packets^2", 0),
    "queue_deviation": (_queue_deviation, "packets", 0),
    "wait_mean": (_wait_mean, "", _SLOTS),
    "wait_variance": (_wait_variance, "", _SLOTS2),
    **{f"wait_p{100 * level:g}": (_wait_quantile(level), "", _SLOTS) for level in QUANTILES},
    **{name: (_verdict_ratio(kinds), "", 0) for name, kinds in VERDICT_RATIOS.items()},
    "utilization": (lambda c: _ratio(c.busy, c.slots), "", 0),
    "throughput": (lambda c: _ratio(c.served, c.slots), "packets per", -1),
    "throughput_bps": (lambda c: _ratio(8 * c.served_bytes, c.slots), "bits/s", -1),
}


def measures(units: Sequence[dict[str, Any]], slot_s: float | None) -> dict[str, Measure]:
    """Every measure of a run, with its interval.

    Args:
        units: The engine's counts, at least one.
        slot_s: Duration of a slot; None leaves times in slots.

    Returns:
        By name, in the order of `MEASURES`; bits/s only where slots have a duration.
    """
    counts = Counts.of(units)
    total, rest = counts.total(), counts.leave_one_out()
    time_unit, length = ("slots", 1.0) if slot_s is None else ("s", slot_s)
    result = {}
    for name, (function, unit, power) in MEASURES.items():
        if name == "throughput_bps" and slot_s is None:
            continue
        scale = length**power
        value = float(function(total)[0])
        half_width = _half_width(value, function(rest))
        result[name] = Measure(
            value=value * scale,
            half_width=None if half_width is None else half_width * scale,
            unit=_unit(unit, power, time_unit),
        )
    return result


def _unit(unit: str, power: int, time_unit: str) -> str:
    if unit == "packets per":
        return f"packets/{time_unit.rstrip('s') or 's'}"
    if unit or not power:
        return unit
    return time_unit if power == 1 else f"{time_unit}^{power}"


def student(values: Sequence[float] | FloatArray, unit: str = "") -> Measure:
    """The mean of independent values with Student's interval.

    Args:
        values: One per replication, shape (n,).
        unit: Of the values.
    """
    rows = np.asarray(values, dtype=np.float64)
    half_width = None
    if len(rows) > 1 and np.isfinite(rows).all():
        half_width = (
            _student_quantile(len(rows)) * float(rows.std(ddof=1)) / float(np.sqrt(len(rows)))
        )
    return Measure(float(rows.mean()), half_width, unit)


def _half_width(value: float, left_out: FloatArray) -> float | None:
    """Half width of the jackknife interval, from the values without each of the units."""
    count = len(left_out)
    if count < 2 or not np.isfinite(left_out).all():
        return None
    pseudo = count * value - (count - 1) * left_out
    error = float(pseudo.std(ddof=1)) / np.sqrt(count)
    return float(_student_quantile(count) * error)


def _student_quantile(count: int) -> float:
    from scipy.special import stdtrit  # takes half a second to import

    return float(stdtrit(count - 1, (1 + CONFIDENCE) / 2))


def unit_correlation(units: Sequence[dict[str, Any]]) -> float | None:
    """Correlation of the mean queues of neighbouring units of one replication.

    Batch means need it near 0; clearly above, units are too short and intervals too narrow.

    Returns:
        The correlation, or None where fewer than 8 pairs of neighbours exist.
    """
    means = _queue_mean(Counts.of(units))
    number = np.array([unit["replication"] for unit in units])
    neighbours = number[1:] == number[:-1]
    if neighbours.sum() < 8 or means.std() == 0:
        return None
    centred = means - means.mean()
    return float((centred[1:] * centred[:-1])[neighbours].mean() / centred.var())
