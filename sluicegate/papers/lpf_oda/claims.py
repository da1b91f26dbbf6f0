"""What the text says, under every reading of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sluicegate.papers.claims import Check, Claim, FloatArray, less, ratio_of_means, within
from sluicegate.papers.lpf_oda.outcome import Outcome
from sluicegate.papers.lpf_oda.source import (
    AGAIN_S,
    END_S,
    FILTERS,
    GAINS,
    LATER_DROPS_S,
    LATER_S,
    LPF,
    ODA,
    RESPONSE_S,
    THROUGHPUTS,
    TIMES_SOONER,
)
from sluicegate.papers.readings import all_of, survives
from sluicegate.report.text import measure_text

Pair = Mapping[str, Outcome]
Judge = Callable[[Pair], Check]
Of = Callable[[Outcome], FloatArray]
Statement = tuple[str, str, Judge]

# a figure of the text counts as met if ours lies within a quarter of it
_NEAR = 0.25
# throughputs count as the same if they differ by less than 2 % of the link's rate, drops by less
# than 2 % of LPF's
_SAME = 0.02
# much higher: by at least the least gain that the paper prints
_MUCH = 1 + min(GAINS.values())
# the response time by the paper's definition, and by its cause
RESPONSES: dict[str, Of] = {
    "by the throughput": lambda found: found.recovery_s,
    "by the average": lambda found: found.response_s,
}


def claims(pairs: Mapping[str, Pair]) -> list[Claim]:
    """Every claim that can be checked.

    Args:
        pairs: Both filters' outcomes by the name of the reading.
    """
    return [
        survives(text, where, {reading: judge(pair) for reading, pair in pairs.items()})
        for text, where, judge in [*_of_congestions(), *_of_responses(), *_of_throughput()]
    ]


def _of_congestions() -> Iterator[Statement]:
    yield (
        "Until 133 s the throughput of both is the same",
        "section 3, figure 4",
        _same("until 133 s", lambda found: found.first),
    )
    yield (
        "In the second congestion LPF/ODA performs as LPF does",
        "section 3",
        _both(
            _same("from 166 to 250 s", lambda found: found.second),
            _times("drops there", ODA, LPF, lambda found: found.second_drops, 1.0, _SAME),
        ),
    )
    yield (
        "The packet drop decreases when the queue reaches its low level",
        "section 3, figure 7",
        lambda pair: all_of(
            [
                less(
                    f"drops (packets/s) after and before {END_S:g} s, {name}",
                    pair[name].free_drops / (AGAIN_S - END_S),
                    pair[name].first_drops / END_S,
                )
                for name in FILTERS
            ]
        ),
    )
    yield (
        "LPF/ODA drops fewer packets between the congestions",
        "section 2, figure 7",
        _less("drops", lambda found: found.free_drops),
    )
    yield (
        "LPF/ODA has the shorter delay between the congestions",
        "abstract, section 2, figure 6",
        _less("delay (s)", lambda found: found.free_delay_s),
    )


def _of_responses() -> Iterator[Statement]:
    for by, of in RESPONSES.items():
        yield (
            f"LPF/ODA responds sooner to the end of the congestion, {by}",
            "abstract, section 3",
            _less("response (s)", of),
        )
        for name, seconds in RESPONSE_S.items():
            yield (
                f"The response time of {name} is {seconds:g} s, {by}",
                "section 3, figure 4",
                _is("response (s)", seconds, name, of),
            )
        yield (
            f"LPF/ODA responds {TIMES_SOONER:g} times faster, {by}",
            "section 3",
            _times("response", LPF, ODA, of, TIMES_SOONER),
        )
    yield (
        f"LPF requires about {LATER_S:g} s longer for its throughput to reach that of LPF/ODA",
        "section 3",
        _longer("recovery", LATER_S, lambda found: found.recovery_s),
    )
    yield (
        f"LPF requires {LATER_DROPS_S:g} s more to reduce its packet drop to that of LPF/ODA",
        "figure 7",
        _longer("time to an average below min_th", LATER_DROPS_S, lambda found: found.response_s),
    )


def _of_throughput() -> Iterator[Statement]:
    yield (
        "Between the congestions LPF/ODA improves the throughput",
        "abstract, section 4",
        lambda pair: less("throughput, LPF against LPF/ODA", pair[LPF].free, pair[ODA].free),
    )
    yield (
        "Between the congestions LPF/ODA always has a much higher throughput",
        "section 3, figure 4",
        _always_much_higher,
    )
    for time_s, share in GAINS.items():
        yield (
            f"At {time_s:g} s its throughput is {100 * share:g} % higher",
            "section 3, figure 4",
            _times("throughput", ODA, LPF, _at(time_s), 1 + share, _NEAR * share / (1 + share)),
        )
    for time_s, throughputs in THROUGHPUTS.items():
        for name, share in throughputs.items():
            yield (
                f"At {time_s:g} s the throughput of {name} is {share:g}",
                "section 3, figure 4",
                _is("throughput", share, name, _at(time_s)),
            )


def _at(time_s: float) -> Of:
    return lambda found: found.throughput(time_s)


def _both(one: Judge, other: Judge) -> Judge:
    return lambda pair: all_of([one(pair), other(pair)])


def _same(when: str, of: Of) -> Judge:
    name = f"throughput {when}, difference"
    return lambda pair: within(name, of(pair[ODA]) - of(pair[LPF]), -_SAME, _SAME)


def _less(name: str, of: Of) -> Judge:
    return lambda pair: less(f"{name}, {ODA} against {LPF}", of(pair[ODA]), of(pair[LPF]))


def _is(words: str, published: float, name: str, of: Of) -> Judge:
    """Whether a filter has about the printed figure."""
    return lambda pair: _about(words, of(pair[name]), published)


def _longer(words: str, published: float, of: Of) -> Judge:
    """Whether LPF takes longer by about the printed time."""
    words = f"{words}, LPF's less LPF/ODA's (s)"
    return lambda pair: _about(words, of(pair[LPF]) - of(pair[ODA]), published)


def _about(words: str, values: FloatArray, published: float) -> Check:
    return within(words, values, (1 - _NEAR) * published, (1 + _NEAR) * published)


def _times(
    words: str, one: str, other: str, of: Of, published: float, share: float = _NEAR
) -> Judge:
    """Whether one filter's figure is so many times the other's, to within a share.

    The means are compared, since single seeds may have 0.
    """
    low, high = (1 - share) * published, (1 + share) * published

    def judge(pair: Pair) -> Check:
        above, below = of(pair[one]), of(pair[other])
        verdict = all_of([less("", low * below, above), less("", above, high * below)]).verdict
        ratio = measure_text(ratio_of_means(above, below))
        return Check(verdict, f"{words} of {one} over that of {other} {ratio}")

    return judge


def _always_much_higher(pair: Pair) -> Check:
    """Whether LPF/ODA's throughput is much higher in every four seconds between the congestions."""
    return all_of(
        [
            less(
                f"throughput before {time_s} s, {_MUCH:g} times LPF's against LPF/ODA's",
                _MUCH * pair[LPF].throughput(time_s),
                pair[ODA].throughput(time_s),
            )
            for time_s in range(round(END_S) + 4, round(AGAIN_S) + 1, 4)
        ]
    )
