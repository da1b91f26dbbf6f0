"""The lines in which `sluiced` tells how a link stands, as columns and counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.worlds.gate.outcome import PortSeries, Tally, Times

Line = dict[str, Any]

# width of the bins of times: below what the daemon tells apart at 13 ms and above
_BIN_NS = 1 << 17
_NS_PER_S = 1e9
# reasons for losses, in the order of verdicts from the second on; the fifth is a mark
_REASONS = ("early", "forced", "overflow")
_LOST_BY_THE_KERNEL = (
    "id_gaps",
    "kernel_queue_drops",
    "kernel_buffer_drops",
    "unreadable",
    "unmarkable",
    "refused_verdicts",
)


class LinkLines:
    """The lines of one link.

    Attributes:
        lines: In the order of time.
        clock_ns: When each was written, of CLOCK_MONOTONIC, shape (N,).
    """

    def __init__(self, lines: Sequence[Line], link: str) -> None:
        self.lines = [line for line in lines if line["link"] == link]
        self.clock_ns = np.array([line["clock_ns"] for line in self.lines], dtype=np.int64)

    def between(self, start_ns: int, end_ns: int) -> list[Line]:
        """The lines from the one nearest to a time up to the one nearest to another."""
        first, last = (int(np.abs(self.clock_ns - at).argmin()) for at in (start_ns, end_ns))
        return self.lines[first : last + 1]

    def at(self, times_ns: NDArray[np.int64], slack_ns: int) -> list[Line]:
        """The last line at each time or before, or up to a slack after it."""
        places = np.searchsorted(self.clock_ns, times_ns + slack_ns, side="right") - 1
        return [self.lines[place] for place in np.maximum(places, 0)]


def tally(lines: Sequence[Line], rate_bps: float) -> Tally:
    """What was counted between the first line and the last one."""
    first, last = lines[0], lines[-1]

    def grown(*names: str) -> int:
        def at(line: Any) -> int:
            for name in names:
                line = line[name]
            return int(line)

        return at(last) - at(first)

    duration_ns = round((last["time_s"] - first["time_s"]) * _NS_PER_S)
    sent_bytes = grown("sent_bytes")
    intervals = [line["interval"] for line in lines[1:]]
    drops = [grown("drops", reason) for reason in _REASONS]
    return Tally(
        duration=duration_ns,
        idle=max(0, duration_ns - round(8 * sent_bytes / rate_bps * _NS_PER_S)),
        queue=_summed([each["queue_distribution_ns"] for each in intervals], 1),
        arrivals=grown("arrivals"),
        verdicts=[0, *drops, grown("marked"), grown("drops", "both")],
        served=grown("sent"),
        served_bytes=sent_bytes,
        sojourn=_times(first, last, intervals, "sojourn"),
        delay=_times(first, last, intervals, "delay"),
    )


def _times(first: Line, last: Line, intervals: Iterable[Line], name: str) -> Times:
    pairs = [each[f"{name}_distribution_ns"] for each in intervals]

    def total_ns(line: Line) -> float:
        return float(line[f"{name}_ms"]["mean"]) * 1e6 * int(line["sent"])

    return Times(
        bins=_summed(pairs, _BIN_NS),
        bin=_BIN_NS,
        sum=round(total_ns(last) - total_ns(first)),
        square_sum=sum(count * int(ns) ** 2 for each in pairs for ns, count in each),
    )


def _summed(parts: Sequence[Sequence[Sequence[int]]], width: int) -> NDArray[np.uint64]:
    """Pairs of a value and its count as counts in bins."""
    pairs = np.array([pair for part in parts for pair in part], dtype=np.int64).reshape(-1, 2)
    sums = np.bincount(pairs[:, 0] // width, pairs[:, 1])
    return np.asarray(sums, dtype=np.uint64)


def series(lines: Sequence[Line]) -> PortSeries:
    """How the link stood at each line, counts from the first line on."""

    def column(name: str) -> NDArray[np.uint64]:
        values = np.array([line[name] for line in lines], dtype=np.uint64)
        return np.asarray(values - values[0])

    def known(name: str) -> NDArray[np.float64]:
        return np.array([line[name] for line in lines], dtype=np.float64)

    return PortSeries(
        queue=np.array([line["queue_packets"] for line in lines], dtype=np.uint32),
        arrivals=column("arrivals"),
        losses=column("lost"),
        sent_bytes=column("sent_bytes"),
        average=known("average_queue"),
        probability=known("drop_probability"),
    )


def uncounted(line: Line) -> dict[str, int]:
    """What the queue never saw, or could not treat as it should; without those that are 0."""
    return {name: int(line[name]) for name in _LOST_BY_THE_KERNEL if line[name]}
