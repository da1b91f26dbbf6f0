"""Quality of outcome: how near a network is to what an application needs (draft-ietf-ippm-qoo)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import TypeGuard

import numpy as np

from sluicegate.counts import EndCounts, FloatArray
from sluicegate.measures.definition import INDEX, Definition, quantiles, ratio

DRAFT = "draft-ietf-ippm-qoo"
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Need:
    """What an application needs.

    Attributes:
        delays_s: By percentile of the round trip, the time at which it works as well as it can
            and that at which it does not work, s.
        loss_ratio: Likewise of the loss ratio.
        rate_bps: What it must have, bits/s; 0: nothing is asked.
    """

    delays_s: Mapping[float, tuple[float, float]]
    loss_ratio: tuple[float, float]
    rate_bps: float = 0.0


# the profiles of LibreQoS (pull request 897, 2026-02)
NEEDS = {
    "web": Need({90: (0.05, 0.15)}, (0.005, 0.01)),
    "streaming": Need({95: (0.05, 0.1)}, (0.001, 0.01)),
    "conferencing": Need({95: (0.05, 0.1)}, (0.001, 0.005)),
    "gaming": Need({95: (0.05, 0.1)}, (0.005, 0.01)),
    "backup": Need({95: (0.1, 0.15)}, (0.001, 0.01)),
}
_WORDS = {
    "web": "web browsing",
    "streaming": "video streaming",
    "conferencing": "video conferencing",
    "gaming": "gaming",
    "backup": "a backup",
}


def quality_of_outcome(
    need: Need,
    delays_s: Mapping[float, float | None],
    loss_ratio: float | None,
    rate_bps: float | None = None,
) -> float | None:
    """From 0, where it does not work, to 100: the worst of delay, loss and rate.

    Args:
        need: Of the application.
        delays_s: Percentiles of the round trip, s; those that the application names. None or NaN:
            not known, as of all that follow.
        loss_ratio: Share of the packets that are lost.
        rate_bps: What it gets.

    Returns:
        None if something that is needed is not known.
    """
    needed = [(delays_s.get(level), ends) for level, ends in need.delays_s.items()]
    needed.append((loss_ratio, need.loss_ratio))
    parts = [_part(value, *ends) for value, ends in needed if _is_known(value)]
    if len(parts) < len(needed):
        return None
    if need.rate_bps:
        if not _is_known(rate_bps):
            return None
        parts.append(100.0 if rate_bps >= need.rate_bps else 0.0)
    return min(parts)


def _is_known(value: float | None) -> TypeGuard[float]:
    return value is not None and not isnan(value)


def _part(value: float, best: float, worst: float) -> float:
    return 100 * min(1.0, max(0.0, 1 - (value - best) / (worst - best)))


def _definition(name: str, need: Need) -> Definition[EndCounts]:
    def of(c: EndCounts) -> FloatArray:
        again = c.sum(lambda each: each.retransmissions)
        lost = ratio(again, again + c.sum(lambda each: each.acknowledged))
        levels = list(need.delays_s)
        rows = [quantiles(c.round_trip, level / 100) / _NS_PER_S for level in levels]

        def score(place: int) -> float:
            delays_s = {level: float(row[place]) for level, row in zip(levels, rows, strict=True)}
            found = quality_of_outcome(need, delays_s, float(lost[place]))
            assert found is not None
            return found

        known = np.isfinite(lost) & np.isfinite(np.sum(rows, axis=0))
        return np.array([score(place) if known[place] else np.nan for place in range(len(lost))])

    told = ", ".join(
        f"p{level:g} of the round trip {1e3 * best:g} and {1e3 * worst:g} ms"
        for level, (best, worst) in need.delays_s.items()
    )
    best, worst = (f"{100 * each:g}" for each in need.loss_ratio)
    return Definition(
        f"qoo_{name}",
        f"QoO, {name}",
        INDEX,
        r"100 \min_i \, \max(0, \min(1, (u_i - x_i) / (u_i - o_i)))",
        f"quality of outcome ({DRAFT}): how well {_WORDS[name]} would work with the round trips "
        "and losses of this class: 100 = as well as it can, 0 = not at all; these ends are "
        f"{told}, and {best} and {worst} % of packets sent again",
        of,
    )


# of a class of TCP flows: with their round trips, and what they send again for what is lost
OUTCOMES = [_definition(name, need) for name, need in NEEDS.items()]
