"""The figures of table 2, from a record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate.papers.red_sfq_rem.disciplines import HEADER_BYTES, WIRE_BYTES
from sluicegate.papers.red_sfq_rem.source import (
    ACCESS_DELAY_S,
    ACCESS_RATE_BPS,
    BOTTLENECK_DELAY_S,
    DURATION_S,
    PAYLOAD_BYTES,
)
from sluicegate.worlds.network.record import NetworkRecord

FloatArray = NDArray[np.float64]

_PROPAGATION_S = 2 * ACCESS_DELAY_S + BOTTLENECK_DELAY_S
# delay of a packet without the bottleneck's queue and transmission: of a data packet, and of one
# that opens a connection
_OTHER_DELAY_S = _PROPAGATION_S + 2 * 8 * WIRE_BYTES / ACCESS_RATE_BPS
_OPENING_DELAY_S = _PROPAGATION_S + 2 * 8 * HEADER_BYTES / ACCESS_RATE_BPS


@dataclass(frozen=True)
class Outcome:
    """One algorithm under one reading: the link R1 -> R2.

    Arrays have a value per seed, shape (R,); plain numbers are extremes over all seeds.

    Attributes:
        sent: The bytes sent, as packets of full size.
        lost: Packets lost.
        early: Share of the packets that were dropped though there was room.
        loss_ratio: lost / sent, as in table 2.
        utilization: As in table 2: the payload of what was sent over the link's rate.
        throughput_max: Largest mean throughput since the start, Mb/s of payload.
        throughput_min: Least, likewise.
        broken_at: Mean throughput since the start when the first packet was lost, over the
            largest; NaN where none was.
        full: Share of the samples in which the queue is as long as it ever was.
        fairness: Jain's index of the flows' goodput.
        delay_mean: Of a data packet from end to end, ms.
        delay_max: Longest, ms.
        delay_min: Shortest, ms: that of the packet that opens a connection.
        queue_max: Longest queue, packets.
        queue_min: Shortest, packets.
        course: By the second, means over the seeds: time_s, throughput (Mb/s of payload since the
            start), queue (packets), delay (ms, of a data packet that comes behind that queue).
    """

    sent: FloatArray
    lost: FloatArray
    early: FloatArray
    loss_ratio: FloatArray
    utilization: FloatArray
    throughput_max: FloatArray
    throughput_min: FloatArray
    broken_at: FloatArray
    full: FloatArray
    fairness: FloatArray
    delay_mean: FloatArray
    delay_max: float
    delay_min: float
    queue_max: float
    queue_min: float
    course: pl.DataFrame


def outcome(record: NetworkRecord, rate_bps: float) -> Outcome:
    """Judge a run of the paper's 100 s.

    Args:
        record: Of one algorithm, with its time series.
        rate_bps: Of the bottleneck.
    """
    port = record.ports[0]
    times_s, queue = port.times_s, port.samples
    packets = port.rows("sent_bytes") / WIRE_BYTES
    since_start = _megabits(packets[:, 1:]) / times_s[1:]
    sent = DURATION_S * _totals(record, "throughput_bps") / 8 / WIRE_BYTES
    lost = _lost(record)
    delays_s = np.flatnonzero(port.delay_distribution) * port.time_bin_s
    lengths = np.flatnonzero(port.queue_distribution)
    return Outcome(
        sent=sent,
        lost=lost,
        early=_totals(record, "early_loss_ratio"),
        loss_ratio=lost / sent,
        utilization=1e6 * _megabits(sent) / DURATION_S / rate_bps,
        throughput_max=since_start.max(axis=1),
        throughput_min=since_start.min(axis=1),
        broken_at=_broken_at(port.rows("losses")[:, 1:], since_start),
        full=(queue == lengths[-1]).mean(axis=1),
        fairness=_totals(record, "fairness"),
        delay_mean=1000 * (_OTHER_DELAY_S + _totals(record, "delay_mean")),
        delay_max=1000 * float(_OTHER_DELAY_S + delays_s[-1] + port.time_bin_s),
        delay_min=1000 * float(_OPENING_DELAY_S + delays_s[0]),
        queue_max=float(lengths[-1]),
        queue_min=float(lengths[0]),
        course=_course(times_s, since_start, queue).with_columns(
            delay=1000 * (_OTHER_DELAY_S + (pl.col("queue") + 1) * 8 * WIRE_BYTES / rate_bps)
        ),
    )


def _broken_at(losses: FloatArray, since_start: FloatArray) -> FloatArray:
    lost = losses > 0
    first = np.take_along_axis(since_start, lost.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(lost.any(axis=1), first / since_start.max(axis=1), np.nan)


def _course(times_s: FloatArray, since_start: FloatArray, queue: FloatArray) -> pl.DataFrame:
    per_second = round(1 / (times_s[1] - times_s[0]))
    ends = slice(per_second, None, per_second)
    seconds = len(times_s[ends])
    waiting = queue[:, : seconds * per_second].mean(axis=0)
    return pl.DataFrame(
        {
            "time_s": times_s[ends],
            "throughput": since_start.mean(axis=0)[per_second - 1 :: per_second],
            "queue": waiting.reshape(seconds, per_second).mean(axis=1),
        }
    )


def _totals(record: NetworkRecord, name: str) -> FloatArray:
    """A measure of the whole run, per seed, shape (R,): nothing is left out as warm-up."""
    return record.replications[name].to_numpy()


def _lost(record: NetworkRecord) -> FloatArray:
    """Packets lost, shape (R,), from their share of those sent, lost and still waiting."""
    ratio = _totals(record, "loss_ratio")
    others = DURATION_S * _totals(record, "throughput") + record.ports[0].samples[:, -1]
    return np.asarray(np.round(ratio / (1 - ratio) * others))


def _megabits(packets: FloatArray) -> FloatArray:
    """The payload of so many packets, Mb."""
    return packets * 8 * PAYLOAD_BYTES / 1e6
