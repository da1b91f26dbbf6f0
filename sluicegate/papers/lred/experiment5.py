"""Experiment 5: short TCP flows come and go; LRED with a small q0 against AVQ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from sluicegate.papers.claims import Claim, against, judge, less, more, near_one, within
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred.figures import sweep_figure
from sluicegate.papers.lred.measured import (
    ALL,
    MEASURES,
    RIVALS,
    WORDS,
    Records,
    Scenarios,
    at,
    better,
    deviation,
    lred_ahead,
    mean_over,
    means,
    measure,
    responds_faster,
    response_rows,
    rows_of,
    stretch,
)
from sluicegate.papers.lred.queues import queue_plot
from sluicegate.papers.lred.scenarios import (
    COME_S,
    DELAYS_S,
    GO_S,
    Reading,
    avq,
    dumbbell,
    long_lived,
    lred,
    red,
    regulating,
)
from sluicegate.scenario import Discipline, Flows
from sluicegate.worlds.network import Exponential, NetworkScenario, Pareto, ShortTcpFlows, Uniform

RATES = tuple(range(10, 101, 10))
# of the comparison with AVQ
AVQ_RATES = (20, 40, 60, 80, 100)
ALPHAS = (0.01, 0.05, 0.1, 0.15)
SMALL_TARGETS = (10, 20)
READINGS: tuple[Reading, ...] = ()
FLOWS, R_MAX = 100, 0.45
_PARETO = "Pareto"
_WHERE = "sec. 6.2, experiment 5"
_SHAPE = 1.5
_CROSSING = 60
Distribution = Literal["Poisson", "Pareto"]


def short_flows(
    rate: float,
    reading: Reading,
    distribution: Distribution = "Poisson",
    *,
    start_s: float = COME_S,
    stop_s: float = GO_S,
    route: str = "forward",
) -> ShortTcpFlows:
    """Flows of 1 s to 2 s that arrive at a rate (1/s): a stream of arrivals for each pair."""
    pairs = len(DELAYS_S)
    mean_s = pairs / rate
    pareto = distribution == "Pareto"
    return ShortTcpFlows(
        count=pairs,
        gaps=Pareto(mean_s=mean_s, shape=_SHAPE) if pareto else Exponential(mean_s=mean_s),
        duration=Pareto(mean_s=1.5, shape=_SHAPE)
        if pareto
        else Uniform(least_s=1.0, greatest_s=2.0),
        start_s=start_s,
        stop_s=stop_s,
        route=route,
        tcp=reading.tcp,
    )


def scenarios(reading: Reading) -> Scenarios:
    """By the arrival rate (1/s); the greatest one also with Pareto distributions."""

    def found(
        rate: float, discipline: Discipline, distribution: Distribution = "Poisson"
    ) -> NetworkScenario:
        flows: list[Flows] = [long_lived(FLOWS, reading), short_flows(rate, reading, distribution)]
        return dumbbell(flows, discipline, reading)

    small = [lred(q_ref, label=_small(q_ref)) for q_ref in SMALL_TARGETS]
    four = regulating(reading, FLOWS, R_MAX)
    return {
        **{(rate, each.name): found(rate, each) for rate in RATES for each in four},
        **{
            (rate, each.name): found(rate, each)
            for rate in AVQ_RATES
            for each in [red(), *small, *map(avq, ALPHAS)]
        },
        **{(_PARETO, each.name): found(RATES[-1], each, "Pareto") for each in four},
    }


def _small(q_ref: float) -> str:
    return f"LRED, q0 = {q_ref:g}"


def claims(records: Records) -> list[Claim]:
    """What section 6.2 says of short flows, of AVQ and of Pareto distributions."""
    return [*_of_lred(records), *_of_avq(records), *_of_pareto(records)]


def _of_lred(records: Records) -> Iterator[Claim]:
    yield from lred_ahead(
        records,
        RATES,
        "LRED outperforms PI, PI* and REM",
        _WHERE,
        "Means over all arrival rates.",
    )
    shown = (30, RATES[-1])
    yield judge(
        "With 30 and 100 short flows a second LRED is more stable than PI, PI* and REM.",
        _WHERE,
        [
            check
            for rate in shown
            for check in against(
                less,
                f"queue deviation since {COME_S:g} s, {rate} flows/s",
                at(records, rate, lambda port: deviation(stretch(port, COME_S))),
                "LRED",
                RIVALS,
            )
        ],
    )
    yield judge(
        "That is due to its good responsiveness.",
        _WHERE,
        [check for rate in shown for check in responds_faster(records, rate)],
        f"With {shown[0]} and with {shown[1]} flows/s.",
    )


def _avq(alpha: float) -> str:
    return f"AVQ {alpha:g}"


def _of_avq(records: Records) -> Iterator[Claim]:
    for text, measured, compare in (
        ("higher goodput", "goodput", more),
        ("a lower loss ratio", "loss_ratio", less),
        ("a larger average queue", "queue_mean", more),
        ("a larger queue deviation", "queue_deviation", more),
    ):
        yield judge(
            f"When alpha decreases, AVQ has {text}.",
            _WHERE,
            [
                check
                for low, high in pairwise(ALPHAS)
                for check in against(
                    compare,
                    WORDS[measured],
                    means(records, AVQ_RATES, measured),
                    _avq(low),
                    [_avq(high)],
                )
            ],
            "Means over all arrival rates.",
        )
    yield judge(
        "AVQ is effective in achieving high link utilisation.",
        f"{_WHERE}; sec. 2",
        [
            within(
                f"utilisation, {_avq(alpha)}",
                mean_over(records, AVQ_RATES, _avq(alpha), "utilization"),
                0.96,
                1.0,
            )
            for alpha in ALPHAS
        ],
        "Means over all arrival rates; 0.98 is expected, 0.96 taken for enough. That AVQ regulates "
        "the queue, too, is not judged: it holds none in particular.",
    )
    yield judge(
        "RED often suffers from unstable behaviour in a dynamic network.",
        "abstract; sec. 1, 2",
        against(
            more,
            f"queue deviation since {COME_S:g} s, {RATES[-1]} flows/s",
            at(records, RATES[-1], lambda port: deviation(stretch(port, COME_S))),
            "RED",
            ["LRED"],
        ),
        "'Unstable' means a greater deviation than LRED's.",
    )
    default = _avq(ALPHAS[-1])
    yield judge(
        "AVQ achieves a lower average queue length and a higher link utilisation than RED.",
        "sec. 2, of another paper",
        [
            *against(
                less, WORDS["queue_mean"], means(records, AVQ_RATES, "queue_mean"), default, ["RED"]
            ),
            *against(
                more, "utilisation", means(records, AVQ_RATES, "utilization"), default, ["RED"]
            ),
        ],
        "Means over all arrival rates.",
    )
    yield judge(
        "Expected queue lengths of 10 and 20 match the average queue length in AVQ.",
        _WHERE,
        [
            within(
                f"{WORDS['queue_mean']}, {_avq(alpha)}",
                mean_over(records, AVQ_RATES, _avq(alpha), "queue_mean"),
                *SMALL_TARGETS,
            )
            for alpha in ALPHAS
        ],
        "Means over all arrival rates; 'match' means to lie between the two.",
    )
    for text, q_ref, rates in (
        ("less", 20, [rate for rate in AVQ_RATES if rate < _CROSSING]),
        ("more", 10, [rate for rate in AVQ_RATES if rate > _CROSSING]),
    ):
        yield judge(
            f"With {text} than 60 short flows a second LRED with q0 = {q_ref} is better than AVQ.",
            _WHERE,
            better(
                records,
                rates,
                _small(q_ref),
                [_avq(alpha) for alpha in ALPHAS],
                ["goodput", "loss_ratio"],
            ),
            "'Better' means goodput and losses, since q0 is chosen for a queue like AVQ's: "
            + _queues(records, rates, q_ref),
        )


def _queues(records: Records, rates: Sequence[float], q_ref: float) -> str:
    names = [_small(q_ref), *map(_avq, ALPHAS)]
    found = (f"{name} {mean_over(records, rates, name, 'queue_mean').mean():.1f}" for name in names)
    return ", ".join(found) + " packets."


def _of_pareto(records: Records) -> Iterator[Claim]:
    rate = RATES[-1]
    yield judge(
        "With Pareto distributions LRED still has the faster response.",
        _WHERE,
        responds_faster(records, _PARETO),
    )
    yield from lred_ahead(
        records,
        [_PARETO],
        "With Pareto distributions LRED still has the better performance",
        _WHERE,
    )
    yield judge(
        "Results with Poisson and with Pareto distributions differ insignificantly.",
        _WHERE,
        [
            near_one(
                f"{name} of {aqm}, Pareto over Poisson",
                measure(records[_PARETO, aqm], name) / measure(records[rate, aqm], name),
            )
            for name in MEASURES
            for aqm in ALL
        ],
        "'Insignificantly' means a tenth at most.",
    )


def rows(records: Records) -> Iterator[Row]:
    """The four measures and the response times at three arrival rates and with Pareto flows."""
    for (rate, name), record in records.items():
        if rate not in (20, _CROSSING, RATES[-1], _PARETO):
            continue
        traffic = f"{RATES[-1]} flows/s, Pareto" if rate == _PARETO else f"{rate} flows/s"
        label = f"experiment 5, {traffic}, {name}"
        yield from rows_of(label, record)
        if name in ALL:
            yield from response_rows(label, record.ports[0])


def plots(records: Records) -> Iterator[Plot]:
    """Figures 11 to 14."""
    across = "short TCP flows that arrive (1/s)"
    yield Plot(
        sweep_figure(records, ALL, across),
        "Figure 11: the four measures over the arrival rate of short flows",
        "By the text LRED is ahead in all four.",
    )
    come_and_go = "Short flows arrive from 50 s to 150 s."
    for panel, rate in zip("ab", (30, RATES[-1]), strict=True):
        yield queue_plot(
            records,
            rate,
            f"Figure 12 ({panel}): the queue, {rate} short flows a second",
            f"{come_and_go} By the text LRED is the most stable.",
            changes_s=(COME_S, GO_S),
        )
    yield Plot(
        sweep_figure(records, [*map(_small, SMALL_TARGETS), *map(_avq, ALPHAS)], across),
        "Figure 13: LRED with a small q0 against AVQ",
        "By the text LRED with q0 = 20 is ahead of AVQ below 60 flows/s, with q0 = 10 above.",
    )
    yield queue_plot(
        records,
        _PARETO,
        f"Figure 14: the queue, {RATES[-1]} short flows a second, Pareto distributions",
        f"{come_and_go} By the text it differs little from figure 12 (b).",
        changes_s=(COME_S, GO_S),
    )
