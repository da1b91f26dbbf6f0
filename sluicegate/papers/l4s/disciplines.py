"""The qdiscs of the three sets, as disciplines of ours."""

from __future__ import annotations

from typing import Any

Discipline = dict[str, Any]

DROP_TAIL: Discipline = {"aqm": "drop_tail"}


def codel(*, ecn: bool, **params: float) -> Discipline:
    """One queue: Linux's `codel`, or `fq_codel flows 1`."""
    linux = {"like": "linux", "sqrt": "newton"}
    return {"aqm": "codel", "ecn": ecn, "params": {**linux, **params}}


def fq_codel() -> Discipline:
    """Linux's, with its defaults: 5 ms and 100 ms, marks."""
    return {**codel(ecn=True), "scheduler": {"kind": "fq"}, "victim": "front"}


def pie(*, ecn: bool, **params: float) -> Discipline:
    """Linux's PIE."""
    return {"aqm": "pie", "ecn": ecn, "params": params}


def dualpi2(**params: float) -> Discipline:
    """That of the L4S team's kernels from 2019 to 2024, which all three sets measured.

    Its step marks a packet only if two or more waited in L as it came: L4STeam/linux at
    e1ec6e7961d4 and 6.1.y, net/sched/sch_dualpi2.c, `qdisc_qlen(q->l_queue) > 1`.
    """
    return {"aqm": "dualpi2", "ecn": True, "params": {"min_qlen_step": 2, **params}}
