"""Every scenario of RFC 7928, sections 3.1 and 4.4 to 10.2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sluicegate.errors import SluiceError
from sluicegate.evaluate.case import Case, Fitted, Phase, Rates
from sluicegate.evaluate.profile import CONGESTION, PROFILES, Profile
from sluicegate.evaluate.traffic import (
    bulk,
    constant,
    datagrams,
    halves,
    probes,
    short,
    video,
    voice,
    web,
)
from sluicegate.registry import Aqm, Param
from sluicegate.scenario import Discipline, Flows, Fq

# round trips of the second category as multiples of the first: 5 to 560 ms beside 100 ms (6.2)
RTTS = (0.05, 0.2, 0.5, 1.0, 2.0, 5.6)
# of 6.2, those that section 4.5 repeats with ECN
_RTTS_OF_ECN = (0.2, 2.0)
# the other AQM of section 10.2, and that for the first one
_OTHERS = ("codel", "pie")
# flows of section 8.2.6, and the ratio of its two capacities
_CAPACITY_FLOWS, _CAPACITY = "mild", 10
_SHORT_PHASE_S = 0.1
# a time beyond this does nothing in a run
_RUN_S = PROFILES["default"].duration_s


def _of(*classes: str) -> tuple[str, ...]:
    """Delay and goodput of these classes, the axes of the ellipses."""
    return tuple(f"{each}.{name}" for each in classes for name in ("queueing_delay", "goodput_bps"))


def _many(count: Callable[[Profile], int]) -> Callable[[Profile], Sequence[float]]:
    """As many pairs of hosts as flows, each with a round trip of its own near the profile's."""
    return lambda p: [1.0] * count(p)


# ------------------------------------------------------------ sections 4.5 and 4.6


def _with_ecn(discipline: Discipline) -> Fitted:
    return Fitted(discipline.replace(ecn=True))


def _scheduled(discipline: Discipline) -> Fitted | str:
    configured = discipline.configured
    if isinstance(configured, Aqm) and configured.of.coupled:
        return "it has queues of its own"
    return Fitted(discipline.replace(scheduler=Fq()))


# ------------------------------------------------------------ section 10.2


def _first_number(discipline: Discipline, factors: Sequence[float]) -> str | list[Discipline]:
    """The discipline with its first parameter that is a number, times first, times each factor.

    The parameter is in force with the values of the others, an integer stays whole, and a time is
    not beyond a run of the default profile, in which it would do nothing. In words why not, if none
    can be multiplied by all of the factors. It is as it is if it has no parameters.
    """
    configured = discipline.configured
    if isinstance(configured, Aqm) and not configured.of.params:
        return [discipline for _ in factors]
    params = _numbers_in_force(configured) if isinstance(configured, Aqm) else []
    for param, value in params:
        found = _multiplied(discipline, param, [factor * value for factor in factors])
        if found is not None:
            return found
    return (
        f"it has no parameter that can be multiplied by {' or '.join(map('{:g}'.format, factors))}"
    )


def _numbers_in_force(configured: Aqm) -> list[tuple[Param, float]]:
    """The parameters that are numbers and in force, times first, with their values."""
    found = [
        each
        for each in configured.of.params
        if each.kind in ("number", "integer") and configured.of.applies(each, configured.params)
    ]
    found.sort(key=lambda each: each.unit != "s")
    return [(each, float(configured.params[each.name])) for each in found]


def _multiplied(
    discipline: Discipline, param: Param, values: Sequence[float]
) -> list[Discipline] | None:
    """The discipline with each of these values; None if it cannot have all of them."""
    whole = param.kind == "integer"
    if (
        not all(values)
        or (whole and not all(value.is_integer() for value in values))
        or (param.unit == "s" and max(values) > _RUN_S)
    ):
        return None
    try:
        found = [
            discipline.replace(
                params={**discipline.params, param.name: int(value) if whole else value}
            )
            for value in values
        ]
        # parameters are checked when the AQM is configured
        return found if all(each.configured is not None for each in found) else None
    except SluiceError:  # out of range, or against another parameter
        return None


def _other_parameters(discipline: Discipline) -> Fitted | str:
    """The second has twice the first parameter; or it has none."""
    found = _first_number(discipline, [2])
    if isinstance(found, str):
        return found
    return Fitted(discipline, None if found[0] == discipline else found[0])


# ------------------------------------------------------------ section 8.3

# the first parameter is tried with these shares of its value
SENSITIVITY = {"halved": 0.5, "doubled": 2.0}


def varied(discipline: Discipline, way: str) -> Fitted | str:
    """The discipline with its first parameter halved or doubled (section 8.3)."""
    found = _first_number(discipline, list(SENSITIVITY.values()))
    return found if isinstance(found, str) else Fitted(found[list(SENSITIVITY).index(way)])


def _another(discipline: Discipline) -> Fitted:
    first, second = _OTHERS
    return Fitted(discipline, Discipline(aqm=second if discipline.aqm == first else first))


def _two_hops(p: Profile) -> Sequence[Flows]:
    count = p.count("mild")
    return [
        bulk(p, "A", (count + 1) // 2, route="long"),
        bulk(p, "B", max(1, count // 2), source="enters1", sink="leaves1"),
    ]


# ------------------------------------------------------------ sections 8.2.5 and 8.2.6


def _phases(names: Sequence[str]) -> Callable[[Profile], Sequence[Phase]]:
    return lambda p: [
        Phase(name, p.warm_up_s + k * p.phase_s, p.warm_up_s + (k + 1) * p.phase_s)
        for k, name in enumerate(names)
    ]


def _rising_and_falling(p: Profile) -> Sequence[Flows]:
    """Flows that make mild congestion last; those of medium and heavy come and end."""
    mild, medium, heavy = (p.count(each) for each in CONGESTION)
    start_s, phase_s = p.warm_up_s, p.phase_s
    found: list[Flows] = [bulk(p, "bulk", mild)]
    for more, first, last in ((medium - mild, 1, 3), (heavy - medium, 2, 3)):
        if more > 0:
            begin_s, end_s = start_s + first * phase_s, start_s + last * phase_s
            found.append(bulk(p, "bulk", more, start_s=begin_s, stop_s=end_s))
    return found


def _slow_and_fast(p: Profile) -> Rates:
    ends = [p.warm_up_s + (k + 1) * p.phase_s for k in range(3)]
    fast, slow = _CAPACITY * p.rate_bps, p.rate_bps
    return ((0.0, fast), (ends[0], slow), (ends[1], fast), (ends[2], slow))


def _slow_and_fast_soon(p: Profile) -> Rates:
    times = int(p.duration_s / _SHORT_PHASE_S)
    rates = (_CAPACITY * p.rate_bps, p.rate_bps)
    return tuple((k * _SHORT_PHASE_S, rates[k % 2]) for k in range(times))


# ------------------------------------------------------------ the table


def _sender(name: str, section: str, title: str, *flows: Any, judged: Sequence[str]) -> Case:
    return Case(name, section, title, lambda p: [each(p) for each in flows], judged)


def _round_trips(ratio: float) -> Case:
    return Case(
        f"6-2-rtt-{ratio:g}".replace(".", "p"),
        "6.2",
        f"two flows, the second with {ratio:g} times the round trip of the first",
        lambda p: [
            bulk(p, "I", source="client0", sink="server0"),
            bulk(p, "II", source="client1", sink="server1"),
        ],
        ("goodput_fairness", *_of("I", "II")),
        pairs=lambda _p: (1.0, ratio),
    )


def _ecn(ratio: float) -> Case:
    plain = _round_trips(ratio)
    return replace(
        plain,
        name=plain.name.replace("6-2", "4-5-ecn"),
        section="4.5",
        title=f"with ECN: {plain.title}",
        flows=lambda p: [each.replace({"tcp.ecn": True}) for each in plain.flows(p)],
        fitted=_with_ecn,
    )


def _congestion(level: str, section: str) -> Case:
    return Case(
        f"{section.replace('.', '-')}-{level}",
        section,
        f"{level} congestion: long flows",
        lambda p: [bulk(p, count=p.count(level))],
        _of("bulk"),
        pairs=_many(lambda p: p.count(level)),
        loses_together=True,
    )


def _mix(name: str, title: str, *flows: Callable[[Profile], Flows]) -> Case:
    labels = {web: "web", constant: "cbr", video: "video", bulk: "bulk"}
    classes = [labels[each] for each in flows]
    judged = [f"{each}.queueing_delay" for each in classes]
    judged += ["web.page_mean"] if web in flows else []
    judged += ["video.quality", "video.stall_ratio"] if video in flows else []
    judged += [f"{each}.{what}" for each in classes if each == "cbr" for what in ("jitter",)]
    judged += ["bulk.goodput_bps"] if bulk in flows else []
    return Case(name, "7.2", title, lambda p: [each(p) for each in flows], judged)


def _both_ways(p: Profile) -> Sequence[Flows]:
    count = p.count("mild")
    return [bulk(p, "forward", count), bulk(p, "reverse", count, route="reverse")]


def _traffic_mix(p: Profile) -> Sequence[Flows]:
    return [
        voice(p),
        voice(p, "voice-back", route="reverse"),
        web(p, 6),
        constant(p),
        video(p),
        bulk(p, count=5),
        probes(p),
    ]


TOPICS = {
    "3.1": "a slow way back",
    "4.4": "packet sizes",
    "4.5": "ECN",
    "4.6": "with a scheduler",
    "5.1.1": "a TCP-friendly sender",
    "5.1.2": "initial windows",
    "5.2": "an aggressive sender",
    "5.3": "an unresponsive sender",
    "5.4": "less than best effort",
    "6.2": "round-trip fairness",
    "7.2": "bursts",
    "8.2.2": "mild congestion",
    "8.2.3": "medium congestion",
    "8.2.4": "heavy congestion",
    "8.2.5": "congestion that varies",
    "8.2.6": "capacity that varies",
    "8.3": "sensitivity to a parameter",
    "9.1": "a mix of traffic",
    "9.2": "two-way traffic",
    "10.2": "several AQMs",
}

CASES: list[Case] = [
    Case(
        "3-1-asymmetric",
        "3.1",
        "mild congestion in both directions, the way back with a tenth of the rate",
        _both_ways,
        _of("forward", "reverse"),
        pairs=_many(lambda p: p.count("mild")),
        kind="two-way",
        reverse_share=0.1,
    ),
    Case(
        "4-4-packet-size",
        "4.4",
        "half of the long flows send packets of 500 bytes, the others of 1500",
        lambda p: halves(p, p.count("mild")),
        ("goodput_fairness", *_of("small", "large")),
        pairs=_many(lambda p: p.count("mild")),
    ),
    *map(_ecn, _RTTS_OF_ECN),
    Case(
        "4-6-scheduled",
        "4.6",
        "the AQM in the queues of a scheduler (FQ): a call beside mild congestion",
        lambda p: [voice(p), bulk(p, count=p.count("mild"))],
        ("voice.queueing_delay", "voice.mos", *_of("bulk")),
        pairs=_many(lambda p: p.count("mild")),
        fitted=_scheduled,
    ),
    _sender("5-1-1", "5.1.1", "one long flow of NewReno", bulk, judged=_of("bulk")),
    *(
        _sender(
            f"5-1-2-iw{window}",
            "5.1.2",
            f"one long flow, then a short one with an initial window of {window}",
            bulk,
            lambda p, window=window: short(p, window),
            judged=("short.completion_mean", "short.queueing_delay", *_of("bulk")),
        )
        for window in (3, 10)
    ),
    _sender(
        "5-2",
        "5.2",
        "one long flow of CUBIC",
        lambda p: bulk(p, control="cubic"),
        judged=_of("bulk"),
    ),
    _sender(
        "5-3-faster",
        "5.3",
        "datagrams at 1.2 times the link's rate",
        lambda p: datagrams(p, 1.2),
        judged=_of("udp"),
    ),
    _sender(
        "5-3-beside",
        "5.3",
        "datagrams at 0.8 of the link's rate beside one long flow",
        lambda p: datagrams(p, 0.8),
        bulk,
        judged=_of("udp", "bulk"),
    ),
    _sender(
        "5-4",
        "5.4",
        "one long flow of NewReno, one of LEDBAT",
        bulk,
        lambda p: bulk(p, "ledbat", control="ledbat"),
        judged=_of("bulk", "ledbat"),
    ),
    *map(_round_trips, RTTS),
    _mix("7-2-i", "pages, constant rate", web, constant),
    _mix("7-2-ii", "pages, constant rate, a long flow", web, constant, bulk),
    _mix("7-2-iii", "video, pages, constant rate", video, web, constant),
    _mix("7-2-iv", "video, pages, constant rate, a long flow", video, web, constant, bulk),
    *(
        _congestion(level, section)
        for level, section in zip(CONGESTION, ("8.2.2", "8.2.3", "8.2.4"), strict=True)
    ),
    Case(
        "8-2-5",
        "8.2.5",
        "mild, medium, heavy and again mild congestion",
        _rising_and_falling,
        (
            *_of("bulk"),
            *(f"{name}.queueing_delay" for name in ("mild", "medium", "heavy", "mild-again")),
        ),
        pairs=_many(lambda p: p.count("heavy")),
        phases=_phases(("mild", "medium", "heavy", "mild-again")),
    ),
    Case(
        "8-2-6-slow",
        "8.2.6",
        "the capacity changes by a factor of ten, each phase",
        lambda p: [bulk(p, count=p.count(_CAPACITY_FLOWS))],
        (
            *_of("bulk"),
            *(f"{name}.queueing_delay" for name in ("fast", "slow", "fast-again", "slow-again")),
        ),
        pairs=_many(lambda p: p.count(_CAPACITY_FLOWS)),
        phases=_phases(("fast", "slow", "fast-again", "slow-again")),
        rates=_slow_and_fast,
    ),
    Case(
        "8-2-6-fast",
        "8.2.6",
        "the capacity changes by a factor of ten every 100 ms",
        lambda p: [bulk(p, count=p.count(_CAPACITY_FLOWS))],
        _of("bulk"),
        pairs=_many(lambda p: p.count(_CAPACITY_FLOWS)),
        rates=_slow_and_fast_soon,
    ),
    *(
        Case(
            f"8-3-{way}",
            "8.3",
            f"medium congestion, the AQM's first parameter {way}",
            lambda p: [bulk(p, count=p.count("medium"))],
            _of("bulk"),
            pairs=_many(lambda p: p.count("medium")),
            fitted=partial(varied, way=way),
        )
        for way in SENSITIVITY
    ),
    Case(
        "9-1",
        "9.1",
        "a call, six users of the web, constant rate, a video, five long flows",
        _traffic_mix,
        (
            *("voice.mos", "voice.queueing_delay", "voice.jitter", "web.page_mean"),
            *("video.quality", "video.stall_ratio", "cbr.queueing_delay", "rpm", *_of("bulk")),
        ),
        pairs=lambda _p: [1.0] * 12,
    ),
    Case(
        "9-2",
        "9.2",
        "mild congestion in both directions, the AQM in both",
        _both_ways,
        _of("forward", "reverse"),
        pairs=_many(lambda p: p.count("mild")),
        kind="two-way",
    ),
    *(
        Case(
            f"10-2-{name}",
            "10.2",
            f"two bottlenecks in a row, A crosses both, B the second; {title}",
            _two_hops,
            _of("A", "B"),
            kind="two hops",
            fitted=fitted,
        )
        for name, title, fitted in (
            ("same", "the same before both", Fitted),
            ("parameters", "the second with other parameters", _other_parameters),
            ("another", "the second is CoDel, behind CoDel PIE", _another),
        )
    ),
]
