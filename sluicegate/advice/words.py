"""What `sluice advise` tells, as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.advice.advice import Advice
from sluicegate.advice.question import Prefer, Question
from sluicegate.advice.score import COSTS, weights
from sluicegate.advice.search import JUDGED
from sluicegate.advice.settings import left_out
from sluicegate.report.text import measure_text


def verdict(advice: Advice) -> str:
    """The recommendation in a sentence or two."""
    alike = [
        advice.finalists[each.place].name
        for each in advice.ranking
        if each.behind is not None and not each.is_told_apart
    ]
    told = f"Take {advice.choice.name}."
    if alike:
        told += f" Equally good, as far as these runs can tell: {', '.join(alike)}."
    if advice.choice != advice.baseline:
        gain = advice.difference(advice.baseline, advice.choice)
        told += (
            f" The usual drop-tail, {advice.baseline.name}, scores {measure_text(gain, 3)} more: "
            f"{_parts(advice)}."
        )
    return told


def _parts(advice: Advice) -> str:
    """By which costs the usual drop-tail's score differs from that of the choice."""
    usual, chosen = (
        advice.runs.costs(each, JUDGED).mean(axis=(0, 1)) * weights(advice.question.prefer)
        for each in (advice.baseline, advice.choice)
    )
    return ", ".join(
        f"{name} {more:+.2f}" for name, more in zip(COSTS, usual - chosen, strict=True)
    )


def assumptions(advice: Advice) -> Iterator[str]:
    """What was assumed, and how it is changed, a sentence each."""
    link = advice.question
    few, many = link.flows
    yield (
        f"Link: {_rate(link)}; round trips {_range(link.rtts_s[0] * 1e3, link.rtts_s[1] * 1e3)} ms "
        f"(--rtt); {_range(few, many)} TCP flows that last (--flows), {link.control} and in one "
        f"scenario Reno (--control), packets of {link.packet_bytes} bytes; ECN "
        f"{'on' if link.ecn else 'off'} (--ecn)."
    )
    yield (
        f"In every scenario short flows of {link.short_packets:g} packets offer "
        f"{link.short_share:.2g} of the link's rate, and at least two flows a second; in one, "
        f"transfers of {link.transfer_packets:.3g} packets on average offer "
        f"{link.transfer_share:.2g} of it"
        + (
            f"; datagrams take {link.datagram_share:.2g} (Hurst parameter "
            f"{link.datagram_hurst:.2f})."
            if link.datagram_share
            else "; there are no datagrams."
        )
    )
    yield (
        "There is no other bottleneck, also not on the way back, and the rate does not change: set "
        "it a little below that of the real link."
    )
    if advice.factor > 1:
        yield (
            f"The simulated link is {advice.factor:.3g} times slower and has as many times fewer "
            f"flows, {_range(*advice.runs.link.flows)}: rate, window and delays of each flow are "
            "the same (SHRiNK, Psounis et al. 2003). Targets in seconds are the same, too; lengths "
            "in packets are computed for the real link."
        )
        if round(few / advice.factor) < 2:
            yield (
                f"The {few} flows of the real link would be less than two on the simulated one, "
                "which has at least two: with few flows, each is slower than on the real link."
            )
    yield (
        f"{len(advice.runs.measured):,} runs of {advice.runs.duration_s:.3g} s; the settings above "
        f"were chosen with other seeds than the {len(JUDGED)} that judge them here."
    )
    for name, why in left_out(link).items():
        yield f"Left out: {name} ({why})."


def score_sentence(prefer: Prefer) -> str:
    """How the score is made."""
    parts = [
        f"{weight:g} x {name} ({meaning})"
        for (name, (meaning, _)), weight in zip(COSTS.items(), weights(prefer), strict=True)
    ]
    return (
        f"Score, less is better: {' + '.join(parts)}; the mean over all scenarios. A round trip is "
        "that of the empty path plus the time of ten packets. --prefer delay multiplies the "
        "weights of delay and response by four, --prefer loss that of loss, --prefer throughput "
        "that of idle."
    )


COLUMNS = (
    "behind: the score minus that of the best setting, under the same seeds; sure: whether its "
    "95 % interval lies above 0."
)
NAMES = (
    "Names: the time is how long packets may wait, which is the AQM's target or q_ref, the middle "
    "of RED's thresholds, or a full buffer (drop_tail, sfq, blue); RTT is CoDel's interval in "
    "longest round trips; max_p, d1 and gamma are the AQM's own parameters."
)
DEVICE = (
    "DEV is your interface. Where it has the link's rate itself, leave the shaper (tbf) out and "
    "put the qdisc at the root."
)


def _rate(link: Question) -> str:
    unit = next(
        (s, u) for s, u in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (0, "kbit/s")) if link.rate_bps >= s
    )
    direction = f", {link.direction}" if link.direction else ""
    return f"{link.rate_bps / (unit[0] or 1e3):.4g} {unit[1]}{direction}"


def _range(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
