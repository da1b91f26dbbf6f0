"""What no world of real packets can do, told before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sluicegate.registry import PythonAqm
from sluicegate.scenario import (
    DatagramFlows,
    Discipline,
    Dumbbell,
    Flows,
    NetworkScenario,
    ReplayFlows,
    WebFlows,
)
from sluicegate.testbed.job import tcp_headers, udp_headers

# the kernel takes no segment outside of these (TCP_MIN_MSS, MAX_TCP_WINDOW), without headers
_SEGMENT_BYTES = (88, 32767)
MOST_FLOWS = 5000
_MOST_DELAYS = 16


def of_topology(scenario: NetworkScenario, where: str) -> Iterator[str]:
    """What is no dumb-bell of one router; `where` is what cannot have it."""
    topology = scenario.topology
    if not isinstance(topology, Dumbbell):
        yield (
            f"topology.kind = {topology.kind} must be dumbbell: {where} is one router between "
            "clients and servers"
        )
        return
    backwards = any(_side(source) == "server" for pairs in scenario.pairs() for source, _ in pairs)
    if (count := len(set(topology.client_delays_s))) > 1 and (topology.two_way or backwards):
        what = "two_way = true" if topology.two_way else "flows from servers to clients"
        yield (
            f"topology.client_delays_s: {count} delays must be one where there are {what}: "
            f"{where} has a separate way back for each delay, and no shared link"
        )
    if count > _MOST_DELAYS:
        yield (
            f"topology.client_delays_s: {count} delays must be at most {_MOST_DELAYS}: each is a "
            "process"
        )


def of_discipline(discipline: Discipline, where: str = "sluiced") -> Iterator[str]:
    """What is no C header; `where` is what runs nothing else."""
    if isinstance(discipline.configured, PythonAqm):
        yield (
            f"aqm = {discipline.name} must be a C header or an AQM of Sluicegate: {where} runs no "
            "Python; the worlds slotted and network do"
        )


def of_flows(
    scenario: NetworkScenario, congestion_control: str | None, known: Sequence[str], ipv6: bool
) -> Iterator[str]:
    """What real senders cannot send; `known` are the congestion controls of their kernel."""
    for number, (flows, pairs) in enumerate(zip(scenario.flows, scenario.pairs(), strict=True)):
        for problem in _of_group(flows, pairs, congestion_control, known, ipv6):
            yield f"flows.{number}{problem}"
    ecn = {
        flows.tcp.ecn
        for flows in scenario.flows
        if not isinstance(flows, DatagramFlows | ReplayFlows)
    }
    if len(ecn) > 1:
        yield "flows: tcp.ecn must be the same for all: it is a setting of the whole host"


def _of_group(
    flows: Flows,
    pairs: list[tuple[str, str]],
    congestion_control: str | None,
    known: Sequence[str],
    ipv6: bool,
) -> Iterator[str]:
    for source, sink in pairs:
        if {_side(source), _side(sink)} != {"client", "server"}:
            yield f": {source} to {sink} must lead from clients to servers, or back"
    if flows.count > MOST_FLOWS:
        yield f".count = {flows.count} must be at most {MOST_FLOWS}: each is a socket"
    if isinstance(flows, WebFlows):
        yield ".kind = web must be another: the gate's senders have no think times"
    elif isinstance(flows, DatagramFlows):
        if flows.packet_bytes < (least := udp_headers(ipv6)):
            yield (
                f".packet_bytes = {flows.packet_bytes} must be at least {least}: headers "
                "of IP and UDP"
            )
    elif not isinstance(flows, ReplayFlows):
        least, most = (each + tcp_headers(ipv6) for each in _SEGMENT_BYTES)
        if not least <= flows.tcp.packet_bytes <= most:
            yield (
                f".tcp.packet_bytes = {flows.tcp.packet_bytes} must lie between {least} and "
                f"{most}: the kernel makes no others"
            )
        name = congestion_control or flows.tcp.congestion_control
        if name not in known:
            yield (
                f".tcp.congestion_control = {name} must be one that this kernel has: "
                f"{', '.join(known)} (perhaps: modprobe tcp_{name})"
            )


def _side(node: str) -> str:
    return node.rstrip("0123456789")
