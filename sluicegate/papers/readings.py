"""Claims of a paper that leaves its parameters open: judged under many readings of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sluicegate.papers.claims import Check, Claim, Verdict

# up to this many readings are named; of more, only their number
_NAMED = 3
_IN_WORDS: dict[Verdict, str] = {
    "holds": "holds",
    "fails": "fails",
    "undecided": "is undecided",
}


def survives(text: str, where: str, checks: Mapping[str, Check]) -> Claim:
    """The claim, judged under all readings together.

    It holds if it does under every reading, fails if it is refuted under every one, and is
    undecided otherwise: it then depends on what the paper does not print.

    Args:
        text: What the paper says.
        where: Section, table or figure.
        checks: By the name of the reading, at least one.
    """
    found: dict[Verdict, dict[str, Check]] = {"holds": {}, "fails": {}, "undecided": {}}
    for reading, check in checks.items():
        found[check.verdict][reading] = check
    alone = [verdict for verdict, readings in found.items() if len(readings) == len(checks)]
    if alone:
        counts = f"It {_IN_WORDS[alone[0]]} under all {len(checks)} readings"
    else:
        counts = f"Of {len(checks)} readings it " + ", ".join(
            f"{_IN_WORDS[verdict]} under {len(readings)}"
            for verdict, readings in found.items()
            if readings
        )
    told = [
        f"{verdict.capitalize()}: {_named(readings)}"
        for verdict, readings in found.items()
        if 0 < len(readings) <= _NAMED
    ]
    evidence = ". ".join([counts, *told])
    return Claim(text, where, alone[0] if alone else "undecided", f"{evidence}.")


def _named(checks: Mapping[str, Check]) -> str:
    return "; ".join(f"{reading} ({check.evidence})" for reading, check in checks.items())


def all_of(checks: Sequence[Check]) -> Check:
    """One check out of several: it holds if all do, and fails if one fails."""
    return _decided(checks, "fails", "holds")


def any_of(checks: Sequence[Check]) -> Check:
    """One check out of several: it holds if one does, and fails if all fail."""
    return _decided(checks, "holds", "fails")


def _decided(checks: Sequence[Check], by_one: Verdict, by_all: Verdict) -> Check:
    verdicts = {check.verdict for check in checks}
    verdict: Verdict = "undecided"
    if by_one in verdicts:
        verdict = by_one
    elif verdicts == {by_all}:
        verdict = by_all
    return Check(verdict, "; ".join(check.evidence for check in checks))
