from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, final

import numpy as np
from numpy.typing import NDArray

from sluicegate.scenario.table import Table

__version__: str
DECISION_COLUMNS: str
ADMIT: int
DROP_EARLY: int
DROP_FORCED: int
DROP_BOTH: int

@final
class Param:
    name: str
    kind: str
    choices: list[str]
    unit: str
    default: float | str | bool
    least: float
    greatest: float
    when: str
    help: str
    source: str

@final
class AqmClass:
    name: str
    title: str
    source: str
    summary: str
    base: str | None
    params: list[Param]
    fingerprint: str
    library: bytes
    coupled: bool
    state_bytes: int
    config_bytes: int
    functions: list[str]
    inside: str | None
    def configure(self, given: Mapping[str, float | str | bool]) -> ConfiguredAqm: ...

@final
class ConfiguredAqm:
    of: AqmClass
    values: dict[str, float | str | bool]
    def drop_probability(self, average: NDArray[np.float64]) -> NDArray[np.float64] | None: ...
    def open_loop(
        self, queue: NDArray[np.uint32], interval_ns: int
    ) -> NDArray[np.float64] | None: ...

@final
class View:
    now_ns: int
    idle_since_ns: int
    sojourn_ns: int
    rate_bps: int
    random: int
    uniform: float
    queue_bytes: int
    buffer_bytes: int
    queue_packets: int
    limit_packets: int
    packet_bytes: int
    flow_hash: int
    candidate_flow_hash: int
    lane: int
    idle: bool
    ecn_capable: bool
    full: bool
    ecn: int
    dscp: int

@final
class Discipline:
    def __new__(cls, discipline: Table) -> Discipline: ...
    name: str
    configured: ConfiguredAqm | None
    python: type | None

@final
class Scenario:
    def __new__(cls, scenario: Table) -> Scenario: ...
    runs: int
    duration_slots: int
    slot_ns: int
    capture_slots: NDArray[np.uint64]
    warm_up: float
    def describe(self, discipline: Discipline) -> str: ...
    def pairs(self) -> list[list[tuple[str, str]]]: ...
    def classes(self) -> list[str]: ...
    def notes(self) -> list[str]: ...

@final
class SimplexLink:
    """One direction of a link.

    Attributes:
        source: Name of the node that sends.
        sink: Name of the node that receives.
        rate_bps: Bits/s.
        delay_s: Propagation.
        queue: Whether a discipline stands before it; else an unlimited FIFO does.
        name: Such as `left -> right`.
    """

    source: str
    sink: str
    rate_bps: float
    delay_s: float
    queue: bool
    name: str

def complete(table: Table) -> None: ...
def load_scenario(path: str | Path, kind: str | None, changes: Mapping[str, object]) -> Any: ...
def parse_scenario(
    table: Mapping[str, object], kind: str | None, folder: str | Path, origin: str
) -> Any: ...
def scenario_kind(path: str | Path) -> str: ...
def simplex_links(topology: Table) -> list[SimplexLink]: ...
def routes(topology: Table) -> list[tuple[str, list[tuple[str, str]]]]: ...
def nodes(topology: Table) -> list[str]: ...
def modulator(table: Table) -> tuple[float, float, int]: ...
def unit(table: Table, field: str) -> str: ...
def quantity(text: str, unit: str) -> float | None: ...
def modulator_q(mean: float, states: int) -> float: ...
def aqm_classes() -> list[AqmClass]: ...
def scheduler_classes() -> list[AqmClass]: ...
def aqm_class(name: str) -> AqmClass: ...
def aqm_headers() -> list[tuple[str, str]]: ...
def adopt_library(path: str, library: bytes) -> None: ...

@final
class Times:
    bins: NDArray[np.uint64]
    bin: int
    sum: int
    square_sum: int

@final
class Tally:
    duration: int
    idle: int
    queue: NDArray[np.uint64]
    arrivals: int
    verdicts: list[int]
    served: int
    served_bytes: int
    waited: int
    sojourn: Times
    delay: Times

@final
class KindTally:
    arrivals: int
    lost: int
    delay: Times

@final
class Unit:
    replication: int
    tally: Tally

@final
class SlottedOutcome:
    units: list[Unit]
    warm_up_slots: int
    slots: int
    interrupted: bool

def simulate(
    scenario: Scenario,
    discipline: Discipline,
    threads: int | None,
    watch: Callable[[int], None] | None,
    decisions: str | None,
) -> SlottedOutcome: ...

@final
class ExactTimes:
    distribution: NDArray[np.float64]
    sum: float
    square_sum: float

@final
class ExactCounts:
    queue: NDArray[np.float64]
    busy: float
    arrivals: float
    served: float
    verdicts: list[float]
    sojourn: ExactTimes
    delay: ExactTimes

@final
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

@final
class ChainLosses:
    method: str
    error: float
    arrivals: float
    lost: float
    again: NDArray[np.float64]

@final
class ChainTransient:
    levels: NDArray[np.float64]
    queue: NDArray[np.float64]
    average: NDArray[np.float64]
    arrivals: NDArray[np.float64]
    lost: NDArray[np.float64]
    error: NDArray[np.float64]
    multiplications: NDArray[np.uint64]

@final
class ChainPassage:
    mean: float
    variance: float
    error: float
    residual: float
    method: str
    states: int

@final
class ChainDerivative:
    of: ExactCounts
    residual: float
    error: float

@final
class ChainSensitivities:
    method: str
    value: ExactCounts
    derivatives: list[ChainDerivative]

@final
class Chain:
    def __new__(
        cls,
        scenario: Scenario,
        discipline: Discipline,
        grid: float | NDArray[np.float64],
        memory: float,
    ) -> Chain: ...

@final
class ChainSource:
    states: int
    quiet: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]
    active: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]
    mu: float

def chain_source(chain: Chain) -> ChainSource: ...
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
    parameters: list[tuple[float, list[tuple[Scenario, Discipline]]]],
    method: str,
) -> ChainSensitivities: ...

@final
class CaptureColumns:
    time_ns: NDArray[np.uint64]
    bytes: NDArray[np.uint32]
    flow: NDArray[np.uint32]
    protocol: NDArray[np.uint8]
    ecn_capable: NDArray[np.bool_]
    opens: NDArray[np.bool_]
    not_ip: int
    link_types: list[str]
    notes: list[str]

def read_capture(path: str | Path) -> CaptureColumns: ...

@final
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

@final
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

@final
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

SIZES: list[int]

@final
class Completions:
    times: Times
    slowdowns: Times
    bytes: int
    unfinished: int
    unfinished_bytes: int

@final
class ClassCounts:
    ports: list[Tally]
    acknowledged: int
    acknowledged_bytes: int
    retransmissions: int
    timeouts: int
    datagrams_expected: int
    datagrams_received: int
    reordered: int
    loss_runs: int
    loss_gaps_ns: int
    loss_gaps: int
    datagram_bytes: int
    one_way_delay: Times
    least_one_way_delay: int | None
    jitter_sum: float
    jitter_count: int
    round_trip: Times
    smoothed_sum: int
    smoothed_count: int
    completions: list[Completions]
    pages: Times
    frames: Times
    played: int
    stalled: int
    stalls: int
    segments: int
    rates_bps: float
    switches: int

@final
class Period:
    ports: list[Tally]
    kinds: list[list[KindTally]]
    wires: list[tuple[int, int, int]]
    bands: list[list[Tally]]
    classes: list[ClassCounts]
    acknowledged: int
    retransmissions: int
    timeouts: int
    datagrams_sent: int
    datagrams_received: int

@final
class TcpFlows:
    group: NDArray[np.uint32]
    acknowledged: NDArray[np.uint32]
    retransmissions: NDArray[np.uint32]
    timeouts: NDArray[np.uint32]
    start_s: NDArray[np.float64]
    completion_s: NDArray[np.float64]

@final
class DatagramFlows:
    group: NDArray[np.uint32]
    sent: NDArray[np.uint64]
    received: NDArray[np.uint64]
    start_s: NDArray[np.float64]

@final
class PortSeries:
    queue: NDArray[np.uint32]
    arrivals: NDArray[np.uint64]
    losses: NDArray[np.uint64]
    sent_bytes: NDArray[np.uint64]
    rate_bps: NDArray[np.uint64]
    average: NDArray[np.float64]
    probability: NDArray[np.float64]
    bands: list[tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint64]]]

@final
class FlowSeries:
    acknowledged: NDArray[np.uint64]
    window: NDArray[np.float64]

@final
class Replication:
    periods: list[Period]
    tcp: TcpFlows
    datagrams: DatagramFlows
    ports: list[PortSeries]
    flows: FlowSeries

def simulate_network(
    scenario: Scenario,
    discipline: Discipline,
    threads: int | None,
    watch: Callable[[int], None] | None,
) -> list[Replication]: ...
def record_network(
    scenario: Scenario,
    discipline: Discipline,
    path: str,
    watch: Callable[[int], None] | None,
) -> list[Replication]: ...
def log_network_decisions(
    scenario: Scenario,
    discipline: Discipline,
    path: str,
    watch: Callable[[int], None] | None,
) -> list[Replication]: ...

@final
class QueueState:
    packets: int
    bytes: int
    verdicts: list[int]
    lane_packets: NDArray[np.uint32]
    lane_bytes: NDArray[np.uint64]
    average: NDArray[np.float64]
    probability: NDArray[np.float64]

@final
class PortState:
    queue: QueueState
    in_service: bool
    rate_bps: int
    arrivals: int
    sent: int
    sent_bytes: int

@final
class GroupState:
    flows: int
    windows: NDArray[np.float64]
    srtts_ns: NDArray[np.uint64]
    in_flight: int | None
    delivered: int
    delivered_bytes: int | None
    retransmissions: int
    timeouts: int

@final
class NetworkObservation:
    now_ns: int
    ports: list[PortState]
    groups: list[GroupState]

@final
class NetworkSession:
    now_ns: int
    def __new__(cls, scenario: Scenario, discipline: Discipline) -> NetworkSession: ...
    def advance(self, until_ns: int) -> None: ...
    def observe(self) -> NetworkObservation: ...
    def retune(self, port: int, discipline: Discipline, queue: Table) -> None: ...
    def set_rate(self, port: int, rate_bps: int) -> None: ...
    def end(self) -> Replication: ...

@final
class SlottedObservation:
    now: int
    queue: QueueState
    in_service: bool
    idle_slots: int
    arrivals: int
    served: int
    served_bytes: int

@final
class SlottedSession:
    now: int
    def __new__(cls, scenario: Scenario, discipline: Discipline) -> SlottedSession: ...
    def advance(self, until: int) -> None: ...
    def observe(self) -> SlottedObservation: ...
    def retune(self, discipline: Discipline, queue: Table) -> None: ...
    def end(self) -> SlottedOutcome: ...

@final
class SlottedEnvironments:
    COLUMNS: ClassVar[list[str]]
    def __new__(
        cls, scenario: Scenario, discipline: Discipline, count: int, deadline: int
    ) -> SlottedEnvironments: ...
    def reset(self, seed: int) -> NDArray[np.float64]: ...
    def step(self, probability: NDArray[np.float64]) -> NDArray[np.float64]: ...

@final
class OfferedTcp:
    group: int
    start_ns: int
    stop_ns: int | None
    packets: int | None
    supplied: Literal["at_once", "objects", "packets"]

@final
class OfferedCall:
    flow: int
    start_ns: int | None
    traffic_classes: tuple[int, int]

@final
class Offered:
    tcp: list[OfferedTcp]
    calls: list[OfferedCall]
    datagram_groups: list[int]
    time_ns: NDArray[np.uint64]
    flow: NDArray[np.uint32]
    bytes: NDArray[np.uint32]
    ecn: NDArray[np.uint8]

@final
class Applications:
    def __new__(cls, scenario: Scenario, discipline: Discipline, replication: int) -> Self: ...
    def supply(self, flow: int, now_ns: int) -> tuple[int, int | None]: ...
    def arrived(self, flow: int, now_ns: int) -> tuple[int, int, int] | None: ...
    def make_frame(self, call: int, now_ns: int) -> int | None: ...
    def send_video(
        self, call: int, now_ns: int
    ) -> tuple[list[tuple[int, int, bool]], int | None]: ...
    def take_video(
        self, call: int, now_ns: int, seq: int, marked: bool, ends: bool
    ) -> tuple[int, int, int, int] | None: ...
    def feedback_due(
        self, call: int, now_ns: int
    ) -> tuple[tuple[int, int, int, int] | None, int | None]: ...
    def learn(self, call: int, now_ns: int, report: tuple[int, int, int, int]) -> None: ...
    def count_arrival(self, call: int, now_ns: int, seq: int) -> None: ...
    def take(self, now_ns: int, last: bool) -> list[ClassCounts]: ...

def offered_traffic(scenario: Scenario, discipline: Discipline, replication: int) -> Offered: ...
def bands_of_traffic_classes(
    scenario: Scenario, discipline: Discipline, queue: int
) -> list[int] | None: ...
def rate_steps(scenario: Scenario, link: str) -> list[tuple[int, int]] | None: ...
