"""The network world: packets from end to end, with TCP that reacts, from event to event."""

from sluicegate.measures import fairness
from sluicegate.worlds.network.flows import (
    DatagramFlows,
    ReplayFlows,
    ShortTcpFlows,
    Tcp,
    TcpFlows,
    WebFlows,
)
from sluicegate.worlds.network.laws import (
    Constant,
    Exponential,
    Fgn,
    Pareto,
    SelfSimilar,
    Sizes,
    Uniform,
)
from sluicegate.worlds.network.record import NetworkRecord, PortRecord
from sluicegate.worlds.network.response import response_time_s
from sluicegate.worlds.network.scenario import NetworkScenario
from sluicegate.worlds.network.simulate import simulate
from sluicegate.worlds.network.topology import Dumbbell, Graph, Link, ParkingLot, Star

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
