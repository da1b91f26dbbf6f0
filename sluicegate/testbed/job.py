"""What there is to do in a testbed, and what came of it: the words of its processes.

They tell each other these objects, pickled, over pipes. All times are of CLOCK_MONOTONIC, in ns,
or count from the start of the run.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Side = Literal["clients", "servers"]
SIDES: tuple[Side, Side] = ("clients", "servers")

# a file system of the testbed's own: it vanishes with it
FOLDER = "/run"
# a flow is known to its receiver by the port that it comes from
FIRST_PORT = 2000
STREAM_PORT = 1000
DATAGRAM_PORT = 1001
# port of flows whose receiver needs their congestion control, too: with another one it refuses a
# SYN that is marked as capable of ECN, as theirs is (Linux, tcp_input.c: tcp_ecn_create_request)
DCTCP_PORT = 1002
# video calls: the port that video is sent to, and, of the first flow, that which it comes from
CALL_PORT = 1003
FIRST_CALL_PORT = 10000
# what a socket's packets carry inside their host (SO_MARK) if they are to leave it with ECT(1)
ECT1_MARK = 1
# where the DSCP and the ECN codepoint go, by whether the packet is of IPv6
TRAFFIC_CLASS = {
    False: (socket.IPPROTO_IP, socket.IP_TOS),
    True: (socket.IPPROTO_IPV6, socket.IPV6_TCLASS),
}
_IP_HEADER = {False: 20, True: 40}
# the last byte of an object; all others are 0
END = b"\1"
# what happens to a flow that transfers objects: one is there, or the next one is sent
ARRIVED, SUPPLIED = 0, 1
# what happens to a call: a frame is made, packets leave, one arrives, feedback arrives
FRAME, SENT, SHOWN, LEARNT = range(4)


def across(side: Side) -> Side:
    """The other side."""
    return SIDES[1 - SIDES.index(side)]


def udp_headers(ipv6: bool) -> int:
    """Bytes of the headers of IP and UDP."""
    return _IP_HEADER[ipv6] + 8


def tcp_headers(ipv6: bool) -> int:
    """Bytes of the headers of IP and TCP, without options."""
    return _IP_HEADER[ipv6] + 20


def stream_port(congestion_control: str) -> int:
    """The port that a TCP flow is sent to."""
    return DCTCP_PORT if congestion_control == "dctcp" else STREAM_PORT


def address(side: Side, place: int, ipv6: bool) -> str:
    """Address of a host; all hosts of a side are addresses of one namespace."""
    number, net = place + 2, 1 + SIDES.index(side)
    return f"fd00:{net}::{number:x}" if ipv6 else f"10.{net}.{number >> 8}.{number & 255}"


def gateway(side: Side, ipv6: bool) -> str:
    """Address of the router on a side."""
    return address(side, -1, ipv6)


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
    flow: int = 0
    supplied: Literal["at_once", "objects", "packets"] = "at_once"

    @property
    def is_idle(self) -> bool:
        """Whether its application gives nothing at all: it would start once it has ended."""
        stops = self.stop_ns is not None and self.start_ns >= self.stop_ns
        return stops and self.supplied == "packets"


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


@dataclass(frozen=True)
class Job:
    """A run.

    Attributes:
        hosts: Both sides, the clients first.
        router: The daemon, or qdiscs; None: the kernel forwards, as fast as it can.
    """

    hosts: tuple[HostJob, HostJob]
    router: RouterJob | QdiscJob | None


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
    """

    came: NDArray[np.void]
    left: NDArray[np.void]
    sampled_ns: NDArray[np.int64]
    told: str


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
