"""Qdiscs of Linux that take several lines of `tc`: `prio` and `ets` with classes, and `gred`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, NetworkScenario, Queue, ServiceClass
from sluicegate.worlds.kernel.shaper import ETHERNET_BYTES, HANDLE
from sluicegate.worlds.twin.qdisc import kbit, modules_of, packet_bytes, twin
from sluicegate.worlds.twin.red import red_words

_CLASSFUL = ("prio", "ets")
# of gred.averages: whether there is one average of several levels (grio), and the priority of each
_MODES: Mapping[str, tuple[bool, Sequence[int]]] = {
    "own": (False, ()),
    "better": (True, (1, 2, 3)),
    # levels of one priority share their average (sch_gred.c: gred_wred_mode_check)
    "all": (True, (1, 1, 1)),
}
_LEVELS = ("gred", "rio", "wred")
# AF11, AF12 and AF13; the codepoints of the other classes are 8 more each (RFC 2597, section 6)
_PRECEDENCES, _ASSURED = (10, 12, 14), 4
_ECN = {"not-ect": 0, "ect1": 1, "ect0": 2, "ce": 3}
# tc has no prio with fewer bands; entries of a table of priorities; handle of the first class
_LEAST_BANDS, _PRIORITIES, _FIRST = 2, 16, 0x11


@dataclass(frozen=True)
class Qdisc:
    """A qdisc in the words of `tc`.

    Attributes:
        words: Its own.
        more: Lines that follow, with `{link}` in place of the link; its handle is `HANDLE`.
        modules: The kernel's modules that it takes.
    """

    words: str
    more: Sequence[str]
    modules: Sequence[str]


def qdisc(scenario: NetworkScenario, discipline: Discipline) -> Qdisc:
    """The twin of a discipline, with the same parameters, as far as it has them.

    Raises:
        SluiceError: If there is none, with the reason, a line for each.
    """
    if discipline.scheduler.kind in _CLASSFUL:
        return _of_classes(scenario, discipline)
    if discipline.aqm in _LEVELS and discipline.scheduler.kind == "fifo":
        return _of_levels(scenario, discipline)
    words = twin(scenario, discipline, uncounted_bytes=ETHERNET_BYTES)
    return Qdisc(words, (), modules_of(words))


def _of_classes(scenario: NetworkScenario, discipline: Discipline) -> Qdisc:
    """A band for each class, with a qdisc of its own and the limit of the whole queue."""
    children = [_child(scenario, discipline, number) for number in range(len(discipline.classes))]
    handles = [f"{_FIRST + band:x}:" for band in range(len(children))]
    kind, last = discipline.scheduler.kind, len(children) - 1
    bands = max(len(children), _LEAST_BANDS if kind == "prio" else 1)
    more = [
        f"qdisc add dev {{link}} parent {HANDLE}{band + 1:x} handle {handle} {words}"
        for band, (handle, words) in enumerate(zip(handles, children, strict=True))
    ]
    more += [
        f"filter add dev {{link}} parent {HANDLE} protocol ip prio {band + 1} u32 "
        f"match ip tos {value:#x} {mask:#x} flowid {HANDLE}{band + 1:x}"
        for band, own in enumerate(discipline.classes[:-1])
        for value, mask in _codepoints(own)
    ]
    words = f"{kind} bands {bands}"
    if kind == "ets":
        quanta = [str(own.quantum_bytes) for own in discipline.classes if own.quantum_bytes]
        words += f" strict {bands - len(quanta)}" + " ".join([" quanta"] * bool(quanta) + quanta)
    words += f" priomap {' '.join([str(last)] * _PRIORITIES)}"
    modules = {f"sch_{kind}", "cls_u32"}.union(*map(modules_of, children))
    return Qdisc(words, more, sorted(modules))


def _child(scenario: NetworkScenario, discipline: Discipline, number: int) -> str:
    """The qdisc of a class, in the words of `tc`."""
    try:
        return twin(scenario, _alone(discipline, discipline.classes[number]))
    except SluiceError as error:
        lines = str(error).splitlines()
        raise SluiceError("\n".join(f"classes.{number}: {line}" for line in lines)) from None


def _alone(discipline: Discipline, own: ServiceClass) -> Discipline:
    """What stands in a class."""
    if own.aqm is None and not own.params:
        return replace(discipline, scheduler=Discipline(aqm="drop_tail").scheduler, classes=())
    return Discipline(
        aqm=own.aqm or discipline.aqm,
        params=own.params,
        victim=discipline.victim,
        ecn=discipline.ecn,
    )


def _codepoints(own: ServiceClass) -> Iterator[tuple[int, int]]:
    """Value and mask of the byte with DSCP and ECN codepoint, for each that a class takes."""
    dscps = [(dscp << 2, 0xFC) for dscp in own.dscp] or [(0, 0)]
    ecns = [(_ECN[ecn], 3) for ecn in own.ecn] or [(0, 0)]
    for (dscp, dscp_mask), (ecn, ecn_mask) in itertools.product(dscps, ecns):
        yield dscp | ecn, dscp_mask | ecn_mask


def _of_levels(scenario: NetworkScenario, discipline: Discipline) -> Qdisc:
    """`gred`: a packet's level is in its `tc_index`, which a filter before the qdisc sets."""
    queue: Queue = scenario.queue
    problems = []
    if (victim := discipline.victim or queue.victim) != "tail":
        problems.append(f"victim = {victim} must be tail, as in Linux's gred")
    if queue.limit_bytes is not None:
        problems.append("queue.limit_bytes cannot be set: the twins' limits are in packets")
    if problems:
        raise SluiceError("\n".join(problems))
    params, size = discipline.configured.params, packet_bytes(scenario)
    grio, priorities = _MODES[str(params["averages"])]
    limit = f"limit {queue.limit * size}"
    marks = queue.ecn if discipline.ecn is None else discipline.ecn
    ecn = " ecn harddrop" * marks
    others = round(float(params["others"]))
    words = f"gred setup vqs 4 default {others}{' grio' * grio} {limit}{ecn}"
    more = [
        f"qdisc change dev {{link}} parent 1: handle {HANDLE} gred vq {level}"
        + (f" prio {priorities[level - 1]}" if grio else "")
        + f" {limit} {red_words(params, size, size, kbit(scenario), level=f'_{level}')}"
        for level in (1, 2, 3)
    ]
    more.append("qdisc add dev {link} clsact")
    more += [
        f"filter add dev {{link}} egress protocol ip u32 "
        f"match ip tos {(dscp + 8 * group) << 2:#x} 0xfc flowid :{level}"
        for level, dscp in enumerate(_PRECEDENCES, start=1)
        for group in range(_ASSURED)
    ]
    return Qdisc(words, more, ["cls_u32", "sch_gred", "sch_ingress"])
