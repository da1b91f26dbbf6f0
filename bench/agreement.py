"""Which measures of a cell agree between the network world and a run with the TCP of Linux.

The bar is 4 %, or what chance explains: the interval in which 95 % of the means of as many runs as
the laboratory's lie, if they scatter as those of the network world do (Student's t).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from scipy.stats import t as student_t

BAR = 0.04

Lines = Sequence[Mapping[str, Any]]


def agree(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """Whether the means differ by no more than the bar, or than chance explains."""
    difference = abs(fmean(ours) - fmean(theirs))
    chance = student_t.ppf(0.975, len(ours) - 1) * math.sqrt(1 / len(ours) + 1 / len(theirs))
    return bool(difference <= max(BAR * fmean(theirs), chance * stdev(ours)))


def table(lines: Lines, names: Mapping[str, str], worlds: Mapping[str, str]) -> Iterator[str]:
    """Yield a row for each cell: how many measures that both worlds have agree, and which do not.

    Args:
        lines: All runs.
        names: How measures are called, by the last part of their names.
        worlds: Those beside the network world, with their headings.
    """
    cells = list(dict.fromkeys(line["cell"] for line in lines))
    yield f"| cell | {' | '.join(worlds.values())} |"
    yield f"|---|{'---|' * len(worlds)}"
    held, of = dict.fromkeys(worlds, 0), dict.fromkeys(worlds, 0)
    for cell in cells:
        texts = []
        for world in worlds:
            both = compared([line for line in lines if line["cell"] == cell], world)
            outside = [name for name, agrees in both.items() if not agrees]
            held[world] += len(both) - len(outside)
            of[world] += len(both)
            texts.append(_text(len(both), outside, names))
        yield f"| {cell} | {' | '.join(texts)} |"
    yield f"| all | {' | '.join(f'{held[world]} of {of[world]}' for world in worlds)} |"


def compared(lines: Lines, world: str) -> dict[str, bool]:
    """Return for each measure of a cell that both worlds have whether it agrees."""
    ours = [line for line in lines if line["world"] == "network"]
    theirs = [line for line in lines if line["world"] == world]
    found = {}
    for name in ours[0]:
        values = [[line.get(name) for line in each] for each in (ours, theirs)]
        if name not in ("cell", "world", "seed") and theirs and None not in values[0] + values[1]:
            found[name] = agree(*values)
    return found


def _text(of: int, outside: Sequence[str], names: Mapping[str, str]) -> str:
    if not of:
        return "-"
    told = [" ".join([*name.split(".")[:-1], names[name.split(".")[-1]]]) for name in outside]
    return f"{of - len(outside)} of {of}" + (f"; not {', '.join(told)}" if told else "")
