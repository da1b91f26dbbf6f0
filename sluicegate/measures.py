"""Every measure: its name, unit, formula and meaning, the same in all worlds.

Records, tables, the axes of plots and the page docs/reference/measures.md follow from these
definitions. A world takes those groups for which it has the counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sluicegate.counts import FlowCounts, KindCounts, QueueCounts, Times, WireCounts
from sluicegate.errors import SluiceError

FloatArray = NDArray[np.float64]
C = TypeVar("C", QueueCounts, FlowCounts)


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

    def shown(self, time_unit: str) -> tuple[float, str]:
        """Factor to the unit in which tables and plots show it, and that unit."""
        if self.percent:
            return 100.0, "%"
        if self.power > 0 and time_unit == "s":
            return 1000.0**self.power, self.of("ms")
        return 1.0, self.of(time_unit)


_NS_PER_S = 1e9
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

    times: Callable[[QueueCounts], Times]
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


def _queue_mean(c: QueueCounts) -> FloatArray:
    return ratio(c.queue @ np.arange(c.queue.shape[1]), c.duration)


def _queue_variance(c: QueueCounts) -> FloatArray:
    distances = np.arange(c.queue.shape[1]) - _queue_mean(c)[:, None]
    return ratio((c.queue * distances**2).sum(axis=1), c.duration)


def _queue_deviation(c: QueueCounts) -> FloatArray:
    distances = np.abs(np.arange(c.queue.shape[1]) - _queue_mean(c)[:, None])
    return ratio((c.queue * distances).sum(axis=1), c.duration)


def _time_mean(times: Times) -> FloatArray:
    sums = zip(times.count, times.sum, strict=True)
    return np.array([total / n if n else np.nan for n, total in sums], dtype=np.float64)


def _time_variance(times: Times) -> FloatArray:
    sums = zip(times.count, times.sum, times.square_sum, strict=True)
    # whole numbers are exact up to the division: no digits cancel
    return np.array(
        [(n * squares - total**2) / n**2 if n else np.nan for n, total, squares in sums],
        dtype=np.float64,
    )


def bin_quantile(bins: NDArray[Any], width: int, level: float) -> float:
    """The least whole number that a share `level` of all do not exceed; NaN if there are none.

    Args:
        bins: How many numbers are in each bin of `width`. A bin wider than 1 is taken as filled
            evenly.
        width: As said.
        level: As said.
    """
    cumulated = np.cumsum(bins)
    wanted = level * cumulated[-1] if len(bins) else 0.0
    if not wanted:
        return float("nan")
    bin_ = int(np.searchsorted(cumulated, wanted))
    below = cumulated[bin_ - 1] if bin_ else 0
    inside = (wanted - below) / (cumulated[bin_] - below)
    return float(bin_ * width + math.ceil(inside * width) - 1)


QUANTILES = (0.5, 0.9, 0.99, 0.999)


def _of_times(
    name: str, what: str, symbol: str, times: Callable[[QueueCounts], Times]
) -> list[Definition[QueueCounts]]:
    """Mean, variance and quantiles of one kind of times."""

    def quantile(level: float) -> Definition[QueueCounts]:
        per_cent = f"{100 * level:g}"

        def of(c: QueueCounts) -> FloatArray:
            found = times(c)
            return np.array([bin_quantile(bins, found.bin, level) for bins in found.bins])

        return Definition(
            f"{name}_p{per_cent}",
            f"p{per_cent} {name}",
            TIME,
            rf"\inf \{{t : F_{symbol}(t) \ge {level}\}}",
            f"the {name} that {per_cent} % of the packets do not exceed",
            of,
            quantile=Quantile(times, level),
        )

    return [
        Definition(
            f"{name}_mean",
            f"mean {name}",
            TIME,
            rf"\frac{{1}}{{S}} \sum {symbol}",
            f"mean time from a packet's arrival {what}, of the packets served",
            lambda c: _time_mean(times(c)),
        ),
        Definition(
            f"{name}_variance",
            f"{name} variance",
            Unit("{time}^2", power=2),
            rf"\frac{{1}}{{S}} \sum {symbol}^2 - \bar {symbol}^2",
            "its variance",
            lambda c: _time_variance(times(c)),
        ),
        *map(quantile, QUANTILES),
    ]


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


def fairness(rates: NDArray[Any]) -> float:
    """Jain's index of the rates of flows (Jain, Chiu & Hawe 1984): 1 if all are equal.

    Args:
        rates: One for each flow, shape (N,), in any unit.

    Returns:
        From 1/N to 1; NaN where there is no flow, or all rates are 0.
    """
    total, squares = float(rates.sum()), float((rates.astype(np.float64) ** 2).sum())
    return total * total / (len(rates) * squares) if squares else float("nan")


def fair_shares(total: float, demands: FloatArray) -> FloatArray:
    """The max-min fair shares of a total (Bertsekas & Gallager 1992, section 6.5.2).

    Nobody gets more than asked for, and all who get less than that get the same.

    Args:
        total: What there is, in any unit.
        demands: What each asks for, shape (N,), in the same unit; infinite where there is no limit.

    Returns:
        The shares, shape (N,).
    """
    least_first = np.sort(demands)
    before = np.concatenate([[0.0], np.cumsum(least_first)[:-1]])
    levels = (total - before) / np.arange(len(demands), 0, -1)
    # from the first on who does not get what is asked for, all get the same
    limited = np.flatnonzero(least_first >= levels)
    level = levels[limited[0]] if len(limited) else np.inf
    return np.minimum(demands, level)


def demand_fairness(rates: FloatArray, demands: FloatArray) -> float:
    """Jain's index of what flows got over their max-min fair shares of all that they got.

    Args:
        rates: What each flow got, shape (N,), in any unit.
        demands: What each asked for, in the same unit; those that asked for nothing do not count.
    """
    shares = fair_shares(float(rates.sum()), demands)
    asked = shares > 0
    rates, shares = rates[asked], shares[asked]
    # where all may have the same share the index is that of the rates, to the last bit
    return fairness(rates if np.ptp(shares) == 0 else rates / shares) if len(rates) else np.nan


def _of_kind(
    name: str, heading: str, what: str, kind: Callable[[FlowCounts], KindCounts | None]
) -> list[Definition[FlowCounts]]:
    """Loss and quantiles of the delay of one kind of packets at the main queue."""

    def loss(c: FlowCounts) -> FloatArray:
        found = kind(c)
        assert found is not None
        return ratio(found.lost, found.arrivals)

    def quantile(level: float) -> Definition[FlowCounts]:
        def of(c: FlowCounts) -> FloatArray:
            found = kind(c)
            assert found is not None
            bins, width = found.delay.bins, found.delay.bin
            return np.array([bin_quantile(row, width, level) / _NS_PER_S for row in bins])

        per_cent = f"{100 * level:g}"
        return Definition(
            f"{name}_delay_p{per_cent}",
            f"{heading} p{per_cent} delay",
            TIME,
            rf"\inf \{{t : F_{{d,{symbol}}}(t) \ge {level}\}}",
            f"the delay in the queue, transmission included, that {per_cent} % of {what} do not "
            "exceed",
            of,
        )

    symbol = r"\mathrm{" + name + "}"
    lost = Definition(
        f"{name}_loss_ratio",
        f"{heading} lost",
        SHARE,
        rf"L_{symbol} / A_{symbol}",
        f"share of {what} that were lost there",
        loss,
    )
    return [lost, *map(quantile, (0.5, 0.95, 0.99))]


def _of_wires(
    name: str, heading: str, formula: str, meaning: str, count: Callable[[WireCounts], FloatArray]
) -> Definition[FlowCounts]:
    """A share of the packets that came to wires."""

    def of(c: FlowCounts) -> FloatArray:
        assert c.wires is not None
        return ratio(count(c.wires), c.wires.entered)

    return Definition(name, heading, SHARE, formula, meaning, of)


# of links whose wires lose, delay or reorder packets; a record has them of each wire, too
WIRES: list[Definition[FlowCounts]] = [
    _of_wires(
        "wire_loss_ratio",
        "lost on wires",
        r"L_\mathrm{wire} / A_\mathrm{wire}",
        "share of the packets that came to wires that were lost there; no queue or AQM lost them, "
        "and no other measure of losses counts them",
        lambda wires: wires.lost,
    ),
    _of_wires(
        "wire_reordered_ratio",
        "reordered",
        r"R_\mathrm{wire} / A_\mathrm{wire}",
        "share of these that came out after a packet that had entered later (RFC 4737)",
        lambda wires: wires.reordered,
    ),
]


def _of_each(rows: Sequence[FloatArray], of: Callable[[FloatArray], Any]) -> FloatArray:
    """A figure of each row; NaN of empty ones."""
    return np.array([of(row) if len(row) else np.nan for row in rows], dtype=np.float64)


FLOWS: list[Definition[FlowCounts]] = [
    Definition(
        "goodput",
        "goodput",
        PACKETS_PER_SECOND,
        r"N_\mathrm{acked} / T",
        "data packets of TCP flows acknowledged in sequence, each once",
        lambda c: c.acknowledged / c.duration_s,
    ),
    Definition(
        "datagram_goodput",
        "datagrams",
        PACKETS_PER_SECOND,
        r"N_\mathrm{datagrams} / T",
        "datagrams that arrived",
        lambda c: c.datagrams_received / c.duration_s,
    ),
    Definition(
        "retransmission_rate",
        "retransmissions",
        PACKETS_PER_SECOND,
        r"N_\mathrm{again} / T",
        "data packets sent again",
        lambda c: c.retransmissions / c.duration_s,
    ),
    Definition(
        "timeout_rate",
        "time-outs",
        Unit("1/s"),
        r"N_\mathrm{time-outs} / T",
        "retransmission timers that ran out",
        lambda c: c.timeouts / c.duration_s,
    ),
    Definition(
        "completion_mean",
        "completion",
        SECONDS,
        r"\bar c",
        "mean time from a TCP flow's start until its application had ended and all that it sent "
        "was acknowledged, of the flows that came to that; only where one did",
        lambda c: _of_each(c.completions_s, np.mean),
    ),
    Definition(
        "completion_p99",
        "p99 completion",
        SECONDS,
        r"\inf \{t : F_c(t) \ge 0.99\}",
        "the time that 99 % of these do not exceed",
        lambda c: _of_each(
            c.completions_s, lambda row: np.quantile(row, 0.99, method="inverted_cdf")
        ),
    ),
    Definition(
        "fairness",
        "max-min fairness",
        INDEX,
        r"\frac{(\sum_i x_i / m_i)^2}{n \sum_i (x_i / m_i)^2}",
        "Jain's index of the bits that the flows without an end of their own got in the whole "
        "run, each over its max-min fair share: 1 if those that sent little got that, and all "
        "others the same",
        lambda c: np.array(list(map(demand_fairness, c.rates, c.demands))),
    ),
    *_of_kind("tcp", "TCP", "the data packets of TCP flows", lambda c: c.tcp),
    *_of_kind("datagram", "datagrams", "the datagrams", lambda c: c.datagrams),
    *WIRES,
]

# what the letters of the formulas mean: a sentence for each of them
_SYMBOLS = {
    "T": "*T* is the time observed, $T_k$ of it with *k* packets waiting, $T_\\mathrm{idle}$ with "
    "an idle link",
    "A": "*A* packets arrived; *E*, *F* and *O* of them met an early, a forced and an overflow "
    "loss, and *M* were marked",
    "S": "*S* packets were served, with *B* bytes; *s* is the sojourn time and *d* the delay of "
    "one, $F_s$ and $F_d$ are their distribution functions",
    "N_": "*N* counts what its index says; *c* is the completion time of a flow, $F_c$ its "
    "distribution function",
    "x_i": "$x_i$ are the bits/s of flow *i* of *n*, $m_i$ its max-min fair share of the bits of "
    "all: no more than it sent, and the same for all that sent more; TCP flows take what they get",
    "L_": "*A*, *L* and $F_d$ with the index of a kind of packets are of this kind alone: how many "
    "came to the queue, how many were lost there, and the distribution function of their delay",
    "wire": "$A_\\mathrm{wire}$, $L_\\mathrm{wire}$ and $R_\\mathrm{wire}$ are the packets that "
    "came to wires, that were lost there, and that were overtaken there",
}


def symbols(definitions: Sequence[Definition[Any]]) -> list[str]:
    """What the letters in the formulas of these measures mean, in sentences without full stops."""
    formulas = " ".join(definition.formula for definition in definitions)
    return [meaning for letter, meaning in _SYMBOLS.items() if letter in formulas]


_ALL: list[Definition[Any]] = [*QUEUE, *FLOWS]
DEFINITIONS = {each.name: each for each in _ALL}


def check_name(name: str, where: str) -> None:
    """Refuse a name that no measure has.

    Args:
        name: As it was given.
        where: What it was given to, for the message.

    Raises:
        SluiceError: If it is none.
    """
    if name not in DEFINITIONS:
        parts = [each for each in DEFINITIONS if name and name in each.split("_")]
        near = get_close_matches(name, DEFINITIONS, 1) or parts[:1]
        meant = f"did you mean {near[0]}? " if near else ""
        given, there = name or repr(name), ", ".join(DEFINITIONS)
        raise SluiceError(f"{where}: {given} is no measure; {meant}there are {there}")


def check_names(names: Iterable[str], where: str) -> list[str]:
    """The names, each once.

    Raises:
        SluiceError: As `check_name`.
    """
    found = list(dict.fromkeys(names))
    for name in found:
        check_name(name, where)
    return found


# what a record has distributions of: name, and label of their axis
DISTRIBUTIONS = {"queue": "waiting packets", "sojourn": "sojourn", "delay": "delay"}
