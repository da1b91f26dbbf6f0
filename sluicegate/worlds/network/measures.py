"""From the engine's exact counts to measures with intervals over replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.estimate import QUANTILES, VERDICT_RATIOS, bin_quantile, coarsen

FloatArray = NDArray[np.float64]

# where a flow of the engine has no such time
NO_TIME_NS = 2**64 - 1

UNITS = {
    "queue_mean": "packets",
    "queue_variance": "packets^2",
    "queue_deviation": "packets",
    "wait_mean": "s",
    "wait_variance": "s^2",
    **{f"wait_p{100 * level:g}": "s" for level in QUANTILES},
    **dict.fromkeys(VERDICT_RATIOS, ""),
    "utilization": "",
    "throughput": "packets/s",
    "throughput_bps": "bits/s",
    "goodput": "packets/s",
    "datagram_goodput": "packets/s",
    "retransmission_rate": "packets/s",
    "timeout_rate": "1/s",
    "completion_mean": "s",
    "completion_p99": "s",
    "fairness": "",
}


def port_measures(tallies: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What one port's counts of some stretches of one replication say.

    Returns:
        By name; NaN where nothing arrived or nothing was sent. Waits are the times in the system,
        transmission included, of the packets whose transmission began; mean and variance are
        exact, quantiles are as fine as the bins.
    """
    duration_ns = sum(tally["duration_ns"] for tally in tallies)
    queue_ns = sum_padded([tally["queue_ns"] for tally in tallies])
    share = queue_ns / duration_ns
    lengths = np.arange(len(share))
    mean = float(share @ lengths)
    arrivals = sum(tally["arrivals"] for tally in tallies)
    verdicts = np.sum([tally["verdicts"] for tally in tallies], axis=0)

    return {
        "queue_mean": mean,
        "queue_variance": float(share @ (lengths - mean) ** 2),
        "queue_deviation": float(share @ np.abs(lengths - mean)),
        **_wait_measures(tallies),
        **{
            name: float(verdicts[[*kinds]].sum() / arrivals) if arrivals else np.nan
            for name, kinds in VERDICT_RATIOS.items()
        },
        "utilization": 1 - sum(tally["idle_ns"] for tally in tallies) / duration_ns,
        "throughput": 1e9 * sum(tally["sent"] for tally in tallies) / duration_ns,
        "throughput_bps": 8e9 * sum(tally["sent_bytes"] for tally in tallies) / duration_ns,
    }


def _wait_measures(tallies: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    sent = sum(tally["sent"] for tally in tallies)
    total_ns = sum(tally["wait_sum_ns"] for tally in tallies)
    squares_ns2 = sum(tally["wait_square_sum_ns2"] for tally in tallies)
    bins, bin_ns = waits(tallies)
    quantiles = {
        f"wait_p{100 * level:g}": bin_quantile(bins, bin_ns, level) / 1e9 for level in QUANTILES
    }
    return {
        "wait_mean": total_ns / sent / 1e9 if sent else np.nan,
        # in whole numbers up to the division: no digits cancel
        "wait_variance": (sent * squares_ns2 - total_ns**2) / sent**2 / 1e18 if sent else np.nan,
        **quantiles,
    }


def waits(tallies: Sequence[Mapping[str, Any]]) -> tuple[FloatArray, int]:
    """Packets by their time in the system, of all tallies.

    Returns:
        Counts, shape (W,), and the width of their bins, ns; bin k starts at k widths.
    """
    bin_ns = max(tally["wait_bin_ns"] for tally in tallies)
    rows = [coarsen(tally["wait"], bin_ns // tally["wait_bin_ns"]) for tally in tallies]
    return sum_padded(rows), bin_ns


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


def completion_measures(tcp: Mapping[str, NDArray[Any]], since_ns: int) -> dict[str, float]:
    """Times that TCP flows took, of those that finished at `since_ns` or later; NaN if none did.

    Args:
        tcp: The engine's outcomes of the flows of one replication.
        since_ns: Since the start of the run.
    """
    finished = tcp["completion_ns"] != NO_TIME_NS
    start_ns, took_ns = tcp["start_ns"][finished], tcp["completion_ns"][finished]
    took_s = took_ns[start_ns + took_ns >= since_ns] / 1e9
    if not len(took_s):
        return {"completion_mean": np.nan, "completion_p99": np.nan}
    return {
        "completion_mean": float(took_s.mean()),
        "completion_p99": float(np.quantile(took_s, 0.99)),
    }


def fairness(rates: NDArray[Any]) -> float:
    """Jain's index of the rates of flows (Jain, Chiu & Hawe 1984): 1 if all are equal.

    Args:
        rates: One for each flow, shape (N,), in any unit.

    Returns:
        From 1/N to 1; NaN where all rates are 0.
    """
    total, squares = float(rates.sum()), float((rates.astype(np.float64) ** 2).sum())
    return total * total / (len(rates) * squares) if squares else float("nan")


def response_time_s(
    samples: NDArray[Any], sample_s: float, target: float, since_s: float = 0.0
) -> float:
    """How long after a change the queue has come to a target, by the rule of all reproductions.

    With `since_s` for 0: the first time from which the mean over the last 5 s stays within half and
    one and a half of the target for 10 s; infinite if there is none. Samples before `since_s` do
    not count, so that in the first 5 s the mean is over the time since the change. With samples
    further apart than 10 s each stands for itself.

    Args:
        samples: Queue, packets, shape (T,), one each `sample_s` seconds.
        sample_s: Seconds.
        target: Packets.
        since_s: When the change was: seconds after the first sample.

    Raises:
        SluiceError: If `target` is not above 0, or no sample was taken at `since_s` or later.
    """
    if not target > 0:
        raise SluiceError(f"target = {target:g} must exceed 0 (packets)")
    if not 0 <= since_s <= (len(samples) - 1) * sample_s:
        last_s = (len(samples) - 1) * sample_s
        raise SluiceError(
            f"since_s = {since_s:g} must lie between 0 and {last_s:g}, the last sample"
        )
    # a change at a sample's time counts from that sample on, however the quotient was rounded
    change = int(np.ceil(since_s / sample_s - 1e-6))
    samples = samples[change:]
    window, stay = max(1, round(5 / sample_s)), max(1, round(10 / sample_s))
    sums = np.concatenate([[0.0], np.cumsum(samples, dtype=np.float64)])
    last = np.arange(1, len(samples) + 1)
    first = np.maximum(last - window, 0)
    near = np.abs((sums[last] - sums[first]) / (last - first) - target) <= target / 2
    counts = np.concatenate([[0], np.cumsum(near)])
    starts = np.flatnonzero(counts[stay:] - counts[:-stay] == stay)
    return float(change + starts[0]) * sample_s - since_s if len(starts) else np.inf


def sum_padded(rows: Sequence[NDArray[Any]]) -> FloatArray:
    """Sum of rows of different length."""
    total = np.zeros(max(len(row) for row in rows))
    for row in rows:
        total[: len(row)] += row
    return total
