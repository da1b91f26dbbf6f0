"""The network world: packets from end to end, with TCP that reacts, from event to event."""

from sluicegate.network.flows import (
    DatagramFlows,
    ReplayFlows,
    ShortTcpFlows,
    Tcp,
    TcpFlows,
    WebFlows,
)
from sluicegate.network.laws import (
    Constant,
    Exponential,
    Fgn,
    Pareto,
    SelfSimilar,
    Sizes,
    Uniform,
)
from sluicegate.network.measures import fairness, response_time_s
from sluicegate.network.record import NetworkRecord, PortRecord
from sluicegate.network.scenario import NetworkScenario
from sluicegate.network.simulate import simulate
from sluicegate.network.topology import Dumbbell, Graph, Link, ParkingLot, Star

__all__ = [
    "Constant",
    "DatagramFlows",
    "Dumbbell",
    "Exponential",
    "Fgn",
    "Graph",
    "Link",
    "NetworkRecord",
    "NetworkScenario",
    "Pareto",
    "ParkingLot",
    "PortRecord",
    "ReplayFlows",
    "SelfSimilar",
    "ShortTcpFlows",
    "Sizes",
    "Star",
    "Tcp",
    "TcpFlows",
    "Uniform",
    "WebFlows",
    "fairness",
    "response_time_s",
    "simulate",
]
