"""The network world: packets from end to end, with TCP that reacts, from event to event."""

from sluicegate._engine import SimplexLink
from sluicegate.measures import fairness
from sluicegate.scenario import (
    Constant,
    DatagramFlows,
    Dumbbell,
    Exponential,
    Fgn,
    Graph,
    Link,
    LinkSettings,
    NetworkScenario,
    Pareto,
    ParkingLot,
    RateFile,
    RateStep,
    ReplayFlows,
    SelfSimilar,
    ShortTcpFlows,
    Sizes,
    Star,
    Steps,
    Tcp,
    TcpFlows,
    Uniform,
    WebFlows,
)
from sluicegate.worlds.network.record import NetworkRecord, PortRecord
from sluicegate.worlds.network.response import response_time_s
from sluicegate.worlds.network.simulate import simulate

__all__ = [
    "Constant",
    "DatagramFlows",
    "Dumbbell",
    "Exponential",
    "Fgn",
    "Graph",
    "Link",
    "LinkSettings",
    "NetworkRecord",
    "NetworkScenario",
    "Pareto",
    "ParkingLot",
    "PortRecord",
    "RateFile",
    "RateStep",
    "ReplayFlows",
    "SelfSimilar",
    "ShortTcpFlows",
    "SimplexLink",
    "Sizes",
    "Star",
    "Steps",
    "Tcp",
    "TcpFlows",
    "Uniform",
    "WebFlows",
    "fairness",
    "response_time_s",
    "simulate",
]
