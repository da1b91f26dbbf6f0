"""The frontier: the best pairs of delay and loss that any AQM could reach, exactly."""

from sluicegate.frontier.frontier import Frontier, frontier
from sluicegate.frontier.policy import Policy

__all__ = ["Frontier", "Policy", "frontier"]
