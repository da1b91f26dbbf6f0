"""Why each parameter of a setting has its value, a line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sluicegate.advice.question import Question
from sluicegate.advice.settings import FAMILIES, Setting, baseline, targets_s
from sluicegate.report.text import value_text

# default limits of Linux's qdiscs, packets (net/sched: sch_codel.c, sch_fq_codel.c, sch_pie.c,
# sch_fq_pie.c, sch_dualpi2.c)
_LINUX_LIMITS = {
    "codel": 1000,
    "fq_codel": 10_240,
    "pie": 1000,
    "fq_pie": 10_240,
    "dualpi2": 10_000,
}
# parameters that are times
_TIMES = ("target", "interval", "t_update", "rtt", "step", "freeze_time", "r_max")


def reasons(setting: Setting, link: Question) -> list[tuple[str, str]]:
    """Why each parameter is so: `interval 140 ms`, `1 times the longest round trip ...`."""
    params = setting.discipline(link).params
    found = [(f"limit {setting.queue(link).limit}", f"{_limit(setting, link)}.")]
    for name, value in params.items():
        why = _OF_FAMILY.get((setting.family, name)) or _REASONS[name]
        text = _ms(float(value)) if name in _TIMES else value_text(value)
        found.append((f"{name} {text}", f"{why(setting, link)}."))
    return found


def _ms(seconds: float) -> str:
    value = 1e3 * seconds
    # 6e+03 would be no number for an operator
    return f"{value:.0f} ms" if value >= 1000 else f"{value:.3g} ms"


def _longest(link: Question) -> str:
    """The unit of all times on this link."""
    return f"{_ms(link.longest_s)}, the longest round trip plus the time of ten packets"


def _limit(setting: Setting, link: Question) -> str:
    limit = setting.queue(link).limit
    drain = f"a full buffer waits {_ms(limit * link.packet_s)}"
    if link.buffer_s is not None and setting == baseline(link):
        return f"{drain}: the buffer that is there today"
    if FAMILIES[setting.family].is_limit:
        return f"{drain}, which judged best of those tried"
    told = f"{drain}, twice {_longest(link)}, or 64 packets if that is more: the AQM decides"
    usual = _LINUX_LIMITS.get(setting.family)
    if usual is not None and usual > limit:
        told += f"; Linux's default of {usual} packets would be {usual * link.packet_s:.2g} s here"
    return told


def _target(_setting: Setting, link: Question) -> str:
    tried = targets_s(link)
    return (
        f"judged best of those tried, from {_ms(tried[0])} to {_ms(tried[-1])}; a packet takes "
        f"{_ms(link.packet_s)} here, and no target below 1.5 packets can be held"
    )


def _interval(setting: Setting, link: Question) -> str:
    return (
        f"{setting.second:.3g} times {_longest(link)}, so that TCP has time to react; at least two "
        "targets"
    )


def _gain(link: Question) -> str:
    told = f"RFC 9332, appendix A.1, for {_longest(link)}"
    return f"{told}; in Hz, rounded to 1/256, as Linux has it"


def _said(text: str) -> Callable[[Setting, Question], str]:
    return lambda _setting, _link: text


_REASONS: Mapping[str, Callable[[Setting, Question], str]] = {
    "target": _target,
    "interval": _interval,
    "t_update": _said("the 15 ms of RFC 8033, or the target if that is less"),
    "delay": _said("the wait itself is measured, and not computed from a rate"),
    "like": _said("the rules of Linux"),
    "min_th": _said("half of the target, in packets that the link sends (Floyd et al. 2001)"),
    "max_th": _said("three times min_th (Floyd et al. 2001)"),
    "w": lambda _s, link: (
        f"1 - exp(-1/C) with C = {link.capacity_pps:.4g} packets/s, the nearest power of 1/2: the "
        "average is over about a second (Floyd et al. 2001)"
    ),
    "max_p": _said("judged best of those tried"),
    "drop_function": _said("as in Linux"),
    "mean_packet_bytes": _said("the size of this link's packets (--packet-bytes)"),
    "mtu_bytes": _said("the largest packet with its Ethernet header"),
    "rate_bps": _said("CAKE shapes by itself: the link's rate"),
    "rtt": lambda setting, link: f"{setting.second:.3g} times {_longest(link)}",
    "bin_size": _said("a flow's share of the packets that the link sends in the target"),
    "bin_max": _said("5/4 of bin_size, as in Linux"),
    "alpha": lambda _s, link: _gain(link),
    "beta": lambda _s, link: _gain(link),
    "step": _said("1 ms (RFC 9332), or 1.5 packets' time if that is more"),
    "q_ref": _said("the packets that the link sends in the target"),
    "coefficients": _said("designed for the three figures that follow (Hollot et al. 2001)"),
    "n_min": _said("the fewest flows (--flows)"),
    "r_max": _said("the longest round trip (--rtt) plus the target"),
    "capacity": _said("packets that the link sends in a second"),
    "d1": _said("judged best of those tried"),
    "d2": _said("a tenth of d1, as in the paper"),
    "freeze_time": lambda _s, link: _longest(link),
    "gamma": _said("judged best of those tried"),
}
_PI2_UPDATE = _said("the target, or a third of the longest round trip if that is less (RFC 9332)")
_OF_FAMILY: Mapping[tuple[str, str], Callable[[Setting, Question], str]] = {
    ("cake", "target"): _said("a twentieth of rtt, as tc sets it"),
    ("pi2", "t_update"): _PI2_UPDATE,
    ("dualpi2", "t_update"): _PI2_UPDATE,
}
