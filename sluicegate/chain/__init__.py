"""The chain: the slotted queue of a scenario as a Markov chain, and what can be asked of it."""

from sluicegate.chain.calibration import Calibration, solve_for
from sluicegate.chain.limit import extrapolate
from sluicegate.chain.losses import Losses, losses
from sluicegate.chain.passage import Passage, first_passage
from sluicegate.chain.sensitivity import Sensitivity, sensitivity
from sluicegate.chain.steady import Method, Solution, solve
from sluicegate.chain.transient import Transient, transient

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
