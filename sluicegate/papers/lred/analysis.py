"""Experiment 1's response times compared with their analysis: equations 34 and 40."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np

from sluicegate.papers.claims import Claim, against, judge, less, within
from sluicegate.papers.lred.bounds import bound_s
from sluicegate.papers.lred.measured import RIVALS, FloatArray

WHERE, ANALYSED = "sec. 6.1, experiment 1", "sec. 5.2"
# "little", as a share
LITTLE = 0.25
# by number of flows, and by number and discipline; each has a value per seed
Losses: TypeAlias = Mapping[float, FloatArray]
Responses: TypeAlias = Mapping[tuple[float, str], FloatArray]


def of_bounds(responses: Responses, p0: Losses, full: Responses) -> Iterator[Claim]:
    """What sections 5.2 and 6.1 say of the bounds.

    Args:
        responses: Response times, s.
        p0: Loss ratios that hold the queue at q0.
        full: Share of each response time in which the buffer was almost full.
    """
    first, *_, last = p0
    gap = {
        (flows, name): np.abs(responses[flows, name] / bound_s(name, flows, p0[flows]) - 1)
        for flows in p0
        for name in RIVALS
    }
    size = {name: np.mean([gap[flows, name] for flows in p0], axis=0) for name in RIVALS}
    yield judge(
        "Equations 34 and 40 are lower bounds of the response times of PI and REM.",
        ANALYSED,
        [
            less(
                f"response (s), bound of {name} with {flows} flows against the simulated",
                bound_s(name, flows, p0[flows]),
                responses[flows, name],
            )
            for name in ("PI", "REM")
            for flows in p0
        ],
    )
    yield judge(
        "Simulated and analytical response times of PI and REM differ little.",
        WHERE,
        [
            within(f"mean relative difference, {name}", size[name], high=LITTLE)
            for name in ("PI", "REM")
        ],
        "'Little' means at most a quarter.",
    )
    yield judge(
        "They differ little especially with high loss ratios.",
        WHERE,
        [
            less(
                f"relative difference, {name} with {last} against {first} flows",
                gap[last, name],
                gap[first, name],
            )
            for name in ("PI", "REM")
        ],
    )
    yield judge(
        "PI* has a big mismatch between its simulated and analytical results.",
        WHERE,
        [
            within("mean relative difference, PI*", size["PI*"], low=LITTLE),
            *(
                less(f"mean relative difference, {name} against PI*", size[name], size["PI*"])
                for name in ("PI", "REM")
            ),
        ],
        "'Big' means more than a quarter, and more than those of PI and REM.",
    )
    share = {name: np.mean([full[flows, name] for flows in p0], axis=0) for name in RIVALS}
    yield judge(
        "The main reason is that the analysis takes the buffer for full before the steady state.",
        WHERE,
        against(
            less,
            "share of the response time with a full buffer",
            share.__getitem__,
            "PI*",
            RIVALS[1:],
        ),
        "Means over the numbers of flows; full is within 5 % of the buffer.",
    )
