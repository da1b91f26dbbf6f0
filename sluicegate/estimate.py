"""From exact counts to measures with 95 % confidence intervals.

From units of a run: every measure is a function of sums over the units. Leaving out one unit at a
time (the jackknife) therefore gives the interval of each in the same way, ratios and variances
included (Efron 1982). From replications: each gives a value; their mean has Student's interval.

A quantile of whole ticks has an interval from those of the shares up to each tick. A share of what
hardly ever happens gets a one-sided bound instead; see `rare_bound`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape

import numpy as np
from numpy.typing import NDArray

from sluicegate.counts import QueueCounts
from sluicegate.measures import QUEUE, C, Definition, Quantile, Rare, shown_unit

FloatArray = NDArray[np.float64]

CONFIDENCE = 0.95
# with fewer clumps of rare events, the interval of a share does not cover
_LEAST_CLUMPS = 10


@dataclass(frozen=True)
class Measure:
    """A value and what is known of its error.

    Attributes:
        value: What was measured.
        half_width: Of the 95 % confidence interval; None if there is too little data or a bound, or
            if nothing was seen that may be impossible.
        unit: Of both.
        bound: In place of an interval, a one-sided 95 % bound: an upper one of a share near 0, a
            lower one of a share near 1. Only where too few events were seen for an interval.
    """

    value: float
    half_width: float | None
    unit: str
    bound: float | None = None

    @property
    def low(self) -> float | None:
        """Lower end of the interval, or the lower bound; 0 with an upper bound."""
        if self.bound is not None:
            return self.bound if self.bound < self.value else 0.0
        return None if self.half_width is None else self.value - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval, or the upper bound; the whole with a lower bound."""
        if self.bound is not None:
            return self.bound if self.bound >= self.value else 1.0
        return None if self.half_width is None else self.value + self.half_width

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        """Times and bits/s as in tables, `8.1 ± 0.3 ms`; shares as numbers from 0 to 1."""
        from sluicegate.report.text import measure_text  # reports import this module

        factor, unit = shown_unit(self.unit)
        return f"{measure_text(self.times(factor))} {unit}".rstrip()

    def _repr_html_(self) -> str:
        return escape(str(self))

    def __format__(self, spec: str) -> str:
        """The value and its error, each in the format of a number: `f"{measure:.2f}"`.

        Without a format as `str` has it.
        """
        if not spec:
            return str(self)
        value = format(self.value, spec)
        if self.bound is not None:
            sign = ">" if self.bound < self.value else "<"
            return f"{value} ({sign} {format(self.bound, spec)})"
        return value if self.half_width is None else f"{value} ± {format(self.half_width, spec)}"

    def times(self, factor: float) -> Measure:
        """The same in another unit, not yet named: all figures multiplied by `factor`."""
        half_width = None if self.half_width is None else self.half_width * factor
        bound = None if self.bound is None else self.bound * factor
        return Measure(self.value * factor, half_width, "", bound)


def jackknifed(counts: QueueCounts, slot_s: float | None) -> dict[str, Measure]:
    """Every measure of a queue, with its interval from the units of a run.

    Args:
        counts: A set for each unit, at least one; ticks are slots.
        slot_s: Duration of a slot; None leaves times in slots.

    Returns:
        By name, in the order of the definitions; bits/s only where slots have a duration.
    """
    total, rest = counts.total(), counts.leave_one_out()
    time_unit, length = ("slots", 1.0) if slot_s is None else ("s", slot_s)
    found = {}
    for definition in QUEUE:
        if definition.unit.seconds_only and slot_s is None:
            continue
        scale = length**definition.unit.power
        value = float(definition.of(total)[0])
        if definition.quantile is not None:
            half_width = _quantile_half_width(total, rest, definition.quantile, value)
            measure = Measure(value, half_width, "")
        else:
            error = _jackknife_error(value, definition.of(rest))
            measure = _measure(value, error, len(counts.duration), definition, counts)
        found[definition.name] = Measure(
            value=measure.value * scale,
            half_width=None if measure.half_width is None else measure.half_width * scale,
            unit=definition.unit.of(time_unit),
            bound=measure.bound,
        )
    return found


def valued(
    counts: C, definitions: Sequence[Definition[C]], ticks_per_s: float
) -> list[tuple[Definition[C], FloatArray]]:
    """Measures with their values in each set of counts, shape (n,) each; times in seconds.

    Args:
        counts: A set for each replication.
        definitions: Which measures.
        ticks_per_s: Ticks of the counts in a second.
    """
    return [(each, each.of(counts) / ticks_per_s**each.unit.power) for each in definitions]


def of_each(
    counts: C, definitions: Sequence[Definition[C]], ticks_per_s: float
) -> dict[str, FloatArray]:
    """The same by the names of the measures."""
    return {each.name: values for each, values in valued(counts, definitions, ticks_per_s)}


def over_replications(
    counts: C, definitions: Sequence[Definition[C]], ticks_per_s: float
) -> dict[str, Measure]:
    """Measures as the means over replications, with Student's intervals.

    Args:
        counts: As for `of_each`.
        definitions: Likewise.
        ticks_per_s: Likewise.
    """
    return means(counts, valued(counts, definitions, ticks_per_s))


def means(counts: C, values_of: Sequence[tuple[Definition[C], FloatArray]]) -> dict[str, Measure]:
    """The same of measures whose values are known, as `valued` gives them."""
    found = {}
    for definition, values in values_of:
        mean, error = float(values.mean()), _error(values)
        measure = _measure(mean, error, len(values), definition, counts)
        unit = definition.unit.of("s")
        found[definition.name] = Measure(mean, measure.half_width, unit, measure.bound)
    return found


def _measure(
    value: float, error: float | None, count: int, definition: Definition[C], counts: C
) -> Measure:
    """A value with the bound or the interval that its standard error over `count` rows leaves."""
    rare = definition.rare
    if rare is not None and isinstance(counts, QueueCounts) and error is not None:
        if not rare.unseen and not rare.events(counts).any():
            return Measure(value, None, "")
        bound = rare_bound(counts, rare, value, error)
        if bound is not None:
            return Measure(value, None, "", bound)
    half_width = None if error is None else student_quantile(count) * error
    return Measure(value, half_width, "")


def paired(values: FloatArray, others: FloatArray, unit: str = "") -> Measure | None:
    """The mean of the differences of pairs with Student's interval.

    What both have in common, such as the arrivals of a replication, drops out.

    Args:
        values: One per replication, shape (n,).
        others: Of the same replications; they are subtracted.
        unit: Of both.

    Returns:
        None unless both have the same number of values, at least two, and all are known.
    """
    if len(values) != len(others) or len(values) < 2:
        return None
    differences = values - others
    return student(differences, unit) if np.isfinite(differences).all() else None


def student(values: Sequence[float] | FloatArray, unit: str = "") -> Measure:
    """The mean of independent values with Student's interval.

    Args:
        values: One per replication, shape (n,).
        unit: Of the values.
    """
    rows = np.asarray(values, dtype=np.float64)
    error = _error(rows)
    half_width = None if error is None else student_quantile(len(rows)) * error
    return Measure(float(rows.mean()), half_width, unit)


def _error(rows: FloatArray) -> float | None:
    """Standard error of the mean of independent values; None if it is not known."""
    if len(rows) < 2 or not np.isfinite(rows).all():
        return None
    return float(rows.std(ddof=1)) / float(np.sqrt(len(rows)))


def _jackknife_error(value: float, left_out: FloatArray) -> float | None:
    """Standard error of a value, from the values without each of the units."""
    count = len(left_out)
    # a single unit cannot be left out
    return _error(count * value - (count - 1) * left_out) if count > 1 else None


def _quantile_half_width(
    total: QueueCounts, rest: QueueCounts, quantile: Quantile, value: float
) -> float | None:
    """Half the width of the interval of a quantile, in ticks (Woodruff 1952).

    A time may be the quantile if the level lies neither above the interval of the share of packets
    up to it, nor below that of the share up to the tick before.

    Args:
        total: All units.
        rest: Place k: all units but k.
        quantile: Which one.
        value: The quantile of all units.

    Returns:
        The distance to the further end; 0 where the interval is one tick. None if the units are
        too few, or too few packets took longer.
    """
    times, others = quantile.times(total), quantile.times(rest)
    units, packets = len(others.count), float(times.bins.sum())
    if units < 2 or not others.count.all():
        return None
    longer = packets - np.cumsum(times.bins[0])
    left_out = np.cumsum(others.bins, axis=1) / others.bins.sum(axis=1, keepdims=True)
    error = (units - 1) * left_out.std(axis=0, ddof=1) / np.sqrt(units)
    margin = student_quantile(units) * error
    least, most = longer / packets - margin, _most(longer, packets, error, margin)
    if most[-1] > 1 - quantile.level:
        return None
    low = int(np.argmax(least <= 1 - quantile.level))
    high = int(np.flatnonzero(np.append(True, most > 1 - quantile.level))[-1])
    return max(value - low * times.bin, (high + 1) * times.bin - 1 - value)


def _most(longer: FloatArray, packets: float, error: FloatArray, margin: FloatArray) -> FloatArray:
    """Upper ends of the intervals of the shares of packets that took longer.

    They are as in `rare_bound` where these came in a few clumps only. Clumps are taken to be as
    large as at the longest time that was exceeded often enough.
    """
    from scipy.special import gammaincinv

    clumps = np.where(longer > 0, _clumps(longer / packets, error), 0.0)
    enough = np.flatnonzero(clumps >= _LEAST_CLUMPS)
    place = enough[-1] if len(enough) else np.argmax(clumps)
    usual = max(longer[place] / clumps[place], 1.0) if clumps[place] else 1.0
    few = clumps < _LEAST_CLUMPS
    size = np.maximum(np.divide(longer, clumps, out=np.zeros_like(clumps), where=clumps > 0), usual)
    rare = size * gammaincinv(longer / size + 1, (1 + CONFIDENCE) / 2)
    return np.where(few, rare / packets, longer / packets + margin)


@cache
def student_quantile(count: int) -> float:
    """Half the width of a 95 % interval of the mean of `count` values, in standard errors."""
    from scipy.special import stdtrit  # takes half a second to import

    return float(stdtrit(count - 1, (1 + CONFIDENCE) / 2))


def rare_bound(counts: QueueCounts, rare: Rare, value: float, error: float) -> float | None:
    """A one-sided 95 % bound of a share whose events were too few for an interval.

    In n independent trials without an event the share is below 3/n (the rule of three, Hanley &
    Lippman-Hand 1983); with m events it is below g(m)/n, where g(m) is the mean of the Poisson
    distribution of which m or fewer are seen with probability 5 % (Garwood 1936). But idle times
    and losses come in clumps, and only the clumps are independent (Aldous 1989). Clumps of c
    events on average make the bound c g(m/c)/n. The size of clumps is taken from the counts
    themselves. Where nothing was seen, it is taken from the queue lengths next to the rare event:
    the shortest ones for an idle link, the longest ones for losses.

    Args:
        counts: A set for each unit or replication.
        rare: What is counted.
        value: The measure.
        error: Its standard error.

    Returns:
        The bound of the measure; None where it has an interval instead.
    """
    from scipy.special import gammaincinv

    events = float(rare.events(counts).sum())
    trials = float(rare.trials(counts).sum())
    if not trials:
        return None
    share = np.array([1 - value if rare.complement else value])
    clumps = float(_clumps(share, np.array([error]))[0]) if events else 0.0
    if clumps >= _LEAST_CLUMPS:
        return None
    size = max(_clump_size(counts, rare), events / clumps if events else 0.0)
    bound = size * float(gammaincinv(events / size + 1, CONFIDENCE)) / trials
    return max(1 - bound, 0.0) if rare.complement else min(bound, 1.0)


def _clump_size(counts: QueueCounts, rare: Rare) -> float:
    """Events of a clump, if there were any: as long as the queue stays at its extreme lengths.

    Uses the most extreme length that was seen often enough, or else the one with the most data. Of
    a queue whose lengths are not known, a clump is one event.
    """
    # an idle link stays idle until the next packet arrives; a loss is at least one packet
    per_packet = float(counts.duration.sum() / max(counts.arrivals.sum(), 1.0))
    met = counts.queue[:, counts.queue.any(axis=0)]
    if not met.size:
        return per_packet if rare.complement else 1.0
    if not rare.complement:
        met = met[:, ::-1]
    shares = met / counts.duration[:, None]
    clumps = _clumps(shares.mean(axis=0), shares.std(axis=0, ddof=1) / np.sqrt(len(shares)))
    enough = np.flatnonzero(clumps >= _LEAST_CLUMPS)
    length = int(enough[0] if len(enough) else np.argmax(clumps))
    ticks = float(met[:, length].sum() / clumps[length])
    return max(ticks, per_packet) if rare.complement else max(ticks / per_packet, 1.0)


def _clumps(share: FloatArray, error: FloatArray) -> FloatArray:
    """How many independent events would leave shares with these standard errors."""
    return np.divide(share, error, out=np.full_like(share, np.inf), where=error > 0) ** 2


def unit_correlation(counts: QueueCounts, replications: Sequence[int]) -> float | None:
    """Correlation of the mean queues of neighbouring units of one replication.

    Batch means need it near 0; if it is clearly above, units are too short, intervals too narrow.

    Args:
        counts: A set for each unit.
        replications: The replication of each unit.

    Returns:
        The correlation, or None where fewer than 8 pairs of neighbours exist.
    """
    means = QUEUE[0].of(counts)
    number = np.array(replications)
    neighbours = number[1:] == number[:-1]
    if neighbours.sum() < 8 or means.std() == 0:
        return None
    centred = means - means.mean()
    return float((centred[1:] * centred[:-1])[neighbours].mean() / centred.var())
