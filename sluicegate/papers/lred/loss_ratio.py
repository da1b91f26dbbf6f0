"""Figure 2: LRED's measured loss ratio and its drop probability in time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sluicegate.papers.claims import Claim, judge, near_one, within
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred.figures import probability_figure
from sluicegate.papers.lred.losses import inaccuracy, loss_in_time, measured_loss
from sluicegate.papers.lred.measured import FloatArray, Records, Scenarios, row
from sluicegate.papers.lred.scenarios import (
    BETA,
    DURATION_S,
    Q_REF,
    T_M_S,
    Reading,
    dumbbell,
    long_lived,
    lred,
)

READINGS: tuple[Reading, ...] = ()
# near the printed loss ratio
FLOWS, _PRINTED_LOSS = 200, 0.12
_SPAN_S = (40.0, 43.0)
_SAMPLE_S = 0.02
_CASE = (FLOWS, "LRED")
_SETTLED_S = DURATION_S / 2


def scenarios(reading: Reading) -> Scenarios:
    """The one run, by its number of flows."""
    return {_CASE: dumbbell([long_lived(FLOWS, reading)], lred(), reading, sample_s=_SAMPLE_S)}


def claims(records: Records) -> list[Claim]:
    """What sections 1 and 3 say of the loss ratio and the drop probability."""
    return list(_claims(records))


def _claims(records: Records) -> Iterator[Claim]:
    port = records[_CASE].ports[0]
    late = port.times_s >= _SETTLED_S
    p, loss = port.rows("probability")[:, late], loss_in_time(port)[:, late]
    yield judge(
        "In a steady state the measured loss ratio l(k) converges to a stable value.",
        "sec. 3",
        [
            within(
                "standard deviation of l(k) over its mean, second half", inaccuracy(port), high=0.1
            )
        ],
        "'Stable' means a tenth at most.",
    )
    yield judge(
        "In a steady state the drop probability p fluctuates around l(k), so that the loss ratio "
        "is close to the desired drop probability.",
        "sec. 1, 3, figure 2",
        [near_one("mean of p over l(k), second half", (p / loss).mean(axis=1), 0.05)],
        "'Close' means 5 %.",
    )
    shown = _shown_loss(records)
    yield judge(
        "From 40 s to 43 s the measured loss ratio stays the same, to the two digits of 0.12.",
        "sec. 3, figure 2 (b)",
        [within("l(40) to l(43), greatest minus least", np.ptp(shown, axis=1), high=0.01)],
        f"The mean is {shown.mean():.3f}; the number of flows was chosen for that.",
    )
    queue = port.samples[:, late]
    off = (p - loss) / (BETA * np.sqrt(loss)) - (queue - Q_REF)
    yield judge(
        "Between two measurements p depends on the control error q - q0 only, in proportion.",
        "sec. 3, equation 3",
        [
            within(
                "(p - l) / (beta sqrt(l)) minus (q - q0), mean distance (packets)",
                np.abs(off).mean(axis=1),
                high=1.0,
            )
        ],
        "l(k) was computed anew from the packets that arrived and were lost; p is that of the last "
        "arrival, q the queue at the sample after it.",
    )


def _shown_loss(records: Records) -> FloatArray:
    """The l(k) that figure 2 (b) shows, shape (seeds, 4)."""
    first, last = _SPAN_S
    periods = slice(round(first / T_M_S), round(last / T_M_S) + 1)
    return measured_loss(records[_CASE].ports[0], T_M_S)[:, periods]


def rows(records: Records) -> Iterator[Row]:
    """The printed loss ratio beside ours."""
    shown = _shown_loss(records).mean(axis=1)
    yield row("figure 2 (b), 40 s to 43 s, LRED", "loss_ratio", shown, _PRINTED_LOSS)


def plots(records: Records) -> Iterator[Plot]:
    """Figure 2."""
    port = records[_CASE].ports[0]
    p, loss = port.rows("probability")[0], loss_in_time(port)[0]
    yield Plot(
        probability_figure(port.times_s, p, loss, ((0, DURATION_S), _SPAN_S)),
        "Figure 2: drop probability and measured loss ratio",
        f"{FLOWS} flows, one run; l(k) is computed from the packets that arrived and were lost. "
        "By the text p fluctuates around l(k) = 0.12, which is level between two measurements.",
    )
