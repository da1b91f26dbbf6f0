"""What section V of the paper says in words, judged in one world under several readings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from sluicegate.papers.claims import Check, Claim, less, more, near_one, within
from sluicegate.papers.drop_from_front.readings import (
    ALGORITHMS,
    ANALYSED,
    ARED,
    DSRED,
    FRED,
    RED,
    VARYING,
    VICTIMS,
)
from sluicegate.papers.readings import all_of, any_of, survives
from sluicegate.papers.router.found import FloatArray, Found
from sluicegate.papers.router.setting import Traffic
from sluicegate.scenario import Victim

Cases: TypeAlias = Mapping[tuple[Traffic, str, Victim], Found]

# the text speaks of 'RED mechanisms' and sets FRED apart
_LIKE_RED = (RED, DSRED, ARED)
_WITH_UDP: tuple[Traffic, ...] = ("UDP", "UDP + TCP")
# greatest 'similar' difference and least significant advantage; what is 'low'
_SHARE, _LOW = 0.1, 0.05
# share by which only senders that do not adapt exceed the link; time-outs per retransmission
_MORE, _TIMEOUTS = 0.25, 0.1
# 75 percent
_DROPPED = (0.74, 0.76)


class Sentence(NamedTuple):
    """A sentence of the paper and how it is judged."""

    text: str
    check: Callable[[Cases], Check]


def claims(by_reading: Mapping[str, Cases], world: str, which: str) -> Iterator[Claim]:
    """Every sentence under all readings.

    Args:
        by_reading: The cases, by the name of the reading.
        world: The one that they are from.
        which: Which readings these are.
    """
    for sentence in SENTENCES[world]:
        checks = {name: sentence.check(cases) for name, cases in by_reading.items()}
        yield survives(sentence.text, f"section V, {world}, {which}", checks)


def _gain(cases: Cases, traffic: Traffic, algorithm: str, name: str = "delay_mean") -> FloatArray:
    """Share by which dropping from the front shortens a mean, per seed."""
    tail, front = (cases[traffic, algorithm, victim][name] for victim in ("tail", "front"))
    return np.asarray(1 - front / tail)


def _alike(name: str, algorithms: Iterable[str]) -> Callable[[Cases], Check]:
    def check(cases: Cases) -> Check:
        return all_of(
            [
                near_one(f"TCP, {algorithm}, {name}, front over tail",
                         1 - _gain(cases, "TCP", algorithm, name), _SHARE)
                for algorithm in algorithms
            ]
        )  # fmt: skip

    return check


def _few_drops(cases: Cases) -> Check:
    return all_of(
        [
            within(f"TCP, RED, {victim}, loss ratio", found["loss_ratio"], high=_LOW)
            for (traffic, algorithm, victim), found in cases.items()
            if (traffic, algorithm) == ("TCP", RED)
        ]
    )


def _supervised(cases: Cases) -> Check:
    def sent(found: Found) -> FloatArray:
        return np.asarray(1 / (1 - found["loss_ratio"]))

    checks = []
    for victim in VICTIMS:
        tcp, udp = cases["TCP", RED, victim], cases["UDP", RED, victim]
        checks += [
            within(f"TCP, RED, {victim}, sent over carried", sent(tcp), high=1 + _MORE),
            within(f"UDP, RED, {victim}, sent over carried", sent(udp), 1 + _MORE),
            less(
                f"TCP, RED, {victim}, time-outs/s against a tenth of retransmissions/s",
                tcp["timeout_rate"],
                _TIMEOUTS * tcp["retransmission_rate"],
            ),
        ]
    return all_of(checks)


def _more_drops(cases: Cases) -> Check:
    return all_of(
        [
            more(
                f"{algorithm}, {victim}, loss ratio, {traffic} against TCP",
                found["loss_ratio"],
                cases["TCP", algorithm, victim]["loss_ratio"],
            )
            for (traffic, algorithm, victim), found in cases.items()
            if traffic in _WITH_UDP
        ]
    )


def _three_quarters(cases: Cases) -> Check:
    return within("UDP, RED, loss ratio", cases["UDP", RED, "tail"]["loss_ratio"], *_DROPPED)


def _no_gain(cases: Cases) -> Check:
    return all_of(
        [
            within(f"{traffic}, {algorithm}, gain in delay", _gain(cases, traffic, algorithm),
                   -np.inf, _SHARE)
            for traffic in _WITH_UDP
            for algorithm in _LIKE_RED
        ]
    )  # fmt: skip


def _worse(cases: Cases) -> Check:
    return all_of(
        [
            more(
                f"{traffic}, {algorithm}, mean delay (s), front against tail",
                cases[traffic, algorithm, "front"]["delay_mean"],
                cases[traffic, algorithm, "tail"]["delay_mean"],
            )
            for traffic in _WITH_UDP
            for algorithm in _LIKE_RED
        ]
    )


def _varying_gains(cases: Cases) -> Check:
    return all_of(
        [
            more(
                f"{algorithm}, gain in delay, UDP self-similar against UDP",
                _gain(cases, VARYING, algorithm),
                _gain(cases, "UDP", algorithm),
            )
            for algorithm in ANALYSED
        ]
    )


def _fred_gains(name: str) -> Callable[[Cases], Check]:
    def check(cases: Cases) -> Check:
        return within(f"UDP, FRED, gain in {name}", _gain(cases, "UDP", FRED, name), _SHARE)

    return check


def _only_fred(cases: Cases) -> Check:
    others = [
        less(
            f"UDP, gain in delay, {algorithm} against FRED",
            _gain(cases, "UDP", algorithm),
            _gain(cases, "UDP", FRED),
        )
        for algorithm in _LIKE_RED
    ]
    return all_of([_fred_gains("delay_mean")(cases), *others])


def _gain_somewhere(cases: Cases) -> Check:
    return any_of(
        [
            within(f"{traffic}, {algorithm}, gain in delay", _gain(cases, traffic, algorithm), 0)
            for traffic in _WITH_UDP
            for algorithm in ANALYSED
        ]
    )


def _later(algorithms: Iterable[str]) -> Callable[[Cases], Check]:
    def check(cases: Cases) -> Check:
        return all_of(
            [
                more(
                    f"UDP, {algorithm}, lateness of the router (s), front against tail",
                    cases["UDP", algorithm, "front"].lateness_s,
                    cases["UDP", algorithm, "tail"].lateness_s,
                )
                for algorithm in algorithms
            ]
        )

    return check


_CORROBORATED = Sentence(
    "An implementation in kernel space will corroborate the results obtained using analytical "
    "methods. [section VI; a router that is fast enough: RED and DSRED under UDP gain at least "
    "the 16 % of section IV]",
    lambda cases: all_of(
        [
            within(f"UDP, {name}, gain in delay", _gain(cases, "UDP", name), 0.16)
            for name in ANALYSED
        ]
    ),
)
_SENTENCES = [
    Sentence(
        "In the case of TCP traffic the behaviour of both methods is similar and the choice of "
        "packet drop strategy is insignificant: figure 8. [mean queue of RED within 10 %]",
        _alike("queue_mean", (RED,)),
    ),
    Sentence(
        "The same: figure 9. [mean delay of RED within 10 %]",
        _alike("delay_mean", (RED,)),
    ),
    Sentence(
        "The same for all four algorithms. [mean delay within 10 %]",
        _alike("delay_mean", ALGORITHMS),
    ),
    Sentence(
        "The amount of packets dropped by RED mechanism is low. [TCP; below 5 %]",
        _few_drops,
    ),
    Sentence(
        "... and the situation is supervised by congestion avoidance mechanisms built in TCP. "
        "[RED: TCP sends at most a quarter more than the link carries, UDP does not; at most one "
        "time-out for ten retransmissions]",
        _supervised,
    ),
    Sentence(
        "For UDP traffic and mixed traffic the number of dropped packets is greater than that in "
        "the TCP case. [of all four, from the tail and the front, as a share]",
        _more_drops,
    ),
    Sentence(
        "In the considered example the RED mechanism drops 75 percent of UDP traffic. [our packets "
        "have the size that makes it so: no prediction]",
        _three_quarters,
    ),
    Sentence(
        "In these cases there was also no improvement of results when using drop-from-front. "
        "[RED, DSRED, ARED: mean delay shorter by less than 10 %]",
        _no_gain,
    ),
    Sentence(
        "The difference may be explained: the variability of generated traffic was lower than one "
        "may expect in a real network. [with as many self-similar datagrams the front shortens the "
        "mean delay of RED and DSRED by more]",
        _varying_gains,
    ),
    Sentence(
        "Thus the results are worse than that for drop-from-tail strategy. [UDP, mixed; RED, "
        "DSRED, ARED: the mean delay is longer]",
        _worse,
    ),
    Sentence(
        "A significant advantage of drop-from-front can be noticed for FRED: figure 11. [UDP; mean "
        "queue shorter by more than 10 %]",
        _fred_gains("queue_mean"),
    ),
    Sentence(
        "The desired effect has been acquired only for FRED. [UDP; its mean delay is shorter by "
        "more than 10 %, and by more than with RED, DSRED and ARED]",
        _only_fred,
    ),
    Sentence(
        "The decrease of average time of data traversal through router has not been obtained for "
        "RED and DSRED. [UDP, mixed: no mean delay is shorter]",
        lambda cases: _opposite(_gain_somewhere(cases)),
    ),
    _CORROBORATED,
]
_OF_GATE = [
    Sentence(
        "The implemented drop-from-front strategy has to make additional operations to find the "
        "first packet in the queue: relatively slow. [RED, DSRED, ARED under UDP: packets leave "
        "the router later than they should, by more than from the tail]",
        _later(_LIKE_RED),
    ),
    Sentence(
        "Computational complexity of FRED lowers the significance of time overhead caused by "
        "searching for the first packet. [FRED under UDP: packets leave later, front against tail]",
        lambda cases: _opposite(_later((FRED,))(cases)),
    ),
]
# by the world that they are judged in
SENTENCES = {
    "network": _SENTENCES,
    "gate": [*_SENTENCES, *_OF_GATE],
    "kernel": [_CORROBORATED],
}
UNJUDGED = (
    "No statements on figures: which algorithms were implemented, by user defined queues of "
    "iptables; the three kinds of traffic; that an implementation in kernel space will increase "
    "the efficiency of the router's work (no world measures the time that the search for the "
    "first packet takes in both spaces)."
)


def _opposite(check: Check) -> Check:
    """What a check says of the contrary."""
    if check.verdict == "undecided":
        return check
    return Check("fails" if check.verdict == "holds" else "holds", check.evidence)
