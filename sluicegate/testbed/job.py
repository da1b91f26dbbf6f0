"""What there is to do in a testbed: the words of its processes, with what came of it (`outcome`).

They tell each other these objects, pickled, over pipes. All times are of CLOCK_MONOTONIC, in ns,
or count from the start of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sluicegate.testbed.addresses import Side

# a file system of the testbed's own: it vanishes with it
FOLDER = "/run"
# the last byte of an object; all others are 0
END = b"\1"


@dataclass(frozen=True)
class Stream:
    """A TCP flow.

    Attributes:
        source: Its host, a place on its side.
        sink: The host it sends to, a place on the other side.
        start_ns: Since the start of the run.
        stop_ns: End of the application; None: it does not end.
        packets: Full packets to send; None: without end.
        packet_bytes: Size of a full IP packet.
        congestion_control: A name that the kernel knows.
        ect1: Whether its packets leave its host with ECT(1) in place of ECT(0).
        dscp: Differentiated services codepoint of its packets.
        flow: Its number among all TCP flows of the scenario.
        supplied: What gives it its packets: it has all of them at once, or an application gives
            objects, each once the one before is there, or packets, at times.
    """

    source: int
    sink: int
    start_ns: int
    stop_ns: int | None
    packets: int | None
    packet_bytes: int
    congestion_control: str
    ect1: bool
    dscp: int
    flow: int
    supplied: Literal["at_once", "objects", "packets"]

    @property
    def is_idle(self) -> bool:
        """Whether its application gives nothing at all: it would start once it has ended."""
        return self.stop_ns is not None and self.start_ns >= self.stop_ns


@dataclass(frozen=True)
class Drawn:
    """From what a side draws its applications.

    Attributes:
        scenario: The scenario with one discipline, as TOML.
        replication: Its number.
    """

    scenario: str
    replication: int


@dataclass(frozen=True)
class Datagrams:
    """All UDP flows of a side, and each of their datagrams in the order of time.

    Attributes:
        sources: Host of each flow, shape (F,).
        sinks: The host it sends to, shape (F,).
        time_ns: When each is sent, since the start of the run, shape (N,).
        flow: Whose it is, shape (N,).
        bytes: Size of its IP packet, shape (N,).
        traffic_class: Its DSCP and ECN codepoint, the byte in the IP header, shape (N,).
    """

    sources: Sequence[int]
    sinks: Sequence[int]
    time_ns: NDArray[np.uint64]
    flow: NDArray[np.int64]
    bytes: NDArray[np.uint32]
    traffic_class: NDArray[np.uint8]


@dataclass(frozen=True)
class CallEnds:
    """A video call in one direction.

    Attributes:
        number: Among the calls of the scenario.
        place: Among the UDP flows of the sender's side.
        source: Host of its sender.
        sink: Host of its receiver.
        start_ns: When it makes its first frame, since the start of the run; None: never.
        traffic_class: DSCP and ECN codepoint of the video.
        feedback_class: Those of the feedback.
    """

    number: int
    place: int
    source: int
    sink: int
    start_ns: int | None
    traffic_class: int
    feedback_class: int


@dataclass(frozen=True)
class Wire:
    """What happens to packets before a side takes them, behind the link that leads there.

    Attributes:
        netem: What `tc` adds behind `netem`.
        tables: Distributions that it names, each as `tc` reads one.
        police: A filter's action before it, as `tc` takes it; empty: none.
    """

    netem: str
    tables: Mapping[str, Sequence[int]]
    police: str = ""


@dataclass(frozen=True)
class HostJob:
    """What a side does.

    Attributes:
        side: Which.
        hosts: How many addresses it has.
        streams: TCP flows that it sends.
        datagrams: UDP flows that it sends.
        arriving_streams: How many TCP flows the other side sends it.
        arriving_dctcp: Whether some of them have the congestion control DCTCP.
        arriving_datagrams: How many UDP flows the other side sends it.
        mtu: Largest IP packet.
        duration_ns: Of the run.
        sample_ns: Width of the bins in which what arrives is counted.
        info_ns: Between two looks at the kernel's state of each connection.
        ecn: What TCP asks for: 0: nothing, 1: explicit congestion notification, 3: that with
            accurate feedback; 5 and 4: as 0 and 1, but it grants accurate feedback
            (`net.ipv4.tcp_ecn`).
        ipv6: Whether all packets are of IPv6, in place of IPv4.
        qdiscs: Lines for `tc` in the side's namespace; its link is `eth0`.
        wire: What happens to packets on their way to it; None: nothing.
        arriving_answered: Which of the arriving TCP flows bring objects, each of which it answers.
        calls: Video calls that it sends.
        arriving_calls: Those that the other side sends it.
        drawn: The applications; None if there are none.
    """

    side: Side
    hosts: int
    streams: Sequence[Stream]
    datagrams: Datagrams
    arriving_streams: int
    arriving_dctcp: bool
    arriving_datagrams: int
    mtu: int
    duration_ns: int
    sample_ns: int
    info_ns: int
    ecn: int
    ipv6: bool
    qdiscs: Sequence[str] = ()
    wire: Wire | None = None
    arriving_answered: Sequence[int] = ()
    calls: Sequence[CallEnds] = ()
    arriving_calls: Sequence[CallEnds] = ()
    drawn: Drawn | None = None


@dataclass(frozen=True)
class RouterJob:
    """The daemon.

    Attributes:
        program: Path of `sluiced`.
        scenario: The scenario with one discipline, as TOML.
        rate_bps: Of the way back, each way of its own where clients differ in delay.
        delay_s: Propagation from clients to servers.
        reverse_delays_s: Propagation from the servers to each client.
        seed: Of its random streams.
        sample_s: Between two lines of what it counts.
        flows_start_s: When the flows and the rates of links begin, from its start on; None: the
            flows as soon as they can.
        ipv6: Whether it gets the packets of IPv6, in place of IPv4.
    """

    program: str
    scenario: str
    rate_bps: float
    delay_s: float
    reverse_delays_s: Sequence[float]
    seed: int
    sample_s: float
    flows_start_s: float | None
    ipv6: bool


@dataclass(frozen=True)
class Change:
    """What `tc` changes at a time, for which a shaper does not look by itself.

    Attributes:
        at_ns: When, since the start of the run.
        link: Before which link.
        lines: For `tc`.
        waking_bytes: Length of a frame that no shaper there takes, by which it wakes.
    """

    at_ns: int
    link: Side
    lines: Sequence[str]
    waking_bytes: int


@dataclass(frozen=True)
class QdiscJob:
    """The kernel forwards, through qdiscs before the links `servers` and `clients`.

    Attributes:
        before: Commands that lay them.
        files: What these commands read, by names: they are in `FOLDER` of the testbed.
        towards: Of which links it is seen what happens to the packets.
        sampling_ns: Between two samples of how much waits before them.
        places: Packets that there is room for in each log.
        after: Commands whose output is kept, one after the other.
        marks_behind: Whether packets are marked at the hosts, whose namespaces have the names of
            their sides then.
        during: Commands that run during the run; the time of the start, ns, is their last word.
        changes: What `tc` changes during the run, in the order of time.
        headers: 1: the packets' headers are brought back, too; else 0. (A number, so that the
            laboratory reads the same instructions for both, and one seed gives one result.)
        marks: For each of these links the map of BPF with the marks of its bands
            (`band_marks.py`); empty: there is none.
    """

    before: Sequence[Sequence[str]]
    files: Mapping[str, bytes]
    towards: Sequence[Side]
    sampling_ns: int
    places: int
    after: Sequence[Sequence[str]] = ()
    marks_behind: bool = False
    during: Sequence[Sequence[str]] = ()
    changes: Sequence[Change] = ()
    headers: int = 0
    marks: Sequence[str] = ()


@dataclass(frozen=True)
class Job:
    """A run.

    Attributes:
        hosts: Both sides, the clients first.
        router: The daemon, or qdiscs; None: the kernel forwards, as fast as it can.
    """

    hosts: tuple[HostJob, HostJob]
    router: RouterJob | QdiscJob | None
