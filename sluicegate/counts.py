"""What a run counts: exact sums and distributions, of which all measures are made.

A set of counts is what was counted in one part of a run: a unit of a slotted run, a replication of
a network. The columns here have a place for each of n sets. The sum of several sets is a set, too:
the columns of a total have one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sluicegate import _engine

FloatArray = NDArray[np.float64]
# exact whole numbers of any size, in which no digits cancel; floats for a solved chain
ExactArray = NDArray[np.object_]
Change = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True)
class Times:
    """Times of the packets served, in ticks.

    Attributes:
        count: Packets, shape (n,).
        sum: Sum of their times, shape (n,).
        square_sum: Sum of the squares, shape (n,).
        bins: Packets by time, shape (n, W): bin k starts at k times `bin`.
        bin: Width of the bins, ticks.
    """

    count: ExactArray
    sum: ExactArray
    square_sum: ExactArray
    bins: FloatArray
    bin: int

    @cached_property
    def cumulated(self) -> FloatArray:
        """Packets up to the end of each bin, shape as `bins`: several quantiles are read of it."""
        return np.cumsum(self.bins, axis=1)

    def mean(self) -> FloatArray:
        """The mean of each set, in ticks, shape (n,); NaN where there are no packets."""
        sums = zip(self.count, self.sum, strict=True)
        return np.array([total / n if n else np.nan for n, total in sums], dtype=np.float64)

    def variance(self) -> FloatArray:
        """The variance of each set, in square ticks, likewise."""
        sums = zip(self.count, self.sum, self.square_sum, strict=True)
        # whole numbers are exact up to the division: no digits cancel
        return np.array(
            [(n * squares - total**2) / n**2 if n else np.nan for n, total, squares in sums],
            dtype=np.float64,
        )

    def trimmed_mean(self, kept: float) -> FloatArray:
        """The mean of the smallest `kept` share of each set, likewise; of bins by their middles."""
        return np.array([self._trimmed(row, kept) for row in self.bins], dtype=np.float64)

    def _trimmed(self, row: FloatArray, kept: float) -> float:
        # a product such as 0.95 * 20 may be just below a whole number
        left = np.ceil(np.round(kept * row.sum(), 9))
        before = np.cumsum(row) - row
        taken = np.clip(left - before, 0, row)
        middles = np.arange(len(row)) * self.bin + (self.bin - 1) / 2
        return float(taken @ middles / left) if left else float("nan")

    def map(self, change: Change) -> Times:
        """The same with every column changed."""
        return Times(
            count=change(self.count),
            sum=change(self.sum),
            square_sum=change(self.square_sum),
            bins=change(self.bins),
            bin=self.bin,
        )


@dataclass(frozen=True)
class QueueCounts:
    """What n sets counted of one queue; a tick is a slot, or a nanosecond in continuous time.

    Attributes:
        duration: Ticks observed, shape (n,), as are all that follow but the last four.
        idle: Ticks in which nothing was in service.
        arrivals: Packets that arrived.
        served: Packets that were served.
        served_bytes: Their bytes.
        verdicts: By kind, shape (n, 6).
        queue: Ticks in which k packets waited, shape (n, K).
        sojourn: From arrival to the start of service, of the packets served.
        delay: From arrival to the end of service; in bins of the same width.
    """

    duration: FloatArray
    idle: FloatArray
    arrivals: FloatArray
    served: FloatArray
    served_bytes: FloatArray
    verdicts: FloatArray
    queue: FloatArray
    sojourn: Times
    delay: Times

    @classmethod
    def of(cls, sets: Sequence[Sequence[_engine.Tally]]) -> Self:
        """A place for each set; a set is the sum of some tallies of the engine."""

        def column(read: Callable[[_engine.Tally], int]) -> FloatArray:
            return np.array([float(sum(map(read, tallies))) for tallies in sets])

        every = [tally for tallies in sets for tally in tallies]
        bin_ = max(times.bin for tally in every for times in (tally.sojourn, tally.delay))
        return cls(
            duration=column(lambda tally: tally.duration),
            idle=column(lambda tally: tally.idle),
            arrivals=column(lambda tally: tally.arrivals),
            served=column(lambda tally: tally.served),
            served_bytes=column(lambda tally: tally.served_bytes),
            verdicts=_stacked([[tally.verdicts for tally in tallies] for tallies in sets]),
            queue=_stacked([[tally.queue for tally in tallies] for tallies in sets]),
            sojourn=_times([[tally.sojourn for tally in tallies] for tallies in sets], bin_),
            delay=_times([[tally.delay for tally in tallies] for tallies in sets], bin_),
        )

    @classmethod
    def exact(
        cls,
        counts: _engine.ExactCounts,
        packet_bytes: int,
        *,
        change: _engine.ExactCounts | None = None,
        step: float = 0.0,
    ) -> Self:
        """One set: what a chain's queue counts in the mean over a slot.

        Args:
            counts: Of the chain.
            packet_bytes: Size of every packet.
            change: Derivatives of the counts; without the distributions of times.
            step: How far to go along `change`.
        """

        def near(read: Callable[[_engine.ExactCounts], float]) -> float:
            return read(counts) + (step * read(change) if change else 0.0)

        served = near(lambda of: of.served)

        def times(read: Callable[[_engine.ExactCounts], _engine.ExactTimes]) -> Times:
            def exact(value: float) -> ExactArray:
                return np.array([value], dtype=object)

            return Times(
                count=exact(served),
                sum=exact(near(lambda of: read(of).sum)),
                square_sum=exact(near(lambda of: read(of).square_sum)),
                bins=read(counts).distribution[None, :] * served,
                bin=1,
            )

        queue = counts.queue + (step * change.queue if change else 0.0)
        verdicts = np.array(counts.verdicts) + (step * np.array(change.verdicts) if change else 0.0)
        return cls(
            duration=np.array([1.0]),
            idle=np.array([1.0 - near(lambda of: of.busy)]),
            arrivals=np.array([near(lambda of: of.arrivals)]),
            served=np.array([served]),
            served_bytes=np.array([served * packet_bytes]),
            verdicts=verdicts[None, :],
            queue=queue[None, :],
            sojourn=times(lambda of: of.sojourn),
            delay=times(lambda of: of.delay),
        )

    def map(self, change: Change) -> QueueCounts:
        """The same with every column changed."""
        changed: dict[str, Any] = {
            name: column.map(change) if isinstance(column, Times) else change(column)
            for name, column in vars(self).items()
        }
        return QueueCounts(**changed)

    def total(self) -> QueueCounts:
        """The sum of all sets, as one set."""
        return self.map(lambda rows: rows.sum(axis=0, keepdims=True))

    def leave_one_out(self) -> QueueCounts:
        """Place k: the sum of all sets but k."""
        return self.map(lambda rows: rows.sum(axis=0, keepdims=True) - rows)


@dataclass(frozen=True)
class KindCounts:
    """What n replications of a network counted of the packets of one kind at one queue.

    Attributes:
        arrivals: Packets that arrived, shape (n,).
        lost: Packets that were lost, shape (n,).
        delay: From arrival to the end of the transmission, ns.
    """

    arrivals: FloatArray
    lost: FloatArray
    delay: Times

    @classmethod
    def of(cls, sets: Sequence[Sequence[_engine.KindTally]]) -> Self:
        """A place for each set; a set is the sum of some tallies of the engine."""
        column = _columns(sets)
        return cls(
            arrivals=column(lambda tally: tally.arrivals),
            lost=column(lambda tally: tally.lost),
            delay=_times_of(sets, lambda tally: tally.delay),
        )


@dataclass(frozen=True)
class WireCounts:
    """What n replications counted on one wire, or on several together; no queue's losses.

    Attributes:
        entered: Packets that came to it, shape (n,), as are the others.
        lost: Packets that it lost.
        reordered: Packets that came out after one that had entered later.
    """

    entered: FloatArray
    lost: FloatArray
    reordered: FloatArray

    @classmethod
    def of(cls, sets: Sequence[Sequence[tuple[int, int, int]]]) -> Self:
        """A place for each set; a set is the sum of some counts of the engine."""
        return cls(*np.array([np.sum(each, axis=0) for each in sets], dtype=np.float64).T)


@dataclass(frozen=True)
class SizeCounts:
    """What n replications counted of the flows and objects of one class and one range of sizes.

    Attributes:
        times: From the start to the end of those that ended, ns.
        slowdowns: These times over the ideal ones, in thousandths, of those that have a size.
        bytes: Bytes of those that ended, shape (n,), as are those that follow.
        unfinished: Those that had begun at the end of the run and not ended.
        unfinished_bytes: Their bytes.
    """

    times: Times
    slowdowns: Times
    bytes: FloatArray
    unfinished: FloatArray
    unfinished_bytes: FloatArray

    @classmethod
    def of(cls, sets: Sequence[Sequence[_engine.Completions]]) -> Self:
        """A place for each set; a set is the sum of some counts of the engine."""
        column = _columns(sets)
        return cls(
            times=_times_of(sets, lambda each: each.times),
            slowdowns=_times_of(sets, lambda each: each.slowdowns),
            bytes=column(lambda each: each.bytes),
            unfinished=column(lambda each: each.unfinished),
            unfinished_bytes=column(lambda each: each.unfinished_bytes),
        )


@dataclass(frozen=True)
class EndCounts:
    """What n replications counted of one class, at the ends of its flows and at a queue.

    Attributes:
        sets: The engine's counts: a place for each replication, the parts of it in their order.
        port: Whose queue.
    """

    sets: Sequence[Sequence[_engine.ClassCounts]]
    port: int

    def sum(self, read: Callable[[_engine.ClassCounts], float]) -> FloatArray:
        """A count of each replication, shape (n,)."""
        return _columns(self.sets)(read)

    def sum_at_queue(self, read: Callable[[_engine.Tally], float]) -> FloatArray:
        """A count of its packets at the queue, of each replication, shape (n,)."""
        return self.sum(lambda each: read(each.ports[self.port]))

    @cached_property
    def duration_s(self) -> FloatArray:
        """Time observed, shape (n,)."""
        return self.sum(lambda each: each.ports[0].duration) / 1e9

    @cached_property
    def one_way_delay(self) -> Times:
        """From sending to arrival, of data packets and datagrams, ns."""
        return _times_of(self.sets, lambda each: each.one_way_delay)

    @cached_property
    def least_one_way_delay(self) -> FloatArray:
        """The least of them in the whole run, ns, shape (n,); NaN if nothing arrived."""
        least = [parts[-1].least_one_way_delay for parts in self.sets]
        return np.array([np.nan if ns is None else ns for ns in least], dtype=np.float64)

    @cached_property
    def round_trip(self) -> Times:
        """From the sending of a data packet of TCP until its ACK was there, ns."""
        return _times_of(self.sets, lambda each: each.round_trip)

    @cached_property
    def pages(self) -> Times:
        """From asking for a page of the web until all of it was there, ns."""
        return _times_of(self.sets, lambda each: each.pages)

    @cached_property
    def frames(self) -> Times:
        """From when a frame of a call was made until all of it was there, ns."""
        return _times_of(self.sets, lambda each: each.frames)

    @cached_property
    def all(self) -> SizeCounts:
        """Flows and objects of all sizes."""
        return SizeCounts.of(
            [[k for each in parts for k in each.completions] for parts in self.sets]
        )

    @cached_property
    def by_size(self) -> Sequence[SizeCounts]:
        """Those of each range of sizes."""
        return [
            SizeCounts.of([[each.completions[size] for each in parts] for parts in self.sets])
            for size in range(len(self.sets[0][0].completions))
        ]


@dataclass(frozen=True)
class FlowCounts:
    """What n replications of a network counted of all flows together.

    Attributes:
        duration_s: Time observed, shape (n,), as are the four that follow.
        acknowledged: Data packets of TCP flows acknowledged in sequence, each once.
        retransmissions: Data packets sent again.
        timeouts: Retransmission timers that ran out.
        datagrams_received: Datagrams that arrived.
        completions_s: Completion times of the TCP flows that finished, a row for each set.
        rates: Bits/s that each lasting flow got, a row for each set.
        demands: Bits/s that each of them sent, a row for each set; infinite for TCP, which takes
            what it gets.
        tcp: Data packets of TCP at the main queue; None where they are not counted apart.
        datagrams: Likewise of datagrams.
        foreign: Times of exchanges of one packet beside a load, ns; None where there are none.
        own: Round trips of the flows that are the load, ns.
        wires: What wires did to packets; None where no link has one.
    """

    duration_s: FloatArray
    acknowledged: FloatArray
    retransmissions: FloatArray
    timeouts: FloatArray
    datagrams_received: FloatArray
    completions_s: Sequence[FloatArray]
    rates: Sequence[FloatArray]
    demands: Sequence[FloatArray]
    tcp: KindCounts | None = None
    datagrams: KindCounts | None = None
    foreign: Times | None = None
    own: Times | None = None
    wires: WireCounts | None = None


E = TypeVar("E")


def _columns(sets: Sequence[Sequence[E]]) -> Callable[[Callable[[E], float]], FloatArray]:
    """A function that makes a column of sums: a place for each set."""
    return lambda read: np.array([float(sum(map(read, parts))) for parts in sets])


def _times_of(sets: Sequence[Sequence[E]], read: Callable[[E], _engine.Times]) -> Times:
    """Times of each set, in bins of the widest of all."""
    found = [list(map(read, parts)) for parts in sets]
    return _times(found, max(times.bin for parts in found for times in parts))


def coarsen(bins: NDArray[Any], factor: int) -> NDArray[Any]:
    """The same counts or shares in bins `factor` times as wide."""
    if factor == 1:
        return np.asarray(bins)
    # one bin as wide as all is enough: zeros up to a much wider bin would fill the memory
    factor = min(factor, max(1, len(bins)))
    padded = np.pad(bins, (0, -len(bins) % factor))
    return np.asarray(padded.reshape(-1, factor).sum(axis=1))


def shares(counts: NDArray[Any]) -> FloatArray:
    """Counts as shares of all, up to the last that is not 0; empty if there are none."""
    counts = np.trim_zeros(counts, "b")
    return np.asarray(counts / max(counts.sum(), 1))


def _times(sets: Sequence[Sequence[_engine.Times]], bin_: int) -> Times:
    def exact(read: Callable[[_engine.Times], int]) -> ExactArray:
        return np.array([sum(map(read, parts)) for parts in sets], dtype=object)

    return Times(
        count=exact(lambda times: int(times.bins.sum())),
        sum=exact(lambda times: times.sum),
        square_sum=exact(lambda times: times.square_sum),
        bins=_stacked([[coarsen(part.bins, bin_ // part.bin) for part in parts] for parts in sets]),
        bin=bin_,
    )


def _stacked(sets: Sequence[Sequence[NDArray[np.uint64] | list[int]]]) -> FloatArray:
    """A row for each set: the sum of its parts, padded to the longest."""
    longest = max(1, *(len(part) for parts in sets for part in parts))
    rows = np.zeros((len(sets), longest))
    for row, parts in zip(rows, sets, strict=True):
        for part in parts:
            row[: len(part)] += part
    return rows
