"""The process of admission on arrival: the exact chain with a decision at every arrival.

The order of a slot is the chain's: the service may end, then a packet may arrive and finds n
packets in the system, the one in service included. It is admitted, or dropped. A packet that is
admitted at n waits for n services: for a number of slots with the negative binomial distribution,
whatever is decided later, as the queue is served first come, first served.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import nbinom

from sluicegate.frontier.classes import Classes
from sluicegate.frontier.process import Process
from sluicegate.frontier.source import Source

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
# the node of a size, a state of the modulator, and whether the last arrival was lost
Slot = Callable[[IntArray, IntArray, IntArray], IntArray]
# the node of an arrival: size, place among the states in which packets come, loss, class
Decision = Callable[[IntArray, IntArray, IntArray, IntArray], IntArray]


def admission(
    source: Source,
    limit: int,
    deadline: int | None = None,
    *,
    remembers: bool = False,
    classes: Classes | None = None,
) -> Process:
    """The process whose policy drops or admits each arrival.

    The policy sees the packets in the system, and the modulator's state. At an arrival of a
    scenario's source that state is always the same: it tells nothing.

    Args:
        source: Arrivals and service.
        limit: Greatest number of waiting packets.
        deadline: Slots within which a packet's service must start to count as in time.
        remembers: Whether it also sees if the last arrival was lost. It then admits every packet
            that finds the system empty.
        classes: Two classes of packets; it sees that of an arrival.
    """
    finds = np.flatnonzero(source.active.sum(axis=0))
    kinds = [1.0] if classes is None else [1 - classes.share, classes.share]
    losses, sizes = 1 + remembers, limit + 2
    slots = source.states * losses
    width = slots + len(finds) * losses * len(kinds)

    # the largest queue first: the empty system, which every policy reaches, is the last node
    def slot(size: IntArray, state: IntArray, lost: IntArray) -> IntArray:
        # the state from which packets are sent comes last
        return (sizes - size) * width - slots + (losses - 1 - lost) * source.states + state

    def decision(size: IntArray, place: IntArray, lost: IntArray, kind: IntArray) -> IntArray:
        number = (lost * len(finds) + place) * len(kinds) + kind
        return (sizes - size) * width - slots - 1 - number

    rows = Rows()
    size, state, lost = np.indices((sizes, source.states, losses)).reshape(3, -1)
    _add_slots(rows, source, finds, kinds, (size, state, lost), slot, decision)
    node = [slot(size, state, lost)]
    queue = np.maximum(size - 1.0, 0.0)
    shape = (sizes, len(finds), losses, len(kinds))
    size, place, lost, kind = np.indices(shape).reshape(4, -1)
    here, room = decision(size, place, lost, kind), size < sizes - 1
    admits = rows.actions(int(room.sum()))
    rows.add(admits, slot(size + 1, finds[place], 0 * size)[room], np.ones(len(admits)))
    may_drop = (size > 0) | (not remembers)
    drops = rows.actions(int(may_drop.sum()))
    after = slot(size, finds[place], np.full_like(size, losses - 1))
    rows.add(drops, after[may_drop], np.ones(len(drops)))
    node += [here[room], here[may_drop]]

    def of_all(admitted: FloatArray, dropped: FloatArray) -> FloatArray:
        return np.concatenate((np.zeros(len(queue)), admitted, dropped))

    none_admitted, none_dropped = np.zeros(len(admits)), np.zeros(len(drops))
    admitted = of_all(size[room].astype(float), none_dropped)
    served = of_all(np.ones(len(admits)), none_dropped)
    events = {
        "queue": np.concatenate((queue, none_admitted, none_dropped)),
        "served": served,
        "lost": of_all(none_admitted, np.ones(len(drops))),
        "waited": admitted / source.mu,
    }
    if deadline is not None:
        events["late"] = served * _late(sizes, source.mu, deadline)[admitted.astype(int)]
    if remembers:
        events["again"] = of_all(none_admitted, lost[may_drop].astype(float))
    if classes is not None:
        for name, of_kind in classes.events().items():
            events[f"served_{name}"] = of_all(of_kind[kind[room]], none_dropped)
            events[f"lost_{name}"] = of_all(none_admitted, of_kind[kind[may_drop]])
    is_choice = np.concatenate((np.zeros(len(queue) + len(admits), dtype=bool), room[may_drop]))
    # by node; of a choice, the drop comes last
    order = np.argsort(np.concatenate(node), kind="stable")
    seen = {"packets": size, "modulator": place, "after_loss": lost, "kind": kind}
    return Process(
        node=np.concatenate(node)[order],
        after=rows.matrix(sizes * width)[order],
        slots=np.repeat([1.0, 0.0, 0.0], [len(each) for each in node])[order],
        events={name: count[order] for name, count in events.items()},
        drops=is_choice[order],
        seen={name: _at(sizes * width, here, values) for name, values in seen.items()},
        told=_told(len(finds) > 1, remembers, classes is not None),
    )


def _told(modulator: bool, remembers: bool, classes: bool) -> str:
    seen = ["the queue"]
    seen += ["the modulator"] * modulator
    seen += ["whether the last arrival was lost"] * remembers
    seen += ["the packet's class"] * classes
    return f"drops arrivals and sees {' and '.join(seen)}"


def _late(sizes: int, mu: float, deadline: int) -> FloatArray:
    """Probability that n services take more than `deadline` slots, by n."""
    services = np.arange(sizes)
    late = np.asarray(nbinom.sf(deadline - services, services, mu))
    # an idle server takes the packet at once
    late[0] = 0.0
    return late


def _at(nodes: int, here: IntArray, values: IntArray) -> IntArray:
    found = np.full(nodes, -1)
    found[here] = values
    return found


class Rows:
    """The probabilities of what follows each action, added bit by bit."""

    def __init__(self) -> None:
        self._count = 0
        self._parts: list[tuple[IntArray, IntArray, FloatArray]] = []

    def actions(self, count: int) -> IntArray:
        """Numbers of so many new actions."""
        self._count += count
        return np.arange(self._count - count, self._count)

    def add(self, actions: IntArray, nodes: IntArray, probability: FloatArray) -> None:
        """Say what follows actions with a probability."""
        self._parts.append((actions, nodes, probability))

    def matrix(self, nodes: int) -> sparse.csr_array:
        """All of it, shape (A, nodes)."""
        actions, after, probability = map(np.concatenate, zip(*self._parts, strict=True))
        shape = (self._count, nodes)
        return sparse.csr_array((probability, (actions, after)), shape=shape)


def _add_slots(
    rows: Rows,
    source: Source,
    finds: IntArray,
    kinds: list[float],
    at: tuple[IntArray, IntArray, IntArray],
    slot: Slot,
    decision: Decision,
) -> None:
    """What follows the slots that end with a size, a state of the modulator, and a loss or not."""
    size, state, lost = at
    actions = rows.actions(len(size))

    def add(ends: bool, after: IntArray, changes: FloatArray) -> None:
        served = np.where(size > 0, source.mu if ends else 1 - source.mu, 0.0 if ends else 1.0)
        chance = served * changes[state]
        rows.add(actions[chance > 0], after[chance > 0], chance[chance > 0])

    for ends in (False, True):
        left = np.maximum(size - ends, 0)
        for new in range(source.states):
            add(ends, slot(left, np.full_like(state, new), lost), source.quiet[:, new])
        for place, new in enumerate(finds):
            for kind, share in enumerate(kinds):
                after = decision(left, np.full_like(state, place), lost, np.full_like(state, kind))
                add(ends, after, share * source.active[:, new])
