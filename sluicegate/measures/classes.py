"""The measures of a class: of the packets of a group of flows, at a queue and at their receivers.

A measure of a class is called CLASS.MEASURE, as in `calls.delay_p99`. At a queue a class has the
measures of a queue; at the ends of its flows it has those of `ENDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sluicegate._engine import SIZES
from sluicegate.counts import EndCounts, QueueCounts, SizeCounts, Times
from sluicegate.measures.definition import (
    INDEX,
    PACKETS,
    PACKETS_PER_SECOND,
    SECONDS,
    SHARE,
    TIME,
    Definition,
    FloatArray,
    Unit,
    bin_quantile,
    of_times,
    quantiles,
    ratio,
)
from sluicegate.measures.outcome import OUTCOMES
from sluicegate.measures.queue import QUEUE
from sluicegate.measures.voice import BPL_CONCEALED, mean_opinion_score

_NS_PER_S = 1e9
# between the name of a class and that of a measure; the former has none
BETWEEN = "."
_LEVELS = (0.5, 0.9, 0.99)
# a call: G.711 in packets of 20 ms, which a buffer holds until 99 % are there
_PACKET_S, _LATE = 0.02, 0.01


def _per_cent(level: float) -> str:
    return f"{100 * level:g}"


def _queue_quantile(level: float) -> Definition[QueueCounts]:
    per_cent = _per_cent(level)
    return Definition(
        f"queue_p{per_cent}",
        f"p{per_cent} queue",
        PACKETS,
        rf"\inf \{{k : \sum_{{j \le k}} T_j / T \ge {level}\}}",
        f"the number of waiting packets that is not exceeded in {per_cent} % of the time",
        lambda c: np.array([bin_quantile(row, 1, level) for row in c.queue]),
    )


# the link is busy with all classes together
AT_QUEUE: list[Definition[QueueCounts]] = [
    *(each for each in QUEUE if each.name != "utilization"),
    *map(_queue_quantile, _LEVELS),
]


def _variation(level: float) -> Definition[EndCounts]:
    per_cent = _per_cent(level)
    return Definition(
        f"delay_variation_p{per_cent}",
        f"p{per_cent} delay variation",
        TIME,
        rf"\inf \{{t : F_w(t) \ge {level}\}} - \min w",
        f"the one-way delay that {per_cent} % of the packets do not exceed, over the least one in "
        "the whole run (PDV, RFC 5481, section 4.2)",
        lambda c: quantiles(c.one_way_delay, level) - c.least_one_way_delay,
    )


def _sizes() -> list[tuple[str, str, Callable[[EndCounts], SizeCounts]]]:
    """Suffix of the name, words and counts: of all sizes, and of each range of them."""

    def counts(place: int) -> Callable[[EndCounts], SizeCounts]:
        return lambda c: c.by_size[place]

    texts = [f"{most // 10**6} MB" if most >= 10**6 else f"{most // 1000} kB" for most in SIZES]
    ends = [*(f"to_{text}" for text in texts), f"beyond_{texts[-1]}"]
    starts = ["", *(f"more than {text} and " for text in texts)]
    words = [*(f"{start}up to {text}" for start, text in zip(starts, texts, strict=False))]
    words.append(f"more than {texts[-1]}")
    ranges = [
        (f"_{end.replace(' ', '')}", f" of {word}", counts(place))
        for place, (end, word) in enumerate(zip(ends, words, strict=True))
    ]
    return [("", "", lambda c: c.all), *ranges]


def _completions() -> list[Definition[EndCounts]]:
    """Completion time and slowdown: mean and quantiles, of all and by size."""
    found = []
    for suffix, words, counts in _sizes():
        levels = _LEVELS if not suffix else _LEVELS[-1:]
        for name, unit, symbol, scale, meaning, times in (
            (
                "completion",
                SECONDS,
                "c",
                _NS_PER_S,
                f"time from the start of a flow{words} until all that it sent was acknowledged; of "
                "users of the web, likewise of each object",
                lambda c, counts=counts: counts(c).times,
            ),
            (
                "slowdown",
                INDEX,
                "z",
                1000.0,
                f"this time over that of the same path without other packets, for sizes{words}",
                lambda c, counts=counts: counts(c).slowdowns,
            ),
        ):
            found += _mean_and_quantiles(
                (name, suffix), (unit, scale), symbol, meaning, times, levels
            )
    return found


def _mean_and_quantiles(
    name: tuple[str, str],
    unit: tuple[Unit, float],
    symbol: str,
    meaning: str,
    times: Callable[[EndCounts], Times],
    levels: Sequence[float],
) -> list[Definition[EndCounts]]:
    first, suffix = name
    heading = f"{first}{suffix.replace('_', ' ')}"

    def quantile(level: float) -> Definition[EndCounts]:
        per_cent = _per_cent(level)
        return Definition(
            f"{first}_p{per_cent}{suffix}",
            f"p{per_cent} {heading}",
            unit[0],
            rf"\inf \{{t : F_{symbol}(t) \ge {level}\}}",
            f"the value that {per_cent} % of them do not exceed",
            lambda c: quantiles(times(c), level) / unit[1],
        )

    mean: Definition[EndCounts] = Definition(
        f"{first}_mean{suffix}",
        heading,
        unit[0],
        rf"\bar {symbol}",
        f"mean {meaning}",
        lambda c: times(c).mean() / unit[1],
    )
    return [mean, *map(quantile, levels)]


def _watched_min(c: EndCounts) -> FloatArray:
    return c.sum(lambda each: each.played + each.stalled) / (60 * _NS_PER_S)


def _of_video() -> list[Definition[EndCounts]]:
    per_minute = Unit("1/min")
    return [
        Definition(
            "stall_ratio",
            "stalled",
            SHARE,
            r"T_\mathrm{stalled} / (T_\mathrm{played} + T_\mathrm{stalled})",
            "share of the time since their first pictures in which videos and calls stood still "
            "for want of data; a call does so if no frame comes for three times the time between "
            "two frames, and at least for this time and 150 ms",
            lambda c: ratio(
                c.sum(lambda each: each.stalled), c.sum(lambda each: each.played + each.stalled)
            ),
        ),
        Definition(
            "stall_rate",
            "stalls",
            per_minute,
            r"N_\mathrm{stalls} / (T_\mathrm{played} + T_\mathrm{stalled})",
            "how often they came to stand still",
            lambda c: ratio(c.sum(lambda each: each.stalls), _watched_min(c)),
        ),
        Definition(
            "quality",
            "quality",
            Unit("bits/s"),
            r"\sum r / (N_\mathrm{segments} + N_\mathrm{frames})",
            "mean rate of the segments of videos, or frames of calls, that arrived",
            lambda c: ratio(
                c.sum(lambda each: each.rates_bps),
                c.sum(lambda each: each.segments) + np.asarray(c.frames.count, dtype=np.float64),
            ),
        ),
        Definition(
            "switch_rate",
            "switches",
            per_minute,
            r"N_\mathrm{switches} / (T_\mathrm{played} + T_\mathrm{stalled})",
            "how often a segment had another rate than the one before",
            lambda c: np.where(
                c.sum(lambda each: each.segments) > 0,
                ratio(c.sum(lambda each: each.switches), _watched_min(c)),
                np.nan,
            ),
        ),
    ]


def _one_way_delays() -> list[Definition[EndCounts]]:
    between = "from the sending of a data packet or datagram until it arrives at its receiver"
    return of_times("one_way_delay", between, "w", lambda c: c.one_way_delay)


def _round_trips() -> list[Definition[EndCounts]]:
    between = (
        "from the sending of a data packet of TCP until its ACK is at the sender; of each flow one "
        "packet at a time is timed, and none that a duplicate ACK follows"
    )
    return of_times("round_trip", between, "r", lambda c: c.round_trip)


def _missing(c: EndCounts) -> FloatArray:
    return 1 - ratio(
        c.sum(lambda each: each.datagrams_received), c.sum(lambda each: each.datagrams_expected)
    )


def _missed(c: EndCounts) -> FloatArray:
    """Datagrams that never came; NaN where some were overtaken: these look as if they were lost."""
    missed = c.sum(lambda each: each.datagrams_expected - each.datagrams_received)
    return np.where(c.sum(lambda each: each.reordered) > 0, np.nan, missed)


def _loss_gaps(c: EndCounts) -> FloatArray:
    gaps_s = c.sum(lambda each: each.loss_gaps_ns) / _NS_PER_S
    mean = ratio(gaps_s, c.sum(lambda each: each.loss_gaps))
    return np.where(np.isnan(_missed(c)), np.nan, mean)


def _opinions(c: EndCounts) -> FloatArray:
    """The score of each replication, were the datagrams calls; NaN where none came."""

    def score(late_s: float, missing: float) -> float:
        if np.isnan(late_s) or np.isnan(missing):
            return np.nan
        lost = missing + _LATE * (1 - missing)
        return mean_opinion_score(late_s + _PACKET_S, lost, BPL_CONCEALED) or np.nan

    late_s = quantiles(c.one_way_delay, 1 - _LATE) / _NS_PER_S
    return np.array(list(map(score, late_s, _missing(c))))


def _finished(c: SizeCounts) -> FloatArray:
    return np.asarray(c.times.count, dtype=np.float64)


# what people feel of their flows: known wherever these are told when an object is there
FELT: list[Definition[EndCounts]] = [
    *_completions(),
    *_mean_and_quantiles(
        ("page", ""),
        (SECONDS, _NS_PER_S),
        "g",
        "time from when a user of the web asks for a page until all of its objects are there",
        lambda c: c.pages,
        _LEVELS,
    ),
    *_mean_and_quantiles(
        ("frame", ""),
        (SECONDS, _NS_PER_S),
        "v",
        "time from when a frame of a call is made until all of it is there",
        lambda c: c.frames,
        _LEVELS,
    ),
    *_of_video(),
    Definition(
        "finished",
        "finished",
        Unit("flows"),
        r"N_\mathrm{finished}",
        "flows, or objects of users of the web, that ended",
        lambda c: _finished(c.all),
    ),
    Definition(
        "finished_bytes",
        "finished size",
        Unit("bytes"),
        r"B_\mathrm{finished} / N_\mathrm{finished}",
        "their mean size, headers included",
        lambda c: ratio(c.all.bytes, _finished(c.all)),
    ),
    Definition(
        "unfinished",
        "unfinished",
        Unit("flows"),
        r"N_\mathrm{unfinished}",
        "those that had begun at the end of the run and not ended; flows without an end are not "
        "among them",
        lambda c: c.all.unfinished,
    ),
    Definition(
        "unfinished_bytes",
        "unfinished size",
        Unit("bytes"),
        r"B_\mathrm{unfinished} / N_\mathrm{unfinished}",
        "their mean size, headers included; of flows that only a time ends, what was acknowledged",
        lambda c: ratio(c.all.unfinished_bytes, c.all.unfinished),
    ),
]

ENDS: list[Definition[EndCounts]] = [
    Definition(
        "goodput",
        "goodput",
        PACKETS_PER_SECOND,
        r"(N_\mathrm{acked} + N_\mathrm{datagrams}) / T",
        "data packets of TCP flows acknowledged in sequence, each once, and datagrams that arrived",
        lambda c: c.sum(lambda each: each.acknowledged + each.datagrams_received) / c.duration_s,
    ),
    Definition(
        "goodput_bps",
        "goodput",
        Unit("bits/s"),
        r"8 B_\mathrm{got} / T",
        "their bits, headers included",
        lambda c: (
            8 * c.sum(lambda each: each.acknowledged_bytes + each.datagram_bytes) / c.duration_s
        ),
    ),
    Definition(
        "retransmission_rate",
        "retransmissions",
        PACKETS_PER_SECOND,
        r"N_\mathrm{again} / T",
        "data packets sent again",
        lambda c: c.sum(lambda each: each.retransmissions) / c.duration_s,
    ),
    Definition(
        "timeout_rate",
        "time-outs",
        Unit("1/s"),
        r"N_\mathrm{time-outs} / T",
        "retransmission timers that ran out",
        lambda c: c.sum(lambda each: each.timeouts) / c.duration_s,
    ),
    Definition(
        "missing_ratio",
        "missing",
        SHARE,
        r"1 - N_\mathrm{datagrams} / N_\mathrm{expected}",
        "share of the datagrams that never came, by the gaps in their sequence numbers, wherever "
        "they were lost",
        _missing,
    ),
    Definition(
        "reordered_ratio",
        "reordered",
        SHARE,
        r"N_\mathrm{reordered} / N_\mathrm{datagrams}",
        "share of the datagrams that came after one with a greater sequence number (RFC 4737)",
        lambda c: ratio(
            c.sum(lambda each: each.reordered), c.sum(lambda each: each.datagrams_received)
        ),
    ),
    Definition(
        "loss_run",
        "lost in a row",
        PACKETS,
        r"N_\mathrm{missing} / N_\mathrm{runs}",
        "how many datagrams in a row never came, where any did not: the mean; none is known where "
        "some were overtaken",
        lambda c: ratio(_missed(c), c.sum(lambda each: each.loss_runs)),
    ),
    Definition(
        "loss_gap",
        "gap between losses",
        SECONDS,
        r"\bar G",
        "mean time from one run of losses of a flow to the next (the gap of RFC 7928, section "
        "2.3): losses in a row count as one; a replication with fewer than two runs has none",
        _loss_gaps,
    ),
    Definition(
        "waited_ratio",
        "waited",
        SHARE,
        r"N_{s > 0} / N_\mathrm{served}",
        "share of the packets that had to wait at the queue, however short",
        lambda c: ratio(
            c.sum_at_queue(lambda tally: tally.waited), c.sum_at_queue(lambda tally: tally.served)
        ),
    ),
    *_one_way_delays(),
    *map(_variation, _LEVELS),
    *_round_trips(),
    Definition(
        "smoothed_round_trip",
        "smoothed round trip",
        TIME,
        r"\frac{1}{n} \sum \mathrm{SRTT}",
        "mean of the smoothed round trips that TCP itself holds (RFC 6298), which contain the wait "
        "for a delayed ACK; of each flow that has begun and not finished, once a second",
        lambda c: ratio(
            c.sum(lambda each: each.smoothed_sum), c.sum(lambda each: each.smoothed_count)
        ),
    ),
    *OUTCOMES,
    Definition(
        "jitter",
        "jitter",
        TIME,
        r"\bar J, \; J_i = J_{i-1} + (\lvert w_i - w_{i-1} \rvert - J_{i-1}) / 16",
        "interarrival jitter of each flow (RFC 3550, section 6.4.1), the mean over its packets",
        lambda c: ratio(c.sum(lambda each: each.jitter_sum), c.sum(lambda each: each.jitter_count)),
    ),
    Definition(
        "mos",
        "MOS",
        INDEX,
        r"\mathrm{MOS}(R)",
        "mean opinion score of a call, from 1 to 4.5, by the E-model (ITU-T G.107), were the "
        "datagrams voice: G.711 in packets of 20 ms, losses concealed, and a play-out buffer that "
        "waits for 99 % of the packets",
        _opinions,
    ),
    *FELT,
]

_ALL: list[Definition[Any]] = [*AT_QUEUE, *ENDS]
OF_CLASS = {each.name: each for each in _ALL}


def names(classes: Iterable[str]) -> list[str]:
    """The names of all measures of these classes."""
    return [f"{each}{BETWEEN}{name}" for each in dict.fromkeys(classes) for name in OF_CLASS]


def of_class(name: str) -> Definition[Any] | None:
    """The definition of a measure of a class by its whole name; None if it is none."""
    class_, between, rest = name.partition(BETWEEN)
    if not class_ or not between or rest not in OF_CLASS:
        return None
    found = OF_CLASS[rest]
    return replace(
        found,
        name=name,
        heading=f"{found.heading}, {class_}",
        meaning=f"of the class {class_}: {found.meaning}",
    )
