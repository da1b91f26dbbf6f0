"""What a paper says in words, compared with what is measured.

A claim depends on checks. A check takes one value per seed and asks whether their mean lies within
bounds: yes if its whole 95 % interval does, no if none of it does, undecided otherwise. Runs under
one seed see the same flows, so two disciplines are compared by their differences seed by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sluicegate.estimate import Measure, student
from sluicegate.report.text import measure_text

FloatArray = NDArray[np.float64]
Verdict: TypeAlias = Literal["holds", "fails", "undecided"]

CLAIMS_HEADER = ["claim", "where", "verdict", "evidence"]
HOW_CLAIMS_ARE_JUDGED = (
    "A claim is one or more comparisons. It holds if all of them hold over the whole 95 % interval "
    "(over the seeds), fails if one of them fails over the whole interval, and is undecided "
    "otherwise."
)
# up to so many comparisons are shown in full; else at most so many that do not hold, or the closest
_TOLD = 6


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper and what became of it.

    Attributes:
        text: What the paper says.
        where: Section, experiment or figure.
        verdict: Whether our figures confirm it.
        evidence: Our figures.
        ours: Whether we say it, and not the paper.
    """

    text: str
    where: str
    verdict: Verdict
    evidence: str
    ours: bool = False

    def summary(self) -> dict[str, str | bool]:
        """The claim as types that JSON has."""
        return asdict(self)

    def cells(self) -> list[str]:
        """The claim as text, in the order of `CLAIMS_HEADER`."""
        return [self.text, self.where, self.verdict, self.evidence]


@dataclass(frozen=True)
class Check:
    """One comparison.

    Attributes:
        verdict: Whether it holds.
        evidence: Its figures in words.
        room: How far the interval lies inside the bounds, in half widths.
    """

    verdict: Verdict
    evidence: str
    room: float = np.inf


def within(
    name: str, values: Sequence[float] | FloatArray, low: float = -np.inf, high: float = np.inf
) -> Check:
    """Whether the mean of values lies between two bounds.

    Args:
        name: What the values are, for the evidence.
        values: One per seed, shape (n,); undecided if one is no finite number.
        low: Lower bound.
        high: Upper bound.
    """
    return lies(name, student(values), low, high)


def lies(name: str, found: Measure, low: float = -np.inf, high: float = np.inf) -> Check:
    """Whether a measure lies between two bounds with its whole interval; see `within`."""
    return _judged(found, low, high, f"{name} {measure_text(found)}")


def mean_text(values: FloatArray) -> str:
    """The mean of values, one per seed, and its interval in words."""
    return measure_text(student(values))


def ratio_of_means(above: FloatArray, below: FloatArray) -> Measure:
    """The mean of some values over the mean of others, with the jackknife's 95 % interval.

    Args:
        above: One per seed, shape (n,).
        below: The others, in the same order of seeds; the ratio is NaN where their mean is 0.
    """
    sums = np.array([below.sum(), *(below.sum() - below)])
    over = np.array([above.sum(), *(above.sum() - above)])
    whole, *left_out = np.divide(over, sums, out=np.full_like(sums, np.nan), where=sums != 0)
    pseudo = len(below) * whole - (len(below) - 1) * np.array(left_out)
    return Measure(float(whole), student(pseudo).half_width, "")


def near_one(name: str, ratios: FloatArray, share: float = 0.1) -> Check:
    """Whether the mean of ratios is 1 to within a share; see `within`."""
    return within(name, ratios, 1 - share, 1 + share)


def less(names: str, few: FloatArray, many: FloatArray) -> Check:
    """Whether values are on average below others, seed by seed.

    Args:
        names: What is compared, for the evidence, as `response (s), LRED against PI`.
        few: Those that should be less, one per seed, shape (n,).
        many: The others, in the same order of seeds.
    """
    return _compared(names, few, many, many - few)


def more(names: str, many: FloatArray, few: FloatArray) -> Check:
    """Whether values are on average above others; see `less`."""
    return _compared(names, many, few, many - few)


def against(
    compare: Callable[[str, FloatArray, FloatArray], Check],
    words: str,
    of: Callable[[str], FloatArray],
    one: str,
    others: Iterable[str],
) -> list[Check]:
    """One discipline compared with each of several others.

    Args:
        compare: `less` or `more`.
        words: What is compared, for the evidence.
        of: The values of a discipline by its name, one per seed, shape (n,).
        one: The discipline that the paper speaks of.
        others: Those that it is compared with.
    """
    return [compare(f"{words}, {one} against {other}", of(one), of(other)) for other in others]


def _compared(names: str, one: FloatArray, other: FloatArray, gain: FloatArray) -> Check:
    evidence = f"{names}: {mean_text(one)} against {mean_text(other)}"
    return _judged(student(gain), 0.0, np.inf, evidence)


def _judged(found: Measure, low: float, high: float, evidence: str) -> Check:
    if found.half_width is None or found.low is None or found.high is None:
        return Check("undecided", evidence)
    if low < found.low and found.high < high:
        inside = min(found.low - low, high - found.high)
        return Check("holds", evidence, inside / found.half_width if found.half_width else np.inf)
    return Check("fails" if found.high < low or high < found.low else "undecided", evidence)


def judge(text: str, where: str, checks: Sequence[Check], note: str = "") -> Claim:
    """The claim that depends on all these checks.

    Args:
        text: What the paper says.
        where: Section, experiment or figure.
        checks: What it depends on, at least one.
        note: What else belongs to the evidence; a sentence.
    """
    verdicts = [check.verdict for check in checks]
    verdict: Verdict = "undecided"
    if "fails" in verdicts:
        verdict = "fails"
    elif set(verdicts) == {"holds"}:
        verdict = "holds"
    return Claim(text, where, verdict, f"{_told(checks)}. {note}".strip())


def ours(claim: Claim) -> Claim:
    """The claim as a statement of ours, and not of the paper."""
    return replace(claim, text=f"Ours: {claim.text}", ours=True)


def _told(checks: Sequence[Check]) -> str:
    if len(checks) <= _TOLD:
        return "; ".join(check.evidence for check in checks)
    others = [check for check in checks if check.verdict != "holds"]
    told = [f"{len(checks) - len(others)} of {len(checks)} comparisons hold"]
    told += [f"{check.verdict}: {check.evidence}" for check in others[:_TOLD]]
    if not others:
        told.append(f"the closest: {min(checks, key=lambda check: check.room).evidence}")
    if len(others) > _TOLD:
        told.append(f"and {len(others) - _TOLD} more that fail or are undecided")
    return "; ".join(told)
