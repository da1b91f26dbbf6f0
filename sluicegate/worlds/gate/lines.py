"""The lines in which `sluiced` tells how a link stands, as columns and counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.worlds.real.outcome import BandSeries, PortSeries, Tally, Times, nearest

DIRECTIONS = ("forward", "reverse")

# width of the bins of times: what the daemon tells apart at 13 ms
_BIN_NS = 1 << 17
_NS_PER_S = 1e9
_COUNTS = ("arrivals", "sent", "sent_bytes", "lost", "marked", "queue_packets")
# the reasons for losses that are verdicts 1 to 3, and the one that is verdict 5
_REASONS = ("early", "forced", "overflow", "both")
_SUMS = ("sojourn_sum_ns", "delay_sum_ns")
_DISTRIBUTIONS = ("queue", "sojourn", "delay")
_LEVELS = ("average_queue", "drop_probability")
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


class _Counted:
    """What the lines tell of a queue, or of a band of it.

    Attributes:
        pairs: For each of queue, sojourn and delay, and each line, the values in the time since the
            line before, with their counts, shape (K, 2); those of the queue with their ns.
    """

    def __init__(self) -> None:
        self._rows: list[list[int]] = []
        self._times_s: list[float] = []
        self.pairs: dict[str, list[Pairs]] = {name: [] for name in _DISTRIBUTIONS}

    def add(self, found: Mapping[str, Any], interval: Mapping[str, Any]) -> None:
        """Take a line: what was counted since the start, and since the line before."""
        drops = [found["drops"][reason] for reason in _REASONS]
        self._rows.append([*(found[name] for name in (*_COUNTS, *_SUMS)), *drops])
        self._times_s.append(found["time_s"])
        for name, pairs in self.pairs.items():
            given = interval[f"{name}_distribution_ns"]
            pairs.append(np.array(given, dtype=np.int64).reshape(-1, 2))

    @cached_property
    def counts(self) -> dict[str, NDArray[np.int64]]:
        """Columns of whole numbers from the start of the daemon, but for `queue_packets`, (N,)."""
        names = [*_COUNTS, *_SUMS, *_REASONS]
        columns = np.array(self._rows, dtype=np.int64).reshape(-1, len(names)).T
        return dict(zip(names, columns, strict=True))

    def tally(self, first: int, last: int) -> Tally:
        """What was counted between two lines."""

        def grown(name: str) -> int:
            return int(self.counts[name][last] - self.counts[name][first])

        duration_ns = round((self._times_s[last] - self._times_s[first]) * _NS_PER_S)
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
                sum=grown(f"{name}_sum_ns"),
                square_sum=sum(
                    each * at**2 for at, each in zip(ns.tolist(), count.tolist(), strict=True)
                ),
            )

        return Tally(
            duration=duration_ns,
            # from the start of a transmission to its end a packet is in service
            idle=max(0, duration_ns - (grown("delay_sum_ns") - grown("sojourn_sum_ns"))),
            queue=_counted(*pairs["queue"].T),
            arrivals=grown("arrivals"),
            verdicts=[0, early, forced, overflow, grown("marked"), both],
            served=grown("sent"),
            served_bytes=grown("sent_bytes"),
            sojourn=times("sojourn"),
            delay=times("delay"),
        )

    def since(self, name: str, at: NDArray[np.int64]) -> NDArray[np.uint64]:
        """A count at some lines, from the first of them on."""
        values = self.counts[name][at]
        return np.asarray(values - values[0], dtype=np.uint64)

    def queue(self, at: NDArray[np.int64]) -> NDArray[np.uint32]:
        """What waited at some lines."""
        return np.asarray(self.counts["queue_packets"][at], dtype=np.uint32)

    def band_series(self, at: NDArray[np.int64]) -> BandSeries:
        """A band at some lines; see `PortSeries`."""
        return self.queue(at), self.since("sent", at), self.since("sojourn_sum_ns", at)


class Lines:
    """The lines of one link.

    Attributes:
        last: The last line.

    Args:
        text: The lines of all links.
        link: Which link.
        varies: Whether its rate varies.

    Raises:
        SluiceError: If the lines do not tell of the same bands throughout.
    """

    def __init__(self, text: str, link: str, *, varies: bool = False) -> None:
        self._varies = varies
        self._all = _Counted()
        self._bands: list[_Counted] = []
        of_link: list[list[int]] = []
        levels: list[list[float | None]] = []
        self.last: dict[str, Any] = {}
        # one line after the other: all together as dictionaries take a gigabyte in ten minutes
        for line in text.splitlines():
            found = json.loads(line)
            if found["link"] != link:
                continue
            wire = found.get("wire") or dict.fromkeys(_OF_WIRE, 0)
            of_wire = [wire[name] for name in _OF_WIRE]
            of_link.append([found["clock_ns"], found["rate_bps"], *of_wire])
            levels.append([found[name] for name in _LEVELS])
            interval = found["interval"]
            self._all.add(found, interval)
            bands, in_interval = found.get("bands") or [], interval.get("bands") or []
            self._bands = self._bands or [_Counted() for _ in bands]
            if not len(self._bands) == len(bands) == len(in_interval):
                raise SluiceError(
                    f"sluiced told of {len(bands)} lanes, tins or classes of {link}, and what "
                    f"happened in {len(in_interval)}, where there were {len(self._bands)}: its "
                    "discipline has changed, or it is of another version"
                )
            for band, *told in zip(self._bands, bands, in_interval, strict=True):
                band.add(*told)
            self.last = found
        columns = np.array(of_link, dtype=np.int64).reshape(-1, 2 + len(_OF_WIRE)).T
        self._clock_ns, self._rate_bps, *self._wire = columns
        self._average, self._probability = (
            np.array(levels, dtype=np.float64).reshape(-1, len(_LEVELS)).T
        )

    def _between(self, since_ns: int, until_ns: int) -> tuple[int, int]:
        """The lines nearest to two times."""
        first, last = nearest(self._clock_ns, [since_ns, until_ns])
        return int(first), int(last)

    def tally(self, since_ns: int, until_ns: int, rate_bps: float) -> Tally:
        """What was counted between the lines nearest to two times."""
        return self._all.tally(*self._between(since_ns, until_ns))

    def bands(self, since_ns: int, until_ns: int, rate_bps: float) -> Sequence[Tally]:
        """The same of each band of its discipline."""
        return [band.tally(*self._between(since_ns, until_ns)) for band in self._bands]

    def series(self, times_ns: NDArray[np.int64]) -> PortSeries:
        """How the link stood at some times: at the line nearest to each.

        Counts are from the first of the times on.
        """
        at = nearest(self._clock_ns, times_ns)
        return PortSeries(
            queue=self._all.queue(at),
            arrivals=self._all.since("arrivals", at),
            losses=self._all.since("lost", at),
            sent_bytes=self._all.since("sent_bytes", at),
            average=self._average[at],
            probability=self._probability[at],
            # 1 bit/s in an outage, as AQMs see it
            rate_bps=np.maximum(self._rate_bps[at], 1).astype(np.uint64)
            if self._varies
            else np.empty(0, dtype=np.uint64),
            bands=[band.band_series(at) for band in self._bands],
        )

    def wire(self, since_ns: int, until_ns: int) -> tuple[int, int, int]:
        """Packets that came to its wire between two times, that it lost, and that were late."""
        first, last = self._between(since_ns, until_ns)
        came, lost, overtaken = (int(each[last] - each[first]) for each in self._wire)
        return came, lost, overtaken

    def uncounted(self) -> dict[str, int]:
        """What the queue never saw, or could not treat as it should; without those that are 0."""
        return {name: int(self.last[name]) for name in _BEYOND_THE_QUEUE if self.last[name]}


def _counted(values: NDArray[np.int64], counts: Sequence[int] | NDArray[np.int64]) -> Any:
    """How often each whole number was counted, shape (K,)."""
    return np.bincount(values, counts).astype(np.uint64)
