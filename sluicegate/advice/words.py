"""What `sluice advise` tells, as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sluicegate.advice.advice import Advice
from sluicegate.advice.question import Direction, Prefer, Question
from sluicegate.advice.score import COSTS, weights
from sluicegate.advice.search import JUDGED
from sluicegate.advice.settings import Setting, left_out
from sluicegate.report.text import measure_text

# by measure, what changes: its name, factor and unit
CHANGES = (
    ("sojourn_p99", "p99 sojourn", 1e3, "ms"),
    ("completion_mean", "time of a flow that comes and goes", 1e3, "ms"),
    ("loss_ratio", "lost", 1e2, "%"),
    ("utilization", "link busy", 1e2, "%"),
)
# what is said of a single scenario: worse by so many points of 100, or a time by so many percent
_WORSE_SHARE, _WORSE_TIME = 2.0, 20.0
# runs of fewer times the buffer's drain time still remember how they began
_DRAINS = 20
# an ACK with timestamps
_ACK_BYTES = 52


def verdict(advice: Advice) -> str:
    """The recommendation in a few sentences, none of which contradicts the tables."""
    choice = advice.choice
    told = f"Take {choice.name}."
    if alike := [each.name for each in advice.equally_good]:
        told += f" Equally good, as far as these runs can tell: {', '.join(alike)}."
    if better := advice.better_than_choice:
        parts = "; ".join(f"{case.name}: {setting.name}" for case, setting in better)
        told += (
            f" In {len(better)} of {len(advice.cases)} scenarios another setting is surely better "
            f"({parts})."
        )
    linux = advice.best_of_linux
    if linux is not None and linux != choice:
        behind = measure_text(advice.difference(linux, choice), 3)
        told += (
            f" Linux has no such qdisc: of the settings judged here that it has, {linux.name} is "
            f"the best, {behind} behind. With --linux only those are searched."
        )
    if choice != advice.baseline:
        gain = measure_text(advice.difference(advice.baseline, choice), 3)
        today = _first_upper(_baseline(advice))
        told += f" {today} scores {gain} more (less is better): {_parts(advice)}."
    return told


def change(advice: Advice) -> str:
    """What changes for the users, in a sentence."""
    before, after = advice.baseline, advice.choice
    if before == after:
        return f"Nothing changes: {_baseline(advice)} is the best."
    parts = ", ".join(
        f"{name} {_figure(advice, before, measure, factor)} → "
        f"{_figure(advice, after, measure, factor)} {unit}"
        for measure, name, factor, unit in CHANGES
    )
    told = f"Before, with {_baseline(advice)}, and after, with {after.name}: {parts}."
    return " ".join([told, *_longer_wait(advice), *_worst(advice), *_depends_on_length(advice)])


def _longer_wait(advice: Advice) -> Iterator[str]:
    """Why a setting with a longer p99 sojourn is chosen: what is better with it."""
    before, after = advice.baseline, advice.choice
    wait, *others = CHANGES[:3]
    if advice.mean(after, wait[0]).value <= advice.mean(before, wait[0]).value:
        return
    better = [
        f"{name} {_figure(advice, before, measure, factor)} → "
        f"{_figure(advice, after, measure, factor)} {unit}"
        for measure, name, factor, unit in others
        if advice.mean(after, measure).value < advice.mean(before, measure).value
    ]
    if better:
        yield (
            "The p99 sojourn is longer, as packets of the flows that fill the link wait; short "
            f"flows and loss decide here: {', '.join(better)}."
        )


def _worst(advice: Advice) -> Iterator[str]:
    """The scenario in which a measure becomes worse by most, where the mean hides it."""
    for measure, name, factor, unit in CHANGES:
        before, after = (
            [
                factor * _mean(advice.runs.values(setting, measure, JUDGED, place))
                for place in range(len(advice.cases))
            ]
            for setting in (advice.baseline, advice.choice)
        )
        is_busy = measure == "utilization"
        worse = [
            b - a if is_busy else a - b if unit == "%" else (a / b - 1) * 100 if b else np.nan
            for b, a in zip(before, after, strict=True)
        ]
        # such as flows that come and go, where none ended
        if np.isnan(worse).all():
            continue
        place = int(np.nanargmax(worse))
        if worse[place] >= (_WORSE_SHARE if unit == "%" else _WORSE_TIME):
            yield (
                f"Worst in '{advice.cases[place].name}': {name} {_digits(before[place])} → "
                f"{_digits(after[place])} {unit}."
            )


def _mean(values: NDArray[np.float64]) -> float:
    """Mean of the values that are known; NaN if none is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else np.nan


def _depends_on_length(advice: Advice) -> Iterator[str]:
    """A warning where today's buffer takes so long to drain that a run sees little of it."""
    drain_s = advice.question.buffer_s
    if drain_s is not None and advice.runs.duration_s < _DRAINS * drain_s:
        yield (
            f"Today's buffer takes {drain_s:.2g} s to drain, and a run lasts "
            f"{advice.runs.duration_s:.3g} s: the figures before, loss above all, would be others "
            "in longer runs."
        )


def _figure(advice: Advice, setting: Setting, measure: str, factor: float) -> str:
    return _digits(factor * advice.mean(setting, measure).value)


def _digits(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def shown_name(advice: Advice, setting: Setting) -> str:
    """A setting's name, and whether it is what the link has today."""
    if setting != advice.baseline:
        return setting.name
    return f"{setting.name}, {'usual' if advice.question.limit is None else 'today'}"


def _baseline(advice: Advice) -> str:
    limit, name = advice.question.limit, advice.baseline.name
    if limit is None:
        return f"the usual {name}"
    return f"today's {name} of {limit:,} packets"


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _parts(advice: Advice) -> str:
    """By which costs the baseline's score differs from that of the choice."""
    more = advice.parts(advice.baseline) - advice.parts(advice.choice)
    return ", ".join(f"{name} {part:+.2f}" for name, part in zip(COSTS, more, strict=True))


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
        _today(link) + f"In every scenario short flows of {link.short_packets:g} packets offer "
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
    never = left_out(replace(link, linux=False))
    for name, why in never.items():
        yield f"Left out: {name} ({why})."
    if others := [name for name in left_out(link) if name not in never]:
        yield f"Left out, as Linux has no such qdisc (--linux): {', '.join(others)}."


def _today(link: Question) -> str:
    if link.limit is None:
        return (
            "What the link has today is not known: it is compared with drop-tail and a buffer of "
            "rate times the longest round trip (--limit). "
        )
    return f"Today the link has {link.limit:,} packets of buffer, drop-tail (--limit). "


def both(upload: Question, download: Question) -> str:
    """What is left out where both directions of a line are asked about."""
    share = acks_bps(download) / upload.rate_bps
    return (
        "Each direction is simulated alone. In truth the ACKs of a download wait in the upload's "
        f"queue: those of a full download take {100 * share:.2g} % of the upload's rate. So with "
        "today's buffer a download is slower than shown here while an upload fills it."
    )


def acks_bps(link: Question) -> float:
    """Rate of the ACKs while the link is full: one for two packets (RFC 5681, section 4.2)."""
    return link.capacity_pps / 2 * 8 * _ACK_BYTES


def score_sentence(prefer: Prefer) -> str:
    """How the score is made."""
    parts = [
        f"{weight:g} x {name} ({meaning})"
        for (name, (meaning, _)), weight in zip(COSTS.items(), weights(prefer), strict=True)
    ]
    return (
        f"Score, less is better: {' + '.join(parts)}; the geometric mean over all scenarios, so "
        "that none counts more because delays are longer there. A round trip is that of the empty "
        "path plus the time of ten packets. Flows that come and go are the short flows, and in the "
        "scenario with many transfers these, too. --prefer delay multiplies the "
        "weights of delay and response by four, --prefer loss that of loss, --prefer throughput "
        "that of idle."
    )


COLUMNS = (
    "behind: the score minus that of the best setting, under the same seeds; sure: whether its "
    "95 % interval lies above 0."
)
NAMES = (
    "Names: the time is how long packets may wait, which is the AQM's target or q_ref, the middle "
    "of RED's thresholds, or a full buffer (drop_tail, sfq, blue); RTT is the interval of CoDel, "
    "COBALT or CAKE in longest round trips; max_p, d1 and gamma are the AQM's own parameters."
)
# by direction, where the lines are run
PLACES: Mapping[Direction | None, str] = {
    None: "At the router before the link:",
    "upload": "At the router, for what leaves through DEV, its interface to the provider:",
    "download": "At the same router, for what arrives through DEV. A qdisc holds only what leaves, "
    "so these packets first pass the device ifb-in:",
}
# of the line's rate, what a shaper before a modem is set to
_BELOW = 0.95


def device(link: Question) -> str:
    """What must be known before the lines are run: where packets wait, and with which rate."""
    behind = "" if link.limit is None else f", today's {link.limit:,} packets,"
    below = f"{_BELOW * link.rate_bps / 1e3:.0f}k"
    return (
        f"DEV is your interface. The lines let through {_bits(link)}, the whole rate of the link: "
        f"where a buffer{behind} is in a device behind DEV, such as a modem, packets still wait "
        f"there. Then ask with a rate some 5 % below, --{link.direction or 'rate'} {below}, and "
        f"run those lines. ADSL sends ATM cells: give tbf 'rate {below}bit overhead 32 linklayer "
        f"atm', or cake 'bandwidth {below}bit overhead 32 atm'. Where DEV itself has the link's "
        "rate, leave the shaper out (tbf, or bandwidth of cake) and put the qdisc at the root."
    )


UNDO = "To take it back, and before other lines are set:"


def link_text(link: Question) -> str:
    """The link and its round trips, in a title."""
    low_s, high_s = link.rtts_s
    return f"{link_name(link)}; round trips {_range(1e3 * low_s, 1e3 * high_s)} ms"


def change_title(advice: Advice) -> str:
    """What a picture of before and after is of: the link, its buffer, and what is set."""
    link = advice.question
    limit = advice.baseline.queue(link).limit
    return f"{link_name(link)}: drop_tail, {limit:,} packets → {advice.choice.name}"


def link_name(link: Question) -> str:
    """The link in a heading: its direction and its rate."""
    return _first_upper(f"{link.direction or 'link'}, {_bits(link)}")


def _rate(link: Question) -> str:
    return f"{_bits(link)}{f', {link.direction}' if link.direction else ''}"


def _bits(link: Question) -> str:
    unit = next(
        (s, u) for s, u in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (0, "kbit/s")) if link.rate_bps >= s
    )
    return f"{link.rate_bps / (unit[0] or 1e3):.4g} {unit[1]}"


def _range(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
