"""The scenarios of L4S: those of l4s-tests and of the L4S team's overload, for any AQM.

P. Heist, J. Morton, github.com/heistp/l4s-tests at e21cd91a8fa7: S1 (round trips), S2 (bursts, a
rate that falls), S6 (queues of RFC 3168). K. De Schepper et al., L4STeam/l4steam.github.io:
overload. Ours: video calls that adapt their rate. All AQMs mark; senders are those of Linux.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluicegate.evaluate.case import Case, Fitted, Phase, Rates
from sluicegate.evaluate.choices import Choice
from sluicegate.evaluate.profile import Profile
from sluicegate.scenario import (
    Bursts,
    CallFlows,
    CongestionControl,
    DatagramFlows,
    Discipline,
    Flows,
    LinkSettings,
    Tcp,
    TcpFlows,
    Uniform,
    Wire,
)

# of TCP with time stamps
_ACK_BYTES = 52
# round trips of both flows as multiples of the profile's: 10 to 160 ms beside 20 ms (S1)
RTTS = ((0.5, 0.5), (1.0, 1.0), (4.0, 4.0), (1.0, 0.5), (4.0, 1.0), (8.0, 0.5))
# of these, those with the Prague of 2020
_PUBLISHED_RTTS = ((0.5, 0.5), (1.0, 1.0), (4.0, 4.0), (8.0, 0.5))
_PUBLISHED: dict[CongestionControl, str] = {"prague_2020": " of 2020"}
# the rate falls to this share (S2: 50 to 5 Mbit/s)
_FALLS_TO = 0.1
# netem's slots in S2, with which a radio that aggregates is imitated
_SLOTS = LinkSettings(
    wire=Wire(bursts=Bursts(gap=Uniform(least_s=0.8e-3, greatest_s=5e-3), packets=16))
)
# loads of datagrams as shares of the link
_LOADS = (0.5, 1.0, 2.0)
# greatest rate of a call, as a share of the link: twice what is left where the rate falls
_CALL_SHARE = 0.2
_OF_CALL = ("call.frame_p99", "call.quality", "call.stall_ratio")


def _with_ecn(discipline: Discipline) -> Fitted | str:
    if discipline.ecn is False:
        return "its ecn = false: scenarios of L4S need marks"
    return Fitted(discipline.replace(ecn=True))


def _of(*classes: str) -> tuple[str, ...]:
    return tuple(f"{each}.{name}" for each in classes for name in ("queueing_delay", "goodput_bps"))


def _tcp(
    p: Profile, control: CongestionControl, label: str, place: int = 0, *, ecn: bool = True
) -> TcpFlows:
    return TcpFlows(
        label=label,
        tcp=Tcp(
            like="linux",
            congestion_control=control,
            ecn=ecn,
            packet_bytes=p.packet_bytes,
            ack_bytes=_ACK_BYTES,
            segmentation_offload=False,
        ),
        source=f"client{place}",
        sink=f"server{place}",
        spread_s=p.rtt_s,
    )


def _case(name: str, section: str, title: str, judged: Sequence[str], **given: Any) -> Case:
    return Case(f"l4s-{name}", section, title, judged=judged, fitted=_with_ecn, **given)


# ------------------------------------------------------------ S1


def _pair(first: CongestionControl, second: CongestionControl, rtts: tuple[float, float]) -> Case:
    same = first == second
    labels = ("long", "short") if same else (first.partition("_")[0], second.partition("_")[0])
    told = [f"{each.partition('_')[0]}{_PUBLISHED.get(each, '')}" for each in (first, second)]
    shown = [f"{rtt:g}".replace(".", "p") for rtt in rtts]
    return _case(
        f"s1-{first}-{shown[0]}-{second}-{shown[1]}".replace("_", "-"),
        "S1",
        f"{told[0]} with {rtts[0]:g} and {told[1]} with {rtts[1]:g} times the profile's round trip",
        ("goodput_fairness", *_of(*labels)),
        flows=lambda p: [
            _tcp(p, first, labels[0]),
            _tcp(p, second, labels[1], 1),
        ],
        pairs=lambda _p: rtts,
    )


def _round_trips() -> list[Case]:
    found = []
    for rtts in RTTS:
        found.append(_pair("prague", "cubic", rtts))
        if rtts[0] != rtts[1]:
            found.append(_pair("cubic", "prague", rtts))
            found.append(_pair("prague", "prague", rtts))
    return [*found, *(_pair("prague_2020", "cubic", rtts) for rtts in _PUBLISHED_RTTS)]


# ------------------------------------------------------------ S2


def _fall(p: Profile) -> Rates:
    return ((0.0, p.rate_bps), (p.warm_up_s + p.phase_s, _FALLS_TO * p.rate_bps))


def _before_and_after(p: Profile) -> Sequence[Phase]:
    falls_s = p.warm_up_s + p.phase_s
    return [
        Phase("before", p.warm_up_s, falls_s),
        Phase("after", falls_s, falls_s + p.phase_s),
    ]


def _one_flow(control: CongestionControl) -> list[Case]:
    return [
        _case(
            f"s2-fall-{control}",
            "S2",
            f"one flow of {control}, and the rate falls to a tenth",
            ("before.queueing_delay", "after.queueing_delay", f"{control}.goodput_bps"),
            flows=lambda p: [_tcp(p, control, control)],
            rates=_fall,
            phases=_before_and_after,
        ),
        _case(
            f"s2-bursts-{control}",
            "S2",
            f"one flow of {control} that comes in bursts of up to 16 packets",
            _of(control),
            flows=lambda p: [_tcp(p, control, control)],
            links={"client0 -> left": _SLOTS},
        ),
    ]


# ------------------------------------------------------------ S6 and overload


def _rfc3168(first: CongestionControl, second: CongestionControl, *, ecn: bool) -> Case:
    asks = "with" if ecn else "without"
    return _case(
        f"s6-{first}-{second}-{'ecn' if ecn else 'noecn'}".replace("_", "-"),
        "S6",
        f"prague{_PUBLISHED.get(first, '')} beside {second} {asks} ECN, the same round trip",
        ("goodput_fairness", *_of("prague", second)),
        flows=lambda p: [_tcp(p, first, "prague"), _tcp(p, second, second, 1, ecn=ecn)],
        pairs=lambda _p: (1.0, 1.0),
    )


def _overload(share: float, *, ect1: bool) -> Case:
    codepoint = "ECT(1)" if ect1 else "Not-ECT"
    return _case(
        f"overload-{'ect1' if ect1 else 'notect'}-{share:g}".replace(".", "p"),
        "overload",
        f"prague and cubic beside datagrams of {codepoint} at {share:g} times the link's rate",
        _of("prague", "cubic"),
        flows=lambda p: _loaded(p, share, ect1=ect1),
        pairs=lambda _p: (1.0, 1.0),
    )


def _loaded(p: Profile, share: float, *, ect1: bool) -> Sequence[Flows]:
    load = DatagramFlows(
        label="load",
        rate_bps=share * p.rate_bps,
        packet_bytes=p.packet_bytes,
        ecn=ect1,
        ect1=ect1,
        spread_s=p.rtt_s,
    )
    return [_tcp(p, "prague", "prague"), _tcp(p, "cubic", "cubic", 1, ecn=False), load]


# ------------------------------------------------------------ calls


def _call(p: Profile, *, l4s: bool) -> CallFlows:
    return CallFlows(
        label="call",
        max_rate_bps=_CALL_SHARE * p.rate_bps,
        ecn=l4s,
        ect1=l4s,
        source="client0",
        sink="server0",
        spread_s=p.rtt_s,
    )


def _asks(*, l4s: bool) -> str:
    return "with L4S" if l4s else "without ECN"


def _call_beside(control: CongestionControl, *, l4s: bool) -> Case:
    return _case(
        f"calls-{'l4s' if l4s else 'plain'}-{control}",
        "calls",
        f"a video call {_asks(l4s=l4s)} beside a download of {control}",
        (*_OF_CALL, *_of(control)),
        flows=lambda p: [_call(p, l4s=l4s), _tcp(p, control, control, 1)],
        pairs=lambda _p: (1.0, 1.0),
    )


def _call_falls(*, l4s: bool) -> Case:
    return _case(
        f"calls-{'l4s' if l4s else 'plain'}-fall",
        "calls",
        f"a video call {_asks(l4s=l4s)}, and the rate falls to a tenth",
        ("before.queueing_delay", "after.queueing_delay", *_OF_CALL),
        flows=lambda p: [_call(p, l4s=l4s)],
        rates=_fall,
        phases=_before_and_after,
    )


L4S_CASES: list[Case] = [
    *_round_trips(),
    *_one_flow("prague"),
    *_one_flow("cubic"),
    *(_rfc3168("prague", second, ecn=ecn) for second in ("cubic", "reno") for ecn in (True, False)),
    *(_rfc3168("prague_2020", "cubic", ecn=ecn) for ecn in (True, False)),
    *(_overload(share, ect1=ect1) for ect1 in (False, True) for share in _LOADS),
    *(_call_beside(control, l4s=l4s) for control in ("cubic", "prague") for l4s in (False, True)),
    *(_call_falls(l4s=l4s) for l4s in (False, True)),
]

L4S_TOPICS = {
    "S1": "round-trip fairness",
    "S2": "bursts, and a rate that falls",
    "S6": "queues of RFC 3168",
    "overload": "datagrams",
    "calls": "video calls",
}

L4S_CHOICES = [
    Choice("all", "which AQMs mark", "all: each has ECN"),
    Choice(
        "all",
        "which Prague",
        "that of module version 0.7, and where it says so that of 2020, whose rate depends on "
        "round trips below 25 ms, too; neither has the fallback to classic marks, as in l4s-tests",
    ),
    Choice("all", "offloads", "none, as in l4s-tests"),
    Choice(
        "S1, S6",
        "the link",
        "the profile's; that of l4s-tests is 50 Mbit/s, 20 ms, 1000 packets, 60 s with the first "
        "20 left out, and so is the profile l4s. Its round trips are 10, 20, 80 and 160 ms",
    ),
    Choice("S1", "trials", "one there; here the profile's replications, round trips within 5 %"),
    Choice(
        "S2",
        "where bursts are",
        "before the queue: 0.8 to 5 ms apart, at most 16 packets each (netem's slots)",
    ),
    Choice("S2", "which fall of the rate", "to a tenth; there to a half, a fifth, a tenth and 2 %"),
    Choice(
        "overload",
        "rates of the load",
        "0.5, 1 and 2 times the link's, of Not-ECT and of ECT(1)",
    ),
    Choice(
        "calls",
        "the call",
        "SCReAM, version 2: 30 frames a second, 0.15 Mbit/s to a fifth of the link's rate, one "
        "direction; its picture freezes if no frame comes for 183 ms",
    ),
]
