"""What is good: bands of the measures that people feel, each with its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sluicegate.measures.classes import BETWEEN
from sluicegate.measures.outcome import DRAFT, OUTCOMES
from sluicegate.measures.voice import mean_opinion


@dataclass(frozen=True)
class Bands:
    """What the values of a measure mean to people.

    Attributes:
        words: Of each band, from the best on.
        limits: Between them, in the unit of the measure; a limit belongs to the better side.
        shown: From where to where a picture goes, where no value is beyond.
        source: Who says so.
        more_is_better: Whether greater values are better.
        of_calls: Whether it is said of calls only: of classes that have a MOS.
    """

    words: Sequence[str]
    limits: Sequence[float]
    shown: tuple[float, float]
    source: str
    more_is_better: bool
    of_calls: bool = False

    def word(self, value: float) -> str:
        """The band of a value."""
        sign = 1 if self.more_is_better else -1
        place = sum(sign * value < sign * limit for limit in self.limits)
        return self.words[place]

    def edges(self) -> list[tuple[str, float, float]]:
        """Each word, and where its band starts and ends; the outer ones have no end."""
        end = float("inf") if self.more_is_better else float("-inf")
        pairs = pairwise([end, *self.limits, -end])
        return [(word, min(pair), max(pair)) for word, pair in zip(self.words, pairs, strict=True)]


_OPINIONS = Bands(
    words=(
        *("very satisfied", "satisfied", "some dissatisfied", "many dissatisfied"),
        *("nearly all dissatisfied", "not recommended"),
    ),
    limits=[mean_opinion(rating) for rating in (90, 80, 70, 60, 50)],
    shown=(1.0, 4.5),
    source="ITU-T G.107, annex B: ratings of 90, 80, 70, 60 and 50",
    more_is_better=True,
)
_CALL_DELAYS = Bands(
    words=("good", "acceptable", "too long"),
    limits=(0.15, 0.4),
    shown=(0.0, 0.6),
    source="ITU-T G.114: 150 and 400 ms one way, which include the end systems",
    more_is_better=False,
    of_calls=True,
)
_PAGES = Bands(
    words=("acceptable", "too long"),
    limits=(4.0,),
    shown=(0.0, 6.0),
    source="3GPP TS 22.105, web browsing: 4 s",
    more_is_better=False,
)
_RPM = Bands(
    words=("responsive", "fair", "not responsive"),
    limits=(2000.0, 800.0),
    shown=(0.0, 3000.0),
    source="R. Brown 2021, on Apple's tool: no standard has bands",
    more_is_better=True,
)
_OUTCOME = Bands(
    words=("as good as can be", "between", "does not work"),
    limits=(100.0, 0.001),
    shown=(0.0, 100.0),
    source=f"{DRAFT}: 100 and 0 are the application's own limits",
    more_is_better=True,
)

# by the name of the measure without its class
BANDS: Mapping[str, Bands] = {
    "mos": _OPINIONS,
    "one_way_delay_mean": _CALL_DELAYS,
    "one_way_delay_p50": _CALL_DELAYS,
    "one_way_delay_p99": _CALL_DELAYS,
    "page_mean": _PAGES,
    "page_p50": _PAGES,
    "page_p90": _PAGES,
    "page_p99": _PAGES,
    "rpm": _RPM,
    **{each.name: _OUTCOME for each in OUTCOMES},
}


def bands_of(measure: str, known: Mapping[str, object]) -> Bands | None:
    """The bands of a measure, by its whole name; None if it has none.

    Args:
        measure: Its name, with that of a class if it has one.
        known: The measures that there are: what is said of calls is not said of other classes.
    """
    class_, _, name = measure.rpartition(BETWEEN)
    found = BANDS.get(name)
    if found is not None and found.of_calls and f"{class_}{BETWEEN}mos" not in known:
        return None
    return found


def sources(found: Sequence[Bands]) -> str:
    """Where the words in a table come from, in one sentence; nothing without bands."""
    told = "; ".join(dict.fromkeys(each.source for each in found))
    return f"What is good: {told}." if told else ""
