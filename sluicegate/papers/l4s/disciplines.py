"""The qdiscs of the three sets, as disciplines of ours."""

from __future__ import annotations

from typing import Any

Discipline = dict[str, Any]

DROP_TAIL: Discipline = {"aqm": "drop_tail"}


def codel(*, ecn: bool, **params: float) -> Discipline:
    """One queue: `codel`, or `fq_codel flows 1`."""
    return {"aqm": "codel", "ecn": ecn, "params": params}


def fq_codel() -> Discipline:
    """Linux's, with its defaults: 5 ms and 100 ms, marks."""
    return {**codel(ecn=True), "scheduler": {"kind": "fq"}, "victim": "front"}


def pie(*, ecn: bool, **params: float) -> Discipline:
    """Linux's PIE."""
    return {"aqm": "pie", "ecn": ecn, "params": params}


def dualpi2(**params: float) -> Discipline:
    """Linux's DualPI2."""
    return {"aqm": "dualpi2", "ecn": True, "params": params}
