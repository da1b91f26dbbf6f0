"""The scenarios that span what is not known of a link's traffic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sluicegate.advice.question import Question
from sluicegate.scenario import (
    CongestionControl,
    DatagramFlows,
    Discipline,
    Dumbbell,
    Exponential,
    Fgn,
    Flows,
    NetworkScenario,
    ShortTcpFlows,
    Sizes,
    Tcp,
    TcpFlows,
)

# delays of the clients' links in one scenario, relative to their mean
_AROUND = (0.8, 0.9, 1.0, 1.1, 1.2)
# rate of the hosts' links, relative to the bottleneck
_ACCESS = 10.0
# greatest mean gap between short flows: fewer of them would give no usable measure
_MOST_GAP_S = 0.5
# shape of the Pareto distribution of the transfers' sizes
_SHAPE = 1.5
# a frame of the datagrams' rate, s, and the rate's relative deviation
_FRAME_S, _DEVIATION = 0.1, 0.5
_DATAGRAM_BYTES = 200
# length of a scenario: these seconds plus these round trips, and at least this many times the
# buffer of today; a third of it is left out
_SECONDS, _ROUND_TRIPS, _BUFFERS = 8.0, 60.0, 6.0
_WARM_UP = 1 / 3
# round trips or flow counts whose ratio is below this share one scenario
_ALIKE = 1.3


@dataclass(frozen=True)
class Case:
    """A scenario of the network world that could be the user's.

    Attributes:
        name: In words.
        rtt_s: Mean round trip of the empty path.
        flows: TCP flows that last.
        control: Their congestion control.
        transfer_share: Share of the link that transfers ask for, which come and go.
        classic: How many more flows, of CUBIC without ECN, stand beside them.
    """

    name: str
    rtt_s: float
    flows: int
    control: CongestionControl
    transfer_share: float = 0.0
    classic: int = 0


def cases(question: Question) -> list[Case]:
    """Few and many flows with short and long round trips, old hosts, and busy short flows."""
    (few, many), (short_s, long_s) = question.flows, question.rtts_s
    rtts = {"short RTT": short_s, "long RTT": long_s}
    counts = {"few flows": few, "many flows": many}
    middle_s, middle = math.sqrt(short_s * long_s), round(math.sqrt(few * many))
    if question.longest_s < _ALIKE * question.span_s(short_s):
        rtts = {"": middle_s}
    if many < _ALIKE * few:
        counts = {"": middle}
    found = [
        Case(", ".join(filter(None, (one, two))) or "the link", rtt_s, count, question.control)
        for one, count in counts.items()
        for two, rtt_s in rtts.items()
    ]
    if question.control != "reno":
        found.append(Case("Reno flows", middle_s, middle, "reno"))
    if question.l4s:
        halves = max(1, middle // 2)
        found.append(
            Case("classic flows beside", middle_s, halves, question.control, classic=halves)
        )
    share = question.transfer_share
    found.append(Case("many transfers", middle_s, few, question.control, share))
    return found


def duration_s(question: Question) -> float:
    """How long each scenario is simulated: long enough for its longest queue and round trip."""
    long_s = _SECONDS + _ROUND_TRIPS * question.rtts_s[1]
    return max(long_s, _BUFFERS * (question.buffer_s or 0.0))


def scenario(question: Question, case: Case, duration_s: float) -> NetworkScenario:
    """The scenario of a case, with a drop-tail queue that is to be replaced."""
    return NetworkScenario(
        title=case.name,
        topology=Dumbbell(
            rate_bps=question.rate_bps,
            delay_s=case.rtt_s / 8,
            client_delays_s=[case.rtt_s / 4 * factor for factor in _AROUND],
            server_delay_s=case.rtt_s / 8,
            access_rate_bps=_ACCESS * question.rate_bps,
        ),
        flows=list(_flows(question, case, duration_s)),
        disciplines=[Discipline(aqm="drop_tail")],
        duration_s=duration_s,
        warm_up_s=duration_s * _WARM_UP,
        # the time series is not used
        sample_s=duration_s,
        replications=1,
        seed=question.seed,
    )


def _flows(question: Question, case: Case, duration_s: float) -> Iterator[Flows]:
    tcp = question.tcp(case.control)
    yield TcpFlows(count=case.flows, tcp=tcp, spread_s=1.0)
    if case.classic:
        beside = replace(question.tcp("cubic"), ecn=False)
        yield TcpFlows(count=case.classic, tcp=beside, spread_s=1.0)
    one = Sizes(kind="constant", mean_packets=round(question.short_packets))
    yield from _coming(question, tcp, question.short_share, one, _MOST_GAP_S)
    mean = question.transfer_packets
    many = Sizes(kind="pareto", mean_packets=mean, shape=_SHAPE)
    yield from _coming(question, tcp, case.transfer_share, many)
    if question.datagram_share:
        yield DatagramFlows(
            # flows with an end are left out of the fairness
            stop_s=duration_s,
            rate_bps=question.datagram_share * question.rate_bps,
            packet_bytes=_DATAGRAM_BYTES,
            gaps="exponential",
            fgn=Fgn(hurst=question.datagram_hurst, deviation=_DEVIATION, frame_s=_FRAME_S),
        )


def _coming(
    question: Question, tcp: Tcp, share: float, sizes: Sizes, most_s: float = math.inf
) -> Iterator[Flows]:
    """Flows that come and go and ask for a share of the link: a stream between each pair.

    On average at least one comes in each `most_s`.
    """
    if share:
        gap_s = min(sizes.mean_packets * question.packet_s / share, most_s)
        yield ShortTcpFlows(
            count=len(_AROUND),
            gaps=Exponential(mean_s=gap_s * len(_AROUND)),
            packets=sizes,
            tcp=tcp,
        )
