"""The first sentence of an evaluation: whether a discipline is better than another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from sluicegate.evaluate.verdict import Comparison

_SMALLER, _LARGER = ("shorter", "less"), ("longer", "more")


@dataclass(frozen=True)
class Side:
    """Queueing delay or goodput of a section, beside that of another discipline.

    Attributes:
        word: The verdict over its classes; None if the section does not judge by this measure.
        ratio: How many times the other's it is, a geometric mean; None if it is not known.
    """

    word: str | None
    ratio: float | None

    def said(self, better: str, worse: str, mixed: str) -> str:
        """The verdict in these words."""
        words = {"better": better, "worse": worse, "a trade": mixed}
        words |= {"no difference": "no different", "unknown": "not known"}
        return partly(words[self.word or "unknown"], self.ratio)


@dataclass(frozen=True)
class Section:
    """A section of one discipline beside another.

    Attributes:
        section: Of the suite.
        verdict: Over all its measures.
        delay: Queueing delay.
        goodput: Goodput.
        better: Other measures that are better somewhere in it.
        worse: Those that are worse.
    """

    section: str
    verdict: str
    delay: Side
    goodput: Side
    better: Sequence[Comparison]
    worse: Sequence[Comparison]


@dataclass(frozen=True)
class _Subject:
    """What is said of queues, or of goodput, over the sections that judge by them.

    Attributes:
        name: With its verb.
        better: The word for better.
        worse: The word for worse.
        size: How its size is compared: `long` for `as long`.
        sides: Of these sections, one at least.
    """

    name: str
    better: str
    worse: str
    size: str
    sides: Sequence[Side]

    def mostly(self, *words: str) -> bool:
        """Whether more than half of the sections have one of these verdicts."""
        return 2 * sum(each.word in words for each in self.sides) > len(self.sides)

    def unknown(self) -> bool:
        """Whether half of the sections or more are unknown."""
        return 2 * sum(each.word == "unknown" for each in self.sides) >= len(self.sides)

    def said(self, word: str) -> str:
        """What most sections say, where most are `word`, better or worse, or no different."""
        if self.mostly("no difference"):
            return f"{self.name} no different"
        text, opposite = self.better, self.worse
        if word == "worse":
            text, opposite = opposite, text
        return f"{self.name} {text}" if self.mostly(word) else f"{self.name} not {opposite}"

    def sized(self) -> str:
        """What most sections say, better or worse, and how much it is in the median."""
        text = self.better if self.mostly("better") else self.worse
        ratios = [each.ratio for each in self.sides if each.ratio is not None]
        if not ratios:
            return f"{self.name} {text}"
        middle, ratio = "median " if len(ratios) > 1 else "", median(ratios)
        return f"{self.name} {partly(text, ratio)} ({middle}{share(ratio)} as {self.size})"

    def counted(self) -> str:
        """In how many sections it is so."""
        return f"{self.name} {counted(self.sides, self.better, self.worse)}"


def answer(rows: Sequence[Section], other: str, *, is_all: bool) -> str:
    """The answer to whether it is better; most sections are more than half of those that judge.

    Args:
        rows: One for each section that can be compared.
        other: Beside what.
        is_all: True if the evaluation has no other sections.
    """
    where, in_most = " in all sections", "in most sections "
    if len(rows) == 1:
        where = in_most = ""
        other += "" if is_all else f" in {rows[0].section}, the only section compared"
    for verdict in ("better", "worse", "no difference"):
        if all(row.verdict == verdict for row in rows):
            beside = "from" if verdict == "no difference" else "than"
            return f"{verdict.capitalize()} {beside} {other}{where}."
    subjects = _subjects(rows)
    better, worse = (any(each.mostly(word) for each in subjects) for word in ("better", "worse"))
    if better and worse:
        told = " and ".join(each.sized() for each in subjects)
        return f"A trade beside {other}: {in_most}{told}."
    for word, found in (("better", better), ("worse", worse)):
        if found and all(each.mostly(word, "no difference") for each in subjects):
            told = " and ".join(each.said(word) for each in subjects)
            return f"Mostly {word} than {other}: {in_most}{told}."
    if all(each.mostly("no difference") for each in subjects):
        told = " and ".join(f"{each.name} no different" for each in subjects)
        return f"Much like {other}: {in_most}{told}."
    unknown = any(each.unknown() for each in subjects)
    head = "Not known if better or worse than" if unknown else "Mixed beside"
    return f"{head} {other}: {'; '.join(each.counted() for each in subjects)}."


def _subjects(rows: Sequence[Section]) -> list[_Subject]:
    """Queues and goodput, where sections judge by them; if none does, the verdicts of sections."""
    delays = [row.delay for row in rows if row.delay.word is not None]
    goodputs = [row.goodput for row in rows if row.goodput.word is not None]
    found = [
        _Subject("queues are", "shorter", "longer", "long", delays),
        _Subject("goodput is", "more", "less", "much", goodputs),
    ]
    whole = _Subject("it is", "better", "worse", "good", [Side(row.verdict, None) for row in rows])
    return [each for each in found if each.sides] or [whole]


def counted(sides: Sequence[Side], better: str, worse: str) -> str:
    """In how many sections it is so: `shorter in 17 of 19 sections, no different in 2`.

    Of a single section only what it says.
    """
    words = [each.word for each in sides]
    said = {
        "better": better,
        "worse": worse,
        "a trade": f"partly {better} and partly {worse}",
        "no difference": "no different",
        "unknown": "not known",
    }
    if len(words) == 1:
        return sides[0].said(better, worse, said["a trade"])
    first, *more = [(text, words.count(word)) for word, text in said.items() if word in words]
    total = f"{first[0]} in {first[1]} of {len(words)} sections"
    return ", ".join([total, *(f"{text} in {count}" for text, count in more)])


def partly(said: str, ratio: float | None) -> str:
    """What is said, or `partly` so if one scenario or class differs so, and the mean does not."""
    if ratio is None or ratio == 1:
        return said
    return f"partly {said}" if said in (_SMALLER if ratio > 1 else _LARGER) else said


def share(ratio: float) -> str:
    """A ratio as people say it: `26 %`, or `2.3 times`."""
    if ratio < 0.01:
        return "below 1 %"
    if abs(ratio - 1) < 0.01:
        return f"{round(100 * ratio, 1):g} %"
    percent = round(100 * ratio)
    if percent < 200:
        return f"{percent} %"
    return f"{ratio:.2g} times" if ratio < 10 else f"{ratio:.0f} times"
