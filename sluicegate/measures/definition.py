"""What a measure is: name, unit, formula, meaning, and how it follows from counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sluicegate.counts import EndCounts, FlowCounts, QueueCounts, Times

FloatArray = NDArray[np.float64]
C = TypeVar("C", QueueCounts, FlowCounts, EndCounts)


# units that tables and plots show as others: factor, and unit
_SHOWN = {"s": (1e3, "ms"), "s^2": (1e6, "ms^2"), "bits/s": (1e-6, "Mbit/s")}


def shown_unit(unit: str) -> tuple[float, str]:
    """Factor from a record's unit to the one in which it is shown, and that unit."""
    return _SHOWN.get(unit, (1.0, unit))


@dataclass(frozen=True)
class Unit:
    """The unit of a measure.

    Attributes:
        text: As in records; `{time}` stands for slots or s.
        power: Exponent of time in the unit.
        percent: Whether tables and plots show it as per cent.
        seconds_only: Whether it exists only if slots have a duration.
    """

    text: str
    power: int = 0
    percent: bool = False
    seconds_only: bool = False

    def of(self, time_unit: str) -> str:
        """The unit where times are in `time_unit` (slots or s)."""
        single = "slot" if time_unit == "slots" else time_unit
        return self.text.format(time=single if self.power < 0 else time_unit)

    @property
    def in_all_worlds(self) -> str:
        """The unit in slots and in s, where they differ."""
        slots, seconds = self.of("slots"), self.of("s")
        return seconds if slots == seconds or self.seconds_only else f"{slots} or {seconds}"

    def shown(self, time_unit: str) -> tuple[float, str]:
        """Factor to the unit in which tables and plots show it, and that unit."""
        if self.percent:
            return 100.0, "%"
        if self == SECONDS:
            return 1.0, "s"
        return shown_unit(self.of(time_unit))


PACKETS = Unit("packets")
SHARE = Unit("", percent=True)
INDEX = Unit("")
TIME = Unit("{time}", power=1)
SECONDS = Unit("s")
PACKETS_PER_SECOND = Unit("packets/s")


@dataclass(frozen=True)
class Rare:
    """The events that a share counts, for its bounds if they hardly ever happen.

    Attributes:
        events: How often they happened, in each set of counts, shape (n,).
        trials: How often they could have, shape (n,).
        complement: Whether the measure is 1 minus the share.
        unseen: Whether there is also a bound where none was seen: not where they may be impossible,
            as early losses of drop-tail are.
    """

    events: Callable[[QueueCounts], FloatArray]
    trials: Callable[[QueueCounts], FloatArray]
    complement: bool = False
    unseen: bool = True


@dataclass(frozen=True)
class Quantile:
    """Which quantile a measure is, for its interval.

    Attributes:
        times: Of what.
        level: The share of these times that do not exceed it.
    """

    times: Callable[[Any], Times]
    level: float


@dataclass(frozen=True)
class Definition(Generic[C]):
    """A measure.

    Attributes:
        name: In records and files.
        heading: In tables and beside axes.
        unit: See `Unit`.
        formula: In TeX; see `symbols`.
        meaning: In words.
        of: Its value for each set of counts, times in ticks, shape (n,); NaN where it has none.
        rare: For shares: what is counted.
        quantile: For quantiles: of what.
    """

    name: str
    heading: str
    unit: Unit
    formula: str
    meaning: str
    of: Callable[[C], FloatArray]
    rare: Rare | None = None
    quantile: Quantile | None = None


def ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """One column over the other; NaN where there is nothing to divide by."""
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def bin_quantile(bins: NDArray[Any], width: int, level: float) -> float:
    """The least whole number that a share `level` of all do not exceed; NaN if there are none.

    Args:
        bins: How many numbers are in each bin of `width`. A bin wider than 1 is taken as filled
            evenly.
        width: As said.
        level: As said.
    """
    return _quantile(np.cumsum(bins), width, level)


def _quantile(cumulated: NDArray[Any], width: int, level: float) -> float:
    wanted = level * cumulated[-1] if len(cumulated) else 0.0
    if not wanted:
        return float("nan")
    bin_ = int(np.searchsorted(cumulated, wanted))
    below = cumulated[bin_ - 1] if bin_ else 0
    inside = (wanted - below) / (cumulated[bin_] - below)
    return float(bin_ * width + math.ceil(inside * width) - 1)


QUANTILES = (0.5, 0.9, 0.99, 0.999)


def quantiles(times: Times, level: float) -> FloatArray:
    """A quantile of each set, in ticks."""
    return np.array([_quantile(each, times.bin, level) for each in times.cumulated])


def of_times(name: str, what: str, symbol: str, times: Callable[[C], Times]) -> list[Definition[C]]:
    """Mean, variance and quantiles of one kind of times of packets.

    Args:
        name: Of the measures, before `_mean` and so on.
        what: Between which events, for the meaning.
        symbol: Of one time, in TeX.
        times: Which times.
    """
    words = name.replace("one_way", "one-way").replace("_", " ")

    def quantile(level: float) -> Definition[C]:
        per_cent = f"{100 * level:g}"
        return Definition(
            f"{name}_p{per_cent}",
            f"p{per_cent} {words}",
            TIME,
            rf"\inf \{{t : F_{symbol}(t) \ge {level}\}}",
            f"the {words} that {per_cent} % of the packets do not exceed",
            lambda c: quantiles(times(c), level),
            quantile=Quantile(times, level),
        )

    found: list[Definition[C]] = [
        Definition(
            f"{name}_mean",
            f"mean {words}",
            TIME,
            rf"\frac{{1}}{{S}} \sum {symbol}",
            f"mean time {what}",
            lambda c: times(c).mean(),
        ),
        Definition(
            f"{name}_variance",
            f"{words} variance",
            Unit("{time}^2", power=2),
            rf"\frac{{1}}{{S}} \sum {symbol}^2 - \bar {symbol}^2",
            "its variance",
            lambda c: times(c).variance(),
        ),
    ]
    found += map(quantile, QUANTILES)
    return found
