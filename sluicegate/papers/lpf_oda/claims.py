"""What the text says, under every reading of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sluicegate.papers.claims import Check, Claim, FloatArray, less, within
from sluicegate.papers.lpf_oda.outcome import Outcome
from sluicegate.papers.lpf_oda.source import GAINS, LPF, ODA, RESPONSE_S, TIMES_SOONER
from sluicegate.papers.readings import all_of, survives

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


def _statements() -> list[tuple[str, str, Judge]]:
    figure_4 = "section 3, figure 4"
    return [
        (
            "Until 133 s the throughput of both is the same",
            figure_4,
            _same("until 133 s", lambda found: found.first),
        ),
        (
            "LPF/ODA responds sooner to the end of the congestion",
            "abstract, section 3",
            _less("response (s)", lambda found: found.response_s),
        ),
        *(
            (f"The response time of {name} is {seconds:g} s", figure_4, _responds(name, seconds))
            for name, seconds in RESPONSE_S.items()
        ),
        (f"LPF/ODA responds {TIMES_SOONER:g} times faster", "section 3", _sooner),
        (
            "Between the congestions LPF/ODA has the higher throughput",
            f"abstract, {figure_4}",
            lambda pair: less("throughput, LPF against LPF/ODA", pair[LPF].free, pair[ODA].free),
        ),
        *(
            (
                f"At {time_s:g} s its throughput is {100 * share:g} % higher",
                figure_4,
                _gains(time_s, share),
            )
            for time_s, share in GAINS.items()
        ),
        (
            "LPF/ODA drops fewer packets between the congestions",
            "section 2, figure 7",
            _less("drops", lambda found: found.free_drops),
        ),
        (
            "LPF/ODA has the shorter delay between the congestions",
            "abstract, section 2, figure 6",
            _less("delay (s)", lambda found: found.free_delay_s),
        ),
        (
            "In the second congestion LPF/ODA performs as LPF does",
            "section 3",
            _same("from 166 to 250 s", lambda found: found.second),
        ),
    ]


def _same(when: str, of: Callable[[Outcome], FloatArray]) -> Judge:
    name = f"throughput {when}, difference"
    return lambda pair: within(name, of(pair[ODA]) - of(pair[LPF]), -_SAME, _SAME)


def _less(name: str, of: Callable[[Outcome], FloatArray]) -> Judge:
    return lambda pair: less(f"{name}, {ODA} against {LPF}", of(pair[ODA]), of(pair[LPF]))


def _responds(name: str, seconds: float) -> Judge:
    low, high = (1 - _NEAR) * seconds, (1 + _NEAR) * seconds
    return lambda pair: within("response (s)", pair[name].response_s, low, high)


def _sooner(pair: Pair) -> Check:
    times = ((1 - _NEAR) * TIMES_SOONER, (1 + _NEAR) * TIMES_SOONER)
    return _ratio("times sooner", pair[LPF].response_s, pair[ODA].response_s, times)


def _gains(time_s: float, share: float) -> Judge:
    times = (1 + (1 - _NEAR) * share, 1 + (1 + _NEAR) * share)

    def judge(pair: Pair) -> Check:
        one, other = (pair[name].throughput(time_s) for name in (ODA, LPF))
        return _ratio("throughput, times that of LPF", one, other, times)

    return judge


def _ratio(name: str, one: FloatArray, other: FloatArray, times: tuple[float, float]) -> Check:
    """Whether one is so many times the other on average; seeds may have 0."""
    low, high = times
    bounds = all_of([less(name, low * other, one), less(name, one, high * other)])
    return Check(bounds.verdict, f"{name} {one.mean() / other.mean():.3g}")
