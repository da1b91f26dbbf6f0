from . import trace
from ._engine import ADMIT, DROP_BOTH, DROP_EARLY, DROP_FORCED, View, __version__
from .comparison import Comparison, compare
from .errors import SluiceError
from .estimate import Measure
from .record import Record
from .registry import Aqm, AqmClass, Param, PythonAqm, aqm, aqms
from .scenario import (
    DeterministicService,
    Discipline,
    Drr,
    Ets,
    FgnArrivals,
    Fifo,
    Fq,
    GeometricArrivals,
    GeometricService,
    PacketSizeService,
    Prio,
    Queue,
    ReplayArrivals,
    Scenario,
    SelfSimilarArrivals,
    ServiceClass,
    Sfq,
    load,
)
from .sessions import session
from .sweeps import Sweep, sweep
from .tuning import Tuning, tune
from .worlds import chain, network
from .worlds.slotted import SlottedRecord, simulate

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
    "Ets",
    "FgnArrivals",
    "Fifo",
    "Fq",
    "GeometricArrivals",
    "GeometricService",
    "Measure",
    "PacketSizeService",
    "Param",
    "Prio",
    "PythonAqm",
    "Queue",
    "Record",
    "ReplayArrivals",
    "Scenario",
    "SelfSimilarArrivals",
    "ServiceClass",
    "Sfq",
    "SlottedRecord",
    "SluiceError",
    "Sweep",
    "Tuning",
    "View",
    "__version__",
    "aqm",
    "aqms",
    "chain",
    "compare",
    "load",
    "network",
    "session",
    "simulate",
    "sweep",
    "trace",
    "tune",
]
