"""The chain: the slotted queue of a scenario as a Markov chain, and what can be asked of it."""

from sluicegate.chain.limit import extrapolate
from sluicegate.chain.steady import Method, Solution, solve

__all__ = ["Method", "Solution", "extrapolate", "solve"]
