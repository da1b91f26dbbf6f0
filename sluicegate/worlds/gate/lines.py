"""The lines in which `sluiced` tells how a link stands, as columns and counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.worlds.real.outcome import PortSeries, Tally, Times, nearest

DIRECTIONS = ("forward", "reverse")

# width of the bins of times: what the daemon tells apart at 13 ms
_BIN_NS = 1 << 17
_NS_PER_S = 1e9
_COUNTS = (
    *("clock_ns", "arrivals", "sent", "sent_bytes", "lost", "marked", "queue_packets"),
    "rate_bps",
)
_LEVELS = ("time_s", "average_queue", "drop_probability")
_DISTRIBUTIONS = ("queue", "sojourn", "delay")
# the reasons for losses that are verdicts 1 to 3, and the one that is verdict 5
_REASONS = ("early", "forced", "overflow", "both")
_OF_WIRE = ("entered", "lost", "reordered")
_BEYOND_THE_QUEUE = (
    "id_gaps",
    "kernel_queue_drops",
    "kernel_buffer_drops",
    "unreadable",
    "unmarkable",
    "refused_verdicts",
)

Pairs = NDArray[np.int64]


class Lines:
    """The lines of one link.

    Attributes:
        counts: Columns of whole numbers, shape (N,): from the start of the daemon, but for
            `clock_ns` (of CLOCK_MONOTONIC), `queue_packets` and `rate_bps`.
        levels: Columns of other figures, shape (N,); NaN where there is none.
        pairs: For each of queue, sojourn and delay, and each line, the values in the time since the
            line before, with their counts, shape (K, 2); those of the queue with their ns.
        last: The last line.

    Args:
        text: The lines of all links.
        link: Which link.
        varies: Whether its rate varies.
    """

    def __init__(self, text: str, link: str, *, varies: bool = False) -> None:
        self._varies = varies
        rows: list[list[int]] = []
        levels: list[list[float | None]] = []
        self.pairs: dict[str, list[Pairs]] = {name: [] for name in _DISTRIBUTIONS}
        self.last: dict[str, Any] = {}
        # one line after the other: all together as dictionaries take a gigabyte in ten minutes
        for line in text.splitlines():
            found = json.loads(line)
            if found["link"] != link:
                continue
            sums = [found["sojourn_sum_ns"], found["delay_sum_ns"]]
            drops = [found["drops"][reason] for reason in _REASONS]
            wire = found.get("wire") or dict.fromkeys(_OF_WIRE, 0)
            of_wire = [wire[name] for name in _OF_WIRE]
            rows.append([*(found[name] for name in _COUNTS), *drops, *sums, *of_wire])
            levels.append([found[name] for name in _LEVELS])
            for name, pairs in self.pairs.items():
                given = found["interval"][f"{name}_distribution_ns"]
                pairs.append(np.array(given, dtype=np.int64).reshape(-1, 2))
            self.last = found
        of_wire = [f"wire_{name}" for name in _OF_WIRE]
        names = [*_COUNTS, *_REASONS, "sojourn_ns", "delay_ns", *of_wire]
        columns = np.array(rows, dtype=np.int64).reshape(-1, len(names)).T
        self.counts = dict(zip(names, columns, strict=True))
        columns_of_levels = np.array(levels, dtype=np.float64).reshape(-1, len(_LEVELS)).T
        self.levels = dict(zip(_LEVELS, columns_of_levels, strict=True))

    def tally(self, since_ns: int, until_ns: int, rate_bps: float) -> Tally:
        """What was counted between the lines nearest to two times."""
        first, last = nearest(self.counts["clock_ns"], [since_ns, until_ns])

        def grown(name: str) -> int:
            return int(self.counts[name][last] - self.counts[name][first])

        time_s = self.levels["time_s"]
        duration_ns = round((time_s[last] - time_s[first]) * _NS_PER_S)
        early, forced, overflow, both = map(grown, _REASONS)
        pairs = {
            name: np.concatenate([np.empty((0, 2), dtype=np.int64), *parts[first + 1 : last + 1]])
            for name, parts in self.pairs.items()
        }

        def times(name: str) -> Times:
            ns, count = pairs[name].T
            return Times(
                bins=_counted(ns // _BIN_NS, count),
                bin=_BIN_NS,
                sum=grown(f"{name}_ns"),
                square_sum=sum(
                    each * at**2 for at, each in zip(ns.tolist(), count.tolist(), strict=True)
                ),
            )

        return Tally(
            duration=duration_ns,
            # from the start of a transmission to its end a packet is in service
            idle=max(0, duration_ns - (grown("delay_ns") - grown("sojourn_ns"))),
            queue=_counted(*pairs["queue"].T),
            arrivals=grown("arrivals"),
            verdicts=[0, early, forced, overflow, grown("marked"), both],
            served=grown("sent"),
            served_bytes=grown("sent_bytes"),
            sojourn=times("sojourn"),
            delay=times("delay"),
        )

    def series(self, times_ns: NDArray[np.int64]) -> PortSeries:
        """How the link stood at some times: at the line nearest to each.

        Counts are from the first of the times on.
        """
        at = nearest(self.counts["clock_ns"], times_ns)

        def since(name: str) -> NDArray[np.uint64]:
            values = self.counts[name][at]
            return np.asarray(values - values[0], dtype=np.uint64)

        return PortSeries(
            queue=self.counts["queue_packets"][at].astype(np.uint32),
            arrivals=since("arrivals"),
            losses=since("lost"),
            sent_bytes=since("sent_bytes"),
            average=self.levels["average_queue"][at],
            probability=self.levels["drop_probability"][at],
            # 1 bit/s in an outage, as AQMs see it
            rate_bps=np.maximum(self.counts["rate_bps"][at], 1).astype(np.uint64)
            if self._varies
            else np.empty(0, dtype=np.uint64),
        )

    def wire(self, since_ns: int, until_ns: int) -> tuple[int, int, int]:
        """Packets that came to its wire between two times, that it lost, and that were late."""
        first, last = nearest(self.counts["clock_ns"], [since_ns, until_ns])
        came, lost, overtaken = (
            int(self.counts[f"wire_{name}"][last] - self.counts[f"wire_{name}"][first])
            for name in _OF_WIRE
        )
        return came, lost, overtaken

    def uncounted(self) -> dict[str, int]:
        """What the queue never saw, or could not treat as it should; without those that are 0."""
        return {name: int(self.last[name]) for name in _BEYOND_THE_QUEUE if self.last[name]}


def _counted(values: NDArray[np.int64], counts: Sequence[int] | NDArray[np.int64]) -> Any:
    """How often each whole number was counted, shape (K,)."""
    return np.bincount(values, counts).astype(np.uint64)
