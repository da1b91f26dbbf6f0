"""What the text says, under every reading of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sluicegate.papers.claims import Check, Claim, FloatArray, less, within
from sluicegate.papers.lpf_oda.outcome import Outcome
from sluicegate.papers.lpf_oda.source import GAINS, LPF, ODA, RESPONSE_S, TIMES_SOONER
from sluicegate.papers.readings import survives

# a figure of the text counts as met if ours lies within a quarter of it
_NEAR = 0.25
# throughputs count as the same if they differ by less than 2 % of the link's rate
_SAME = 0.02

Pair = Mapping[str, Outcome]
Judge = Callable[[Pair], Check]


def claims(pairs: Mapping[str, Pair]) -> list[Claim]:
    """Every claim that can be checked.

    Args:
        pairs: Both filters' outcomes by the name of the reading.
    """
    return [
        survives(text, where, {reading: judge(pair) for reading, pair in pairs.items()})
        for text, where, judge in _statements()
    ]


def _statements() -> Iterator[tuple[str, str, Judge]]:
    yield (
        "Until 133 s the throughput of both is the same",
        "section 3, figure 4",
        lambda pair: _same("until 133 s", pair[ODA].first, pair[LPF].first),
    )
    yield (
        "LPF/ODA responds sooner to the end of the congestion",
        "abstract, section 3",
        lambda pair: _less("response (s)", pair, lambda found: found.response_s),
    )
    for name, response_s in RESPONSE_S.items():
        yield (
            f"The response time of {name} is {response_s:g} s",
            "section 3, figure 4",
            lambda pair, name=name, figure=response_s: _near(
                "response (s)", pair[name].response_s, figure
            ),
        )
    yield (
        f"LPF/ODA responds {TIMES_SOONER:g} times faster",
        "section 3",
        lambda pair: _near("times sooner", times_sooner(pair), TIMES_SOONER),
    )
    yield (
        "Between the congestions LPF/ODA has the higher throughput",
        "abstract, section 3, figure 4",
        lambda pair: less(
            "throughput, LPF against LPF/ODA", pair[LPF].free, pair[ODA].free
        ),
    )
    for time_s, figure in GAINS.items():
        yield (
            f"At {time_s:g} s its throughput is {100 * figure:g} % higher",
            "section 3, figure 4",
            lambda pair, time_s=time_s, figure=figure: _near(
                "gain", throughput_gain(pair, time_s), figure
            ),
        )
    yield (
        "LPF/ODA drops fewer packets between the congestions",
        "section 2, figure 7",
        lambda pair: _less("drops", pair, lambda found: found.free_drops),
    )
    yield (
        "LPF/ODA has the shorter delay between the congestions",
        "abstract, section 2, figure 6",
        lambda pair: _less("delay (s)", pair, lambda found: found.free_delay_s),
    )
    yield (
        "In the second congestion LPF/ODA performs as LPF does",
        "section 3",
        lambda pair: _same("from 166 to 250 s", pair[ODA].second, pair[LPF].second),
    )


def times_sooner(pair: Pair) -> FloatArray:
    """How many times sooner LPF/ODA responds, a value per seed."""
    return pair[LPF].response_s / pair[ODA].response_s


def throughput_gain(pair: Pair, time_s: float) -> FloatArray:
    """By what share the throughput of LPF/ODA is higher at a time, a value per seed."""
    return pair[ODA].throughput(time_s) / pair[LPF].throughput(time_s) - 1


def _less(name: str, pair: Pair, of: Callable[[Outcome], FloatArray]) -> Check:
    return less(f"{name}, {ODA} against {LPF}", of(pair[ODA]), of(pair[LPF]))


def _near(name: str, values: FloatArray, figure: float) -> Check:
    return within(name, values, (1 - _NEAR) * figure, (1 + _NEAR) * figure)


def _same(when: str, one: FloatArray, other: FloatArray) -> Check:
    return within(f"throughput {when}, difference", one - other, -_SAME, _SAME)
