"""Scenarios of networks: topologies, flows, TCP, distributions.

Generated from docs/reference/scenario.schema.json: change engine/scenario, then `make generated`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from sluicegate.scenario.common import Discipline, Queue
from sluicegate.scenario.derived import (
    CallFlowsBase,
    DatagramFlowsBase,
    DumbbellBase,
    FlowsBase,
    NetworkScenarioBase,
    ReplayFlowsBase,
    SelfSimilarBase,
    TcpFlowsBase,
    TopologyBase,
    VideoFlowsBase,
    WebFlowsBase,
)
from sluicegate.scenario.table import Table

Variant: TypeAlias = Literal["tahoe", "reno", "newreno", "sack", "rack"]
CongestionControl: TypeAlias = Literal[
    "reno",
    "cubic",
    "dctcp",
    "bbr",
    "bbr3",
    "prague",
    "prague_2020",
    "prague_2021",
    "prague_2024",
    "ledbat",
    "ledbatpp",
]
Like: TypeAlias = Literal["rfc", "ns2", "linux"]
ServerEcn: TypeAlias = Literal["accurate", "classic", "nonce", "none", "broken"]
SizeKind: TypeAlias = Literal["constant", "geometric", "pareto"]
GapKind: TypeAlias = Literal["constant", "exponential"]
Tampers: TypeAlias = Literal["bleach", "mark", "clear_flags", "lose_syn"]


@dataclass(frozen=True, kw_only=True)
class Dumbbell(DumbbellBase):
    """Clients, a router, the bottleneck, a router, servers: client i talks to server i.

    Nodes are `client0` and so on, `left`, `right`, `server0` and so on. Routes are `forward`, from
    clients to servers, and `reverse`.

    Attributes:
        rate_bps: Rate of the bottleneck, both directions. [bits/s; 1 to 1e+14; default 1e+07]
        delay_s: Propagation delay of the bottleneck. [s; 0 to 3,600; default 0.0025]
        client_delays_s: Propagation delay between each client and its router; there are as many
            servers as clients. [s; 0 to 3,600; default [0.01, 0.05, 0.1, 0.15, 0.2]]
        server_delay_s: Propagation delay between each server and its router. [s; 0 to 3,600;
            default 0.0025]
        access_rate_bps: Rate of all links but the bottleneck. [bits/s; 1 to 1e+14; default 1e+08]
        two_way: Whether the reverse direction of the bottleneck has the discipline, too. [default
            False]
    """

    kind: ClassVar[Literal["dumbbell"]] = "dumbbell"
    rate_bps: float = 10000000.0
    delay_s: float = 0.0025
    client_delays_s: Sequence[float] = (0.01, 0.05, 0.1, 0.15, 0.2)
    server_delay_s: float = 0.0025
    access_rate_bps: float = 100000000.0
    two_way: bool = False


@dataclass(frozen=True, kw_only=True)
class ParkingLot(TopologyBase):
    """A row of routers; one route leads along all links between them, a crossing one over each.

    Nodes are `entry`, `router0` and so on, `exit`, and for each hop `enters0` and `leaves0` and so
    on. Routes are `long`, from entry to exit, and `cross`, over one hop each.

    Attributes:
        hops: Number of links between routers, each with the discipline. [1 to 1,000; default 3]
        rate_bps: Rate of the links between routers. [bits/s; 1 to 1e+14; default 1e+07]
        delay_s: Propagation delay of each link between routers. [s; 0 to 3,600; default 0.01]
        access_rate_bps: Rate of the links to hosts. [bits/s; 1 to 1e+14; default 1e+08]
        access_delay_s: Propagation delay of each link to a host. [s; 0 to 3,600; default 0.001]
    """

    kind: ClassVar[Literal["parking-lot"]] = "parking-lot"
    hops: int = 3
    rate_bps: float = 10000000.0
    delay_s: float = 0.01
    access_rate_bps: float = 100000000.0
    access_delay_s: float = 0.001


@dataclass(frozen=True, kw_only=True)
class Star(TopologyBase):
    """Hosts around a hub; all but the first send to the first, whose link has the discipline.

    Nodes are `hub`, `host0` and so on. Routes are `inward`, from each host to the first, and
    `outward`.

    Attributes:
        rate_bps: Rate from the hub to the first host, and back. [bits/s; 1 to 1e+14; default 1e+07]
        access_rate_bps: Rate between the other hosts and the hub. [bits/s; 1 to 1e+14; default
            1e+08]
        delays_s: Propagation delay between each host and the hub, that of the first host first. [s;
            0 to 3,600; default [0.01, 0.01, 0.01, 0.01]]
    """

    kind: ClassVar[Literal["star"]] = "star"
    rate_bps: float = 10000000.0
    access_rate_bps: float = 100000000.0
    delays_s: Sequence[float] = (0.01, 0.01, 0.01, 0.01)


@dataclass(frozen=True, kw_only=True)
class Link(Table):
    """A link between two nodes.

    Attributes:
        source: Name of one node.
        sink: Name of the other.
        rate_bps: Rate of each direction. [bits/s; 1 to 1e+14]
        delay_s: Propagation delay. [s; 0 to 3,600]
        queue: Whether the direction from source to sink has the discipline; else it has an
            unlimited FIFO. [default False]
        both_ways: Whether the link also leads back; that direction has no discipline. [default
            True]
    """

    source: str
    sink: str
    rate_bps: float
    delay_s: float
    queue: bool = False
    both_ways: bool = True


@dataclass(frozen=True, kw_only=True)
class Graph(TopologyBase):
    """Links of your own. The links name the nodes; flows name their two ends.

    From one node to another there is one link at most. For the discipline in both directions, give
    two links with `both_ways = false`.

    Attributes:
        links: The links.
    """

    kind: ClassVar[Literal["graph"]] = "graph"
    links: Sequence[Link]


@dataclass(frozen=True, kw_only=True)
class SingleRate(Table):
    """One rate and two bursts (RFC 2697): green up to the first, yellow up to the second, else red.

    Attributes:
        cir_bps: Committed information rate. [bits/s; 1,000 to 1e+14]
        cbs_bytes: Committed burst size: what is green at once after a pause. [bytes; 0 to 1e+12]
        ebs_bytes: Excess burst size: what is yellow at once. Its tokens are those that the first
            has no room for. [bytes; 0 to 1e+12]
        colour_aware: Whether packets keep the precedence that they have, or get a higher one
            (colour-aware). [default False]
    """

    kind: ClassVar[Literal["srtcm"]] = "srtcm"
    cir_bps: float
    cbs_bytes: float
    ebs_bytes: float
    colour_aware: bool = False


@dataclass(frozen=True, kw_only=True)
class TwoRate(Table):
    """Two rates (RFC 2698): green up to the first, yellow up to the second, else red.

    Attributes:
        cir_bps: Committed information rate. [bits/s; 1,000 to 1e+14]
        cbs_bytes: Committed burst size: what is green at once after a pause. [bytes; 1 to 1e+12]
        pir_bps: Peak information rate. [bits/s; 1,000 to 1e+14]
        pbs_bytes: Peak burst size: what is not red at once after a pause. [bytes; 1 to 1e+12]
        colour_aware: Whether packets keep the precedence that they have, or get a higher one
            (colour-aware). [default False]
    """

    kind: ClassVar[Literal["trtcm"]] = "trtcm"
    cir_bps: float
    cbs_bytes: float
    pir_bps: float
    pbs_bytes: float
    colour_aware: bool = False


@dataclass(frozen=True, kw_only=True)
class Tcp(Table):
    """Both ends of a TCP connection.

    Attributes:
        variant: How the sender recovers from loss; None: `newreno`, and `rack` where `like` is
            `linux`.
        congestion_control: How the sender's window grows, and how a loss or a mark reduces it:
            `reno` (RFC 5681), `cubic` (RFC 9438; Linux's own where `like` is `linux`), `dctcp` (RFC
            8257), which needs `ecn = true`, `bbr` (version 1, as in Linux), `bbr3` (version 3),
            `prague`, which needs `ecn = true` and sends ECT(1), `prague_2020`, as measured then,
            without independence of round trips below 25 ms, `prague_2021`, with that independence
            after 500 rounds, or `prague_2024`, as measured with the L4S team's Linux 5.15, whose
            fallback takes every queue for a classic one. The last six need `variant = "rack"`, and
            they pace. `ledbat` (RFC 6817) and `ledbatpp` (LEDBAT++) give way to others. [default
            reno]
        like: `rfc` for the RFCs' values, `ns2` for the defaults of ns-2.35, `linux` for today's
            hosts. [default rfc]
        receiver_window: Greatest number of packets in flight (ns-2's `window_`). [packets; 1 to
            4.29497e+09; default 10,000]
        ecn: Whether both ends use explicit congestion notification (RFC 3168). [default False]
        accurate_ecn: Whether the receiver feeds marks back by their number (AccECN, RFC 9768),
            where `ecn` is true; None: if the congestion control asks for it. If it is false, or the
            other end cannot, `prague` falls back to Reno.
        classic_fallback: Whether Prague, in all versions, reduces its window as CUBIC does where
            the queue seems to be a classic one, whose length varies by more than 750 us
            (`prague_ecn_fallback`, which Linux has off, too). [default False]
        server_ecn: What the other end can do about marks, which the handshake finds out: `accurate`
            (and classic ECN), `classic`, `nonce` (classic ECN with the nonce of RFC 3540), `none`,
            or `broken` (none, and its answer reflects the flags of the SYN); None: the same as this
            end. A handshake is what `like = "linux"` has.
        hystart_plus: Whether the first slow start goes on at a quarter of its pace when round-trip
            times grow, and ends five round trips later (HyStart++, RFC 9406). Linux's CUBIC has a
            HyStart of its own. [default False]
        pacing: Whether packets leave one by one, at a rate that follows the window, not as soon as
            the window allows: at two windows per round trip in early slow start, else at 1.2 (as in
            Linux). [default False]
        segmentation_offload: Whether packets of `bbr`, `bbr3` and `prague` leave in bursts of about
            a millisecond and less, as hosts send them whose network card cuts large packets (TSO).
            In the gate and the laboratory it is off. [default True]
        packet_bytes: Size of a data packet on the wire. [bytes; 1 to 65,535; default 500]
        ack_bytes: Size of an ACK or a SYN on the wire. Selective acknowledgements make an ACK
            longer: by 8 bytes for each block, and by 4 more if it is like the RFCs'. So does, like
            Linux's, the counter of marks of accurate feedback, by 8 or 12 bytes. [bytes; 1 to
            65,535; default 40]
        initial_window: Initial congestion window; None: that of `like`. [packets; 1 to 1,000,000]
        min_rto_s: Least time-out; None: that of `like`. [s; 1e-09 to 1e+08]
        initial_rto_s: Time-out before the first round-trip time is known; None: that of `like`. [s;
            1e-09 to 1e+08]
        tick_s: Granularity of the sender's clock; None: that of `like`. [s; 1e-09 to 1e+08]
        delayed_ack_s: Longest time an ACK waits for another packet, 0: none waits; None: that of
            `like`. [s; 0 to 0.5]
        ack_every: Packets in order that the receiver acknowledges with one ACK, if they come before
            that time is over: 1 acknowledges each, and more than 2 thins the ACKs. [packets; 1 to
            255; default 2]
    """

    variant: Variant | None = None
    congestion_control: CongestionControl = "reno"
    like: Like = "rfc"
    receiver_window: int = 10000
    ecn: bool = False
    accurate_ecn: bool | None = None
    classic_fallback: bool = False
    server_ecn: ServerEcn | None = None
    hystart_plus: bool = False
    pacing: bool = False
    segmentation_offload: bool = True
    packet_bytes: int = 500
    ack_bytes: int = 40
    initial_window: float | None = None
    min_rto_s: float | None = None
    initial_rto_s: float | None = None
    tick_s: float | None = None
    delayed_ack_s: float | None = None
    ack_every: int = 2


Marker: TypeAlias = SingleRate | TwoRate


@dataclass(frozen=True, kw_only=True)
class TcpFlows(TcpFlowsBase):
    """TCP flows that start once.

    Attributes:
        label: Name of the class in which their packets are counted: letters, digits, `-` and `_`.
            Groups with the same label are one class; None: `flows-` and the place of the group,
            from 0 on. A scenario with one group counts by class only if it has a label.
        count: Number of flows, which are distributed in turn over the pairs of nodes of the route.
            [1 to 1e+07; default 1]
        route: Name of a route of the topology; None: its first route, or from `source` to `sink`.
        source: Node that sends, instead of a route.
        sink: Node that receives.
        dscp: Differentiated services codepoint of their packets, in both directions: 46 is EF, 8
            CS1. In a replay 0 is that of the capture. [0 to 63; default 0]
        ect1: Whether packets that would have ECT(0) have ECT(1), as those of L4S. [default False]
        marker: Marker at the edge of the network, which all of them pass together: it sets the drop
            precedence of what they send; None: none. Their `dscp` must be one of AF11 to AF43.
        start_s: Earliest start. [s; 0 to 1e+08; default 0]
        stop_s: End of the application; None: it does not end. [s; 0 to 1e+08]
        tcp: The connections.
        rate_bps: Rate at which the application of each flow gives TCP packets to send, one after
            the other, of which `stop_s` takes none back; None: it always has more. [bits/s; 0.001
            to 1e+14]
        packets: Data packets of each flow; None: without end. [packets; 1 to 4.29497e+09]
        spread_s: Starts are uniform over this time. [s; 0 to 1e+08; default 0]
    """

    kind: ClassVar[Literal["tcp"]] = "tcp"
    label: str | None = None
    count: int = 1
    route: str | None = None
    source: str | None = None
    sink: str | None = None
    dscp: int = 0
    ect1: bool = False
    marker: Marker | None = None
    start_s: float = 0.0
    stop_s: float | None = None
    tcp: Tcp = field(default_factory=Tcp)
    rate_bps: float | None = None
    packets: int | None = None
    spread_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Constant(Table):
    """Always the same time.

    Attributes:
        mean_s: The time. [s; 1e-09 to 1e+08]
    """

    kind: ClassVar[Literal["constant"]] = "constant"
    mean_s: float


@dataclass(frozen=True, kw_only=True)
class Uniform(Table):
    """Uniform between two times.

    Attributes:
        least_s: Shortest time. [s; 0 to 1e+08]
        greatest_s: Longest time. [s; 1e-09 to 1e+08]
    """

    kind: ClassVar[Literal["uniform"]] = "uniform"
    least_s: float
    greatest_s: float


@dataclass(frozen=True, kw_only=True)
class Exponential(Table):
    """Exponential: the times between the arrivals of a Poisson process.

    Attributes:
        mean_s: Mean time. [s; 1e-09 to 1e+08]
    """

    kind: ClassVar[Literal["exponential"]] = "exponential"
    mean_s: float


@dataclass(frozen=True, kw_only=True)
class Pareto(Table):
    """Pareto: heavy-tailed.

    Attributes:
        mean_s: Mean time. [s; 1e-09 to 1e+08]
        shape: Shape; a smaller one makes the tail heavier. [above 1, at most 1,000; default 1.5]
    """

    kind: ClassVar[Literal["pareto"]] = "pareto"
    mean_s: float
    shape: float = 1.5


@dataclass(frozen=True, kw_only=True)
class Fgn(Table):
    """A rate that follows exact fractional Gaussian noise.

    In each frame the rate is its mean times 1 + `deviation` * noise, and 0 where that is negative,
    which raises the mean: by less than 0.01 % at a deviation of 0.3, by 0.4 % at 0.5, by 8 % at 1.

    Attributes:
        hurst: Hurst parameter of the noise: 0.5 if frames are independent, nearer to 1 for longer
            bursts. [above 0, below 1]
        deviation: Standard deviation of the rate, as a share of its mean. [0 to 1]
        frame_s: Length of a frame. [s; 1e-09 to 1e+08]
    """

    hurst: float
    deviation: float
    frame_s: float


@dataclass(frozen=True, kw_only=True)
class Sizes(Table):
    """Distribution of a size: whole numbers of packets, at least 1.

    Attributes:
        kind: `constant`; `geometric` on 1, 2, and so on; or `pareto`, rounded up or down at random
            so that the mean stays.
        mean_packets: Mean size; of `pareto` at least shape / (shape - 1), so that the smallest size
            is one packet. [packets; 1 to 1e+09]
        shape: Shape of `pareto`; a smaller one makes the tail heavier. [above 1, at most 1,000]
    """

    kind: SizeKind
    mean_packets: float
    shape: float | None = None


Distribution: TypeAlias = Constant | Uniform | Exponential | Pareto


@dataclass(frozen=True, kw_only=True)
class ShortTcpFlows(FlowsBase):
    """TCP flows that arrive one after the other; `count` streams of arrivals.

    Each stream is between one pair of nodes; several are distributed in turn over the pairs of the
    route. None arrives after `stop_s`; flows that have started go on.

    Attributes:
        label: Name of the class in which their packets are counted: letters, digits, `-` and `_`.
            Groups with the same label are one class; None: `flows-` and the place of the group,
            from 0 on. A scenario with one group counts by class only if it has a label.
        count: Number of flows, which are distributed in turn over the pairs of nodes of the route.
            [1 to 1e+07; default 1]
        route: Name of a route of the topology; None: its first route, or from `source` to `sink`.
        source: Node that sends, instead of a route.
        sink: Node that receives.
        dscp: Differentiated services codepoint of their packets, in both directions: 46 is EF, 8
            CS1. In a replay 0 is that of the capture. [0 to 63; default 0]
        ect1: Whether packets that would have ECT(0) have ECT(1), as those of L4S. [default False]
        marker: Marker at the edge of the network, which all of them pass together: it sets the drop
            precedence of what they send; None: none. Their `dscp` must be one of AF11 to AF43.
        start_s: Earliest start. [s; 0 to 1e+08; default 0]
        stop_s: End of the application; None: it does not end. [s; 0 to 1e+08]
        tcp: The connections.
        gaps: Distribution of the times between two arrivals of a stream.
        fgn: Lets the rate of arrivals vary; `gaps` must then be exponential.
        duration: Distribution of the time from a flow's start until its application ends.
        packets: Distribution of the data packets of a flow; this or `duration`.
    """

    kind: ClassVar[Literal["short-tcp"]] = "short-tcp"
    label: str | None = None
    count: int = 1
    route: str | None = None
    source: str | None = None
    sink: str | None = None
    dscp: int = 0
    ect1: bool = False
    marker: Marker | None = None
    start_s: float = 0.0
    stop_s: float | None = None
    tcp: Tcp = field(default_factory=Tcp)
    gaps: Distribution
    fgn: Fgn | None = None
    duration: Distribution | None = None
    packets: Sizes | None = None


@dataclass(frozen=True, kw_only=True)
class WebFlows(WebFlowsBase):
    """Users of the web: each fetches a page, thinks, and fetches the next; `count` users.

    A page is one object or several. All fetches of a user share one connection or several, as since
    HTTP/1.1; each fetches one object at a time, and takes the next of the page as soon as it has
    one. After a pause a connection's window is what it was, or, if the pause was longer than the
    time-out, starts again from at most the initial one (RFC 5681, section 4.1). Thinking starts
    when the last packet of the page is acknowledged; asking for an object takes no packet. For a
    connection per object, use `ShortTcpFlows`.

    Attributes:
        label: Name of the class in which their packets are counted: letters, digits, `-` and `_`.
            Groups with the same label are one class; None: `flows-` and the place of the group,
            from 0 on. A scenario with one group counts by class only if it has a label.
        count: Number of flows, which are distributed in turn over the pairs of nodes of the route.
            [1 to 1e+07; default 1]
        route: Name of a route of the topology; None: its first route, or from `source` to `sink`.
        source: Node that sends, instead of a route.
        sink: Node that receives.
        dscp: Differentiated services codepoint of their packets, in both directions: 46 is EF, 8
            CS1. In a replay 0 is that of the capture. [0 to 63; default 0]
        ect1: Whether packets that would have ECT(0) have ECT(1), as those of L4S. [default False]
        marker: Marker at the edge of the network, which all of them pass together: it sets the drop
            precedence of what they send; None: none. Their `dscp` must be one of AF11 to AF43.
        start_s: Earliest start. [s; 0 to 1e+08; default 0]
        stop_s: End of the application; None: it does not end. [s; 0 to 1e+08]
        tcp: The connections.
        objects: Distribution of the data packets of an object.
        page_objects: Objects of a page. [1 to 10,000; default 1]
        connections: Connections of a user: at most as many as objects. [1 to 100; default 1]
        think: Distribution of the time from the end of a page to the start of the next.
        spread_s: First pages start uniformly over this time; none starts after `stop_s`. [s; 0 to
            1e+08; default 0]
    """

    kind: ClassVar[Literal["web"]] = "web"
    label: str | None = None
    count: int = 1
    route: str | None = None
    source: str | None = None
    sink: str | None = None
    dscp: int = 0
    ect1: bool = False
    marker: Marker | None = None
    start_s: float = 0.0
    stop_s: float | None = None
    tcp: Tcp = field(default_factory=Tcp)
    objects: Sizes
    page_objects: int = 1
    connections: int = 1
    think: Distribution
    spread_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class VideoFlows(VideoFlowsBase):
    """Players of video in segments over HTTP, whose quality follows the buffer.

    Each has one connection. It chooses the rate of each segment by what its buffer holds: BBA-0 of
    Huang et al. 2014, the lowest up to 3/8 of the buffer, the highest from 9/10 on, or as soon as
    another segment would not fit. It asks for the next segment when one has arrived and the buffer
    has room. The picture starts with the first segment, stands still while the buffer is empty, and
    goes on with the next.

    Attributes:
        label: Name of the class in which their packets are counted: letters, digits, `-` and `_`.
            Groups with the same label are one class; None: `flows-` and the place of the group,
            from 0 on. A scenario with one group counts by class only if it has a label.
        count: Number of flows, which are distributed in turn over the pairs of nodes of the route.
            [1 to 1e+07; default 1]
        route: Name of a route of the topology; None: its first route, or from `source` to `sink`.
        source: Node that sends, instead of a route.
        sink: Node that receives.
        dscp: Differentiated services codepoint of their packets, in both directions: 46 is EF, 8
            CS1. In a replay 0 is that of the capture. [0 to 63; default 0]
        ect1: Whether packets that would have ECT(0) have ECT(1), as those of L4S. [default False]
        marker: Marker at the edge of the network, which all of them pass together: it sets the drop
            precedence of what they send; None: none. Their `dscp` must be one of AF11 to AF43.
        start_s: Earliest start. [s; 0 to 1e+08; default 0]
        stop_s: End of the application; None: it does not end. [s; 0 to 1e+08]
        tcp: The connections.
        rates_bps: Rates in which each segment can be had, headers included, from the lowest to the
            highest. [bits/s; 1 to 1e+12]
        segment_s: Time that a segment plays. [s; 1e-09 to 1e+08; default 4]
        buffer_s: Time that a full buffer plays: at least two segments. [s; 1e-09 to 1e+08; default
            60]
        spread_s: Starts are uniform over this time, which ends by `stop_s`; no segment is asked for
            after it. [s; 0 to 1e+08; default 0]
    """

    kind: ClassVar[Literal["video"]] = "video"
    label: str | None = None
    count: int = 1
    route: str | None = None
    source: str | None = None
    sink: str | None = None
    dscp: int = 0
    ect1: bool = False
    marker: Marker | None = None
    start_s: float = 0.0
    stop_s: float | None = None
    tcp: Tcp = field(default_factory=Tcp)
    rates_bps: Sequence[float]
    segment_s: float = 4.0
    buffer_s: float = 60.0
    spread_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class CallFlows(CallFlowsBase):
    """Video calls that adapt their rate by SCReAM.

    It is version 2 (draft-ietf-ccwg-rfc8298bis-screamv2), which is to replace RFC 8298. Each makes
    frames at the rate that its sender sets, in one direction, and sends their packets at a pace,
    while at most three windows are in flight. The receiver's feedback goes the way back. The window
    follows the queueing delay of the path (60 ms at most), losses, and marks if `ecn`: classic
    ones, or with `ect1` those of L4S. A frame is shown when all of its packets are there; nothing
    is sent again. A frame has 10,000 packets at most at the greatest rate.

    Attributes:
        label: Name of the class in which their packets are counted: letters, digits, `-` and `_`.
            Groups with the same label are one class; None: `flows-` and the place of the group,
            from 0 on. A scenario with one group counts by class only if it has a label.
        count: Number of flows, which are distributed in turn over the pairs of nodes of the route.
            [1 to 1e+07; default 1]
        route: Name of a route of the topology; None: its first route, or from `source` to `sink`.
        source: Node that sends, instead of a route.
        sink: Node that receives.
        dscp: Differentiated services codepoint of their packets, in both directions: 46 is EF, 8
            CS1. In a replay 0 is that of the capture. [0 to 63; default 0]
        ect1: Whether packets that would have ECT(0) have ECT(1), as those of L4S. [default False]
        marker: Marker at the edge of the network, which all of them pass together: it sets the drop
            precedence of what they send; None: none. Their `dscp` must be one of AF11 to AF43.
        start_s: Earliest start. [s; 0 to 1e+08; default 0]
        stop_s: End of the application; None: it does not end. [s; 0 to 1e+08]
        packet_bytes: Greatest size of a packet on the wire. [bytes; 41 to 65,535; default 1,200]
        min_rate_bps: Least rate of the video, headers included; each call starts with it. [bits/s;
            1 to 1e+12; default 150,000]
        max_rate_bps: Greatest rate. [bits/s; 1 to 1e+12; default 1,500,000]
        frames_per_s: Frames per second. [1/s; 0.1 to 1,000; default 30]
        frame_scale: How much frames differ in size: scale of their Laplace distribution, as a share
            of the mean (RFC 8593: 0.15). [0 to 1; default 0.15]
        ecn: Whether packets have ECT(0), or with `ect1` ECT(1), so that they are marked where
            others are dropped. [default False]
        spread_s: Starts are uniform over this time; no frame is made after `stop_s`. [s; 0 to
            1e+08; default 0]
    """

    kind: ClassVar[Literal["call"]] = "call"
    label: str | None = None
    count: int = 1
    route: str | None = None
    source: str | None = None
    sink: str | None = None
    dscp: int = 0
    ect1: bool = False
    marker: Marker | None = None
    start_s: float = 0.0
    stop_s: float | None = None
    packet_bytes: int = 1200
    min_rate_bps: float = 150000.0
    max_rate_bps: float = 1500000.0
    frames_per_s: float = 30.0
    frame_scale: float = 0.15
    ecn: bool = False
    spread_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class SelfSimilar(SelfSimilarBase):
    """On and off at many time-scales at once: the self-similar modulator of S. Robert.

    A slot is the time that a packet takes at the flow's rate; the modulator says in which slots one
    is sent.

    Attributes:
        share: Mean share of the slots with a packet. [at least 1e-09, below 1]
        a: Ratio of successive rates of leaving the state that sends; a larger one spreads the
            time-scales further. [above 1]
        states: States of the modulator: one more than the number of time-scales. [2 to 20; default
            5]
    """

    share: float
    a: float
    states: int = 5


@dataclass(frozen=True, kw_only=True)
class Mmpp(Table):
    """The second rate of a Markov-modulated Poisson process, and how long each rate lasts.

    These times are exponential. If the second rate is 0, the process is an interrupted Poisson
    process.

    Attributes:
        other_rate_bps: The second rate; the first is the flow's `rate_bps`. [bits/s; 0 to 1e+14]
        mean_s: Mean time for which the first rate lasts. [s; 1e-09 to 1e+08]
        other_mean_s: Mean time for which the second one lasts. Both together must last a hundredth
            of the mean time between two datagrams. [s; 1e-09 to 1e+08]
    """

    other_rate_bps: float
    mean_s: float
    other_mean_s: float


@dataclass(frozen=True, kw_only=True)
class DatagramFlows(DatagramFlowsBase):
    """Datagrams (UDP) that nobody answers.

    Attributes:
        label: Name of the class in which their packets are counted: letters, digits, `-` and `_`.
            Groups with the same label are one class; None: `flows-` and the place of the group,
            from 0 on. A scenario with one group counts by class only if it has a label.
        count: Number of flows, which are distributed in turn over the pairs of nodes of the route.
            [1 to 1e+07; default 1]
        route: Name of a route of the topology; None: its first route, or from `source` to `sink`.
        source: Node that sends, instead of a route.
        sink: Node that receives.
        dscp: Differentiated services codepoint of their packets, in both directions: 46 is EF, 8
            CS1. In a replay 0 is that of the capture. [0 to 63; default 0]
        ect1: Whether packets that would have ECT(0) have ECT(1), as those of L4S. [default False]
        marker: Marker at the edge of the network, which all of them pass together: it sets the drop
            precedence of what they send; None: none. Their `dscp` must be one of AF11 to AF43.
        start_s: Earliest start. [s; 0 to 1e+08; default 0]
        stop_s: End of the application; None: it does not end. [s; 0 to 1e+08]
        packet_bytes: Size of a datagram on the wire. [bytes; 1 to 65,535; default 500]
        rate_bps: Mean rate of each flow; of a flow that is on and off, or self-similar, its rate
            while it sends. Datagrams leave at whole nanoseconds, on average at this rate. [bits/s;
            0.001 to 1e+14]
        gaps: Times between two datagrams: `constant`, or `exponential` (Poisson). [default
            constant]
        on: Distribution of the times for which a flow sends. At least half of them must last a
            hundredth of the time between two datagrams; None: it sends all the time.
        off: Distribution of the times for which a flow pauses.
        self_similar: Bursts and pauses at many time-scales; instead of `on` and `off`.
        fgn: Lets the rate vary; `gaps` must then be exponential.
        mmpp: Lets the rate change between two values; `gaps` must then be exponential.
        ecn: Whether datagrams have ECT(0), so that they are marked where others are dropped.
            [default False]
        spread_s: Starts are uniform over this time. [s; 0 to 1e+08; default 0]
    """

    kind: ClassVar[Literal["datagrams"]] = "datagrams"
    label: str | None = None
    count: int = 1
    route: str | None = None
    source: str | None = None
    sink: str | None = None
    dscp: int = 0
    ect1: bool = False
    marker: Marker | None = None
    start_s: float = 0.0
    stop_s: float | None = None
    packet_bytes: int = 500
    rate_bps: float
    gaps: GapKind = "constant"
    on: Distribution | None = None
    off: Distribution | None = None
    self_similar: SelfSimilar | None = None
    fgn: Fgn | None = None
    mmpp: Mmpp | None = None
    ecn: bool = False
    spread_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ReplayFlows(ReplayFlowsBase):
    """The packets of a capture as datagrams that nobody answers; each of its flows is one flow.

    The first packet is sent at the start, and the others at their recorded distances from it, to
    the nanosecond. Sizes are those on the wire. `count` copies start independently.

    Attributes:
        label: Name of the class in which their packets are counted: letters, digits, `-` and `_`.
            Groups with the same label are one class; None: `flows-` and the place of the group,
            from 0 on. A scenario with one group counts by class only if it has a label.
        count: Number of flows, which are distributed in turn over the pairs of nodes of the route.
            [1 to 1e+07; default 1]
        route: Name of a route of the topology; None: its first route, or from `source` to `sink`.
        source: Node that sends, instead of a route.
        sink: Node that receives.
        dscp: Differentiated services codepoint of their packets, in both directions: 46 is EF, 8
            CS1. In a replay 0 is that of the capture. [0 to 63; default 0]
        ect1: Whether packets that would have ECT(0) have ECT(1), as those of L4S. [default False]
        marker: Marker at the edge of the network, which all of them pass together: it sets the drop
            precedence of what they send; None: none. Their `dscp` must be one of AF11 to AF43.
        start_s: Earliest start. [s; 0 to 1e+08; default 0]
        stop_s: End of the application; None: it does not end. [s; 0 to 1e+08]
        capture: The pcap or pcapng file.
        spread_s: Starts are uniform over this time. [s; 0 to 1e+08; default 0]
    """

    kind: ClassVar[Literal["replay"]] = "replay"
    label: str | None = None
    count: int = 1
    route: str | None = None
    source: str | None = None
    sink: str | None = None
    dscp: int = 0
    ect1: bool = False
    marker: Marker | None = None
    start_s: float = 0.0
    stop_s: float | None = None
    capture: str
    spread_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RateStep(Table):
    """A rate from a time on.

    Attributes:
        time_s: When it begins. [s; 0 to 8.64e+07]
        rate_bps: Rate from then on; 0: an outage. [bits/s; 0 to 1e+14]
    """

    time_s: float
    rate_bps: float


@dataclass(frozen=True, kw_only=True)
class Steps(Table):
    """Rates in steps. Until the first one the link has the topology's rate, and the last one stays.

    Attributes:
        steps: The steps, in the order of their times.
    """

    kind: ClassVar[Literal["steps"]] = "steps"
    steps: Sequence[RateStep]


@dataclass(frozen=True, kw_only=True)
class Ramp(Table):
    """Rates that change evenly from each point to the next, in steps of 10 ms.

    Until the first point the link has the topology's rate, and that of the last one stays.

    Attributes:
        points: The points, in the order of their times.
    """

    kind: ClassVar[Literal["ramp"]] = "ramp"
    points: Sequence[RateStep]


@dataclass(frozen=True, kw_only=True)
class RateFile(Table):
    """Rates or opportunities in a file.

    A CSV file with the header `time_s,rate_bps` has a step in each row, as `steps`. A trace of
    Mahimahi has a time in ms in each row, rising, equal ones allowed, at which 1504 bytes may
    cross; it repeats, with the last time as period. A packet takes 4 bytes more than its own.

    Attributes:
        path: The file.
    """

    kind: ClassVar[Literal["file"]] = "file"
    path: str


@dataclass(frozen=True, kw_only=True)
class Lte(Table):
    """A rate that wanders between 0 and 12 Mbit/s, with outages, as of a mobile phone (LTE).

    Opportunities to send 1504 bytes come by chance, at a rate that is a Brownian motion (Winstein
    et al., NSDI 2013). They are drawn for 300 s, and then repeat.

    Attributes:
        seed: Seed of the trace; it is the same in all replications. [0 to 9.0072e+15; default 1]
    """

    kind: ClassVar[Literal["lte"]] = "lte"
    seed: int = 1


@dataclass(frozen=True, kw_only=True)
class WifiLink(Table):
    """Wi-Fi: packets leave in aggregates, each after a contention for the air.

    An aggregate has at most 64 packets, 65,535 bytes and 4 ms. Its airtime is that of the model of
    Høiland-Jørgensen et al. (USENIX ATC 2017), with the times of IEEE 802.11n at 5 GHz.

    Attributes:
        rate_bps: Rate on the air: two streams of 20 MHz by default (MCS 15). [bits/s; 1,000 to
            1e+14; default 1.444e+08]
        others: Other stations, which take turns with it: they always send full aggregates at this
            rate. [stations; 0 to 1,000; default 0]
    """

    kind: ClassVar[Literal["wifi"]] = "wifi"
    rate_bps: float = 144400000.0
    others: int = 0


@dataclass(frozen=True, kw_only=True)
class DocsisLink(Table):
    """The upstream of a cable modem (DOCSIS): what it sends, it has requested, and was granted.

    A packet that finds the modem idle waits for the next interval, and then for its grant. While
    packets wait, each interval has a grant, sent at the channel's rate.

    Attributes:
        rate_bps: What the modem may send. [bits/s; 1,000 to 1e+14; default 1e+07]
        channel_bps: Rate of the channel: 6.4 MHz with 64-QAM by default. [bits/s; 1,000 to 1e+14;
            default 3.072e+07]
        map_s: Length of an interval. [s; 1e-05 to 1e+08; default 0.002]
        grant_s: Time from a request to its grant. [s; above 0, at most 10; default 0.004]
    """

    kind: ClassVar[Literal["docsis"]] = "docsis"
    rate_bps: float = 10000000.0
    channel_bps: float = 30720000.0
    map_s: float = 0.002
    grant_s: float = 0.004


@dataclass(frozen=True, kw_only=True)
class Bernoulli(Table):
    """Each packet is lost by itself.

    Attributes:
        probability: Probability that a packet is lost. [0 to 1]
    """

    kind: ClassVar[Literal["bernoulli"]] = "bernoulli"
    probability: float


@dataclass(frozen=True, kw_only=True)
class GilbertElliott(Table):
    """Losses in bursts: a state, good or bad, may change at each packet.

    The model of Gilbert (1960) and Elliott (1963). A share `enter / (enter + leave)` of the packets
    meets the bad state, `1 / leave` of them in a row on average.

    Attributes:
        enter: Probability, at each packet, that the good state ends. [above 0, at most 1]
        leave: Probability, at each packet, that the bad state ends. [above 0, at most 1]
        loss_in_bad: Probability that a packet is lost in the bad state. [0 to 1; default 1]
        loss_in_good: Probability that a packet is lost in the good state. [0 to 1; default 0]
    """

    kind: ClassVar[Literal["gilbert-elliott"]] = "gilbert-elliott"
    enter: float
    leave: float
    loss_in_bad: float = 1.0
    loss_in_good: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Policer(Table):
    """A policer (RFC 2697): what exceeds a rate and a burst is lost, and nothing waits.

    Attributes:
        rate_bps: Rate that passes. [bits/s; 1,000 to 1e+14]
        burst_bytes: What passes at once after a pause. [bytes; 1 to 1e+12]
    """

    kind: ClassVar[Literal["policer"]] = "policer"
    rate_bps: float
    burst_bytes: float


@dataclass(frozen=True, kw_only=True)
class Bursts(Table):
    """Packets come out in slots, as of a radio that sends aggregates (Linux: the `slot` of netem).

    A packet that comes when no slot is ahead waits for one, a random time later.

    Attributes:
        gap: Time until the next slot.
        packets: Most packets in a slot. [packets; 1 to 1,000,000; default 16]
    """

    gap: Distribution
    packets: int = 16


Loss: TypeAlias = Bernoulli | GilbertElliott | Policer


@dataclass(frozen=True, kw_only=True)
class Wire(Table):
    """What happens to packets on the wire, behind the queue and the transmission.

    It is counted apart: a loss here is no verdict of the AQM.

    Attributes:
        loss: Losses; None: none.
        jitter: A time that each packet takes in addition to the link's delay; None: none.
        jitter_share: Share of the packets that take it; the others take none. [above 0, at most 1;
            default 1]
        reorder: Whether packets may overtake each other. If not, a packet comes out with the one
            before it at the earliest. [default False]
        bursts: Slots in which packets come out, after the jitter; None: each comes out by itself.
        ecn: What it does to explicit congestion notification, as some middleboxes do; None:
            nothing. The network world has it.
    """

    loss: Loss | None = None
    jitter: Distribution | None = None
    jitter_share: float = 1.0
    reorder: bool = False
    bursts: Bursts | None = None
    ecn: Tampers | None = None


Rate: TypeAlias = Steps | Ramp | RateFile | Lte | WifiLink | DocsisLink


@dataclass(frozen=True, kw_only=True)
class LinkSettings(Table):
    """What one direction of a link has of its own, whichever discipline is compared.

    Attributes:
        discipline: The discipline before it, for a link with a queue; None: the compared one.
        queue: The buffer before it, for a link with a queue; None: the scenario's `queue`.
        rate: Its rate in time; None: that of the topology, constant.
        wire: Losses, jitter and reordering behind it, apart from the queue; None: none.
    """

    discipline: Discipline | None = None
    queue: Queue | None = None
    rate: Rate | None = None
    wire: Wire | None = None


Topology: TypeAlias = Dumbbell | ParkingLot | Star | Graph

Flows: TypeAlias = (
    TcpFlows | ShortTcpFlows | WebFlows | VideoFlows | CallFlows | DatagramFlows | ReplayFlows
)


@dataclass(frozen=True, kw_only=True)
class NetworkScenario(NetworkScenarioBase):
    """Everything that determines a comparison in the network world.

    Attributes:
        title: Title, one line.
        topology: Nodes and links.
        flows: Groups of flows.
        queue: The buffer of each link that has the discipline.
        links: What links have of their own, by the link's name, such as `[links."left -> right"]`.
        disciplines: The disciplines that are compared: in turn, each stands before all links that
            have a queue and no discipline of their own.
        duration_s: Simulated time of a replication. [s; 2e-09 to 8.64e+07]
        warm_up_s: Time at the start that the measures leave out; None: half of the duration. [s; 0
            to 1e+08]
        sample_s: Time between two samples of all series; the first is at 0. [s; 1e-09 to 1e+08;
            default 0.01]
        windows: Whether the series have the mean congestion window, which takes time for every flow
            at each sample. [default False]
        replications: Number of independent repetitions, from which the intervals follow. [1 to
            10,000; default 8]
        seed: Seed of every random stream; all disciplines see the same flows. [at least 0, below
            1.84467e+19; default 1]
    """

    title: str = ""
    topology: Topology
    flows: Sequence[Flows]
    queue: Queue = field(default_factory=Queue)
    links: Mapping[str, LinkSettings] = field(default_factory=dict)
    disciplines: Sequence[Discipline]
    duration_s: float
    warm_up_s: float | None = None
    sample_s: float = 0.01
    windows: bool = False
    replications: int = 8
    seed: int = 1


__all__ = [
    "Bernoulli",
    "Bursts",
    "CallFlows",
    "CongestionControl",
    "Constant",
    "DatagramFlows",
    "Distribution",
    "DocsisLink",
    "Dumbbell",
    "Exponential",
    "Fgn",
    "Flows",
    "GapKind",
    "GilbertElliott",
    "Graph",
    "Like",
    "Link",
    "LinkSettings",
    "Loss",
    "Lte",
    "Marker",
    "Mmpp",
    "NetworkScenario",
    "Pareto",
    "ParkingLot",
    "Policer",
    "Ramp",
    "Rate",
    "RateFile",
    "RateStep",
    "ReplayFlows",
    "SelfSimilar",
    "ServerEcn",
    "ShortTcpFlows",
    "SingleRate",
    "SizeKind",
    "Sizes",
    "Star",
    "Steps",
    "Tampers",
    "Tcp",
    "TcpFlows",
    "Topology",
    "TwoRate",
    "Uniform",
    "Variant",
    "VideoFlows",
    "WebFlows",
    "WifiLink",
    "Wire",
]
