from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.scenario.table import Table

DECISION_COLUMNS: str
ADMIT: int
DROP_EARLY: int
DROP_FORCED: int
DROP_BOTH: int

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

class AqmClass:
    name: str
    title: str
    source: str
    summary: str
    base: str | None
    params: list[Param]
    fingerprint: str
    def configure(self, given: Mapping[str, float | str | bool]) -> ConfiguredAqm: ...

class ConfiguredAqm:
    of: AqmClass
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
    full: bool

class Discipline:
    def __init__(self, discipline: Table) -> None: ...
    name: str
    configured: ConfiguredAqm | None

class Scenario:
    def __init__(self, scenario: Table) -> None: ...
    runs: int
    duration_slots: int
    slot_ns: int
    capture_slots: NDArray[np.uint64]
    warm_up: float
    def describe(self, discipline: Discipline) -> str: ...
    def pairs(self) -> list[list[tuple[str, str]]]: ...
    def notes(self) -> list[str]: ...

class SimplexLink:
    """One direction of a link.

    Attributes:
        source: Name of the node that sends.
        sink: Name of the node that receives.
        rate_bps: Bits/s.
        delay_s: Propagation.
        queue: Whether the discipline stands before it; else an unlimited FIFO does.
    """

    source: str
    sink: str
    rate_bps: float
    delay_s: float
    queue: bool

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
def modulator_q(mean: float, states: int) -> float: ...
def aqm_classes() -> list[AqmClass]: ...
def aqm_class(name: str) -> AqmClass: ...
def simulate(
    scenario: Scenario,
    discipline: Discipline,
    threads: int | None,
    watch: Callable[[int], None] | None,
    decisions: str | None,
) -> dict[str, Any]: ...

class Chain:
    def __new__(
        cls,
        scenario: Scenario,
        discipline: Discipline,
        grid: float | NDArray[np.float64],
        memory: float,
    ) -> Chain: ...

def solve_chain(
    chain: Chain,
    method: str,
    watch: Callable[[str, int, float], None] | None = None,
    front_waits: bool = False,
) -> dict[str, Any]: ...
def chain_losses(chain: Chain, method: str, lag: int) -> dict[str, Any]: ...
def chain_transient(
    chain: Chain,
    slots: list[int],
    tolerance: float,
    queue: int,
    average: float,
    before: Chain | None = None,
    method: str = "auto",
) -> dict[str, Any]: ...
def chain_passage(
    chain: Chain,
    queue_bounds: tuple[int | None, int | None],
    average_bounds: tuple[float | None, float | None],
    queue: int,
    average: float,
    before: Chain | None,
    method: str,
) -> dict[str, Any]: ...
def chain_sensitivities(
    chain: Chain,
    parameters: list[tuple[float, list[tuple[Scenario, Discipline]]]],
    method: str,
) -> tuple[dict[str, Any], list[dict[str, Any]]]: ...
def read_capture(path: str | Path) -> dict[str, Any]: ...
def read_trace(path: str | Path) -> dict[str, Any]: ...
def fgn(hurst: float, n: int, seed: int) -> NDArray[np.float64]: ...
def simulate_network(
    scenario: Scenario,
    discipline: Discipline,
    threads: int | None,
    watch: Callable[[int], None] | None,
) -> list[dict[str, Any]]: ...
def record_network(
    scenario: Scenario,
    discipline: Discipline,
    path: str,
    watch: Callable[[int], None] | None,
) -> list[dict[str, Any]]: ...
def log_network_decisions(
    scenario: Scenario,
    discipline: Discipline,
    path: str,
    watch: Callable[[int], None] | None,
) -> list[dict[str, Any]]: ...
def offered_traffic(
    scenario: Scenario, discipline: Discipline, replication: int
) -> dict[str, Any]: ...
