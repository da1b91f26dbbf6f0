from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADERS: dict[str, str]
ADMIT: int
DROP_EARLY: int
DROP_FORCED: int
DROP_BOTH: int

class AqmClass:
    name: str
    title: str
    source: str
    summary: str
    base: str | None
    params: list[dict[str, Any]]
    def configure(self, given: dict[str, float | str | bool]) -> ConfiguredAqm: ...

class ConfiguredAqm:
    name: str
    values: dict[str, float | str | bool]
    def drop_probability(self, average: NDArray[np.float64]) -> NDArray[np.float64] | None: ...
    def open_loop(
        self, queue: NDArray[np.uint32], interval_ns: int
    ) -> NDArray[np.float64] | None: ...

class View:
    now_ns: int
    idle_since_ns: int
    sojourn_ns: int
    rate_bps: int
    random: int
    uniform: float
    queue_bytes: int
    queue_packets: int
    limit_packets: int
    packet_bytes: int
    flow_hash: int
    candidate_flow_hash: int
    idle: bool
    ecn_capable: bool

class SlotRecording:
    def __init__(
        self,
        slots: NDArray[np.uint64],
        bytes: NDArray[np.uint32],
        flows: NDArray[np.uint32],
        ecn_capable: NDArray[np.bool_],
    ) -> None: ...

def aqm_classes() -> list[AqmClass]: ...
def load_aqm(path: str | Path) -> AqmClass: ...

class Times:
    bins: NDArray[np.uint64]
    bin: int
    sum: int
    square_sum: int

class Tally:
    duration: int
    idle: int
    queue: NDArray[np.uint64]
    arrivals: int
    verdicts: list[int]
    served: int
    served_bytes: int
    sojourn: Times
    delay: Times

class Unit:
    replication: int
    tally: Tally

class SlottedOutcome:
    units: list[Unit]
    warm_up_slots: int
    slots: int
    interrupted: bool

def simulate(
    table: dict[str, Any],
    aqm: ConfiguredAqm | Callable[[], object],
    threads: int | None,
    watch: Callable[[int], None] | None,
) -> SlottedOutcome: ...

class ExactTimes:
    distribution: NDArray[np.float64]
    sum: float
    square_sum: float

class ExactCounts:
    queue: NDArray[np.float64]
    busy: float
    arrivals: float
    served: float
    verdicts: list[float]
    sojourn: ExactTimes
    delay: ExactTimes

class SteadyState:
    method: str
    states: int
    residual: float
    error: float
    sweeps: int
    levels: NDArray[np.float64]
    average: NDArray[np.float64]
    counts: ExactCounts
    times_error: float

class ChainLosses:
    method: str
    error: float
    arrivals: float
    lost: float
    again: NDArray[np.float64]

class ChainTransient:
    levels: NDArray[np.float64]
    queue: NDArray[np.float64]
    average: NDArray[np.float64]
    arrivals: NDArray[np.float64]
    lost: NDArray[np.float64]
    error: NDArray[np.float64]
    multiplications: NDArray[np.uint64]

class ChainPassage:
    mean: float
    variance: float
    error: float
    residual: float
    method: str
    states: int

class ChainDerivative:
    of: ExactCounts
    residual: float
    error: float

class ChainSensitivities:
    method: str
    value: ExactCounts
    derivatives: list[ChainDerivative]

class Chain:
    def __new__(
        cls,
        plan: dict[str, Any],
        aqm: ConfiguredAqm,
        grid: float | NDArray[np.float64],
        memory: float,
    ) -> Chain: ...

def solve_chain(
    chain: Chain,
    method: str,
    watch: Callable[[str, int, float], None] | None = None,
    front_times: bool = False,
) -> SteadyState: ...
def chain_losses(chain: Chain, method: str, lag: int) -> ChainLosses: ...
def chain_transient(
    chain: Chain,
    slots: list[int],
    tolerance: float,
    queue: int,
    average: float,
    before: Chain | None = None,
    method: str = "auto",
) -> ChainTransient: ...
def chain_passage(
    chain: Chain,
    queue_bounds: tuple[int | None, int | None],
    average_bounds: tuple[float | None, float | None],
    queue: int,
    average: float,
    before: Chain | None,
    method: str,
) -> ChainPassage: ...
def chain_sensitivities(
    chain: Chain,
    parameters: list[tuple[float, list[tuple[dict[str, Any], ConfiguredAqm]]]],
    method: str,
) -> ChainSensitivities: ...

class CaptureColumns:
    time_ns: NDArray[np.uint64]
    bytes: NDArray[np.uint32]
    flow: NDArray[np.uint32]
    protocol: NDArray[np.uint8]
    ecn_capable: NDArray[np.bool_]
    not_ip: int
    link_types: list[str]

def read_capture(path: str | Path) -> CaptureColumns: ...

class TraceFlow:
    kind: str
    id: int
    source: str
    destination: str
    sent: int
    received: int
    lost: int
    loss_ratio: float | None
    throughput_bps: float | None
    delay_mean_s: float | None
    delay_min_s: float | None
    delay_max_s: float | None
    jitter_s: float | None
    course: bytes

class TraceLink:
    source: int
    sink: int
    arrivals: int
    departures: int
    drops: int
    corrupted: int
    loss_ratio: float | None
    throughput_bps: float | None
    queue_mean: float | None
    queue_max: int
    course: bytes

class TraceSummary:
    lines: int
    cut_off: bool
    start_s: float
    end_s: float
    bin_s: float
    flows: list[TraceFlow]
    links: list[TraceLink]

def read_trace(path: str | Path) -> TraceSummary: ...
def fgn(hurst: float, n: int, seed: int) -> NDArray[np.float64]: ...

class Recording:
    def __init__(
        self,
        time_ns: NDArray[np.uint64],
        bytes: NDArray[np.uint32],
        flows: NDArray[np.uint32],
        ecn_capable: NDArray[np.bool_],
    ) -> None: ...

class Period:
    ports: list[Tally]
    acknowledged: int
    retransmissions: int
    timeouts: int
    datagrams_sent: int
    datagrams_received: int

class TcpFlows:
    group: NDArray[np.uint32]
    acknowledged: NDArray[np.uint32]
    retransmissions: NDArray[np.uint32]
    timeouts: NDArray[np.uint32]
    start_s: NDArray[np.float64]
    completion_s: NDArray[np.float64]

class DatagramFlows:
    group: NDArray[np.uint32]
    received: NDArray[np.uint64]
    start_s: NDArray[np.float64]

class PortSeries:
    queue: NDArray[np.uint32]
    arrivals: NDArray[np.uint64]
    losses: NDArray[np.uint64]
    sent_bytes: NDArray[np.uint64]
    average: NDArray[np.float64]
    probability: NDArray[np.float64]

class FlowSeries:
    acknowledged: NDArray[np.uint64]
    window: NDArray[np.float64]

class Replication:
    periods: list[Period]
    tcp: TcpFlows
    datagrams: DatagramFlows
    ports: list[PortSeries]
    flows: FlowSeries

def simulate_network(
    table: dict[str, Any],
    threads: int | None,
    watch: Callable[[int], None] | None,
) -> list[Replication]: ...
def record_network(
    table: dict[str, Any],
    path: str,
    watch: Callable[[int], None] | None,
) -> list[Replication]: ...
