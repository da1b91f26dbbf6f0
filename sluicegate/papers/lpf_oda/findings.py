"""What the runs show beyond the claims, and what the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping

from sluicegate.estimate import student
from sluicegate.papers.lpf_oda.claims import Pair
from sluicegate.papers.lpf_oda.readings import (
    LIMIT,
    PACKET_BYTES,
    RARE,
    SEEDS,
    STARVED,
    STARVED_SEEDS,
    USUAL,
    Reading,
)
from sluicegate.papers.lpf_oda.source import (
    AGAIN_S,
    END_S,
    FILTERS,
    LPF,
    ODA,
    RESPONSE_S,
    TIMES_SOONER,
)
from sluicegate.report.tables import measure_text


def findings(pairs: Mapping[Reading, Pair]) -> list[str]:
    """What the rows show, a sentence or two each."""
    return [
        _in_arrivals(pairs),
        *(_response(reading, pairs[reading]) for reading in (RARE, USUAL) if reading in pairs),
        *(_starved(pair) for reading, pair in pairs.items() if reading is STARVED),
        _throughput(pairs),
        _idle_decay(pairs),
    ]


def _in_arrivals(pairs: Mapping[Reading, Pair]) -> str:
    spans = []
    for name in FILTERS:
        arrivals = [pair[name].response_arrivals.mean() for pair in pairs.values()]
        spans.append(f"{min(arrivals):.0f} to {max(arrivals):.0f} with {name}")
    return (
        "Both filters work by arrivals, not by time. From the end of the congestion until the "
        f"average is below min_th it takes {' and '.join(spans)}, by the reading. How many seconds "
        "that is depends on how seldom packets come."
    )


def _response(reading: Reading, pair: Pair) -> str:
    ours = [measure_text(student(pair[name].response_s)) for name in FILTERS]
    paper = [f"{RESPONSE_S[name]:g}" for name in FILTERS]
    return (
        f"With {reading.name} the response takes {' and '.join(ours)} s (the paper: "
        f"{' and '.join(paper)} s)."
    )


def _starved(pair: Pair) -> str:
    seeds = len(pair[LPF].recovery_s)
    times = (pair[LPF].recovery_s / pair[ODA].recovery_s >= TIMES_SOONER).sum()
    lpf, oda, sooner = (
        measure_text(student(values))
        for values in (
            pair[LPF].recovery_s,
            pair[ODA].recovery_s,
            pair[LPF].recovery_s - pair[ODA].recovery_s,
        )
    )
    gain = pair[ODA].free.mean() / pair[LPF].free.mean() - 1
    return (
        f"With {STARVED.name} the throughput goes as in figure 4: the senders are in time-outs as "
        "the congestion ends, what LPF still drops makes them wait longer, and the throughput "
        f"returns only by and by, after {lpf} s with LPF and {oda} s with LPF/ODA, {sooner} s "
        f"sooner. A factor of {TIMES_SOONER:g} or more, as in the paper, have {times} of {seeds} "
        f"seeds. The mean throughput between the congestions is {100 * gain:.0f} % higher."
    )


def _throughput(pairs: Mapping[Reading, Pair]) -> str:
    gains = {
        reading.name: pair[ODA].free.mean() / pair[LPF].free.mean() - 1
        for reading, pair in pairs.items()
    }
    best = max(gains, key=lambda name: gains[name])
    return (
        "Between the congestions the greatest gain in throughput under any reading is "
        f"{100 * gains[best]:.0f} % ({best}); the paper has 80 % at one time and 25 % at another, "
        "and does not say of how many runs."
    )


def _idle_decay(pairs: Mapping[Reading, Pair]) -> str:
    sooner = {
        reading.name: pair[LPF].response_s.mean() / pair[ODA].response_s.mean()
        for reading, pair in pairs.items()
        if reading.idle_decay
    }
    told = ", ".join(f"{times:.2f} ({name})" for name, times in sooner.items())
    return (
        "An average that decays while the link is idle, as Floyd & Jacobson have it, leaves little "
        f"to gain. LPF/ODA is then so many times sooner: {told}."
    )


def choices() -> list[str]:
    """What the paper does not print, and what was taken."""
    return [
        "Not printed: the rates, what is sent, the packets' size, the buffer, and whether the "
        "average decays while the link is idle. 'Poisson traffic was used'; the text also speaks "
        "of TCP. Varied: Poisson datagrams of several loads (during / after the congestion) and "
        "sizes; TCP connections of which most stop; TCP connections among Poisson datagrams.",
        f"A congestion ends as its senders stop, at {END_S:g} s; the next begins at {AGAIN_S:g} s. "
        "The response time is the time from there until the average is below min_th for the first "
        "time: from then on nothing is dropped. It is resolved to 20 ms; where the second "
        f"congestion comes first, it counts as {AGAIN_S - END_S:g} s.",
        "'recovery' is the time until the throughput of a whole second first is 5 % of the link's "
        "rate: where senders fall silent, the paper's 'start of recovering its throughput'.",
        f"TCP is Reno with the RFCs' timers, packets have {PACKET_BYTES} B where not said "
        f"otherwise, the buffer holds {LIMIT} packets. {SEEDS} seeds, {STARVED_SEEDS} where "
        "datagrams starve TCP; both filters see the same flows. A figure of the text counts as "
        "met within a quarter of it, throughputs as the same within 2 % of the link's rate.",
        "A claim is judged under every reading; it holds or fails only if it does under all.",
    ]
