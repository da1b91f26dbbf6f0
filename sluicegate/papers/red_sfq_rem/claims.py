"""What the text says, under every reading of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from sluicegate.papers.claims import Check, Claim, FloatArray, less, more, within
from sluicegate.papers.readings import all_of, any_of, survives
from sluicegate.papers.red_sfq_rem.outcome import Outcome
from sluicegate.papers.red_sfq_rem.source import TABLE_2, TABLE_3

# by algorithm; and in a sweep of the bandwidth, by algorithm and then by bandwidth in Mb/s
Trio = Mapping[str, Outcome]
Sweep = Mapping[str, Mapping[float, Outcome]]
Of = Callable[[Outcome], FloatArray]

# a loss ratio counts as not risen if it rose by less than 1 packet in 10,000
_SAME_LOSS = 1e-4
_DRASTIC_MBPS = 15.0
# the bins of the waits are that wide at most
_NEAR_MS = 0.1


def _delay(found: Outcome) -> FloatArray:
    return found.delay_mean


def _sent(found: Outcome) -> FloatArray:
    return found.sent


def _loss(found: Outcome) -> FloatArray:
    return found.loss_ratio


def _full(found: Outcome) -> FloatArray:
    return found.full


# figure behind each ranking of table 3, and whether the best has the least
_RANKED: dict[str, tuple[Of, bool]] = {
    "delay": (_delay, True),
    "utilization": (_sent, False),
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


def _least_delay(trio: Trio) -> Check:
    figures = TABLE_2["delay_min"]
    off_ms = max(
        abs(found.delay_min - figure) for found, figure in zip(trio.values(), figures, strict=True)
    )
    return Check("holds" if off_ms < _NEAR_MS else "fails", f"off by {off_ms:.3f} ms at most")


def _extremes() -> Iterator[tuple[str, str, Callable[[Trio], Check]]]:
    yield "The least delay is 60.03 ms with each of them", "section 3.4, table 2", _least_delay
    yield "REM has the best throughput", "section 3.3", _first("sent", "REM", more, _sent)
    yield "RED has the least throughput", "section 3.3", _first("sent", "RED", less, _sent)
    yield (
        "RED achieves the best result in terms of the delay",
        "section 4, table 2",
        _first("mean delay (ms)", "RED", less, _delay),
    )
    yield (
        "REM has the longest delay",
        "section 3.4, table 2",
        _first("mean delay (ms)", "REM", more, _delay),
    )
    yield "SFQ has the least loss ratio", "section 4", _first("loss", "SFQ", less, _loss)
    yield "RED has the greatest loss ratio", "section 4", _first("loss", "RED", more, _loss)
    yield (
        "REM's queue is full for the longest time",
        "section 3.5, figure 7",
        _first("share of time full", "REM", more, _full),
    )


def _first(
    name: str, one: str, compare: Callable[[str, FloatArray, FloatArray], Check], of: Of
) -> Callable[[Trio], Check]:
    """Whether one algorithm is ahead of both others."""

    def judge(trio: Trio) -> Check:
        others = [other for other in trio if other != one]
        return all_of(
            [
                compare(f"{name}, {one} and {other}", of(trio[one]), of(trio[other]))
                for other in others
            ]
        )

    return judge


def _rankings() -> Iterator[tuple[str, str, Callable[[Trio], Check]]]:
    for column, order in TABLE_3.items():
        of, least_first = _RANKED[column]

        def judge(
            trio: Trio,
            of: Of = of,
            order: Sequence[str] = order if least_first else order[::-1],
            column: str = column,
        ) -> Check:
            return all_of(
                [
                    less(f"{column}, {one} and {other}", of(trio[one]), of(trio[other]))
                    for one, other in pairwise(order)
                ]
            )

        yield f"The ranking by {column} is {', '.join(order)}", "table 3", judge


def of_sweeps(sweeps: Mapping[str, Sweep]) -> list[Claim]:
    """The claims on the loss over the bandwidth, section 3.2 and figure 4.

    Args:
        sweeps: By the name of the reading.
    """
    statements: list[tuple[str, Callable[[Sweep], Check]]] = [
        (
            "RED's loss decreases smoothly as the bandwidth grows",
            lambda by: _never_rises(by["RED"]),
        ),
        (
            "SFQ's loss changes drastically at 15 Mb/s: it is higher than at 10 Mb/s",
            lambda by: more(
                "loss, 15 and 10 Mb/s", _loss(by["SFQ"][_DRASTIC_MBPS]), _loss(by["SFQ"][10.0])
            ),
        ),
        (
            "SFQ and REM lose more at some higher bandwidth than at a lower one",
            lambda by: all_of([_rises_somewhere(by[name]) for name in ("SFQ", "REM")]),
        ),
    ]
    return [
        survives(text, "section 3.2, figure 4", {name: judge(by) for name, by in sweeps.items()})
        for text, judge in statements
    ]


def _never_rises(by_rate: Mapping[float, Outcome]) -> Check:
    return all_of(
        [
            within(
                f"rise from {low:g} to {high:g} Mb/s",
                _loss(by_rate[high]) - _loss(by_rate[low]),
                high=_SAME_LOSS,
            )
            for low, high in pairwise(by_rate)
        ]
    )


def _rises_somewhere(by_rate: Mapping[float, Outcome]) -> Check:
    return any_of(
        [
            more(f"loss, {high:g} and {low:g} Mb/s", _loss(by_rate[high]), _loss(by_rate[low]))
            for low, high in pairwise(by_rate)
        ]
    )
