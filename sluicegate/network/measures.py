"""From the engine's exact counts to measures with intervals over replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from sluicegate.estimate import CONFIDENCE, Measure

FloatArray = NDArray[np.float64]

# positions in the engine's counts of verdicts
_EARLY, _FORCED, _OVERFLOW, _MARK = 1, 2, 3, 4

UNITS = {
    "queue_mean": "packets",
    "queue_variance": "packets^2",
    "queue_deviation": "packets",
    "wait_mean": "s",
    "loss_ratio": "",
    "early_loss_ratio": "",
    "forced_loss_ratio": "",
    "overflow_loss_ratio": "",
    "mark_ratio": "",
    "utilization": "",
    "throughput_bps": "bits/s",
    "goodput": "packets/s",
    "datagram_goodput": "packets/s",
    "retransmission_rate": "packets/s",
    "timeout_rate": "1/s",
    "fairness": "",
}


def port_measures(tallies: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What one port's counts of some stretches of one replication say.

    Returns:
        By name; NaN where nothing arrived. `wait_mean` is the mean time in the queue of a packet
        that was sent, by Little's law.
    """
    duration_ns = sum(tally["duration_ns"] for tally in tallies)
    queue_ns = sum_padded([tally["queue_ns"] for tally in tallies])
    share = queue_ns / duration_ns
    lengths = np.arange(len(share))
    mean = float(share @ lengths)
    arrivals = sum(tally["arrivals"] for tally in tallies)
    verdicts = np.sum([tally["verdicts"] for tally in tallies], axis=0)
    sent = sum(tally["sent"] for tally in tallies)

    def ratio(*kinds: int) -> float:
        count = float(verdicts[list(kinds)].sum())
        return count / float(arrivals) if arrivals else float("nan")

    return {
        "queue_mean": mean,
        "queue_variance": float(share @ (lengths - mean) ** 2),
        "queue_deviation": float(share @ np.abs(lengths - mean)),
        "wait_mean": mean * duration_ns / 1e9 / sent if sent else np.nan,
        "loss_ratio": ratio(_EARLY, _FORCED, _OVERFLOW),
        "early_loss_ratio": ratio(_EARLY),
        "forced_loss_ratio": ratio(_FORCED),
        "overflow_loss_ratio": ratio(_OVERFLOW),
        "mark_ratio": ratio(_MARK),
        "utilization": 1 - sum(tally["idle_ns"] for tally in tallies) / duration_ns,
        "throughput_bps": 8e9 * sum(tally["sent_bytes"] for tally in tallies) / duration_ns,
    }


def flow_measures(stretches: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What all flows together did in some stretches of one replication."""
    seconds = sum(stretch["ports"][0]["duration_ns"] for stretch in stretches) / 1e9

    def rate(name: str) -> float:
        return float(sum(stretch[name] for stretch in stretches) / seconds)

    return {
        "goodput": rate("acknowledged"),
        "datagram_goodput": rate("datagrams_received"),
        "retransmission_rate": rate("retransmissions"),
        "timeout_rate": rate("timeouts"),
    }


def fairness(rates: NDArray[Any]) -> float:
    """Jain's index of the rates of flows (Jain, Chiu & Hawe 1984): 1 if all are equal."""
    total, squares = float(rates.sum()), float((rates.astype(np.float64) ** 2).sum())
    return total * total / (len(rates) * squares) if squares else float("nan")


def response_time_s(samples: NDArray[Any], sample_s: float, target: float) -> float:
    """When the queue has come to a target, by the rule that all reproductions use.

    The first time from which the mean over the last 5 s stays within half and one and a half of
    the target for 10 s; infinite if there is none.

    Args:
        samples: Queue, packets, shape (T,), one each `sample_s` seconds.
        sample_s: Seconds.
        target: Packets.
    """
    window, stay = max(1, round(5 / sample_s)), max(1, round(10 / sample_s))
    sums = np.concatenate([[0.0], np.cumsum(samples, dtype=np.float64)])
    last = np.arange(1, len(samples) + 1)
    first = np.maximum(last - window, 0)
    near = np.abs((sums[last] - sums[first]) / (last - first) - target) <= target / 2
    run = np.convolve(near, np.ones(stay), mode="valid") if len(near) >= stay else np.zeros(0)
    starts = np.flatnonzero(run >= stay)
    return float(starts[0]) * sample_s if len(starts) else np.inf


def interval(name: str, values: Sequence[float]) -> Measure:
    """Mean over replications with the half width of Student's 95 % interval."""
    rows = np.array(values, dtype=np.float64)
    half_width = None
    if len(rows) > 1 and np.isfinite(rows).all():
        factor = float(stdtrit(len(rows) - 1, (1 + CONFIDENCE) / 2))
        half_width = factor * float(rows.std(ddof=1)) / float(np.sqrt(len(rows)))
    return Measure(float(rows.mean()), half_width, UNITS[name])


def sum_padded(rows: Sequence[NDArray[Any]]) -> FloatArray:
    """Sum of rows of different length."""
    total = np.zeros(max(len(row) for row in rows))
    for row in rows:
        total[: len(row)] += row
    return total
