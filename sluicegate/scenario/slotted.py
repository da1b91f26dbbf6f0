"""Scenarios of the slotted queue.

Generated from docs/reference/scenario.schema.json: change engine/scenario, then `make generated`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from sluicegate.scenario.common import Discipline, Queue
from sluicegate.scenario.derived import ReplayArrivalsBase, ScenarioBase, SelfSimilarArrivalsBase
from sluicegate.scenario.table import Table


@dataclass(frozen=True, kw_only=True)
class GeometricArrivals(Table):
    """A packet in each slot with the same probability, independently: the slotted Poisson process.

    Attributes:
        rate: Packets per slot. [0 to 1]
    """

    kind: ClassVar[Literal["geometric"]] = "geometric"
    rate: float


@dataclass(frozen=True, kw_only=True)
class SelfSimilarArrivals(SelfSimilarArrivalsBase):
    """Bursts at several time-scales: the self-similar modulator of S. Robert.

    Attributes:
        rate: Packets per slot, on average. [at least 1e-09, below 1]
        a: Ratio of successive rates of leaving the state that sends; a larger one spreads the
            time-scales further. [above 1]
        states: States of the modulator: one more than the number of time-scales. [2 to 20; default
            5]
    """

    kind: ClassVar[Literal["self-similar"]] = "self-similar"
    rate: float
    a: float
    states: int = 5


@dataclass(frozen=True, kw_only=True)
class FgnArrivals(Table):
    """A packet in each slot with a probability that follows exact fractional Gaussian noise.

    Attributes:
        rate: Mean of the probability. [0 to 1]
        deviation: Standard deviation of the probability, before values below 0 and above 1 are cut.
            [0 to 10]
        hurst: Hurst parameter of the noise. [above 0, below 1]
        frame: Number of slots with the same value of the noise. [slots; 1 to 1e+12; default 100]
    """

    kind: ClassVar[Literal["fgn"]] = "fgn"
    rate: float
    deviation: float
    hurst: float
    frame: int = 100


@dataclass(frozen=True, kw_only=True)
class ReplayArrivals(ReplayArrivalsBase):
    """The packets of a capture, each in the slot of its time-stamp.

    Attributes:
        capture: The pcap or pcapng file.
    """

    kind: ClassVar[Literal["replay"]] = "replay"
    capture: str


@dataclass(frozen=True, kw_only=True)
class GeometricService(Table):
    """A service ends in each slot with the same probability.

    Attributes:
        mu: Probability that the service ends in a slot. [above 0, at most 1]
    """

    kind: ClassVar[Literal["geometric"]] = "geometric"
    mu: float


@dataclass(frozen=True, kw_only=True)
class DeterministicService(Table):
    """Every service takes the same time.

    Attributes:
        slots: Service time. [slots; 1 to 1e+09]
    """

    kind: ClassVar[Literal["deterministic"]] = "deterministic"
    slots: int


@dataclass(frozen=True, kw_only=True)
class PacketSizeService(Table):
    """A link: a packet takes the time that follows from its size, rounded up to whole slots.

    Attributes:
        rate_bps: Rate of the link. [bits/s; above 0, at most 1e+15]
    """

    kind: ClassVar[Literal["packet-size"]] = "packet-size"
    rate_bps: float


Arrivals: TypeAlias = GeometricArrivals | SelfSimilarArrivals | FgnArrivals | ReplayArrivals

Service: TypeAlias = GeometricService | DeterministicService | PacketSizeService


@dataclass(frozen=True, kw_only=True)
class Scenario(ScenarioBase):
    """Everything that determines a comparison in the slotted world.

    Attributes:
        title: Title, one line.
        arrivals: Where packets come from.
        service: How long the server works on a packet.
        queue: The buffer.
        disciplines: The disciplines that are compared.
        slots: Length of one replication; None: that of the capture, if one is replayed. [slots;
            1,000 to 1e+15]
        replications: Number of independent repetitions; None: 8, or 1 if a capture is replayed,
            since each repetition would have the same packets. [1 to 1,000]
        seed: Seed of every random stream; all disciplines see the same arrivals. [at least 0, below
            1.84467e+19; default 1]
        slot_s: Duration of a slot; None: times are in slots, and an AQM's clock takes a slot for a
            millisecond. [s; 1e-09 to 1,000]
        packet_bytes: Size of every packet, except of those of a capture. [bytes; 1 to 65,535;
            default 500]
    """

    title: str = ""
    arrivals: Arrivals
    service: Service
    queue: Queue = field(default_factory=Queue)
    disciplines: Sequence[Discipline]
    slots: int | None = None
    replications: int | None = None
    seed: int = 1
    slot_s: float | None = None
    packet_bytes: int = 500


__all__ = [
    "Arrivals",
    "DeterministicService",
    "FgnArrivals",
    "GeometricArrivals",
    "GeometricService",
    "PacketSizeService",
    "ReplayArrivals",
    "Scenario",
    "SelfSimilarArrivals",
    "Service",
]
