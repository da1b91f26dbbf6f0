"""The lines that set a recommendation: for `sluiced`, and for `tc` where Linux has such a qdisc."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluicegate.advice.cases import cases, duration_s, scenario
from sluicegate.advice.question import Question
from sluicegate.advice.settings import Setting
from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline
from sluicegate.worlds.twin.qdisc import twin

# the shaper's burst, s, and the least burst of `tbf`, bytes
_BURST_S, _LEAST_BURST = 0.001, 3000
# large: packets wait in the queue below the shaper, not in the shaper
_SHAPER_LIMIT = 100_000_000


@dataclass(frozen=True)
class Lines:
    """How a setting is put in force.

    Attributes:
        sluiced: Its command.
        tc: Commands for the interface `DEV`; empty where Linux has no such qdisc.
        why_no_tc: Why there are no `tc` commands; empty if there are.
    """

    sluiced: str
    tc: tuple[str, ...]
    why_no_tc: str


def lines(setting: Setting, link: Question) -> Lines:
    """The lines for a setting on the real link."""
    discipline = setting.discipline(link)
    queue = setting.queue(link)
    command = (
        f"sluiced run --fail open --rate {link.rate_bps:g} --limit {queue.limit} "
        f"--aqm {aqm_option(discipline, ecn=link.ecn)}"
    )
    base = scenario(link, cases(link)[0], duration_s(link))
    asked = base.replace(disciplines=[discipline], queue=queue)
    try:
        words = twin(asked, discipline)
    except SluiceError as error:
        return Lines(command, (), "; ".join(str(error).splitlines()))
    return Lines(command, tuple(_shaped(words, link)), "")


def aqm_option(discipline: Discipline, *, ecn: bool) -> str:
    """A discipline as `--aqm` takes it."""
    parts = [f"{name}={value}" for name, value in discipline.params.items()]
    if discipline.victim not in (None, "tail"):
        parts.append(f"victim={discipline.victim}")
    if discipline.scheduler.kind != "fifo":
        parts.append(f"scheduler={discipline.scheduler.kind}")
    if ecn:
        parts.append("ecn=true")
    return f"{discipline.aqm}:{','.join(parts)}" if parts else str(discipline.aqm)


def _shaped(words: str, link: Question) -> list[str]:
    """A qdisc below a shaper; arriving packets are first redirected to a device of their own."""
    device, before = "DEV", []
    if link.direction == "download":
        device = "ifb0"
        before = [
            "ip link add ifb0 type ifb",
            "ip link set ifb0 up",
            "tc qdisc replace dev DEV handle ffff: ingress",
            "tc filter replace dev DEV parent ffff: prio 1 matchall action mirred egress "
            "redirect dev ifb0",
        ]
    burst = max(_LEAST_BURST, math.ceil(link.rate_bps * _BURST_S / 8))
    return [
        *before,
        f"tc qdisc replace dev {device} root handle 1: tbf rate {link.rate_bps:.0f}bit "
        f"burst {burst} limit {_SHAPER_LIMIT}",
        f"tc qdisc replace dev {device} parent 1: handle 10: {words}",
    ]
