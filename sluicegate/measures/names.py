"""The names of all measures, and what they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sluicegate.errors import SluiceError
from sluicegate.measures.classes import BETWEEN, OF_CLASS, of_class
from sluicegate.measures.definition import Definition
from sluicegate.measures.flows import FLOWS
from sluicegate.measures.outcome import OUTCOMES
from sluicegate.measures.queue import QUEUE
from sluicegate.near import nearest

# of all other measures less is better; without their classes
_MORE_IS_BETTER = (
    *("goodput", "goodput_bps", "goodput_fairness", "fairness", "utilization", "throughput"),
    *("throughput_bps", "datagram_goodput", "finished", "mos", "quality", "rpm", "loss_gap"),
    *(each.name for each in OUTCOMES),
)

# what the letters of the formulas mean: a sentence for each of them
_SYMBOLS = {
    "T": "*T* is the time observed, $T_k$ of it with *k* packets waiting, $T_\\mathrm{idle}$ with "
    "an idle link",
    "A": "*A* packets arrived; *E*, *F* and *O* of them met an early, a forced and an overflow "
    "loss, and *M* were marked",
    "w": "*w* is the one-way delay of a packet, $F_w$ its distribution function",
    "z": "*z* is the completion time of a flow over the ideal one, $F_z$ its distribution function",
    "F_g": "$F_g$ is the distribution function of the times *g* of pages",
    "F_v": "$F_v$ is the distribution function of the delays *v* of frames",
    "T_\\mathrm{played}": "videos played for $T_\\mathrm{played}$ and stood still for "
    "$T_\\mathrm{stalled}$",
    "bar G": "*G* is the time from one run of losses of a flow to the next",
    "F_r": "$F_r$ is the distribution function of round trips *r*",
    "u_i": "$x_i$ is what the class has of round trips and of losses; $o_i$ is best, $u_i$ useless",
    "bar h": "$\\bar h$ and $\\bar l$ are means of the smallest 95 %, s",
    "sum r": "*r* is the rate of a segment or a frame of video",
    "MOS": "*R* is the rating of the E-model, $\\mathrm{MOS}(R)$ its mean opinion score",
    "S": "*S* packets were served, with *B* bytes; *s* is the sojourn time and *d* the delay of "
    "one, $F_s$ and $F_d$ are their distribution functions",
    "N_": "*N* counts what its index says; *c* is the completion time of a flow, $F_c$ its "
    "distribution function",
    "x_i": "$x_i$ are the bits/s of flow *i* of *n*, $m_i$ its max-min fair share of the bits of "
    "all: no more than it sent, and the same for all that sent more; TCP flows take what they get",
    "L_": "*A*, *L* and $F_d$ with the index of a kind of packets are of this kind alone: how many "
    "came to the queue, how many were lost there, and the distribution function of their delay",
    "wire": "$A_\\mathrm{wire}$, $L_\\mathrm{wire}$ and $R_\\mathrm{wire}$ are the packets that "
    "came to wires, that were lost there, and that were overtaken there",
}


def symbols(definitions: Sequence[Definition[Any]]) -> list[str]:
    """What the letters in the formulas of these measures mean, in sentences without full stops."""
    formulas = " ".join(definition.formula for definition in definitions)
    return [meaning for letter, meaning in _SYMBOLS.items() if letter in formulas]


class Definitions(Mapping[str, Definition[Any]]):
    """Every definition by its name; those of classes are found, too, but not listed."""

    def __init__(self, listed: Sequence[Definition[Any]]) -> None:
        self._listed = {each.name: each for each in listed}
        self._of_class = cache(of_class)

    def __getitem__(self, name: str) -> Definition[Any]:
        found = self._listed.get(name) or self._of_class(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)


DEFINITIONS = Definitions([*QUEUE, *FLOWS])


def more_is_better(name: str) -> bool:
    """Which way a measure is better, by its name."""
    return name.rpartition(BETWEEN)[2] in _MORE_IS_BETTER


def check_name(name: str, where: str) -> None:
    """Refuse a name that no measure has.

    Args:
        name: As it was given.
        where: What it was given to, for the message.

    Raises:
        SluiceError: If it is none.
    """
    if name in DEFINITIONS:
        return
    if name in OF_CLASS:
        raise SluiceError(
            f"{where}: {name} is a measure of a class: write the class before it, as in "
            f"calls{BETWEEN}{name}"
        )
    class_, between, rest = name.partition(BETWEEN)
    if class_ and between:
        meant = _meant(rest, OF_CLASS, f"{class_}{BETWEEN}")
        there = ", ".join(OF_CLASS)
        raise SluiceError(f"{where}: {name} is no measure of a class; {meant}there are {there}")
    given, there = name or repr(name), ", ".join(DEFINITIONS)
    meant = _meant(name, DEFINITIONS)
    raise SluiceError(f"{where}: {given} is no measure; {meant}there are {there}")


def _meant(name: str, known: Mapping[str, object], before: str = "") -> str:
    parts = [each for each in known if name and name in each.split("_")]
    near = nearest(name, known) or next(iter(parts), None)
    return f"did you mean {before}{near}? " if near else ""


def check_names(names: Iterable[str], where: str) -> list[str]:
    """The names, each once.

    Raises:
        SluiceError: As `check_name`.
    """
    found = list(dict.fromkeys(names))
    for name in found:
        check_name(name, where)
    return found


NO_CLASSES = "flows are counted by class if there are several groups, or one with a label"


def check_classes(names: Iterable[str], classes: Sequence[str], where: str) -> None:
    """Refuse measures of classes that a scenario does not have.

    Args:
        names: Of measures, as `check_names` gives them.
        classes: Names of its classes, and of the bands of its disciplines; none if its flows are
            not counted by class.
        where: As for `check_name`.

    Raises:
        SluiceError: If there is no such class.
    """
    for name in names:
        class_, between, rest = name.partition(BETWEEN)
        if name in DEFINITIONS and between and rest in OF_CLASS and class_ not in classes:
            near = nearest(class_, classes)
            meant = f"did you mean {near}? " if near else ""
            there = f"there are {', '.join(dict.fromkeys(classes))}" if classes else NO_CLASSES
            raise SluiceError(f"{where}: {name}: no class is called {class_}; {meant}{there}")
