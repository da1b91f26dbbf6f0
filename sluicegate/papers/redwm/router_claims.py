"""What section 6 of the paper says in words, judged in one world under several readings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from sluicegate.papers.claims import Check, Claim, less, more, near_one, within
from sluicegate.papers.readings import all_of, survives
from sluicegate.papers.redwm.table1 import ALGORITHMS, GENERATED, RED, REDWM
from sluicegate.papers.router.found import FloatArray, Found
from sluicegate.papers.router.setting import TRAFFIC, Traffic

_WITH_UDP: tuple[Traffic, ...] = ("UDP", "UDP + TCP")
# a row of table 1
Rows: TypeAlias = Mapping[tuple[Traffic, str], Found]

# a difference is significant above this share, and not significant below it
_SHARE = 0.1
# losses in the paper's word for TCP, section 6, and what we take for significant ones
_FEW, _MANY = 0.01, 0.1
# least share of the generated packets that must be lost to say that the kernel's queue overflows
_OVERFLOWS = 0.001
# 'about 1.5 ms', '15 % of the entire waiting time'
_SAVED_S, _SAVED_SHARE = (0.001, 0.002), (0.1, 0.2)


class Sentence(NamedTuple):
    """A sentence of the paper and how it is judged."""

    text: str
    check: Callable[[Rows], Check]


def claims(by_reading: Mapping[str, Rows], world: str, which: str) -> Iterator[Claim]:
    """Every sentence under all readings.

    Args:
        by_reading: The rows of table 1, by the name of the reading.
        world: The one that they are from.
        which: Which readings these are.
    """
    for sentence in SENTENCES[world]:
        checks = {name: sentence.check(rows) for name, rows in by_reading.items()}
        yield survives(sentence.text, f"section 6, {world}, {which}", checks)


def _delay_s(rows: Rows, traffic: Traffic, algorithm: str) -> FloatArray:
    return rows[traffic, algorithm]["delay_mean"]


def _loss(rows: Rows, traffic: Traffic, algorithm: str) -> FloatArray:
    return rows[traffic, algorithm]["loss_ratio"]


def _shorter_waits(*under: Traffic) -> Callable[[Rows], Check]:
    def check(rows: Rows) -> Check:
        return all_of(
            [
                less(
                    f"mean delay (s), {traffic}",
                    _delay_s(rows, traffic, REDWM),
                    _delay_s(rows, traffic, RED),
                )
                for traffic in under
            ]
        )

    return check


def _alike_under_tcp(rows: Rows) -> Check:
    red, redwm = rows["TCP", RED], rows["TCP", REDWM]
    alike = [
        near_one(f"TCP, {name}, REDwM over RED", redwm[name] / red[name], _SHARE)
        for name in ("delay_mean", "queue_mean")
    ]
    apart = redwm["loss_ratio"] - red["loss_ratio"]
    return all_of([within("TCP, loss ratio, REDwM minus RED", apart, -_FEW, _FEW), *alike])


def _more_drops(*under: Traffic) -> Callable[[Rows], Check]:
    def check(rows: Rows) -> Check:
        return all_of(
            [
                more(
                    f"{traffic}, loss ratio, REDwM against RED",
                    _loss(rows, traffic, REDWM),
                    _loss(rows, traffic, RED),
                )
                for traffic in under
            ]
        )

    return check


def _few_drops(rows: Rows) -> Check:
    return all_of(
        [
            within(f"TCP, {name}, loss ratio", _loss(rows, "TCP", name), high=_FEW)
            for name in ALGORITHMS
        ]
    )


def _skewed(rows: Rows) -> Check:
    positive = [
        within(f"TCP, {name}, skewness", rows["TCP", name].skewness, 0) for name in ALGORITHMS
    ]
    negative = within("UDP + TCP, REDwM, skewness", rows["UDP + TCP", REDWM].skewness, -np.inf, 0)
    return all_of([*positive, negative])


def _longer_with_udp(rows: Rows) -> Check:
    steps: list[tuple[Traffic, Traffic]] = [("UDP + TCP", "TCP"), ("UDP", "UDP + TCP")]
    return all_of(
        [
            more(
                f"mean delay (s), {name}, {many} against {few}",
                _delay_s(rows, many, name),
                _delay_s(rows, few, name),
            )
            for name in ALGORITHMS
            for many, few in steps
        ]
    )


def _saved_s(rows: Rows) -> Check:
    saved = _delay_s(rows, "UDP", RED) - _delay_s(rows, "UDP", REDWM)
    return within("UDP, mean delay (s), RED minus REDwM", saved, *_SAVED_S)


def _saved_share(rows: Rows) -> Check:
    share = 1 - _delay_s(rows, "UDP", REDWM) / _delay_s(rows, "UDP", RED)
    return within("UDP, share of the delay that REDwM saves", share, *_SAVED_SHARE)


def _many_drops_with_udp(rows: Rows) -> Check:
    many = [
        within(f"{kind}, {name}, loss ratio", _loss(rows, kind, name), _MANY)
        for kind in _WITH_UDP
        for name in ALGORITHMS
    ]
    few = [
        less(f"{name}, loss ratio, TCP against UDP", _loss(rows, "TCP", name),
             _loss(rows, "UDP", name))
        for name in ALGORITHMS
    ]  # fmt: skip
    return all_of([*few, *many])


def _differs(rows: Rows) -> Check:
    return all_of(
        [
            within(
                f"{traffic}, share of the delay that REDwM saves",
                1 - _delay_s(rows, traffic, REDWM) / _delay_s(rows, traffic, RED),
                _SHARE,
            )
            for traffic in TRAFFIC
        ]
    )


def _late(rows: Rows) -> Check:
    return all_of(
        [
            within(
                f"{traffic}, {name}, lateness over delay",
                found.lateness_s / found["delay_mean"],
                _SHARE,
            )
            for (traffic, name), found in rows.items()
        ]
    )


def _overflows(rows: Rows) -> Check:
    return all_of(
        [
            within(
                f"{traffic}, {name}, share of the packets that the kernel's queue loses",
                rows[traffic, name].kernel_drops_per_s / GENERATED,
                _OVERFLOWS,
            )
            for traffic in _WITH_UDP
            for name in ALGORITHMS
        ]
    )


_SENTENCES = [
    Sentence(
        "For each type of traffic the obtained waiting times were better for RED with "
        "modifications.",
        _shorter_waits(*TRAFFIC),
    ),
    Sentence(
        "In the case of TCP traffic the difference between the results (number of dropped packets, "
        "average waiting times, average queue length) obtained for RED and REDwM is not "
        "significant. [within 1 % of the packets, 10 % of the times and lengths]",
        _alike_under_tcp,
    ),
    Sentence(
        "For the REDwM mechanism the probability of dropping packets is slightly bigger than for "
        "the RED one. [under TCP]",
        _more_drops("TCP"),
    ),
    Sentence("The same. [under all traffic, as in table 1]", _more_drops(*TRAFFIC)),
    Sentence(
        "The buffer is not overloaded for TCP in contrast to the presence of UDP: positively "
        "skewed histograms in figures 12 and 13, negatively skewed in figure 14.",
        _skewed,
    ),
    Sentence(
        "Either the RED mechanism or the REDwM one works very well with TCP and therefore the "
        "losses are not significant (less than 1 %).",
        _few_drops,
    ),
    Sentence(
        "For the mixed traffic and especially for the UDP one, the waiting times are greater "
        "(compared with the results for TCP traffic).",
        _longer_with_udp,
    ),
    Sentence(
        "The waiting times for the REDwM mechanism are smaller than for the RED one. [under UDP "
        "and mixed traffic]",
        _shorter_waits(*_WITH_UDP),
    ),
    Sentence("For the UDP traffic the difference is about 1.5 ms ... [1 to 2 ms]", _saved_s),
    Sentence("... which gives 15 % of the entire waiting time for RED. [10 to 20 %]", _saved_share),
    Sentence(
        "For TCP traffic AQM mechanisms reject not many packets, but in the case of mixed traffic "
        "and the UDP one the losses are significant. [more than 10 %]",
        _many_drops_with_udp,
    ),
    Sentence(
        "The influence of our RED modifications upon the behavior of the router queue for TCP, UDP "
        "and mixed traffic was significant. [section 7; more than 10 % of the delay]",
        _differs,
    ),
]
_OF_GATE = [
    Sentence(
        "The simplicity of the solution caused large delays (packets must be shifted between the "
        "kernel and user spaces). [section 7; more than 10 % of the delay]",
        _late,
    ),
    Sentence(
        "For a heavy traffic system cannot keep up with packets support. In this case the queue "
        "(in the kernel space) can be overflowed by stored packets. [under UDP and mixed traffic "
        "it loses more than 0.1 % of the packets generated]",
        _overflows,
    ),
]
# by the world that they are judged in
SENTENCES = {"network": _SENTENCES, "gate": [*_SENTENCES, *_OF_GATE]}
UNJUDGED = (
    "No statements on figures: how program, network and experiments are made; that the kernel's "
    "queue should be as large as possible; that soft real time will require dropping packets in "
    "the kernel."
)
