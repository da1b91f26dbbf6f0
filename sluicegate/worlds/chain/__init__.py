"""The chain: the slotted queue of a scenario as a Markov chain, and what can be asked of it."""

from sluicegate.worlds.chain.calibration import Calibration, solve_for
from sluicegate.worlds.chain.limit import extrapolate
from sluicegate.worlds.chain.losses import Losses, losses
from sluicegate.worlds.chain.passage import Passage, first_passage
from sluicegate.worlds.chain.sensitivity import Sensitivity, sensitivity
from sluicegate.worlds.chain.steady import Method, Solution, solve
from sluicegate.worlds.chain.transient import Transient, transient

__all__ = [
    "Calibration",
    "Losses",
    "Method",
    "Passage",
    "Sensitivity",
    "Solution",
    "Transient",
    "extrapolate",
    "first_passage",
    "losses",
    "sensitivity",
    "solve",
    "solve_for",
    "transient",
]
