"""From what was seen of a link to what a queue counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.testbed.outcome import Outcome, Seen
from sluicegate.worlds.kernel.band_stats import BandStats, band_stats
from sluicegate.worlds.kernel.shaper import HANDLE
from sluicegate.worlds.real.outcome import BandSeries, PortSeries, Tally, Times, nearest
from sluicegate.worlds.real.varying import Rates

# width of the bins of times, as in the gate
_BIN_NS = 1 << 17
_NS_PER_S = 1e9
# of the counts of a qdisc that `tc` tells: what was dropped, what was over its limits, what waits
_COUNTS = ("drops", "overlimits", "qlen")
_CE = 3
# what a packet is known by while it is in the router
_IDENTITY = ("protocol", "number", "source", "sink", "ports")


# what the daemon calls the verdicts 1 to 3 and 5, which are losses
_LOSSES = {"DROP_EARLY": 1, "DROP_FORCED": 2, "DROP_OVERFLOW": 3, "DROP_BOTH": 5}
# a loss for whatever reason
_ANY = 1
_MARK = 4

Reasons = Mapping[int, int]


def reasons_of(told: str) -> list[Reasons]:
    """How often each link's qdisc dropped a packet for each reason, by verdict, in the whole run.

    Args:
        told: What `sluiced qdisc show` wrote: a line for each link; empty: nothing is known.
    """
    lines = [json.loads(line)["verdicts"] for line in told.splitlines()]
    return [{place: line[name] for name, place in _LOSSES.items()} for line in lines]


def split(lost: int, reasons: Reasons | None) -> Reasons | None:
    """The losses of a part of a run by reason, from those of the whole run.

    Returns:
        By verdict; None where they cannot be told apart: the part has some of the losses only, and
        there were several reasons.
    """
    if not lost:
        return {}
    if reasons is None:
        return None
    met = {place: count for place, count in reasons.items() if count}
    if sum(met.values()) == lost:
        return met
    return dict.fromkeys(met, lost) if len(met) == 1 else None


@dataclass(frozen=True)
class Packets:
    """Packets that came to a queue, and those that left it, each in the order of time.

    Attributes:
        came_ns: When they came, shape (N,).
        lost_ns: When those came that were lost, shape (K,).
        left_ns: When they left, shape (M,), as all that follow.
        bytes: Their size.
        sojourn_ns: From when they came until they left.
        marked: Whether they were marked meanwhile.
    """

    came_ns: NDArray[np.int64]
    lost_ns: NDArray[np.int64]
    left_ns: NDArray[np.int64]
    bytes: NDArray[np.int64]
    sojourn_ns: NDArray[np.int64]
    marked: NDArray[np.bool_]

    def waited(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """When the number of waiting packets changed, and how many waited from then on.

        It is of those that left: what was lost had not waited, or for a time that is not known.
        """
        times_ns = np.concatenate([self.left_ns - self.sojourn_ns, self.left_ns])
        by = np.repeat([1, -1], len(self.left_ns))
        order = np.argsort(times_ns, kind="stable")
        return times_ns[order], np.cumsum(by[order])


class LinkSeen:
    """A link with a qdisc before it: counts in its periods, series in time.

    Sojourns are from a packet's arrival at the router until it leaves: a qdisc that shapes lets a
    packet go when its service begins (one that keeps it: `begun`). Losses and what waits are the
    kernel's own counts. So are marks that are set behind the link: a packet that leaves has none
    yet. Of a band, packets are counted as they come and leave, and the kernel's counts are taken
    where it has them by band.

    Attributes:
        sojourn_ns: Of each packet that left, shape (N,).

    Args:
        seen: What was seen.
        marks_behind: Whether marks are set behind the link, and told as overlimits.
        keeps: Whether a packet stays in the qdisc until its transmission ends: then it does not
            wait, and has not left.
        reasons: Of the losses in the whole run; None: they are not known.
        rates: How the link's rate varies; None: it does not.
        start_ns: When the run started.
        band_of: The band of each traffic class, shape (256,); None: there are no bands.
        bands: How many bands there are.
    """

    def __init__(
        self,
        seen: Seen,
        marks_behind: bool,
        reasons: Reasons | None = None,
        *,
        keeps: bool = False,
        rates: Rates | None = None,
        start_ns: int = 0,
        band_of: NDArray[np.int64] | None = None,
        bands: int = 0,
    ) -> None:
        self._reasons = reasons
        samples = [json.loads(sample) for sample in seen.told.splitlines()]
        qdiscs = [_discipline(sample) for sample in samples]
        self._rates = rates
        self._start_ns = start_ns
        counts = np.array([[each[name] for name in _COUNTS] for each in qdiscs], dtype=np.int64)
        self._dropped, overlimits, self._waiting = counts[: len(seen.sampled_ns)].T
        self._overlimits = overlimits if marks_behind else None
        self._marks = seen.marks
        self._sampled_ns = seen.sampled_ns
        source = sources(seen)
        left_ns = seen.left["time_ns"]
        self.sojourn_ns = left_ns - seen.came["time_ns"][source]
        marked = (seen.left["tos"] & _CE == _CE) & (seen.came["tos"][source] & _CE != _CE)
        if marks_behind:
            # a mark that comes between is of the router before, set as the packet came
            marked = np.zeros_like(marked)
        self._all = Packets(
            came_ns=seen.came["time_ns"],
            lost_ns=np.empty(0, dtype=np.int64),
            left_ns=left_ns,
            bytes=seen.left["bytes"].astype(np.int64),
            sojourn_ns=self.sojourn_ns,
            marked=marked,
        )
        self._bands: list[Packets] = []
        self._stats: list[BandStats] = []
        if band_of is not None:
            of_came = np.asarray(band_of)[seen.came["tos"]]
            waiting = int(self._waiting[-1])
            # while others wait, one is in transmission
            lost = lost_of(len(seen.came), source, waiting + (keeps and waiting > 0))
            self._bands = [self._part(of_came == band, source, lost) for band in range(bands)]
            self._stats = band_stats(samples, qdiscs[0], bands, len(seen.sampled_ns))

    def _part(
        self, came: NDArray[np.bool_], source: NDArray[np.int64], lost: NDArray[np.bool_]
    ) -> Packets:
        """Some of the packets that came."""
        all_, left = self._all, came[source]
        return Packets(
            came_ns=all_.came_ns[came],
            lost_ns=all_.came_ns[came & lost],
            left_ns=all_.left_ns[left],
            bytes=all_.bytes[left],
            sojourn_ns=all_.sojourn_ns[left],
            marked=all_.marked[left],
        )

    def _sampled(self, since_ns: int, until_ns: int) -> slice:
        """The looks between those nearest to two times; the look at the end is the next one."""
        first, last = nearest(self._sampled_ns, [since_ns, until_ns])
        return slice(int(first), int(last))

    def _held(self, waiting: NDArray[np.int64], looks: slice) -> NDArray[np.uint64]:
        """How long so many packets waited, as looks saw it."""
        lasting_ns = np.diff(self._sampled_ns)[looks]
        return np.bincount(waiting[looks], lasting_ns).astype(np.uint64)

    def tally(self, since_ns: int, until_ns: int, rate_bps: float) -> Tally:
        """What was counted between two times, of CLOCK_MONOTONIC."""
        looks = self._sampled(since_ns, until_ns)
        passed = self._passed(self._all, since_ns, until_ns, rate_bps)
        lost = _grown(self._dropped, looks)
        if self._overlimits is not None:
            passed.verdicts[_MARK] = _grown(self._overlimits, looks)
        return self._with_losses(passed, lost, queue=self._held(self._waiting, looks))

    def bands(self, since_ns: int, until_ns: int, rate_bps: float) -> Sequence[Tally]:
        """The same of each band; see `Tally` for what is not known."""
        looks = self._sampled(since_ns, until_ns)
        marks_known = (
            self._overlimits is None
            or self._marks is not None
            or not _grown(self._overlimits, looks)
        )
        found = []
        for place, packets in enumerate(self._bands):
            passed = self._passed(packets, since_ns, until_ns, rate_bps)
            if self._marks is not None:
                passed.verdicts[_MARK] = _grown(self._marks[:, place], looks)
            first, last = np.searchsorted(packets.lost_ns, [since_ns, until_ns])
            stats = self._stats[place] if self._stats else BandStats()
            lost = int(last - first) if stats.dropped is None else _grown(stats.dropped, looks)
            queue, queue_known = np.zeros(1, dtype=np.uint64), True
            if stats.waiting is not None:
                queue = self._held(stats.waiting, looks)
            elif not len(packets.lost_ns):
                queue = _lasting(*packets.waited(), since_ns, until_ns)
            else:
                queue_known = False
            tally = self._with_losses(passed, lost, queue=queue)
            found.append(replace(tally, queue_known=queue_known, marks_known=marks_known))
        return found

    def _passed(self, packets: Packets, since_ns: int, until_ns: int, rate_bps: float) -> Tally:
        """What packets give that came and left between two times."""
        came = np.searchsorted(packets.came_ns, [since_ns, until_ns])
        first, last = np.searchsorted(packets.left_ns, [since_ns, until_ns])
        sent_bytes = packets.bytes[first:last]
        sojourn_ns = packets.sojourn_ns[first:last]
        left_ns = packets.left_ns[first:last] - self._start_ns
        if self._rates is None:
            service_ns = np.round(sent_bytes * 8 / rate_bps * _NS_PER_S).astype(np.int64)
        else:
            service_ns = self._rates.taking_ns(left_ns, sent_bytes)
        return Tally(
            duration=until_ns - since_ns,
            idle=max(0, until_ns - since_ns - int(service_ns.sum())),
            queue=np.zeros(1, dtype=np.uint64),
            arrivals=int(came[1] - came[0]),
            verdicts=[0, 0, 0, 0, int(packets.marked[first:last].sum()), 0],
            served=int(last - first),
            served_bytes=int(sent_bytes.sum()),
            sojourn=_times(sojourn_ns),
            delay=_times(sojourn_ns + service_ns),
        )

    def _with_losses(self, passed: Tally, lost: int, *, queue: NDArray[np.uint64]) -> Tally:
        """The same with what was lost, by reason if that is known, and what waited."""
        by_reason = split(lost, self._reasons)
        verdicts = list(passed.verdicts)
        for verdict, count in ({_ANY: lost} if by_reason is None else by_reason).items():
            verdicts[verdict] = count
        known = by_reason is not None
        return replace(passed, queue=queue, verdicts=verdicts, reasons_known=known)

    def series(self, times_ns: NDArray[np.int64]) -> PortSeries:
        """How the link stood at some times: what waited at the look nearest to each.

        Counts are from the first of the times on.
        """
        samples = nearest(self._sampled_ns, times_ns)
        came = np.searchsorted(self._all.came_ns, times_ns)
        sent = np.concatenate([[0], np.cumsum(self._all.bytes)])[
            np.searchsorted(self._all.left_ns, times_ns)
        ]
        nothing = np.full(len(times_ns), np.nan)
        return PortSeries(
            queue=self._waiting[samples].astype(np.uint32),
            arrivals=(came - came[0]).astype(np.uint64),
            losses=(self._dropped[samples] - self._dropped[samples[0]]).astype(np.uint64),
            sent_bytes=(sent - sent[0]).astype(np.uint64),
            average=nothing,
            probability=nothing,
            rate_bps=np.empty(0, dtype=np.uint64)
            if self._rates is None
            else self._rates.at(times_ns - self._start_ns).astype(np.uint64),
            bands=[self._band_series(place, times_ns) for place in range(len(self._bands))],
        )

    def _band_series(self, place: int, times_ns: NDArray[np.int64]) -> BandSeries:
        """A band at some times; see `PortSeries`."""
        packets = self._bands[place]
        left = np.searchsorted(packets.left_ns, times_ns)
        sojourn_ns = np.concatenate([[0], np.cumsum(packets.sojourn_ns)])[left]
        stats = self._stats[place] if self._stats else BandStats()
        queue = None
        if stats.waiting is not None:
            queue = stats.waiting[nearest(self._sampled_ns, times_ns)].astype(np.uint32)
        elif not len(packets.lost_ns):
            queue = (np.searchsorted(packets.came_ns, times_ns) - left).astype(np.uint32)
        since = [(each - each[0]).astype(np.uint64) for each in (left, sojourn_ns)]
        return queue, since[0], since[1]


def _grown(counts: NDArray[np.int64], looks: slice) -> int:
    """By how much a count grew from the first of some looks to the one after the last."""
    return int(counts[looks.stop] - counts[looks.start])


def _lasting(
    times_ns: NDArray[np.int64], waiting: NDArray[np.int64], since_ns: int, until_ns: int
) -> NDArray[np.uint64]:
    """How long so many packets waited between two times, from when they changed."""
    edges_ns = np.clip(np.concatenate([[since_ns], times_ns, [until_ns]]), since_ns, until_ns)
    held = np.concatenate([[0], waiting])
    return np.bincount(held, np.diff(edges_ns)).astype(np.uint64)


class WireSeen:
    """What happened on the wire to a side.

    Args:
        outcome: Of the testbed.
        place: Which side, in the order of the hosts.
        sample_ns: Between two looks.
    """

    def __init__(self, outcome: Outcome, place: int, sample_ns: int) -> None:
        self._samples = outcome.hosts[place].received.wire
        self._start_ns = outcome.start_ns
        self._sample_ns = sample_ns

    def wire(self, since_ns: int, until_ns: int) -> tuple[int, int, int]:
        """Packets that came between two times, that were lost; none is known to be overtaken."""
        first = (since_ns - self._start_ns) // self._sample_ns
        last = -(-(until_ns - self._start_ns) // self._sample_ns)
        came, left, on_it = np.diff(self._samples[[first, last]], axis=0)[0].tolist()
        # where packets come all the time, a few may have come during the first look
        return came, max(0, came - left - on_it), 0


def _discipline(qdiscs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """That with the discipline: the one below a shaper, whatever is below it, or the only one."""
    return next((each for each in qdiscs if each.get("handle") == HANDLE), qdiscs[-1])


def _times(ns: NDArray[np.int64]) -> Times:
    return Times(
        bins=np.bincount(ns // _BIN_NS).astype(np.uint64),
        bin=_BIN_NS,
        sum=int(ns.sum()),
        square_sum=sum(each * each for each in ns.tolist()),
    )


def sources(seen: Seen) -> NDArray[np.int64]:
    """Of each packet that left, the place where it came: the last of its identity until then.

    The number in IP comes again after 65,536 packets of a flow.
    """
    both = np.concatenate([seen.came, seen.left])
    _, which = np.unique(both[list(_IDENTITY)], return_inverse=True)
    start_ns = int(both["time_ns"].min(initial=0))
    # identities one after the other, each in the order of time
    width = int(both["time_ns"].max(initial=0)) - start_ns + 1
    place = which.astype(np.int64) * width + both["time_ns"] - start_ns
    came, left = place[: len(seen.came)], place[len(seen.came) :]
    order = np.argsort(came, kind="stable")
    found = order[np.searchsorted(came[order], left, side="right") - 1]
    if (unknown := which[: len(came)][found] != which[len(came) :]).any():
        raise SluiceError(f"{unknown.sum()} packets left the router that had not come to it")
    return np.asarray(found, dtype=np.int64)


def lost_of(count: int, source: NDArray[np.int64], waiting: int) -> NDArray[np.bool_]:
    """Which of the packets that came were lost: those that did not leave.

    Those that wait at the end are taken to be the last of them.

    Args:
        count: Packets that came.
        source: Of each packet that left, its place among those that came.
        waiting: Packets that wait at the end.
    """
    lost = np.ones(count, dtype=np.bool_)
    lost[source] = False
    lost[np.flatnonzero(lost)[max(0, int(lost.sum()) - waiting) :]] = False
    return lost
