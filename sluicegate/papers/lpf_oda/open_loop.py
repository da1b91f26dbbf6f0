"""How soon the average falls once a congestion is over, in the open loop.

The queues that arrivals find are given: 25 packets until the average has settled, then none.
"""

from __future__ import annotations

import numpy as np

from sluicegate.papers.comparison import Plot, Reproduction, Row
from sluicegate.papers.figures import FloatArray, response_figure
from sluicegate.papers.lpf_oda.source import FILTERS, MAX_TH, MIN_TH, PAPER, TIMES_SOONER, W
from sluicegate.registry import Aqm, aqm
from sluicegate.worlds import Watch

_CONGESTED_QUEUE = 25
# after this many times 1 / w arrivals the average equals the queue to within e^-40
_SETTLING = 40
# weight: times faster
_PUBLISHED = {W: TIMES_SOONER, 0.002: None}


def recovery(average: str, w: float) -> FloatArray:
    """The average after each arrival since the end of a long congestion.

    Args:
        average: Filter, as in the parameter of `red`.
        w: Weight of the newest queue length.

    Returns:
        Averages in packets, shape (N,), up to the first below min_th.
    """
    red = aqm("red", average=average, w=w, min_th=MIN_TH, max_th=MAX_TH, idle_decay=False)
    assert isinstance(red, Aqm)
    long = int(_SETTLING / w)
    queue = np.zeros(2 * long, dtype=np.uint32)
    queue[:long] = _CONGESTED_QUEUE
    averages = red.open_loop(queue)[long:]
    return averages[: int(np.argmax(averages < MIN_TH)) + 1]


def reproduce(
    *, threads: int | None = None, watch: Watch | None = None, fresh: bool = False
) -> Reproduction:
    """Let both filters recover, at both weights.

    Args:
        threads: As in the other reproductions; nothing here takes long enough to need it.
        watch: Likewise.
        fresh: Likewise.
    """
    averages = {
        f"w = {w:g}": {name: recovery(average, w) for name, average in FILTERS.items()}
        for w in _PUBLISHED
    }
    rows, findings = [], []
    for (case, curves), ratio in zip(averages.items(), _PUBLISHED.values(), strict=True):
        arrivals = {name: len(curve) for name, curve in curves.items()}
        lpf, oda = arrivals.values()
        rows += [Row(case, f"arrivals, {name}", None, n, None) for name, n in arrivals.items()]
        rows.append(Row(case, "times sooner", ratio, lpf / oda, None))
        findings.append(
            f"{case}: the average falls below min_th after {oda} arrivals with LPF/ODA and after "
            f"{lpf} with the EWMA, {lpf / oda:.3g} times sooner."
        )
    return Reproduction(
        paper=PAPER,
        rows=rows,
        findings=findings,
        choices=[
            "Open loop only: the queue is 25 packets until the average has settled, then empty. "
            f"Thresholds {MIN_TH} and {MAX_TH} packets as in the paper. Its own 13 s against 3 s "
            "are response times of a closed loop with TCP and stand here for comparison only."
        ],
        plots=[
            Plot(
                response_figure(averages, MIN_TH),
                "Recovery from a long congestion",
                "The average after each arrival; curves end where they are below min_th.",
            )
        ],
    )
