"""What the paper says of parts and parameters, LRED's above all: sections 3, 5.1, 5.2, 6.4."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sluicegate.papers.claims import (
    Check,
    Claim,
    against,
    judge,
    less,
    mean_text,
    more,
    near_one,
    within,
)
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred.figures import steep_figure
from sluicegate.papers.lred.losses import inaccuracy
from sluicegate.papers.lred.measured import (
    Case,
    FloatArray,
    Records,
    Scenarios,
    deviation,
    means,
    measure,
    response_s,
    row,
    rows_of,
    stretch,
)
from sluicegate.papers.lred.scenarios import (
    BETA,
    CAPACITY,
    DURATION_S,
    LINK_BPS,
    Q_REF,
    Reading,
    drop_tail,
    dumbbell,
    long_lived,
    lred,
    pi,
    rem,
)
from sluicegate.papers.readings import any_of
from sluicegate.scenario import Discipline
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.rules import safe_beta
from sluicegate.worlds.network import NetworkScenario

READINGS: tuple[Reading, ...] = ()
_FLOWS = 200
_PERIODS_S, _BUFFERS = (0.2, 1.0, 5.0), (150, 200, 400)
_STEEP, _TAIL = ("beta = 10", "LRED"), ("beta = 10", "drop-tail")
_SETTLED_S = DURATION_S / 2
# flows and delays to the clients, s: the least flows and longest round trip (0.35 s) that the
# example after theorem 2 names, and two that are further from the edge
_EDGE, _MANY, _NEAR = "the edge", "more flows", "shorter round trips"
_STABLE = {_EDGE: (300, 0.15), _MANY: (900, 0.15), _NEAR: (300, 0.05)}
_FAST = "twice the capacity"
_BYTES, _SIZES = "LRED in bytes", (500, 1000)
_MIXED = f"packets of {_SIZES[0]} B and {_SIZES[1]} B"


def scenarios(reading: Reading) -> Scenarios:
    """By what is varied."""
    flows = [long_lived(_FLOWS, reading)]
    found: dict[Case, NetworkScenario] = {
        _STEEP: dumbbell(flows, lred(beta=10), reading),
        _TAIL: dumbbell(flows, drop_tail(), reading, limit=Q_REF),
        ("w_m = 0.9", "LRED"): dumbbell(flows, lred(w_m=0.9), reading),
    }

    def long(discipline: Discipline) -> float:
        return (2 if discipline.name == "PI" else 1) * DURATION_S

    for t_m in _PERIODS_S:
        found[f"t_m = {t_m:g}", "LRED"] = dumbbell(flows, lred(t_m=t_m), reading)
    for limit in _BUFFERS:
        for discipline in (lred(), pi(), rem()):
            found[f"Q = {limit}", discipline.name] = dumbbell(
                flows, discipline, reading, limit=limit, duration_s=long(discipline)
            )
    for name, (count, delay_s) in _STABLE.items():
        for discipline in [lred()] if name == _MANY else [lred(), pi()]:
            found[name, discipline.name] = dumbbell(
                [long_lived(count, reading)],
                discipline,
                reading,
                delays_s=[delay_s] * 5,
                duration_s=long(discipline),
            )
    count, delay_s = _STABLE[_EDGE]
    found[_FAST, "LRED"] = dumbbell(
        [long_lived(count, reading)],
        lred(),
        reading,
        delays_s=[delay_s] * 5,
        rate_bps=2 * LINK_BPS,
    )
    return {**found, **_mixed(reading)}


def _mixed(reading: Reading) -> Scenarios:
    """As many flows of either packet size; LRED in packets and in bytes of their mean."""
    flows = [
        long_lived(_FLOWS // 2, reading).replace({"tcp.packet_bytes": size}) for size in _SIZES
    ]
    in_bytes = lred(label=_BYTES, unit="bytes", mean_packet_bytes=sum(_SIZES) // 2)
    return {(_MIXED, each.name): dumbbell(flows, each, reading) for each in (lred(), in_bytes)}


def claims(records: Records) -> list[Claim]:
    """What the text says of theorem 2, p0, the buffer, round trips, t_m, w_m and beta."""
    return [
        *_of_theorem(records),
        *_of_needed_loss(records),
        *_of_responses(records),
        *_of_measuring(records),
        *_of_sizes(records),
        *_of_beta(records),
    ]


def _of_theorem(records: Records) -> Iterator[Claim]:
    greatest = safe_beta(FluidNetwork(300, CAPACITY, 0.35)).boundary
    verdict: Check = Check(
        "holds" if greatest >= BETA else "fails", f"equation 31 gives beta_0 = {greatest:.3g}"
    )
    yield judge(
        "With N >= 300 flows, R <= 0.35 s and C = 2500 packets/s LRED is stable with beta = 0.001.",
        "sec. 5.1, theorem 2",
        [
            verdict,
            *(
                within(
                    f"late queue deviation, {flows} flows, R = {2 * delay_s + 0.05:g} s",
                    deviation(stretch(records[name, "LRED"].ports[0], _SETTLED_S)),
                    high=Q_REF / 2,
                )
                for name, (flows, delay_s) in _STABLE.items()
            ),
        ],
        "'Stable' means a deviation below q0 / 2.",
    )


def _of_needed_loss(records: Records) -> Iterator[Claim]:
    p0 = {
        name: measure(records[name, "LRED"], "loss_ratio") for name in (_EDGE, _MANY, _NEAR, _FAST)
    }
    yield judge(
        "The drop probability p0 of the steady state increases with the number of flows; it "
        "decreases with the round-trip time and with the link's capacity.",
        "sec. 5.2, equation 6",
        [
            less("loss ratio of LRED, 300 against 900 flows", p0[_EDGE], p0[_MANY]),
            less("loss ratio of LRED, R = 0.35 s against 0.15 s", p0[_EDGE], p0[_NEAR]),
            less("loss ratio of LRED, 20 Mb/s against 10 Mb/s", p0[_FAST], p0[_EDGE]),
        ],
    )


def _response(records: Records, case: str, name: str = "LRED") -> FloatArray:
    return response_s(records[case, name].ports[0])


def _of_responses(records: Records) -> Iterator[Claim]:
    least, small, large = (f"Q = {limit}" for limit in _BUFFERS)
    told = ", ".join(
        f"{name} {mean_text(_response(records, least, name))} s" for name in ("PI", "REM")
    )
    yield judge(
        "With a small buffer PI and REM respond more slowly.",
        "sec. 5.2",
        [
            less(
                f"response (s), {name}, {large} against {small}",
                _response(records, large, name),
                _response(records, small, name),
            )
            for name in ("PI", "REM")
        ],
        f"{least} was tried first for the small one, with another outcome: {told}. There the rule "
        "for response times tells nothing, since a full buffer is within half and one and a half "
        "of q0.",
    )
    near = records[_NEAR, "PI"].ports[0]
    yield judge(
        "When the round-trip time decreases, the default PI yields a long response time, though "
        "the system remains stable.",
        "sec. 5.2",
        [
            less(
                "response (s) of PI, R = 0.35 s against 0.15 s",
                _response(records, _EDGE, "PI"),
                _response(records, _NEAR, "PI"),
            ),
            within(
                "PI's queue deviation in the last 50 s, R = 0.15 s",
                deviation(stretch(near, 2 * DURATION_S - 50.0)),
                high=Q_REF / 2,
            ),
        ],
        "'Stable' means a deviation below q0 / 2.",
    )


def _of_measuring(records: Records) -> Iterator[Claim]:
    def response(case: str) -> FloatArray:
        return _response(records, case)

    def late(case: str) -> FloatArray:
        return deviation(stretch(records[case, "LRED"].ports[0], _SETTLED_S))

    short, usual, long = (f"t_m = {t_m:g}" for t_m in _PERIODS_S)
    slow = "w_m = 0.9"
    period = np.abs(response(long) - response(short))
    others = {
        "the buffer (200, 400)": ("Q = 200", "Q = 400"),
        "the flows (300, 900)": (_EDGE, _MANY),
        "the round trip (0.35 s, 0.15 s)": (_EDGE, _NEAR),
    }
    yield judge(
        "LRED's response time is mainly influenced by the measurement period.",
        "sec. 5.2, 6.4",
        [
            less(
                f"change of the response (s) with {name} against t_m (0.2 s, 5 s)",
                np.abs(response(one) - response(other)),
                period,
            )
            for name, (one, other) in others.items()
        ],
        "'Mainly' means more than by the others.",
    )
    yield judge(
        "If the measurement period is too big, the response time can be longer.",
        "sec. 6.4",
        [less(f"response (s), {usual} against {long}", response(usual), response(long))],
        f"With {short} it is {mean_text(response(short))} s.",
    )
    yield judge(
        "If the measurement period is too small, the measurement may be inaccurate.",
        "sec. 6.4",
        [
            less(
                f"standard deviation of l(k) over its mean, second half, {usual} against {short}",
                *(
                    inaccuracy(records[f"t_m = {t_m:g}", "LRED"].ports[0], t_m)
                    for t_m in (_PERIODS_S[1], _PERIODS_S[0])
                ),
            ),
            less(
                f"queue deviation in the second half, {usual} against {short}",
                late(usual),
                late(short),
            ),
        ],
        "An inaccurate measurement is seen in the queue, too.",
    )
    yield judge(
        "The weight w_m should be small in order to capture the latest losses.",
        "sec. 3, 6.4",
        [less(f"response (s), w_m = 0.1 against {slow}", response(usual), response(slow))],
    )
    yield judge(
        "w_m = 0.1 and t_m = 1.0 s are reasonable choices.",
        "sec. 6.4",
        [
            any_of(
                [
                    less(f"response (s), usual against {other}", response(usual), response(other)),
                    less(f"late queue deviation, usual against {other}", late(usual), late(other)),
                ]
            )
            for other in (short, long, slow)
        ],
        "'Reasonable' means ahead of each other choice in the response or in the deviation.",
    )


def _of_sizes(records: Records) -> Iterator[Claim]:
    yield judge(
        "Counting in bytes improves the fairness among TCP connections of different packet sizes.",
        "sec. 3",
        against(
            more,
            "Jain's index of the goodput in bits/s",
            means(records, [_MIXED], "fairness"),
            _BYTES,
            ["LRED"],
        ),
        f"{_FLOWS // 2} flows with {_SIZES[0]} B and as many with {_SIZES[1]} B.",
    )


def _of_beta(records: Records) -> Iterator[Claim]:
    port = records[_STEEP].ports[0]
    late = port.times_s >= 10.0
    p, queue = port.rows("probability")[:, late], port.samples[:, late]
    yield judge(
        "With beta = 10 the drop probability almost equals 1 or 0.",
        "sec. 6.4, figure 17",
        [
            within(
                "share of time with p below 0.01 or above 0.99",
                ((p < 0.01) | (p > 0.99)).mean(axis=1),
                low=0.95,
            )
        ],
        "After the first 10 s; 'almost' means 95 % of the time. At q = q0 equation 3 gives l.",
    )
    yield judge(
        "With beta = 10 the queue stays below 100.",
        "sec. 6.4, figure 17",
        [
            within(
                "share of time more than a packet above q0",
                (queue > Q_REF + 1).mean(axis=1),
                high=0.05,
            )
        ],
        "After the first 10 s; 'stays' means 95 % of the time. At q = q0 a packet may join.",
    )
    tail = measure(records[_TAIL], "queue_mean")
    yield judge(
        "LRED then behaves like tail-drop with a virtual buffer of q0.",
        "sec. 6.4, figure 17",
        [
            near_one(
                "mean queue over that of tail-drop with 100 packets",
                measure(records[_STEEP], "queue_mean") / tail,
            ),
            near_one(
                "loss ratio over that of tail-drop with 100 packets",
                measure(records[_STEEP], "loss_ratio") / measure(records[_TAIL], "loss_ratio"),
            ),
        ],
        "'Like' means within a tenth.",
    )


def rows(records: Records) -> Iterator[Row]:
    """Responses and deviations with each parameter."""
    for (name, aqm), record in records.items():
        case = f"parameters, {name}, {aqm}"
        if aqm != "drop-tail" and (name, aqm) != _STEEP:
            yield row(case, "response_time_s", response_s(record.ports[0]))
        yield from rows_of(case, record, ("queue_mean", "queue_deviation", "loss_ratio"))


def plots(records: Records) -> Iterator[Plot]:
    """Figure 17."""
    steep = records[_STEEP].ports[0]
    yield Plot(
        steep_figure(steep.times_s, steep.rows("probability")[0], steep.samples[0]),
        "Figure 17: LRED with beta = 10",
        "By the text p is almost 0 or 1 and the queue below 100, as behind a tail-drop buffer.",
    )
