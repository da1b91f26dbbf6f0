"""Sluicegate: one AQM, written once, judged in every world where it matters."""

from sluicegate import chain, network, trace
from sluicegate._engine import ADMIT, DROP_BOTH, DROP_EARLY, DROP_FORCED, View
from sluicegate.comparison import Comparison, compare
from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure
from sluicegate.record import Record, SlottedRecord
from sluicegate.registry import Aqm, AqmClass, Param, PythonAqm, aqm, aqms
from sluicegate.scenario import (
    DeterministicService,
    Discipline,
    FgnArrivals,
    GeometricArrivals,
    GeometricService,
    PacketSizeService,
    Queue,
    ReplayArrivals,
    Scenario,
    SelfSimilarArrivals,
)
from sluicegate.scheduler import Drr, Fifo, Fq, Sfq
from sluicegate.slotted import simulate

__all__ = [
    "ADMIT",
    "DROP_BOTH",
    "DROP_EARLY",
    "DROP_FORCED",
    "Aqm",
    "AqmClass",
    "Comparison",
    "DeterministicService",
    "Discipline",
    "Drr",
    "FgnArrivals",
    "Fifo",
    "Fq",
    "GeometricArrivals",
    "GeometricService",
    "Measure",
    "PacketSizeService",
    "Param",
    "PythonAqm",
    "Queue",
    "Record",
    "ReplayArrivals",
    "Scenario",
    "SelfSimilarArrivals",
    "Sfq",
    "SlottedRecord",
    "SluiceError",
    "View",
    "aqm",
    "aqms",
    "chain",
    "compare",
    "network",
    "simulate",
    "trace",
]
