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

from sluicegate.frontier.process import Process
from sluicegate.frontier.source import Source

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
# the node of a size and a state
Place = Callable[[IntArray, IntArray], IntArray]

_QUEUE = "drops arrivals and sees the queue"
_MODULATOR = "drops arrivals and sees the queue and the modulator"
_SLOT, _ADMIT, _DROP = range(3)


def admission(source: Source, limit: int, deadline: int | None = None) -> Process:
    """The process whose policy drops or admits each arrival.

    The policy sees the packets in the system, and the modulator's state. At an arrival of a
    scenario's source that state is always the same: it tells nothing.

    Args:
        source: Arrivals and service.
        limit: Greatest number of waiting packets.
        deadline: Slots within which a packet's service must start to count as in time.
    """
    finds = np.flatnonzero(source.active.sum(axis=0))
    width, sizes = source.states + len(finds), limit + 2

    # the largest queue first: the empty system, which every policy reaches, is the last node
    def slot(size: IntArray, state: IntArray) -> IntArray:
        # the state from which packets are sent comes last
        return (sizes - size) * width - source.states + state

    def decision(size: IntArray, place: IntArray) -> IntArray:
        return (sizes - size) * width - 1 - source.states - place

    rows = _Rows()
    size, state = np.indices((sizes, source.states)).reshape(2, -1)
    _add_slots(rows, source, finds, (size, state), slot, decision)
    node = [slot(size, state)]
    queue = np.maximum(size - 1.0, 0.0)
    size, place = np.indices((sizes, len(finds))).reshape(2, -1)
    here, room = decision(size, place), size < sizes - 1
    admits = rows.actions(int(room.sum()))
    rows.add(admits, slot(size + 1, finds[place])[room], np.ones(len(admits)))
    drops = rows.actions(len(size))
    rows.add(drops, slot(size, finds[place]), np.ones(len(drops)))
    node += [here[room], here]

    kinds = np.repeat([_SLOT, _ADMIT, _DROP], [len(each) for each in node])
    admitted = np.concatenate((np.zeros(len(queue)), size[room], np.zeros(len(drops))))
    served = (kinds == _ADMIT).astype(float)
    events = {
        "queue": np.concatenate((queue, np.zeros(len(admits) + len(drops)))),
        "served": served,
        "lost": (kinds == _DROP).astype(float),
        "waited": admitted / source.mu,
    }
    if deadline is not None:
        events["late"] = served * _late(sizes, source.mu, deadline)[admitted.astype(int)]
    is_choice = np.concatenate((np.zeros(len(queue) + len(admits), dtype=bool), room))
    # by node; of a choice, the drop comes last
    order = np.argsort(np.concatenate(node), kind="stable")
    seen = {"packets": size, "modulator": place}
    return Process(
        node=np.concatenate(node)[order],
        after=rows.matrix(sizes * width)[order],
        slots=(kinds == _SLOT)[order].astype(float),
        events={name: count[order] for name, count in events.items()},
        drops=is_choice[order],
        seen={name: _at(sizes * width, here, values) for name, values in seen.items()},
        told=_QUEUE if len(finds) == 1 else _MODULATOR,
    )


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


class _Rows:
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
    rows: _Rows,
    source: Source,
    finds: IntArray,
    at: tuple[IntArray, IntArray],
    slot: Place,
    decision: Place,
) -> None:
    """What follows the slots that end with a size and a state of the modulator."""
    size, state = at
    actions = rows.actions(len(size))

    def add(ends: bool, after: IntArray, changes: FloatArray) -> None:
        served = np.where(size > 0, source.mu if ends else 1 - source.mu, 0.0 if ends else 1.0)
        chance = served * changes[state]
        rows.add(actions[chance > 0], after[chance > 0], chance[chance > 0])

    for ends in (False, True):
        left = np.maximum(size - ends, 0)
        for new in range(source.states):
            add(ends, slot(left, np.full_like(state, new)), source.quiet[:, new])
        for place, new in enumerate(finds):
            add(ends, decision(left, np.full_like(state, place)), source.active[:, new])
