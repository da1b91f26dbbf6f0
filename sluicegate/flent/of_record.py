"""A run of the network world or the gate in flent's terms."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from sluicegate.errors import SluiceError
from sluicegate.flent.measurement import MEGABITS, PING, FloatArray, Measurement
from sluicegate.scenario import Dumbbell, NetworkScenario
from sluicegate.worlds.gate.record import GateRecord
from sluicegate.worlds.network.record import NetworkRecord

# flent's own step, s
STEP_S = 0.2
# headers with time stamps, which are not TCP's data, of IPv4 and IPv6, bytes
_HEADERS = {False: 52, True: 72}
_TESTS = {"upload": "tcp_nup", "download": "tcp_ndown"}
_NOTE = (
    "Written by Sluicegate. The ping is computed: propagation to the first client and back, and "
    "the packets that waited, at the rate of the link."
)


def of_record(
    scenario: NetworkScenario, record: NetworkRecord, direction: str = "upload"
) -> Measurement:
    """The first replication as flent's test `tcp_nup` or `tcp_ndown`: N streams with ping.

    The throughput is that of the data without headers. A ping is computed from the queue where all
    flows share one: it is the time that a packet would have waited.

    Args:
        scenario: What was run.
        record: Its outcome, in the network world or the gate.
        direction: What flent calls the direction through the bottleneck, one of `DIRECTIONS`.

    Raises:
        SluiceError: If flent's test has no such flows or topology.
    """
    bytes_ = packet_bytes(scenario) - _HEADERS[bool(record.run.get("ipv6"))]
    count = math.floor(scenario.duration_s / STEP_S)
    series = {f"TCP {direction} sum": _total(record, bytes_, count)}
    flows = 0
    if isinstance(record, GateRecord):
        looks = record.connections.filter(replication=0)
        flows = looks["flow"].n_unique()
        for flow in range(flows):
            series[f"TCP {direction}::{flow + 1}"] = _flow(looks.filter(flow=flow), bytes_, count)
    units = dict.fromkeys(series, MEGABITS)
    if _shares_one_queue(scenario, record):
        series[PING] = _ping_ms(scenario, record, count)
        units[PING] = "ms"
    return Measurement(
        title=f"{record.discipline} ({record.world})",
        times_s=_steps_s(count)[1:],
        series=series,
        test=_TESTS[direction],
        units=units,
        length_s=count * STEP_S,
        parameters={f"{direction}_streams": str(max(flows, 1))},
        note=_NOTE,
    )


def packet_bytes(scenario: NetworkScenario) -> int:
    """Bytes of a full packet of TCP, from a client to a server.

    Raises:
        SluiceError: If flent's test has no such flows or topology.
    """
    problems = []
    topology = scenario.topology
    clients = topology.clients if isinstance(topology, Dumbbell) else []
    if not clients:
        problems.append(f"topology.kind = {topology.kind} must be dumbbell")
    sizes = set()
    for number, (flows, pairs) in enumerate(zip(scenario.flows, scenario.pairs(), strict=True)):
        if flows.tcp is None:
            continue
        sizes.add(flows.tcp.packet_bytes)
        if not all(source in clients for source, _ in pairs):
            problems.append(f"flows.{number} must lead from clients to servers")
    if len(sizes) != 1:
        problems.append("flows: tcp.packet_bytes must be one for all, of one TCP flow or more")
    if problems:
        raise SluiceError("\n".join(f"for a file of flent {each}" for each in problems))
    return sizes.pop()


def _shares_one_queue(scenario: NetworkScenario, record: NetworkRecord) -> bool:
    found = [each for each in scenario.disciplines if each.name == record.discipline]
    return all(each.scheduler.kind == "fifo" for each in found)


def _steps_s(count: int) -> FloatArray:
    """When the steps begin, and when the last one ends."""
    return STEP_S * np.arange(count + 1, dtype=np.float64)


def _total(record: NetworkRecord, bytes_: int, count: int) -> FloatArray:
    times_s = record.ports[record.main_place].times_s
    acknowledged = record.rows("acknowledged")[0]
    ends = np.interp(_steps_s(count), times_s, acknowledged)
    return np.asarray(np.diff(ends) * bytes_ * 8 / STEP_S / 1e6)


def _flow(looks: pl.DataFrame, bytes_: int, count: int) -> FloatArray:
    """A flow's throughput; NaN before its first sample and after its last."""
    times_s, received = looks["time_s"].to_numpy(), looks["received"].to_numpy()
    # what arrived since the previous sample
    steps = np.clip(np.ceil(times_s / STEP_S - 1e-6).astype(np.int64) - 1, 0, count)
    packets = np.bincount(steps, received, minlength=count + 1)[:count]
    found = packets * bytes_ * 8 / STEP_S / 1e6
    known = np.zeros(count, dtype=bool)
    known[steps.min() : steps.max() + 1] = True
    return np.where(known, found, np.nan)


def _ping_ms(scenario: NetworkScenario, record: NetworkRecord, count: int) -> FloatArray:
    """Propagation to the first client and back, plus the waiting packets at the link's rate, ms."""
    topology = scenario.topology
    assert isinstance(topology, Dumbbell)
    port = record.ports[record.main_place]
    way_s = topology.client_delays_s[0] + topology.delay_s + topology.server_delay_s
    arrivals, losses = (port.rows(name)[0] for name in ("arrivals", "losses"))
    queue = port.samples[0]
    sent = arrivals[-1] - losses[-1] - queue[-1]
    bits = 8 * port.rows("sent_bytes")[0][-1] / max(sent, 1.0)
    at = np.searchsorted(port.times_s, _steps_s(count)[1:], side="right") - 1
    return np.asarray(1e3 * (2 * way_s + queue[at] * bits / topology.rate_bps))
