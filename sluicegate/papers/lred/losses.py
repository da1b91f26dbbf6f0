"""LRED's measured loss ratio l(k), computed anew from the packets that arrived and were lost."""

from __future__ import annotations

import numpy as np

from sluicegate.papers.lred.measured import FloatArray
from sluicegate.papers.lred.scenarios import T_M_S, W_M, M
from sluicegate.worlds.network import PortRecord


def measured_loss(port: PortRecord, t_m: float, m: int = M, w_m: float = W_M) -> FloatArray:
    """LRED's loss ratio l(k) from the counts of arrivals and losses (equations 1 and 2).

    Args:
        port: With samples at the end of each period.
        t_m: Period, s.
        m: Periods that a measurement goes back.
        w_m: Weight of the old loss ratio.

    Returns:
        After each period, shape (seeds, periods + 1); 0 at the start.
    """
    step = round(t_m / port.sample_s)
    arrivals, losses = (port.rows(name)[:, ::step] for name in ("arrivals", "losses"))
    loss = np.zeros_like(arrivals)
    for k in range(1, loss.shape[1]):
        first = max(k - m, 0)
        arrived = arrivals[:, k] - arrivals[:, first]
        lost = losses[:, k] - losses[:, first]
        latest = np.divide(lost, arrived, out=np.zeros_like(lost), where=arrived > 0)
        loss[:, k] = w_m * loss[:, k - 1] + (1 - w_m) * latest
    return loss


def inaccuracy(port: PortRecord, t_m: float = T_M_S) -> FloatArray:
    """Standard deviation of l(k) over its mean in the second half, one value per seed."""
    loss = measured_loss(port, t_m)
    late = loss[:, loss.shape[1] // 2 :]
    return np.asarray(late.std(axis=1) / late.mean(axis=1))


def loss_in_time(port: PortRecord) -> FloatArray:
    """The l(k) that is valid at each sample, shape (seeds, samples)."""
    step = round(T_M_S / port.sample_s)
    return np.repeat(measured_loss(port, T_M_S), step, axis=1)[:, : len(port.times_s)]
