"""What came of a run of a testbed: what its processes tell at the end, as they are told a `Job`.

All times are of CLOCK_MONOTONIC, in ns, or count from the start of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# what happens to a flow that transfers objects: one is there, or the next one is sent
ARRIVED, SUPPLIED = 0, 1
# what happens to a call: a frame is made, packets leave, one arrives, feedback arrives
FRAME, SENT, SHOWN, LEARNT = range(4)


@dataclass(frozen=True)
class StreamOutcome:
    """What a sender saw of its TCP flow.

    Attributes:
        payload: Bytes of data in a full packet; 0 if it was never connected.
        completion_ns: From its start until all was acknowledged after its end; None: not yet.
        error: Why it broke; empty if it did not.
    """

    payload: int
    completion_ns: int | None
    error: str


@dataclass(frozen=True)
class Sent:
    """What the senders of a side saw.

    Attributes:
        streams: Each TCP flow.
        info: A row for each look at a connection: the columns of `tcp_info.COLUMNS`, shape (N, C).
        lateness_ns: Of each datagram, shape (D,): how much later than it should it was sent.
        start_lateness_ns: Likewise of each start of a TCP flow.
        events: What happened to the flows that transfer objects, in its order, shape (E, 3): the
            time since the start of the run (when an object arrived, or when the next one was
            due), the flow's number in the scenario, and `ARRIVED` or `SUPPLIED`.
        frame_lateness_ns: Of each frame of a call, how much later than it should it was made.
        unsent: Packets of calls that the kernel did not take.
    """

    streams: Sequence[StreamOutcome]
    info: NDArray[np.int64]
    lateness_ns: NDArray[np.int64]
    start_lateness_ns: NDArray[np.int64]
    events: NDArray[np.int64]
    frame_lateness_ns: NDArray[np.int64]
    unsent: int


@dataclass(frozen=True)
class Received:
    """What arrived at a side.

    Attributes:
        stream_bytes: Data in sequence of each TCP flow, in bins of `info_ns`, shape (S, I).
        sampled_bytes: Of all TCP flows, in bins of `sample_ns`, shape (T,).
        datagrams: Of each UDP flow, shape (F,).
        sampled_datagrams: Of all UDP flows, in bins of `sample_ns`, shape (T,).
        overruns: Datagrams that the receivers' socket had no room for.
        wire: At the start of each bin of `sample_ns`, and at the end, shape (T + 1, 3): packets
            that had come to the wire, that had left it, and that were on it; shape (0, 3) without
            one.
    """

    stream_bytes: NDArray[np.int64]
    sampled_bytes: NDArray[np.int64]
    datagrams: NDArray[np.int64]
    sampled_datagrams: NDArray[np.int64]
    overruns: int
    wire: NDArray[np.int64]


@dataclass(frozen=True)
class HostOutcome:
    """What came of a side's job.

    Attributes:
        sent: What its senders saw.
        received: What arrived.
        calls: What happened to the ends of calls, in the order of time, shape (E, 7): the time
            since the start of the run, the call's number, what (`FRAME`, ...), and up to four
            values: of `SENT` how many packets, of `SHOWN` the packet's number, of `LEARNT` the
            report.
    """

    sent: Sent
    received: Received
    calls: NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """What was seen of a link.

    Attributes:
        came: Packets that came to the router from the other side, in the order of time: rows of
            `packets.PACKET`, or of `packets.WITH_HEADERS` where the job asks for them.
        left: Likewise, packets that left over the link.
        sampled_ns: When it was told how much waits before it, shape (L,).
        told: What `tc -s -j` told then, a line each time.
        marks: Packets of each band that were marked until then, shape (L, bands); None: they are
            not told apart.
    """

    came: NDArray[np.void]
    left: NDArray[np.void]
    sampled_ns: NDArray[np.int64]
    told: str
    marks: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes:
        start_ns: When it started.
        hosts: Both sides, the clients first.
        router: What the daemon wrote: JSON, a line for each link and sample; or what the command
            at the end of a `QdiscJob` wrote; else empty.
        seen: What was seen of the links of a `QdiscJob`, in its order.
        load: Processes that wanted a core, mean over the last minute, before and after the run.
    """

    start_ns: int
    hosts: tuple[HostOutcome, HostOutcome]
    router: str
    seen: Sequence[Seen]
    load: tuple[float, float]
