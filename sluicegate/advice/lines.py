"""The lines that set a recommendation: for `sluiced`, and for `tc` where Linux has such a qdisc."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sluicegate.advice.question import Direction, Question
from sluicegate.advice.settings import Setting
from sluicegate.errors import SluiceError
from sluicegate.report.numbers import plain_number
from sluicegate.scenario import Discipline
from sluicegate.worlds.twin.qdisc import own_rate_bps

# the shaper's burst, s, and the least burst of `tbf`, bytes
_BURST_S, _LEAST_BURST = 0.001, 3000
# large: packets wait in the queue below the shaper, not in the shaper
_SHAPER_LIMIT = 100_000_000
_UNDO: Mapping[Direction | None, tuple[str, ...]] = {
    None: ("tc qdisc del dev DEV root",),
    "upload": ("tc qdisc del dev DEV root",),
    "download": ("tc qdisc del dev DEV ingress", "ip link del ifb-in"),
}


@dataclass(frozen=True)
class Lines:
    """How a setting is put in force.

    Attributes:
        sluiced: Its command; empty where only what Linux has was asked for.
        tc: Commands for the interface `DEV`; empty where Linux has no such qdisc.
        undo: Commands that take those back, which must be done before others are set.
        why_no_tc: Why there are no `tc` commands; empty if there are.
    """

    sluiced: str
    tc: tuple[str, ...]
    undo: tuple[str, ...]
    why_no_tc: str


def lines(setting: Setting, link: Question) -> Lines:
    """The lines for a setting on the real link."""
    discipline = setting.discipline(link)
    queue = setting.queue(link)
    command = (
        f"sluiced run --fail open --rate {plain_number(link.rate_bps)} --limit {queue.limit} "
        f"--aqm {aqm_option(discipline, ecn=link.ecn)}"
    )
    try:
        words = setting.qdisc(link)
    except SluiceError as error:
        return Lines(command, (), (), "; ".join(str(error).splitlines()))
    of_sluiced = "" if link.linux else command
    return Lines(of_sluiced, tuple(_shaped(words, link)), _UNDO[link.direction], "")


def aqm_option(discipline: Discipline, *, ecn: bool) -> str:
    """A discipline as `--aqm` takes it."""
    parts = [f"{name}={value}" for name, value in discipline.params.items()]
    if discipline.victim not in (None, "tail"):
        parts.append(f"victim={discipline.victim}")
    if discipline.scheduler.kind != "fifo":
        parts.append(f"scheduler={discipline.scheduler.kind}")
    if ecn or discipline.ecn:
        parts.append("ecn=true")
    return f"{discipline.aqm}:{','.join(parts)}" if parts else str(discipline.aqm)


def _shaped(words: str, link: Question) -> list[str]:
    """A qdisc below a shaper, if it does not shape; arriving packets go to their own device."""
    device, before = "DEV", []
    if link.direction == "download":
        # not ifb0, which the kernel's module makes by itself when it is first asked for a device
        device = "ifb-in"
        before = [
            "ip link add ifb-in type ifb",
            "ip link set ifb-in up",
            "tc qdisc replace dev DEV handle ffff: ingress",
            "tc filter replace dev DEV parent ffff: prio 1 matchall action mirred egress "
            "redirect dev ifb-in",
        ]
    if own_rate_bps(words) is not None:
        return [*before, f"tc qdisc replace dev {device} root handle 10: {words}"]
    burst = max(_LEAST_BURST, math.ceil(link.rate_bps * _BURST_S / 8))
    return [
        *before,
        f"tc qdisc replace dev {device} root handle 1: tbf rate {link.rate_bps:.0f}bit "
        f"burst {burst} limit {_SHAPER_LIMIT}",
        f"tc qdisc replace dev {device} parent 1: handle 10: {words}",
    ]
