"""From what was seen of a link to what a queue counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.testbed.job import Outcome, Seen
from sluicegate.worlds.kernel.shaper import HANDLE
from sluicegate.worlds.real.outcome import PortSeries, Tally, Times, nearest
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


class LinkSeen:
    """A link with a qdisc before it: counts in its periods, series in time.

    Sojourns are from a packet's arrival at the router until it leaves: a qdisc that shapes lets a
    packet go when its service begins. Losses and what waits are the kernel's own counts. So are
    marks that are set behind the link: a packet that leaves has none yet.

    Attributes:
        sojourn_ns: Of each packet that left, shape (N,).

    Args:
        seen: What was seen.
        marks_behind: Whether marks are set behind the link, and told as overlimits.
        reasons: Of the losses in the whole run; None: they are not known.
        rates: How the link's rate varies; None: it does not.
        start_ns: When the run started.
    """

    def __init__(
        self,
        seen: Seen,
        marks_behind: bool,
        reasons: Reasons | None = None,
        *,
        rates: Rates | None = None,
        start_ns: int = 0,
    ) -> None:
        self._reasons = reasons
        qdiscs = [_discipline(json.loads(sample)) for sample in seen.told.splitlines()]
        self._rates = rates
        self._start_ns = start_ns
        counts = np.array([[each[name] for name in _COUNTS] for each in qdiscs], dtype=np.int64)
        self._dropped, overlimits, self._waiting = counts[: len(seen.sampled_ns)].T
        self._overlimits = overlimits if marks_behind else None
        self._sampled_ns = seen.sampled_ns
        self._came_ns = seen.came["time_ns"]
        self._left_ns = seen.left["time_ns"]
        self._bytes = seen.left["bytes"].astype(np.int64)
        source = sources(seen)
        self.sojourn_ns = self._left_ns - self._came_ns[source]
        self._marked = (seen.left["tos"] & _CE == _CE) & (seen.came["tos"][source] & _CE != _CE)

    def tally(self, since_ns: int, until_ns: int, rate_bps: float) -> Tally:
        """What was counted between two times, of CLOCK_MONOTONIC."""
        came = np.searchsorted(self._came_ns, [since_ns, until_ns])
        first, last = np.searchsorted(self._left_ns, [since_ns, until_ns])
        sample, until_sample = nearest(self._sampled_ns, [since_ns, until_ns])
        sent_bytes = self._bytes[first:last]
        sojourn_ns = self.sojourn_ns[first:last]
        left_ns = self._left_ns[first:last] - self._start_ns
        if self._rates is None:
            service_ns = np.round(sent_bytes * 8 / rate_bps * _NS_PER_S).astype(np.int64)
        else:
            service_ns = self._rates.taking_ns(left_ns, sent_bytes)
        lost = int(self._dropped[until_sample] - self._dropped[sample])
        marked = int(self._marked[first:last].sum())
        if self._overlimits is not None:
            marked = int(self._overlimits[until_sample] - self._overlimits[sample])
        lasting_ns = np.diff(self._sampled_ns)[sample:until_sample]
        by_reason = split(lost, self._reasons)
        verdicts = [0, 0, 0, 0, marked, 0]
        for verdict, count in ({_ANY: lost} if by_reason is None else by_reason).items():
            verdicts[verdict] = count
        return Tally(
            duration=until_ns - since_ns,
            idle=max(0, until_ns - since_ns - int(service_ns.sum())),
            queue=np.bincount(self._waiting[sample:until_sample], lasting_ns).astype(np.uint64),
            arrivals=int(came[1] - came[0]),
            verdicts=verdicts,
            served=int(last - first),
            served_bytes=int(sent_bytes.sum()),
            sojourn=_times(sojourn_ns),
            delay=_times(sojourn_ns + service_ns),
            reasons_known=by_reason is not None,
        )

    def series(self, times_ns: NDArray[np.int64]) -> PortSeries:
        """How the link stood at some times: what waited at the look nearest to each.

        Counts are from the first of the times on.
        """
        samples = nearest(self._sampled_ns, times_ns)
        came = np.searchsorted(self._came_ns, times_ns)
        sent = np.concatenate([[0], np.cumsum(self._bytes)])[
            np.searchsorted(self._left_ns, times_ns)
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
        )


class WireSeen:
    """What happened on the wire to a side.

    Args:
        outcome: Of the testbed.
        place: Which side, in the order of the hosts.
        sample_ns: Between two looks.
    """

    def __init__(self, outcome: Outcome, place: int, sample_ns: int) -> None:
        self._looks = outcome.hosts[place].received.wire
        self._start_ns = outcome.start_ns
        self._sample_ns = sample_ns

    def wire(self, since_ns: int, until_ns: int) -> tuple[int, int, int]:
        """Packets that came between two times, that were lost; none is known to be overtaken."""
        first = (since_ns - self._start_ns) // self._sample_ns
        last = -(-(until_ns - self._start_ns) // self._sample_ns)
        came, left, on_it = np.diff(self._looks[[first, last]], axis=0)[0].tolist()
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
