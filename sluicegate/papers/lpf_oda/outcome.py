"""What the gateway did, from its time series: response, throughput, delay and drops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate.papers.lpf_oda.source import AGAIN_S, END_S, MIN_TH, OVER_S, RATE_BPS
from sluicegate.worlds.network.record import PortRecord

FloatArray = NDArray[np.float64]

# throughputs at a moment are means over this time, s
_AROUND_S = 4.0
# share of the link's rate
_RECOVERED = 0.05


@dataclass(frozen=True)
class Outcome:
    """One filter under one reading; every array has a value per seed, shape (R,).

    Attributes:
        response_s: From the end of the first congestion until the average is below min_th for the
            first time, so that nothing is dropped any more; the 33 s to the second congestion if
            that comes first.
        response_arrivals: Packets that arrived meanwhile.
        recovery_s: From the end of the first congestion until the throughput of a whole second
            after it first is 5 % of the link's rate; limited likewise.
        first, free, second: Throughput as a share of the link's rate in the first congestion,
            between the congestions, and in the second one.
        first_drops, free_drops, second_drops: Packets lost in the same stretches.
        free_delay_s: Mean time in the queue between the congestions, by Little's law.
        course: By the second, means over the seeds: time_s, average and queue (packets),
            throughput (share of the rate), delay_s (the queue's transmission time), drops
            (packets/s).
    """

    response_s: FloatArray
    response_arrivals: FloatArray
    recovery_s: FloatArray
    first: FloatArray
    free: FloatArray
    second: FloatArray
    first_drops: FloatArray
    free_drops: FloatArray
    second_drops: FloatArray
    free_delay_s: FloatArray
    course: pl.DataFrame
    _sent: _Counted

    def throughput(self, time_s: float) -> FloatArray:
        """Throughput over the 4 s up to a time, as a share of the link's rate."""
        return self._sent.rate(time_s - _AROUND_S, time_s)


@dataclass(frozen=True)
class _Counted:
    """A cumulative count: values, shape (R, T), at times, shape (T,); rates are in `unit`s."""

    times_s: FloatArray
    values: FloatArray
    unit: float = 1.0

    def at(self, time_s: float) -> FloatArray:
        return np.asarray(self.values[:, np.searchsorted(self.times_s, time_s - 1e-9)])

    def rate(self, start_s: float, end_s: float) -> FloatArray:
        return self.unit * (self.at(end_s) - self.at(start_s)) / (end_s - start_s)


def outcome(port: PortRecord, packet_bytes: int) -> Outcome:
    """Judge a run of the paper's 300 s.

    Args:
        port: The gateway's link to the client, with its time series.
        packet_bytes: Size of all packets that it sends.
    """
    times_s = port.times_s
    arrived = _Counted(times_s, port.rows("arrivals"))
    lost = _Counted(times_s, port.rows("losses"))
    sent = _Counted(times_s, port.rows("sent_bytes"), unit=8 / RATE_BPS)
    queue, average = port.samples, port.rows("average")
    response_s = _first_below(times_s, average, MIN_TH)
    between = (times_s >= END_S) & (times_s < AGAIN_S)
    free = sent.rate(END_S, AGAIN_S)
    return Outcome(
        response_s=response_s,
        response_arrivals=_arrived_by(arrived, response_s),
        recovery_s=_recovery_s(sent),
        first=sent.rate(0.0, END_S),
        free=free,
        second=sent.rate(AGAIN_S, OVER_S),
        first_drops=lost.at(END_S) - lost.at(0.0),
        free_drops=lost.at(AGAIN_S) - lost.at(END_S),
        second_drops=lost.at(OVER_S) - lost.at(AGAIN_S),
        free_delay_s=queue[:, between].mean(axis=1) * 8 * packet_bytes / RATE_BPS / free,
        course=_course(times_s, {"throughput": sent, "drops": lost}, queue, average).with_columns(
            delay_s=pl.col("queue") * 8 * packet_bytes / RATE_BPS
        ),
        _sent=sent,
    )


def _first_below(times_s: FloatArray, average: FloatArray, min_th: float) -> FloatArray:
    """Seconds from the end of the congestion to the first average below min_th, shape (R,)."""
    between = (times_s >= END_S) & (times_s < AGAIN_S)
    below = average[:, between] < min_th
    first = times_s[between][below.argmax(axis=1)] - END_S
    return np.where(below.any(axis=1), first, AGAIN_S - END_S)


def _arrived_by(arrived: _Counted, response_s: FloatArray) -> FloatArray:
    ends = [arrived.at(END_S + after)[seed] for seed, after in enumerate(response_s)]
    counts: FloatArray = np.array(ends) - arrived.at(END_S)
    return counts


def _recovery_s(sent: _Counted) -> FloatArray:
    ends_s = sent.times_s[(sent.times_s >= END_S + 1) & (sent.times_s < AGAIN_S)]
    rates = np.stack([sent.rate(end_s - 1, end_s) for end_s in ends_s], axis=1)
    recovered = rates >= _RECOVERED
    first = ends_s[recovered.argmax(axis=1)] - END_S
    return np.where(recovered.any(axis=1), first, AGAIN_S - END_S)


def _course(
    times_s: FloatArray, counts: Mapping[str, _Counted], queue: FloatArray, average: FloatArray
) -> pl.DataFrame:
    per_second = round(1 / (times_s[1] - times_s[0]))
    seconds = (len(times_s) - 1) // per_second
    samples = seconds * per_second

    def mean(values: FloatArray) -> FloatArray:
        over_seeds = values[:, :samples].mean(axis=0)
        return np.asarray(over_seeds.reshape(seconds, per_second).mean(axis=1))

    def rate(counted: _Counted) -> FloatArray:
        by_second = np.diff(counted.values.mean(axis=0)[: samples + 1 : per_second])
        return np.asarray(counted.unit * by_second)

    return pl.DataFrame(
        {
            "time_s": np.arange(seconds) + 0.5,
            "queue": mean(queue),
            "average": mean(average),
            **{name: rate(counted) for name, counted in counts.items()},
        }
    )
