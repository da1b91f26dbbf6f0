"""What the runs show beyond the claims, and what the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping

from sluicegate.papers.claims import mean_text, ratio_of_means
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
    DURATION_S,
    END_S,
    FILTERS,
    LATER_DROPS_S,
    LATER_S,
    LPF,
    ODA,
    OVER_S,
    RESPONSE_S,
    TIMES_SOONER,
)
from sluicegate.report.text import measure_text


def findings(pairs: Mapping[Reading, Pair]) -> list[str]:
    """What the rows show, a sentence or two each."""
    return [
        _in_arrivals(pairs),
        *(_response(reading, pairs[reading]) for reading in (RARE, USUAL, STARVED)),
        _starved(pairs[STARVED]),
        _throughput(pairs),
        _idle_decay(pairs),
        f"The text says that LPF takes {RESPONSE_S[LPF]:g} - {RESPONSE_S[ODA]:g} = {LATER_S:g} s "
        f"longer, the caption of figure 7 {LATER_DROPS_S:g} s; the second congestion lasts to "
        f"{OVER_S:g} s in one sentence, to {DURATION_S:g} s in another.",
    ]


def _in_arrivals(pairs: Mapping[Reading, Pair]) -> str:
    spans = []
    for name in FILTERS:
        arrivals = [pair[name].response_arrivals.mean() for pair in pairs.values()]
        spans.append(f"{min(arrivals):.0f} to {max(arrivals):.0f} arrivals with {name}")
    return (
        "Both filters work by arrivals, not by time. From the end of the congestion until the "
        f"average is below min_th it takes {' and '.join(spans)}, depending on the reading. How "
        "many seconds that is depends on how seldom packets come."
    )


def _response(reading: Reading, pair: Pair) -> str:
    ours = " and ".join(mean_text(pair[name].response_s) for name in FILTERS)
    paper = " and ".join(f"{RESPONSE_S[name]:g}" for name in FILTERS)
    recovered = " and ".join(mean_text(pair[name].recovery_s) for name in FILTERS)
    return (
        f"With {reading.name} the average takes {ours} s until it is below min_th, the throughput "
        f"{recovered} s until it recovers (the paper: {paper} s)."
    )


def _starved(pair: Pair) -> str:
    seeds = len(pair[LPF].recovery_s)
    times = (pair[LPF].recovery_s / pair[ODA].recovery_s >= TIMES_SOONER).sum()
    sooner = mean_text(pair[LPF].recovery_s - pair[ODA].recovery_s)
    gain = pair[ODA].free.mean() / pair[LPF].free.mean() - 1
    return (
        f"With {STARVED.name} the throughput goes as in figure 4: the senders are in time-outs as "
        "the congestion ends, what LPF still drops makes them wait longer, and the throughput "
        f"returns only slowly, with LPF/ODA {sooner} s sooner. In {times} of {seeds} seeds it "
        f"recovers {TIMES_SOONER:g} times faster or more, as in the paper. The mean "
        f"throughput between the congestions is {100 * gain:.0f} % higher."
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
        reading.name: ratio_of_means(pair[LPF].response_s, pair[ODA].response_s)
        for reading, pair in pairs.items()
        if reading.idle_decay
    }
    told = ", ".join(f"{measure_text(times)} ({name})" for name, times in sooner.items())
    return (
        "An average that decays while the link is idle, as Floyd & Jacobson have it, leaves little "
        f"to gain. LPF/ODA's average is then so many times sooner below min_th: {told}."
    )


def choices() -> list[str]:
    """What the paper does not print, and what was taken."""
    return [
        "Not printed: the rates, what is sent, the packets' size, the buffer, and whether the "
        "average decays while the link is idle. 'Poisson traffic was used'; the text also speaks "
        "of TCP. Varied: Poisson datagrams of several loads (during / after the congestion) and "
        "sizes; TCP connections of which most stop; TCP connections among Poisson datagrams.",
        f"A congestion ends as its senders stop, at {END_S:g} s; the next begins at {AGAIN_S:g} s. "
        "The paper's response time lasts from there to 'the start of the gateway recovering its "
        "throughput'. By the throughput, it is the time until the throughput of a whole second "
        "first is 5 % of the link's rate, just below the least that the text quotes of figure 4; a "
        "throughput that never falls has 1 s. By the average, it is the time until the average is "
        "below min_th for the first time: from then on nothing is dropped, which is what the "
        "filters differ in; it is resolved to 20 ms. "
        f"Where the second congestion comes first, either counts as {AGAIN_S - END_S:g} s.",
        f"TCP is Reno with the RFCs' timers, packets have {PACKET_BYTES} B where not said "
        f"otherwise, the buffer holds {LIMIT} packets. {SEEDS} seeds, {STARVED_SEEDS} where "
        "datagrams starve TCP; both filters see the same flows. A figure of the text counts as "
        "met within a quarter of it, throughputs as the same within 2 % of the link's rate; much "
        "higher is 25 %, the least gain that the text prints.",
        "A claim is judged under every reading; it holds or fails only if it does under all.",
    ]
