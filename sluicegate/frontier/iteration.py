"""Policy iteration: the policy of the least average cost (Howard 1960; Puterman 1994, 8.6).

Each step solves the linear equations of one policy, which are sparse and a narrow band, and then
takes the better action at every node. A few steps are enough, also with a million nodes.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.frontier.process import Evaluation, Outcome, Process

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# an action must be better by this share of the values at hand: less is rounding
_ROUNDING = 1e-12
_MOST_STEPS = 1000


def least(process: Process, costs: list[FloatArray], start: FloatArray | None = None) -> Outcome:
    """The policy of the least cost; of several, the one of the least second cost, and so on.

    Args:
        process: The process.
        costs: Of each action, shape (A,) each.
        start: Shares of the policy to start from; if None, everything is dropped. A start that
            drops too much is better than one that drops too little: under overload all long
            queues are alike but for rounding.

    Returns:
        A policy with one action at each node.

    Raises:
        SluiceError: If it does not converge, which is a fault of this program.
    """
    chosen = _deterministic(process, process.drops.astype(float) if start is None else start)
    for count in range(1, len(costs) + 1):
        chosen = _converged(process, costs[:count], chosen)
    return Evaluation(process, _shares(process, chosen)).outcome()


def _converged(process: Process, costs: list[FloatArray], chosen: IntArray) -> IntArray:
    known: set[bytes] = set()
    for _ in range(_MOST_STEPS):
        known.add(_name(chosen))
        better = _improved(process, costs, Evaluation(process, _shares(process, chosen)), chosen)
        # a policy that comes again is as good as this one, but for rounding
        if _name(better) in known:
            return chosen
        chosen = better
    raise SluiceError(f"policy iteration did not converge in {_MOST_STEPS} steps")


def _name(chosen: IntArray) -> bytes:
    return blake2b(chosen.tobytes(), digest_size=16).digest()


def _shares(process: Process, chosen: IntArray) -> FloatArray:
    shares = np.zeros(len(process.node))
    shares[chosen] = 1.0
    return shares


def _deterministic(process: Process, shares: FloatArray) -> IntArray:
    # of a choice, the drop comes last
    first = process.first
    chosen = first.copy()
    choices = process.choices
    chosen[choices] += shares[first[choices] + 1] > 0.5
    return chosen


def _improved(
    process: Process,
    costs: list[FloatArray],
    evaluation: Evaluation,
    chosen: IntArray,
) -> IntArray:
    """The better action at each choice; the first cost decides, then the next, then what was."""
    choices = process.choices
    admit = process.first[choices]
    is_drop = chosen[choices] > admit
    undecided = np.ones(len(choices), dtype=bool)
    for cost in costs:
        average, values = evaluation.values(cost)
        quality = cost - average * process.slots + process.after @ values
        gain = quality[admit] - quality[admit + 1]
        scale = _ROUNDING * np.maximum(np.abs(values[choices]), np.abs(quality[admit]))
        clear = undecided & (np.abs(gain) > np.maximum(scale, np.finfo(float).tiny))
        is_drop = np.where(clear, gain > 0, is_drop)
        undecided &= ~clear
    better = chosen.copy()
    better[choices] = admit + is_drop
    return better
