"""The measures of each class of flows, at one queue and at the ends of its flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import polars as pl

from sluicegate.counts import EndCounts, QueueCounts, Times, shares
from sluicegate.estimate import Measure, means, valued
from sluicegate.measures import AT_QUEUE, BETWEEN, ENDS, FELT, Definition, FloatArray

if TYPE_CHECKING:
    from sluicegate._engine import ClassCounts, Period

_NS_PER_S = 1e9
_OF_TCP = ("retransmission_rate", "timeout_rate")
_OF_ENDS = ("finished", "unfinished")
C = TypeVar("C", QueueCounts, EndCounts)
Counted: TypeAlias = "Mapping[str, OneClass]"
# measures with their values, shape (n,)
Known: TypeAlias = list[tuple[Definition[C], FloatArray]]


@dataclass(frozen=True)
class OneClass:
    """What the replications counted of one class.

    Attributes:
        queue: Of its packets at one queue; None where packets are not counted by class: then only
            what people feel of applications is known.
        ends: At the ends of its flows.
    """

    queue: QueueCounts | None
    ends: EndCounts

    @cached_property
    def at_queue(self) -> Known[QueueCounts]:
        """The measures of the queue that have a value in every replication."""
        return [] if self.queue is None else known(self.queue, AT_QUEUE)

    @cached_property
    def at_ends(self) -> Known[EndCounts]:
        """Likewise those at the ends of the flows, which take most of the time."""
        ends, nothing = self.ends, set[str]()
        if not ends.sum(lambda each: each.acknowledged + each.retransmissions).any():
            nothing.update(_OF_TCP)
        if not (ends.all.times.count.any() or ends.all.unfinished.any()):
            nothing.update(_OF_ENDS)
        of_ends = FELT if self.queue is None else ENDS
        return known(ends, [each for each in of_ends if each.name not in nothing])


def known(counts: C, definitions: Sequence[Definition[C]]) -> Known[C]:
    """Those of the measures that have a value in every replication, with their values."""
    found = valued(counts, definitions, _NS_PER_S)
    return [(each, values) for each, values in found if not np.isnan(values).any()]


def counted(names: Sequence[str], periods: Sequence[Sequence[Period]], port: int) -> Counted:
    """The counts of each class; none where flows are not counted by class.

    Args:
        names: The class of each group of flows.
        periods: Of each replication those that count.
        port: Whose queue.
    """
    unique = list(dict.fromkeys(names))
    found = [[period.classes for period in each] for each in periods]
    if not all(len(classes) == len(unique) for each in found for classes in each):
        return {}

    def of(place: int) -> OneClass:
        sets: list[list[ClassCounts]] = [[classes[place] for classes in each] for each in found]
        if not sets[0][0].ports:
            return OneClass(None, EndCounts(sets, port))
        at_port = [[one.ports[port] for one in each] for each in sets]
        return OneClass(QueueCounts.of(at_port), EndCounts(sets, port))

    return {name: of(place) for place, name in enumerate(unique)}


def rows(classes: Counted) -> dict[str, FloatArray]:
    """The measures of each replication, by their names with that of the class."""
    found: dict[str, FloatArray] = {}
    for name, one in classes.items():
        each = {definition.name: values for definition, values in one.at_queue}
        each |= {definition.name: values for definition, values in one.at_ends}
        found |= {f"{name}{BETWEEN}{measure}": values for measure, values in each.items()}
    return found


def measures(classes: Counted, *, ends: bool = True) -> dict[str, Measure]:
    """Their means, with intervals; those at the ends of the flows only with `ends`."""
    found: dict[str, Measure] = {}
    for name, one in classes.items():
        each = {} if one.queue is None else means(one.queue, one.at_queue)
        if ends:
            each |= means(one.ends, one.at_ends)
        found |= {f"{name}{BETWEEN}{measure}": value for measure, value in each.items()}
    return found


def distributions(classes: Counted) -> pl.DataFrame:
    """See `NetworkRecord.class_distributions`."""
    frames = [
        met_frame(name, distribution, share, width)
        for name, one in classes.items()
        if one.queue is not None
        for distribution, share, width in (
            ("queue", shares(one.queue.total().queue[0]), 1.0),
            ("sojourn", *of_times(one.queue.total().sojourn)),
            ("delay", *of_times(one.queue.total().delay)),
            ("one_way_delay", *of_times(_total(one.ends.one_way_delay))),
        )
    ]
    return pl.concat(frames) if frames else met_frame("", "", np.empty(0), 1.0)


def _total(times: Times) -> Times:
    return times.map(lambda rows: rows.sum(axis=0, keepdims=True))


def of_times(times: Times) -> tuple[FloatArray, float]:
    """Shares of times by bins, and the width of a bin, s."""
    return shares(times.bins[0]), times.bin / _NS_PER_S


def met_frame(name: str, distribution: str, share: FloatArray, width: float) -> pl.DataFrame:
    """A distribution of a class, without the bins in which there is nothing, as most are."""
    met = np.flatnonzero(share)
    return pl.DataFrame(
        {
            "class": pl.Series([name] * len(met), dtype=pl.String),
            "distribution": pl.Series([distribution] * len(met), dtype=pl.String),
            "at": met * width,
            "width": np.full(len(met), width),
            "probability": share[met],
        }
    )
