"""What the paper says of LRED's own parts and parameters: sections 3, 5.1, 5.2 and 6.4."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sluicegate.network import NetworkScenario
from sluicegate.papers.claims import Check, Claim, judge, less, within
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred import bounds
from sluicegate.papers.lred.figures import probability_figure, steep_figure
from sluicegate.papers.lred.losses import loss_in_time
from sluicegate.papers.lred.measured import (
    Case,
    FloatArray,
    Records,
    Scenarios,
    deviation,
    measure,
    response_s,
    row,
    stretch,
)
from sluicegate.papers.lred.scenarios import (
    BETA,
    DURATION_S,
    Q_REF,
    Reading,
    drop_tail,
    dumbbell,
    long_lived,
    lred,
    pi,
    rem,
)

READINGS: tuple[Reading, ...] = ()
# near the printed loss ratio 0.12 of figure 2
_FLOWS = 200
_FINE_S = 0.02
_PERIODS_S, _BUFFERS = (0.2, 1.0, 5.0), (200, 400)
_LOSSES = ("figure 2", "LRED")
_STEEP, _TAIL = ("beta = 10", "LRED"), ("beta = 10", "drop-tail")
_SETTLED_S = DURATION_S / 2
# flows and delays to the clients, s: the least flows and longest round trip (0.35 s) that the
# example after theorem 2 names, and two that are further from the edge
_STABLE = {"the edge": (300, 0.15), "more flows": (900, 0.15), "shorter round trips": (300, 0.05)}


def scenarios(reading: Reading) -> Scenarios:
    """By what is varied."""
    flows = [long_lived(_FLOWS, reading)]
    found: dict[Case, NetworkScenario] = {
        _LOSSES: dumbbell(flows, lred(), reading, sample_s=_FINE_S),
        _STEEP: dumbbell(flows, lred(beta=10), reading),
        _TAIL: dumbbell(flows, drop_tail(), reading, limit=Q_REF),
        ("w_m = 0.9", "LRED"): dumbbell(flows, lred(w_m=0.9), reading),
    }
    for t_m in _PERIODS_S:
        found[f"t_m = {t_m:g}", "LRED"] = dumbbell(flows, lred(t_m=t_m), reading)
    for limit in _BUFFERS:
        for discipline in (lred(), pi(), rem()):
            duration_s = (2 if discipline.name == "PI" else 1) * DURATION_S
            found[f"Q = {limit}", discipline.name] = dumbbell(
                flows, discipline, reading, limit=limit, duration_s=duration_s
            )
    for name, (count, delay_s) in _STABLE.items():
        found[name, "LRED"] = dumbbell(
            [long_lived(count, reading)], lred(), reading, delays_s=[delay_s] * 5
        )
    return found


def claims(records: Records) -> list[Claim]:
    """What the text says of l(k), of theorem 2, of the buffer, of t_m, w_m and beta."""
    return [*_of_loss(records), *_of_theorem(records), *_of_response(records), *_of_beta(records)]


def _of_loss(records: Records) -> Iterator[Claim]:
    port = records[_LOSSES].ports[0]
    late = port.times_s >= _SETTLED_S
    p, loss = port.rows("probability")[:, late], loss_in_time(port)[:, late]
    yield judge(
        "In a steady state the measured loss ratio l(k) converges to a stable value.",
        "sec. 3",
        [
            within(
                "standard deviation of l(k) over its mean, second half",
                loss.std(axis=1) / loss.mean(axis=1),
                high=0.1,
            )
        ],
        "Stable is taken for a tenth at most.",
    )
    yield judge(
        "In a steady state the drop probability p fluctuates around l(k), so that the loss ratio "
        "is close to the desired drop probability.",
        "sec. 1, 3, figure 2",
        [within("mean of p over l(k), second half", (p / loss).mean(axis=1), 0.95, 1.05)],
        f"The mean l(k) is {loss.mean():.3f}; figure 2 has 0.12.",
    )
    queue = port.samples[:, late]
    off = (p - loss) / (BETA * np.sqrt(loss)) - (queue - Q_REF)
    yield judge(
        "Between two measurements p depends on the control error q - q0 only, in proportion.",
        "sec. 3, equation 3",
        [
            within(
                "(p - l) / (beta sqrt(l)) less q - q0, mean distance (packets)",
                np.abs(off).mean(axis=1),
                high=1.0,
            )
        ],
        "l(k) was computed anew from the packets that arrived and were lost; p is that of the last "
        "arrival, q the queue at the sample after it.",
    )


def _of_theorem(records: Records) -> Iterator[Claim]:
    greatest = bounds.greatest_beta(300, 0.35)
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
    )


def _of_response(records: Records) -> Iterator[Claim]:
    def response(case: str, name: str = "LRED") -> FloatArray:
        return response_s(records[case, name].ports[0])

    small, large = (f"Q = {limit}" for limit in _BUFFERS)
    yield judge(
        "With a small buffer PI and REM respond more slowly.",
        "sec. 5.2",
        [
            less(
                f"response (s), {name}, {large} against {small}",
                response(large, name),
                response(small, name),
            )
            for name in ("PI", "REM")
        ],
    )
    short, usual, long = (f"t_m = {t_m:g}" for t_m in _PERIODS_S)
    yield judge(
        "LRED's response time is mainly influenced by the measurement period: if that is too big, "
        "it is longer.",
        "sec. 5.2, 6.4",
        [
            less(f"response (s), {one} against {other}", response(one), response(other))
            for one, other in ((short, usual), (usual, long))
        ],
    )
    yield judge(
        "If the measurement period is too small, the measurement may be inaccurate.",
        "sec. 6.4",
        [
            less(
                f"queue deviation in the second half, {usual} against {short}",
                *(
                    deviation(stretch(records[each, "LRED"].ports[0], _SETTLED_S))
                    for each in (usual, short)
                ),
            )
        ],
        "An inaccurate measurement is seen in the queue.",
    )
    yield judge(
        "The weight w_m should be small in order to capture the latest losses.",
        "sec. 3, 6.4",
        [
            less(
                "response (s), w_m = 0.1 against w_m = 0.9", response(usual), response("w_m = 0.9")
            ),
        ],
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
        "After the first 10 s; almost is taken for 95 % of the time. At q = q0 equation 3 gives l.",
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
        "After the first 10 s; stays is taken for 95 % of the time. At q = q0 a packet may join.",
    )
    tail = measure(records[_TAIL], "queue_mean")
    yield judge(
        "LRED then behaves like tail-drop with a virtual buffer of q0.",
        "sec. 6.4, figure 17",
        [
            within(
                "mean queue over that of tail-drop with 100 packets",
                measure(records[_STEEP], "queue_mean") / tail,
                0.9,
                1.1,
            ),
            within(
                "loss ratio over that of tail-drop with 100 packets",
                measure(records[_STEEP], "loss_ratio") / measure(records[_TAIL], "loss_ratio"),
                0.9,
                1.1,
            ),
        ],
        "Like is taken for within a tenth.",
    )


def rows(records: Records) -> Iterator[Row]:
    """Responses and deviations with each parameter."""
    for (name, aqm), record in records.items():
        case = f"parameters, {name}, {aqm}"
        if aqm != "drop-tail" and (name, aqm) != _STEEP:
            yield row(case, "response_time_s", response_s(record.ports[0]))
        yield row(case, "queue_mean", measure(record, "queue_mean"))
        yield row(case, "queue_deviation", measure(record, "queue_deviation"))
        yield row(case, "loss_ratio", measure(record, "loss_ratio"))


def plots(records: Records) -> Iterator[Plot]:
    """Figures 2 and 17."""
    port = records[_LOSSES].ports[0]
    p, loss = port.rows("probability")[0], loss_in_time(port)[0]
    yield Plot(
        probability_figure(port.times_s, p, loss, ((0, DURATION_S), (40, 43))),
        "Figure 2: drop probability and measured loss ratio",
        f"{_FLOWS} flows, one run; l(k) is computed from the packets that arrived and were lost. "
        "The paper shows p around l(k) = 0.12, which is level between two measurements.",
    )
    steep = records[_STEEP].ports[0]
    yield Plot(
        steep_figure(steep.times_s, steep.rows("probability")[0], steep.samples[0]),
        "Figure 17: LRED with beta = 10",
        "The paper shows p at 0 or 1 and the queue below 100, as behind a tail-drop buffer.",
    )
