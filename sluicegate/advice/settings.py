"""The AQMs that are worth considering, and how each is set for a link.

Nearly all have one parameter to choose, each under its own name: how long packets may wait. So a
setting is an AQM, this target, and for some a second parameter; all others follow from the link.
A setting suits the real link and the scaled one: the target stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sluicegate.advice.cases import cases, duration_s, scenario
from sluicegate.advice.question import MOST_BUFFER, Question
from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, Fifo, Fq, Queue, Scheduler, Sfq, Victim
from sluicegate.worlds.twin.qdisc import twin

Params = dict[str, Any]

# targets that are tried, as shares of the longest round trip
SHARES = (1 / 48, 1 / 16, 1 / 6, 1 / 2, 1.5)
# the least and the greatest share of any setting
RANGE = (0.0, 3.0)
# least target, in packet times: a shorter one cannot be held (RFC 8289, sec. 4.4: about one)
_LEAST_PACKETS = 1.5
# buffers behind an AQM, in rate times the longest round trip: large, so that the AQM decides
_BUFFER, _LEAST_BUFFER = 2.0, 64
# targets whose ratio is below this count as one
_ALIKE = 1.05
_MOST_LOG = 31
# DualPI2's step of L4S packets in RFC 9332 and Linux; the MTU of a link, and its Ethernet header
_STEP_S, _MTU, _ETHERNET_BYTES = 0.001, 1500, 14
# CAKE: its round trip over its target (iproute2, q_cake.c); SFB: the bins of a level
_CAKE_TARGETS, _SFB_BINS = 20, 16


@dataclass(frozen=True)
class Family:
    """An AQM with a scheduler.

    Attributes:
        name: What it is called.
        aqm: Name of the AQM.
        params: Gives the AQM's parameters from the link, the target (s) and the second parameter.
        second: The second parameter in words, and its values; empty: there is none.
        scheduler: How packets are spread over queues.
        victim: Which packet is dropped.
        is_limit: Whether the target is the buffer itself.
        has_target: Whether there is a target at all.
        always_marks: Whether it is set to mark even if hosts have no ECN: Linux's cannot be told
            not to, and finds no packet that it could mark.
        is_for_l4s: Whether it is tried only where flows are those of L4S, or where it is named.
    """

    name: str
    aqm: str
    params: Callable[[Question, float, float], Params]
    second: tuple[str, Sequence[float]] = ("", (0.0,))
    scheduler: Scheduler = field(default_factory=Fifo)
    victim: Victim = "tail"
    is_limit: bool = False
    has_target: bool = True
    always_marks: bool = False
    is_for_l4s: bool = False


def _none(_link: Question, _target_s: float, _second: float) -> Params:
    return {}


def _thresholds(link: Question, target_s: float) -> Params:
    """Thresholds around a target, and an average over a second of packets.

    Floyd, Gummadi & Shenker 2001, sec. 5.2 and 5.3: `max_th` is three times `min_th`, the target
    lies between; the weight is 1 - exp(-1/C). Linux takes powers of 1/2.
    """
    least = max(1, round(target_s * link.capacity_pps / 2))
    log = round(-math.log2(-math.expm1(-1 / link.capacity_pps)))
    return {
        "min_th": least,
        "max_th": max(3 * least, least + 2),
        "w": 0.5 ** min(max(log, 1), _MOST_LOG),
        "mean_packet_bytes": link.packet_bytes,
    }


def _red(link: Question, target_s: float, max_p: float) -> Params:
    return _thresholds(link, target_s) | {"max_p": max_p}


def _ared(link: Question, target_s: float, _second: float) -> Params:
    # as in Linux
    return _thresholds(link, target_s) | {"drop_function": "linear"}


def _pie(link: Question, target_s: float, _second: float) -> Params:
    return {
        "target": _rounded(target_s),
        # RFC 8033 has 15 ms for both
        "t_update": _rounded(min(0.015, target_s)),
        "delay": "timestamps",
        "mean_packet_bytes": link.packet_bytes,
    }


def _codel(link: Question, target_s: float, share: float) -> Params:
    return {
        "target": _rounded(target_s),
        "interval": _rounded(max(share * link.longest_s, 2 * target_s)),
    }


def _fq_pie(link: Question, target_s: float, _second: float) -> Params:
    return {
        "target": _rounded(target_s),
        "t_update": _rounded(min(0.015, target_s)),
        "delay": "timestamps",
        "like": "linux",
    }


def _cobalt(link: Question, target_s: float, share: float) -> Params:
    return _codel(link, target_s, share) | {"mtu_bytes": _mtu(link)}


def _cake(link: Question, _target_s: float, share: float) -> Params:
    """CAKE shapes by itself, and its target follows from its round trip, as `tc` sets it."""
    target_s = _rounded(share * link.longest_s / _CAKE_TARGETS)
    return {
        "rate_bps": round(link.rate_bps),
        "rtt": round(target_s * _CAKE_TARGETS, 9),
        "target": target_s,
        "mtu_bytes": _mtu(link),
    }


def _sfb(link: Question, target_s: float, _second: float) -> Params:
    """Bins so long that all flows together wait for the target.

    A flow shares its shortest bin with a sixteenth of the others at most; from 5/4 of the size
    packets are dropped, as in Linux.
    """
    flows = min(math.sqrt(math.prod(link.flows)), _SFB_BINS)
    size = max(2, round(link.packets(target_s) / flows))
    return {"bin_size": size, "bin_max": math.ceil(1.25 * size)}


def _mtu(link: Question) -> int:
    return max(_MTU, link.packet_bytes) + _ETHERNET_BYTES


def _pi2(link: Question, target_s: float, _second: float) -> Params:
    """RFC 9332, appendix A.1: gains for the longest round trip, Hz, in steps of 1/256 (Linux)."""
    longest_s = link.longest_s
    update_s = min(target_s, longest_s / 3)
    gains = {"alpha": 0.1 * update_s / longest_s**2, "beta": 0.3 / longest_s}
    return {
        "target": _rounded(target_s),
        "t_update": _rounded(update_s),
        **{name: max(1, round(256 * gain)) / 256 for name, gain in gains.items()},
        "mtu_bytes": _mtu(link),
    }


def _dualpi2(link: Question, target_s: float, _second: float) -> Params:
    # a step below a packet's time would mark every packet behind another one
    step_s = max(_STEP_S, _LEAST_PACKETS * link.packet_s)
    return _pi2(link, target_s, 0.0) | {"step": _rounded(step_s)}


def _pi(link: Question, target_s: float, _second: float) -> Params:
    return {
        "q_ref": link.packets(target_s),
        "coefficients": "designed",
        "n_min": max(1, link.flows[0]),
        "r_max": _rounded(max(1e-4, link.rtts_s[1] + target_s)),
        "capacity": round(link.capacity_pps),
    }


def _rem(link: Question, target_s: float, _second: float) -> Params:
    return {"q_ref": link.packets(target_s)}


def _blue(link: Question, _target_s: float, d1: float) -> Params:
    # d2 is a tenth of d1, as in the paper
    return {"d1": d1, "d2": d1 / 10, "freeze_time": _rounded(link.longest_s)}


def _avq(_link: Question, _target_s: float, gamma: float) -> Params:
    return {"gamma": gamma}


FAMILIES: Mapping[str, Family] = {
    each.name: each
    for each in (
        Family("drop_tail", "drop_tail", _none, is_limit=True),
        Family("red", "red", _red, ("max_p {:g}", (0.1, 0.5))),
        Family("gentle_red", "gentle_red", _red, ("max_p {:g}", (0.1,))),
        Family("ared", "ared", _ared),
        Family("fred", "fred", _red, ("max_p {:g}", (0.1,))),
        Family("choke", "choke", _red, ("max_p {:g}", (0.1,))),
        Family("pie", "pie", _pie),
        Family("codel", "codel", _codel, ("{:g} RTT", (1.0, 0.3))),
        Family("cobalt", "cobalt", _cobalt, ("{:g} RTT", (1.0, 0.3))),
        Family("pi2", "pi2", _pi2, is_for_l4s=True),
        Family("dualpi2", "dualpi2", _dualpi2, always_marks=True, is_for_l4s=True),
        Family("pi", "pi", _pi),
        Family("rem", "rem", _rem),
        Family("blue", "blue", _blue, ("d1 {:g}", (0.0025, 0.02)), is_limit=True),
        Family("sfb", "sfb", _sfb, always_marks=True),
        Family("avq", "avq", _avq, ("gamma {:g}", (0.98, 0.95, 0.9)), has_target=False),
        Family("sfq", "drop_tail", _none, scheduler=Sfq(), is_limit=True),
        Family(
            "fq_codel",
            "codel",
            _codel,
            ("{:g} RTT", (1.0, 0.3)),
            scheduler=Fq(),
            victim="front",
        ),
        Family("fq_pie", "pie", _fq_pie, scheduler=Fq()),
        Family(
            "cake",
            "cake",
            _cake,
            ("{:g} RTT", (1.0, 0.3)),
            victim="front",
            has_target=False,
            always_marks=True,
        ),
    )
}
BASELINE = "drop_tail"


@dataclass(frozen=True, order=True)
class Setting:
    """An AQM with its target and its second parameter.

    Attributes:
        family: Name of the family.
        target_s: How long packets may wait, s.
        second: Value of the second parameter, where the family has one.
    """

    family: str
    target_s: float
    second: float = 0.0

    @property
    def name(self) -> str:
        """What it is called in tables."""
        found = FAMILIES[self.family]
        parts = [_ms_text(self.target_s)] if found.has_target else []
        if len(found.second[1]) > 1:
            parts.append(found.second[0].format(self.second))
        return f"{self.family} ({', '.join(parts)})" if parts else self.family

    def discipline(self, link: Question) -> Discipline:
        """The setting as a discipline for a link."""
        family = FAMILIES[self.family]
        return Discipline(
            aqm=family.aqm,
            params=family.params(link, self.target_s, self.second),
            label=self.name,
            scheduler=family.scheduler,
            victim=family.victim,
            ecn=family.always_marks or None,
        )

    def refusal(self, link: Question) -> str | None:
        """Why the AQM cannot be set so for a link; None if it can."""
        try:
            self.discipline(link)
            if link.linux:
                self.qdisc(link)
        except SluiceError as error:
            return str(error)
        return None

    def is_possible(self, *links: Question) -> bool:
        """Whether the AQM can be set so for all of these links."""
        return all(self.refusal(link) is None for link in links)

    def queue(self, link: Question) -> Queue:
        """The buffer that belongs to the setting."""
        if FAMILIES[self.family].is_limit:
            limit = max(2, link.packets(self.target_s))
        else:
            limit = max(_LEAST_BUFFER, round(_BUFFER * link.longest_s * link.capacity_pps))
        return Queue(limit=min(limit, MOST_BUFFER), ecn=link.ecn)

    def qdisc(self, link: Question) -> str:
        """The same qdisc of Linux, in the words of `tc`.

        Raises:
            SluiceError: If Linux has none, with the reason.
        """
        base = scenario(link, cases(link)[0], duration_s(link))
        discipline = self.discipline(link)
        return twin(base.replace(disciplines=[discipline], queue=self.queue(link)), discipline)


def baseline(link: Question) -> Setting:
    """What the link has today: drop-tail, if nothing is known of it rate times longest RTT."""
    if link.buffer_s is None:
        return Setting(BASELINE, targets_s(link, [1.0])[0])
    return Setting(BASELINE, link.buffer_s)


def targets_s(link: Question, shares: Sequence[float] = SHARES) -> list[float]:
    """The targets that are tried on a link, s, in order."""
    least_s = _LEAST_PACKETS * link.packet_s
    found: list[float] = []
    for share in sorted(shares):
        target_s = max(share * link.longest_s, least_s)
        if not found or target_s > _ALIKE * found[-1]:
            found.append(target_s)
    return [_rounded(target_s) for target_s in found]


def settings(
    link: Question, names: Sequence[str] | None = None, shares: Sequence[float] = SHARES
) -> list[Setting]:
    """Every setting that is tried on a link.

    Args:
        link: The real one.
        names: Of the families; None: all.
        shares: Of the longest round trip, for the targets.

    Raises:
        SluiceError: If there is no such family.
    """
    for name in names or ():
        if name not in FAMILIES:
            raise SluiceError(f"aqm = {name} must be one of {', '.join(FAMILIES)}")
    found = [
        Setting(family.name, target_s, second)
        for family in FAMILIES.values()
        if _is_asked_for(family, link, names)
        for target_s in (targets_s(link, shares) if family.has_target else targets_s(link)[-1:])
        for second in family.second[1]
    ]
    # of settings with the same parameters and buffer, one is enough
    said: dict[Any, Setting] = {}
    for each in found:
        if each.is_possible(link):
            what = each.family, str(each.discipline(link).params), each.queue(link)
            said.setdefault(what, each)
    return list(said.values())


def left_out(link: Question, names: Sequence[str] | None = None) -> dict[str, str]:
    """The families that cannot be set for a link, and why."""
    possible = {each.family for each in settings(link, names)}
    target_s = targets_s(link)[-1]
    return {
        name: Setting(name, target_s, family.second[1][0]).refusal(link) or ""
        for name, family in FAMILIES.items()
        if name not in possible and _is_asked_for(family, link, names)
    }


def _is_asked_for(family: Family, link: Question, names: Sequence[str] | None) -> bool:
    return family.name in names if names is not None else link.l4s or not family.is_for_l4s


def _ms_text(seconds: float) -> str:
    """Three digits, without an exponent."""
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{1e3 * seconds:.0f} ms"


def _rounded(seconds: float) -> float:
    """Three digits; more are not meaningful."""
    return float(f"{seconds:.3g}")
