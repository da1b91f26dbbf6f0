"""Prints the scoreboard of docs/background/scoreboard.md from the results of an evaluation.

    .venv/bin/sluice evaluate AQM... --replications N --no-report --out FOLDER
    .venv/bin/python bench/scoreboard.py FOLDER N AQM...

The AQMs are written as for `sluice evaluate`. Runs that FOLDER does not have are made first.
"""

from __future__ import annotations

import sys

from sluicegate.cli.evaluate import disciplines
from sluicegate.evaluate import Evaluation, evaluate
from sluicegate.evaluate.plan import DROP_TAIL
from sluicegate.evaluate.words import section_word

# a section counts as one that a discipline does best only if it keeps this share of the goodput
KEPT = 0.98
VERDICTS = ("better", "a trade", "worse", "no difference")
HEADER = (
    *("discipline", "delay", "goodput", *VERDICTS),
    *(f"shortest delay at {100 * KEPT:g} % of the goodput", "least goodput"),
)


def row(found: Evaluation, name: str) -> list[str]:
    """What a discipline does beside drop-tail in all sections, and where it does best and worst."""
    sections = found.sections
    delays, goodputs = (
        {s: r for s in sections if (r := found.ratio(s, name, DROP_TAIL, measure)) is not None}
        for measure in ("queueing_delay", "goodput_bps")
    )
    kept = {s: delays[s] for s in delays if goodputs.get(s, 1.0) >= KEPT}
    best = min(kept, key=kept.__getitem__, default=None)
    worst = min(goodputs, key=goodputs.__getitem__)
    words = [section_word(found, section, name, DROP_TAIL) for section in sections]
    return [
        f"`{name}`",
        f"{_middle(delays):.2f}",
        f"{_middle(goodputs):.3f}",
        *(str(words.count(each)) for each in VERDICTS),
        "none" if best is None else f"{best}: {kept[best]:.2f}",
        f"{worst}: {goodputs[worst]:.2f}",
    ]


def _middle(ratios: dict[str, float]) -> float:
    """The median over the sections."""
    ordered = sorted(ratios.values())
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def main(folder: str, replications: str, *aqms: str) -> None:
    """Print the table."""
    found = evaluate(disciplines(aqms), folder, replications=int(replications))
    rows = sorted((row(found, name) for name in found.plan.judged), key=lambda each: float(each[1]))
    for each in (HEADER, ["---"] * len(HEADER), *rows):
        print(f"| {' | '.join(each)} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
