"""What the runs of a case give, a value for each seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sluicegate.papers.figures import mean_delay_distribution
from sluicegate.worlds.gate.record import GateRecord
from sluicegate.worlds.network.record import NetworkRecord

FloatArray = NDArray[np.float64]

ROUTER, DATAGRAM = "router, forward", "datagram"
# packets lost because the kernel's queue, or the socket's buffer, was full
_KERNEL_DROPS = ("kernel_queue_drops", "kernel_buffer_drops")


@dataclass(frozen=True)
class Found:
    """A case in one world.

    Arrays that have a value per seed have the shape (R,).

    Attributes:
        measures: By name, as in records, per seed, after the warm-up.
        skewness: Of the queue's distribution over time, per seed; NaN where it never changed.
        lateness_s: Mean lateness of packets as they left the router, per seed; NaN in
            the network world, whose router is never late.
        kernel_drops_per_s: Packets that the kernel lost before the router's program had them,
            per seed; NaN in the network world.
        queue_distribution: Share of time in which k packets waited, shape (K,).
        delay_distribution: Share of packets by bins of the delay, shape (D,).
        time_bin_s: Width of these bins.
        times_s: When the courses have their points, shape (T,).
        queue: Waiting packets at these times, mean over the seeds, shape (T,).
        losses: Packets lost since the start of the run, likewise.
    """

    measures: Mapping[str, FloatArray]
    skewness: FloatArray
    lateness_s: FloatArray
    kernel_drops_per_s: FloatArray
    queue_distribution: FloatArray
    delay_distribution: FloatArray
    time_bin_s: float
    times_s: FloatArray
    queue: FloatArray
    losses: FloatArray

    @classmethod
    def of(cls, records: Sequence[NetworkRecord]) -> Found:
        """What one record of all seeds holds, or records of a seed each."""
        ports = [record.ports[0] for record in records]
        queue = np.concatenate([port.samples for port in ports])
        times_s = ports[0].times_s
        after = times_s >= records[0].run["warm_up_s"]
        names = records[0].replications.columns
        return cls(
            measures={
                name: np.concatenate([each.replications[name].to_numpy() for each in records])
                for name in names
            },
            skewness=_skewness(queue[:, after]),
            lateness_s=np.array([mean_lateness_s(each) for each in records]),
            kernel_drops_per_s=np.array([_kernel_drops_per_s(each) for each in records]),
            queue_distribution=_mean([port.queue_distribution for port in ports]),
            delay_distribution=mean_delay_distribution(records),
            time_bin_s=ports[0].time_bin_s,
            times_s=times_s,
            queue=queue.mean(axis=0),
            losses=np.concatenate([port.rows("losses") for port in ports]).mean(axis=0),
        )

    def __getitem__(self, name: str) -> FloatArray:
        """A measure, per seed."""
        return self.measures[name]


def mean_lateness_s(record: NetworkRecord, of: str = ROUTER) -> float:
    """Mean lateness of events of one kind; NaN if no such event can be late."""
    if not isinstance(record, GateRecord):
        return float("nan")
    late = record.lateness.filter(of=of)["mean_s"]
    return float(late.to_numpy().mean()) if len(late) else float("nan")


def _kernel_drops_per_s(record: NetworkRecord) -> float:
    if not isinstance(record, GateRecord):
        return float("nan")
    (machine,) = record.run["machine"]
    drops = sum(link.get(name, 0) for link in machine["uncounted"] for name in _KERNEL_DROPS)
    return float(drops / record.run["duration_s"])


def _skewness(rows: FloatArray) -> FloatArray:
    """The third standardised moment of each row."""
    off = rows - rows.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((off**3).mean(axis=1) / (off**2).mean(axis=1) ** 1.5)


def _mean(distributions: Sequence[FloatArray]) -> FloatArray:
    longest = max(map(len, distributions))
    padded = [np.pad(each, (0, longest - len(each))) for each in distributions]
    return np.asarray(np.mean(padded, axis=0))
