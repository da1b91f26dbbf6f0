"""What a replication of the gate gives, in the shape of the engine's outcomes.

The classes have the attributes of those of the same name in `sluicegate._engine`, which the network
world makes its records of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sluicegate._engine import ClassCounts


def nearest(noted_ns: NDArray[np.int64], times_ns: ArrayLike) -> Any:
    """Where the notes nearest to some times are among all notes; one is enough."""
    between_ns = noted_ns[:-1] + np.diff(noted_ns) // 2
    return np.searchsorted(between_ns, times_ns)


@dataclass(frozen=True)
class Times:
    """Times of packets, ns."""

    bins: NDArray[np.uint64]
    bin: int
    sum: int
    square_sum: int


@dataclass(frozen=True)
class Tally:
    """What a queue counted; ticks are ns."""

    duration: int
    idle: int
    queue: NDArray[np.uint64]
    arrivals: int
    verdicts: list[int]
    served: int
    served_bytes: int
    sojourn: Times
    delay: Times
    # whether it is known why packets were lost, how many waited, and how many were marked
    reasons_known: bool = True
    queue_known: bool = True
    marks_known: bool = True


@dataclass(frozen=True)
class Period:
    """What was counted in a part of a replication."""

    ports: Sequence[Tally]
    # a router does not count packets by kind
    kinds: ClassVar[Sequence[Any]] = ()
    acknowledged: int
    retransmissions: int
    timeouts: int
    datagrams_sent: int
    datagrams_received: int
    # of each port, its bands; of a port without bands, and of one that does not count them, none
    bands: Sequence[Sequence[Tally]] = ()
    # packets that came to each wire of the scenario, that it lost, and that were overtaken there
    wires: Sequence[tuple[int, int, int]] = ()
    # nor by class: of these it is known what people feel of their applications, if they have any
    classes: Sequence[ClassCounts] = ()


@dataclass(frozen=True)
class TcpFlows:
    """What became of the TCP flows; NaN for times that did not come."""

    group: NDArray[np.uint32]
    acknowledged: NDArray[np.uint32]
    retransmissions: NDArray[np.uint32]
    timeouts: NDArray[np.uint32]
    start_s: NDArray[np.float64]
    completion_s: NDArray[np.float64]


@dataclass(frozen=True)
class DatagramFlows:
    """What became of the flows of datagrams."""

    group: NDArray[np.uint32]
    sent: NDArray[np.uint64]
    received: NDArray[np.uint64]
    start_s: NDArray[np.float64]


# the queue is None where it is not known
BandSeries: TypeAlias = tuple[NDArray[np.uint32] | None, NDArray[np.uint64], NDArray[np.uint64]]


@dataclass(frozen=True)
class PortSeries:
    """A queue at each sample."""

    queue: NDArray[np.uint32]
    arrivals: NDArray[np.uint64]
    losses: NDArray[np.uint64]
    sent_bytes: NDArray[np.uint64]
    average: NDArray[np.float64]
    probability: NDArray[np.float64]
    rate_bps: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    # of each band queue, packets sent and the sum of their sojourns, ns
    bands: Sequence[BandSeries] = ()


@dataclass(frozen=True)
class FlowSeries:
    """All TCP flows together at each sample."""

    acknowledged: NDArray[np.uint64]
    window: NDArray[np.float64]


@dataclass(frozen=True)
class Replication:
    """What one replication gives."""

    periods: Sequence[Period]
    tcp: TcpFlows
    datagrams: DatagramFlows
    ports: Sequence[PortSeries]
    flows: FlowSeries
