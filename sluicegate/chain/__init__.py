"""The chain: the slotted queue of a scenario as a Markov chain, and what can be asked of it."""

from sluicegate.chain.limit import extrapolate
from sluicegate.chain.losses import Losses, losses
from sluicegate.chain.steady import Method, Solution, solve
from sluicegate.chain.transient import Transient, transient

__all__ = [
    "Losses",
    "Method",
    "Solution",
    "Transient",
    "extrapolate",
    "losses",
    "solve",
    "transient",
]
