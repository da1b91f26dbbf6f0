"""What the runs show beyond the claims, and what the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sluicegate.papers.red_sfq_rem.claims import Trio
from sluicegate.papers.red_sfq_rem.disciplines import WIRE_BYTES
from sluicegate.papers.red_sfq_rem.readings import SEEDS, Reading
from sluicegate.papers.red_sfq_rem.source import (
    ACCESS_DELAY_S,
    ALGORITHMS,
    BOTTLENECK_DELAY_S,
    PAIRS,
    TABLE_2,
    TABLE_3,
)

_COMPARED = ("sent", "lost")


def distance(trio: Trio) -> float:
    """How far sent and lost packets are off table 2: the largest factor, as its logarithm."""
    ratios = [
        getattr(trio[name], column).mean() / published
        for column in _COMPARED
        for name, published in zip(ALGORITHMS, TABLE_2[column], strict=True)
    ]
    return float(np.abs(np.log(np.maximum(ratios, 1e-9))).max())


def nearest(trios: Mapping[Reading, Trio]) -> Reading:
    """The reading whose sent and lost packets come nearest to table 2."""
    return min(trios, key=lambda reading: distance(trios[reading]))


def findings(trios: Mapping[Reading, Trio]) -> list[str]:
    """What the rows show, a sentence or two each."""
    best = nearest(trios)
    return [
        f"None of {len(trios)} readings gives table 2. The nearest is '{best.name}': there its "
        f"figures of sent and lost packets are off by a factor of "
        f"{np.exp(distance(trios[best])):.2g} at most.",
        _drop_tail(trios),
        _buffers(trios),
        _windows(),
        *_contradictions(),
    ]


def _drop_tail(trios: Mapping[Reading, Trio]) -> str:
    early = sum(bool(trio["REM"].early.any()) for trio in trios.values())
    return (
        "REM with ns-2's gains is almost drop-tail here: its own drops (as opposed to those of a "
        f"full buffer) occur under {early} of {len(trios)} readings. Its price rises only "
        "while the queue is above 20 packets or the input above the rate for long."
    )


def _buffers(trios: Mapping[Reading, Trio]) -> str:
    best = Reading()
    queues = ", ".join(f"{name} {trios[best][name].queue_max:.0f}" for name in ALGORITHMS)
    return (
        "In ns-2 the three differ in how many packets they hold. RED counts its buffer in bytes, "
        "with a mean packet of 500, so that 20 packets are 5 of 2 kB; SFQ holds 40 packets "
        f"whatever its limit. Under '{best.name}' the longest queues are: {queues}."
    )


def _windows() -> str:
    round_trip_s = 2 * (2 * ACCESS_DELAY_S + BOTTLENECK_DELAY_S)
    window = Reading().window
    most_mbps = PAIRS * window * 8 * WIRE_BYTES / round_trip_s / 1e6
    return (
        f"Windows of {window} packets, ns-2's default, let the {PAIRS} sources send "
        f"{most_mbps:.1f} Mb/s at most: from 15 Mb/s on the link is not full any more, and the "
        "losses that are left are those of bursts."
    )


def _contradictions() -> list[str]:
    """Where the paper's tables contradict each other."""
    by_use = dict(zip(TABLE_2["utilization"], ALGORITHMS, strict=True))
    order = [by_use[value] for value in sorted(by_use, reverse=True)]
    sums = {name: sum(1 + ranks.index(name) for ranks in TABLE_3.values()) for name in ALGORITHMS}
    told = ", ".join(f"{name} {value}" for name, value in sums.items())
    ahead = min(sums, key=lambda name: sums[name])
    lengths = TABLE_2["queue_max"][0]
    spare = TABLE_2["delay_max"][-1] - TABLE_2["delay_min"][-1]
    return [
        f"Table 3 ranks utilization {', '.join(TABLE_3['utilization'])}; table 2's own figures "
        f"give {', '.join(order)}.",
        "Section 4 gives the least loss ratio to SFQ, and a few sentences later the best to REM.",
        f"At equal weights table 3's ranks sum to {told}: {ahead} is ahead, not REM, as section 4 "
        "concludes.",
        f"Table 2 has queues of {lengths} packets at most and REM's longest delay {spare:.0f} ms "
        "above the least: at 10 Mb/s that is a queue of about 20 packets of 2 kB.",
    ]


def choices() -> list[str]:
    """What the paper does not print, and what was taken."""
    return [
        "Table 1's RTT of 10, 40 and 10 ms are taken as one-way delays: only so is the least delay "
        "from end to end 60 ms, as section 3.1 and table 2 say. Table 2's utilization is that of a "
        "link of 10 Mb/s, though section 3 speaks of 5.",
        "Not printed: which TCP, its window, when the sources start, what 'two-way traffic' "
        "carries, the settings of RED, SFQ and REM, and what the buffer of '4KB' is for each of "
        "them. Varied: Tahoe, Reno, NewReno; windows of 20 (ns-2's default) and 64; starts 0, 10 "
        "and 20 s apart; ACKs or data, too, on the way back; buffers of 2, 4 and 20 packets; 5 and "
        "10 Mb/s; RED, SFQ and REM as ns-2.35 has them by default, or all with the buffer that the "
        "text says and settings that know the size of the packets.",
        f"Data packets have 2000 B and 40 B of headers, as in ns-2. {SEEDS} seeds for each "
        "reading; they shift the starts by up to 0.1 s.",
        "A claim is judged under every reading; it holds or fails only if it does under all.",
    ]
