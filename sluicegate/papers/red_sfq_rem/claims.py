"""What the text says, under every reading of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

import numpy as np
from scipy import stats

from sluicegate.papers.claims import (
    Check,
    Claim,
    FloatArray,
    against,
    less,
    more,
    near_one,
    within,
)
from sluicegate.papers.readings import all_of, any_of, survives
from sluicegate.papers.red_sfq_rem.outcome import Outcome
from sluicegate.papers.red_sfq_rem.source import ALGORITHMS, TABLE_2, TABLE_3

# by algorithm; and in a sweep of the bandwidth, by algorithm and then by bandwidth in Mb/s
Trio = Mapping[str, Outcome]
Sweep = Mapping[str, Mapping[float, Outcome]]
Of = Callable[[Outcome], FloatArray]
Compare = Callable[[str, FloatArray, FloatArray], Check]

# a loss ratio counts as not risen if it rose by less than 1 packet in 10,000
_SAME_LOSS = 1e-4
_DRASTIC_MBPS = 15.0
# greatest width of the bins of the delays
_NEAR_MS = 0.1


def _delay(found: Outcome) -> FloatArray:
    return found.delay_mean


def _sent(found: Outcome) -> FloatArray:
    return found.sent


def _utilization(found: Outcome) -> FloatArray:
    return found.utilization


def _loss(found: Outcome) -> FloatArray:
    return found.loss_ratio


def _full(found: Outcome) -> FloatArray:
    return found.full


# measure for each ranking of table 3, and whether the least is the best
_RANKED: dict[str, tuple[Of, bool]] = {
    "delay": (_delay, True),
    "utilization": (_utilization, False),
    "throughput": (_sent, False),
    "loss rate": (_loss, True),
}


def of_tables(trios: Mapping[str, Trio], among: str) -> list[Claim]:
    """The claims on the runs of the tables.

    Args:
        trios: The three algorithms' outcomes by the name of the reading.
        among: Which readings these are.
    """
    return [
        survives(
            text,
            f"{where}; {among}",
            {reading: judge(trio) for reading, trio in trios.items()},
        )
        for text, where, judge in [*_extremes(), *_rankings()]
    ]


def _extremes() -> Iterator[tuple[str, str, Callable[[Trio], Check]]]:
    yield (
        "The least delay is 60.03 ms with each of them",
        "sections 3.1, 3.4, table 2",
        _least_delay,
    )
    yield "At most two packets are in the queue", "section 3.5, table 2", _short_queue
    for text, where, one, compare, words, of in (
        ("REM has the best throughput", "sections 3.3, 4", "REM", more, "sent", _sent),
        ("RED has the least throughput", "section 3.3", "RED", less, "sent", _sent),
        ("REM has the best utilization", "section 4", "REM", more, "utilization", _utilization),
        ("SFQ has the least loss ratio", "section 4", "SFQ", less, "loss", _loss),
        ("RED has the greatest loss ratio", "section 4", "RED", more, "loss", _loss),
        ("REM has the best loss ratio", "section 4", "REM", less, "loss", _loss),
        (
            "REM's queue is full for the longest time",
            "section 3.5, figure 7",
            "REM",
            more,
            "share of time full",
            _full,
        ),
    ):
        yield text, where, _first(words, one, compare, of)
    yield (
        "RED achieves the best result in terms of the delay",
        "section 4, table 2",
        _first_in_delay("RED", less),
    )
    yield "REM has the longest delay", "section 3.4, table 2", _first_in_delay("REM", more)
    yield (
        "The smooth growth of the throughput is broken at the same share of its largest",
        "section 3.3, figure 5",
        _broken_alike,
    )
    yield "At equal weights REM is the best of the three", "section 4", _best_in_all


def _least_delay(trio: Trio) -> Check:
    figures = TABLE_2["delay_min"]
    off_ms = max(
        abs(found.delay_min - figure) for found, figure in zip(trio.values(), figures, strict=True)
    )
    return Check("holds" if off_ms < _NEAR_MS else "fails", f"off by {off_ms:.3f} ms at most")


def _short_queue(trio: Trio) -> Check:
    holds = all(
        trio[name].queue_max <= longest
        for name, longest in zip(ALGORITHMS, TABLE_2["queue_max"], strict=True)
    )
    told = ", ".join(f"{name} {trio[name].queue_max:.0f}" for name in ALGORITHMS)
    return Check("holds" if holds else "fails", f"longest queue: {told}")


def _first(words: str, one: str, compare: Compare, of: Of) -> Callable[[Trio], Check]:
    """Whether one algorithm is ahead of both others."""

    def judge(trio: Trio) -> Check:
        others = [other for other in trio if other != one]
        return all_of(against(compare, words, lambda name: of(trio[name]), one, others))

    return judge


def _first_in_delay(one: str, compare: Compare) -> Callable[[Trio], Check]:
    """The same for the mean delay and for table 2's longest delay, that of all seeds."""
    in_mean = _first("mean delay (ms)", one, compare, _delay)

    def judge(trio: Trio) -> Check:
        longest = {name: trio[name].delay_max for name in trio}
        sign = 1 if compare is more else -1
        lead = min(sign * (longest[one] - longest[name]) for name in trio if name != one)
        told = ", ".join(f"{name} {value:.1f}" for name, value in longest.items())
        extreme = Check("holds" if lead > _NEAR_MS else "fails", f"longest delay (ms): {told}")
        return all_of([in_mean(trio), extreme])

    return judge


def _broken_alike(trio: Trio) -> Check:
    return all_of(
        [
            near_one(
                f"share at the first loss, {one} over {other}",
                trio[one].broken_at / trio[other].broken_at,
            )
            for one, other in pairwise(ALGORITHMS)
        ]
    )


def _best_in_all(trio: Trio) -> Check:
    """Whether REM has the least sum of ranks over the columns of table 3, in each seed."""
    ranks = [
        stats.rankdata([of(trio[name]) * (1 if least else -1) for name in ALGORITHMS], axis=0)
        for of, least in _RANKED.values()
    ]
    sums = dict(zip(ALGORITHMS, np.sum(ranks, axis=0), strict=True))
    return all_of(against(less, "sum of ranks", sums.__getitem__, "REM", ["RED", "SFQ"]))


def _rankings() -> Iterator[tuple[str, str, Callable[[Trio], Check]]]:
    for column, order in TABLE_3.items():
        yield f"The ranking by {column} is {', '.join(order)}", "table 3", _ranked(column)


def _ranked(column: str) -> Callable[[Trio], Check]:
    of, least_first = _RANKED[column]
    order = TABLE_3[column]

    def judge(trio: Trio) -> Check:
        return all_of(
            [
                less(f"{column}, {one} and {other}", of(trio[one]), of(trio[other]))
                for one, other in pairwise(order if least_first else order[::-1])
            ]
        )

    return judge


def of_sweeps(sweeps: Mapping[str, Sweep]) -> list[Claim]:
    """The claims on the loss over the bandwidth, section 3.2 and figure 4.

    Args:
        sweeps: By the name of the reading.
    """
    statements: list[tuple[str, Callable[[Sweep], Check]]] = [
        ("RED's loss decreases smoothly as the bandwidth grows", _falls),
        (
            "SFQ's loss changes drastically at 15 Mb/s: it is higher than at 10 Mb/s",
            lambda by: more(
                "loss, 15 and 10 Mb/s", _loss(by["SFQ"][_DRASTIC_MBPS]), _loss(by["SFQ"][10.0])
            ),
        ),
        ("That is because SFQ is unfair at this bandwidth", _unfair),
        (
            "SFQ and REM lose more at some higher bandwidth than at a lower one",
            lambda by: all_of([_rises_somewhere(by[name]) for name in ("SFQ", "REM")]),
        ),
        (
            "SFQ does so more than REM",
            lambda by: more(
                "greatest rise, SFQ and REM", _greatest_rise(by["SFQ"]), _greatest_rise(by["REM"])
            ),
        ),
    ]
    return [
        survives(text, "section 3.2, figure 4", {name: judge(by) for name, by in sweeps.items()})
        for text, judge in statements
    ]


def _falls(by: Sweep) -> Check:
    """Whether RED's loss rises at no step and is lower at the end than at the start."""
    by_rate = by["RED"]
    least, *_, greatest = by_rate
    rises = [
        within(
            f"rise from {low:g} to {high:g} Mb/s",
            _loss(by_rate[high]) - _loss(by_rate[low]),
            high=_SAME_LOSS,
        )
        for low, high in pairwise(by_rate)
    ]
    ends = f"loss, {greatest:g} and {least:g} Mb/s"
    return all_of([*rises, less(ends, _loss(by_rate[greatest]), _loss(by_rate[least]))])


def _unfair(by: Sweep) -> Check:
    """Whether SFQ is less fair at 15 Mb/s than at the bandwidths on either side."""
    fairness = {rate: found.fairness for rate, found in by["SFQ"].items()}
    rates = list(fairness)
    place = rates.index(_DRASTIC_MBPS)
    return all_of(
        [
            less(
                f"Jain's index, {_DRASTIC_MBPS:g} and {rate:g} Mb/s",
                fairness[_DRASTIC_MBPS],
                fairness[rate],
            )
            for rate in (*rates[place - 1 : place], *rates[place + 1 : place + 2])
        ]
    )


def _rises_somewhere(by_rate: Mapping[float, Outcome]) -> Check:
    return any_of(
        [
            more(f"loss, {high:g} and {low:g} Mb/s", _loss(by_rate[high]), _loss(by_rate[low]))
            for low, high in pairwise(by_rate)
        ]
    )


def _greatest_rise(by_rate: Mapping[float, Outcome]) -> FloatArray:
    """Of the loss ratio, from one bandwidth to the next, one value per seed."""
    losses = np.array([_loss(found) for found in by_rate.values()])
    return np.asarray(np.diff(losses, axis=0).max(axis=0))
