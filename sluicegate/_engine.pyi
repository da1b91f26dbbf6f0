from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADERS: dict[str, str]
DECISION_COLUMNS: str
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
    full: bool

class Trace:
    def __init__(
        self,
        slots: NDArray[np.uint64],
        bytes: NDArray[np.uint32],
        flows: NDArray[np.uint32],
        ecn_capable: NDArray[np.bool_],
    ) -> None: ...

def aqm_classes() -> list[AqmClass]: ...
def load_aqm(path: str | Path) -> AqmClass: ...
def simulate(
    table: dict[str, Any],
    aqm: ConfiguredAqm | Callable[[], object],
    threads: int | None,
    watch: Callable[[int], None] | None,
    decisions: str | None = None,
) -> dict[str, Any]: ...

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
    parameters: list[tuple[float, list[tuple[dict[str, Any], ConfiguredAqm]]]],
    method: str,
) -> tuple[dict[str, Any], list[dict[str, Any]]]: ...
def read_capture(path: str | Path) -> dict[str, Any]: ...
def read_trace(path: str | Path) -> dict[str, Any]: ...
def fgn(hurst: float, n: int, seed: int) -> NDArray[np.float64]: ...

class Recording:
    def __init__(
        self,
        time_ns: NDArray[np.uint64],
        bytes: NDArray[np.uint32],
        flows: NDArray[np.uint32],
        ecn_capable: NDArray[np.bool_],
    ) -> None: ...

def simulate_network(
    table: dict[str, Any],
    threads: int | None,
    watch: Callable[[int], None] | None,
) -> list[dict[str, Any]]: ...
def record_network(
    table: dict[str, Any],
    path: str,
    watch: Callable[[int], None] | None,
) -> list[dict[str, Any]]: ...
def log_network_decisions(
    table: dict[str, Any],
    path: str,
    watch: Callable[[int], None] | None,
) -> list[dict[str, Any]]: ...
