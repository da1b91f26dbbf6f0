"""The process of dropping at the head: a decision when a packet would start its service.

The policy sees how long the packet at the head has waited, as CoDel does. Arrivals are independent
of what it decides, so the slots since the head's arrival tell nothing of what waits behind it: the
packets there are to be found slot by slot, each with the probability of an arrival. The age of the
oldest slot not yet looked at is the whole state.

No packet starts its service after more than `oldest` slots. With a buffer of more than that, first
come, first served, and drops from the front, nothing else is lost.
"""

from __future__ import annotations

import numpy as np

from sluicegate.errors import SluiceError
from sluicegate.frontier.admission import IntArray, Rows
from sluicegate.frontier.process import Process
from sluicegate.frontier.source import Source

_SLOT, _LOOK, _SERVE, _DROP = range(4)


def departure(source: Source, oldest: int, deadline: int) -> Process:
    """The process whose policy serves or drops the packet at the head.

    Args:
        source: Independent arrivals, and the service.
        oldest: Greatest age at which a service may start, slots.
        deadline: Slots within which a packet's service must start to count as in time.

    Raises:
        SluiceError: If arrivals are not independent.
    """
    if source.states > 1:
        raise SluiceError(
            "drops at the head: arrivals must be geometric: with bursts, the age of the head tells "
            "too little of what waits behind it"
        )
    rate, mu, ages = source.rate, source.mu, oldest + 1
    age = np.arange(ages)

    # oldest first; the idle server, to which every policy leads, is the last node
    def busy(age: IntArray) -> IntArray:
        return 3 * (oldest - age)

    def look(age: IntArray) -> IntArray:
        return 3 * (oldest - age) + 1

    def head(age: IntArray) -> IntArray:
        return 3 * (oldest - age) + 2

    idle = np.array([3 * ages])
    rows = Rows()
    node: list[IntArray] = []
    kinds: list[IntArray] = []

    def add(kind: int, at: IntArray, *leads: tuple[IntArray, float]) -> None:
        actions = rows.actions(len(at))
        for after, probability in leads:
            rows.add(actions, after, np.full(len(at), probability))
        node.append(at)
        kinds.append(np.full(len(at), kind))

    # in a slot the service may end; otherwise the oldest slot grows older, and is given up at last
    add(_SLOT, busy(age), (look(age), mu), (busy(np.minimum(age + 1, oldest)), 1 - mu))
    # a slot of age 0 is the present one: nobody waits, and the server is free
    below = np.where(age > 0, look(np.maximum(age - 1, 0)), idle)
    add(_LOOK, look(age), (head(age), rate), (below, 1 - rate))
    add(_SERVE, head(age), (busy(age), 1.0))
    add(_DROP, head(age[1:]), (look(age[:-1]), 1.0))
    add(_SLOT, idle, (look(np.array([0])), 1.0))

    nodes, kind = np.concatenate(node), np.concatenate(kinds)
    order = np.argsort(nodes, kind="stable")
    nodes, kind = nodes[order], kind[order]
    of_node = oldest - nodes // 3
    served = (kind == _SERVE).astype(float)
    # a slot that is given up had a packet with the probability of an arrival
    given_up = (kind == _SLOT) & (nodes == busy(np.array([oldest]))[0])
    events = {
        "served": served,
        "lost": (kind == _DROP) + given_up * (1 - mu) * rate,
        "waited": served * of_node,
        "late": served * (of_node > deadline),
    }
    seen = np.full(3 * ages + 1, -1)
    seen[head(age)] = age
    return Process(
        node=nodes,
        after=rows.matrix(3 * ages + 1)[order],
        slots=(kind == _SLOT).astype(float),
        events=events,
        drops=kind == _DROP,
        seen={"age": seen},
        told=f"drops at the head, sees how long that packet has waited, and lets none wait for "
        f"more than {oldest} slots",
    )
