"""What no world of real packets can do, told before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sluicegate.errors import SluiceError
from sluicegate.registry import PythonAqm
from sluicegate.scenario import Discipline, Dumbbell, Flows, NetworkScenario, Tcp
from sluicegate.testbed.addresses import SIDES, Side, tcp_headers, udp_headers
from sluicegate.worlds.real.hosts import hosts
from sluicegate.worlds.real.layout import layout

# the kernel takes no segment outside of these (TCP_MIN_MSS, MAX_TCP_WINDOW), without headers
_SEGMENT_BYTES = (88, 32767)
MOST_FLOWS = 5000
_MOST_DELAYS = 16
PRAGUE = "prague"
# congestion controls that ask for what they need, whatever the host asks for
_BY_THEMSELVES = (("dctcp", 1), (PRAGUE, 3))


def asks_for(tcp: Tcp) -> int:
    """What TCP asks for, as `HostJob.ecn`."""
    if not tcp.ecn:
        return 0
    by_itself = tcp.congestion_control == PRAGUE
    return 3 if (by_itself if tcp.accurate_ecn is None else tcp.accurate_ecn) else 1


def controls(scenario: NetworkScenario, congestion_control: str | None) -> set[str]:
    """The congestion controls of all TCP flows; `congestion_control` replaces the scenario's."""
    tcp = [flows.tcp for flows in scenario.flows if flows.tcp is not None]
    return {congestion_control or each.congestion_control for each in tcp}


def sends_ect1(flows: Flows, congestion_control: str | None) -> bool:
    """Whether packets of a group of TCP flows are to have ECT(1): Prague's do in any case."""
    tcp = flows.tcp
    if tcp is None:
        return False
    return flows.ect1 or (tcp.ecn and (congestion_control or tcp.congestion_control) == PRAGUE)


def of_topology(scenario: NetworkScenario, where: str) -> Iterator[str]:
    """What has no layout of one or two routers; `where` is what cannot have it."""
    try:
        laid = layout(scenario, scenario.disciplines[0]).scenario
    except SluiceError as error:
        yield (
            f"topology.kind = {scenario.topology.kind} must be dumbbell, or one or two queues in a "
            f"row: {where} is one router between clients and servers, or two"
        )
        yield from str(error).splitlines()
        return
    topology = laid.topology
    assert isinstance(topology, Dumbbell)
    sides = _sides(laid)
    backwards = any(from_ == "servers" for pairs in sides for from_, _ in pairs)
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
    scenario: NetworkScenario,
    congestion_control: str | None,
    known: Sequence[str],
    ipv6: bool,
    rewrites: bool = False,
) -> Iterator[str]:
    """What real senders cannot send.

    Args:
        scenario: What is to be run.
        congestion_control: Of all TCP flows; None: as the scenario says.
        known: The congestion controls of their kernel.
        ipv6: Whether all packets are of IPv6, in place of IPv4.
        rewrites: Whether their hosts can turn the ECT(0) of TCP into ECT(1).
    """
    groups = zip(scenario.flows, scenario.pairs(), _sides(scenario), strict=True)
    for number, (flows, pairs, sides) in enumerate(groups):
        for (source, sink), (from_, to) in zip(pairs, sides, strict=True):
            if {from_, to} != {*SIDES}:
                yield (
                    f"flows.{number}: {source} to {sink} must lead from clients to servers, or back"
                )
        for problem in _of_group(flows, congestion_control, known, ipv6, rewrites):
            yield f"flows.{number}{problem}"
    yield from of_wires(scenario)
    if len(of_hosts(scenario, congestion_control)) > 1:
        yield (
            "flows: tcp.ecn must be the same for all, and whether it is accurate: it is a setting "
            "of the whole host (DCTCP without accurate feedback asks by itself)"
        )


def of_wires(scenario: NetworkScenario) -> Iterator[str]:
    """What no wire of a dumb-bell can do."""
    for name, own in scenario.links.items():
        if own.wire is not None and own.wire.ecn is not None:
            yield (
                f'links."{name}".wire.ecn = {own.wire.ecn} must be left out: only the network '
                "world rewrites headers on a wire"
            )


def of_hosts(scenario: NetworkScenario, congestion_control: str | None) -> set[int]:
    """What TCP is to ask for by a setting of the hosts; DCTCP and Prague ask by themselves."""
    found: set[int] = set()
    for flows in scenario.flows:
        if flows.tcp is not None:
            control = congestion_control or flows.tcp.congestion_control
            asked = asks_for(flows.tcp)
            found |= set() if (control, asked) in _BY_THEMSELVES else {asked}
    return found


def _of_group(
    flows: Flows,
    congestion_control: str | None,
    known: Sequence[str],
    ipv6: bool,
    rewrites: bool,
) -> Iterator[str]:
    if flows.count > MOST_FLOWS:
        yield f".count = {flows.count} must be at most {MOST_FLOWS}: each is a socket"
    if flows.marker is not None:
        yield ".marker must be left out: real senders have none (the network world does)"
    if flows.ect1 and flows.tcp is not None and not rewrites:
        yield (
            ".ect1 = true must be false: real TCP has ECT(0); the worlds kernel and twin rewrite "
            "it, and the network world has senders with ECT(1)"
        )
    if flows.tcp is None:
        if flows.packet_bytes is not None and flows.packet_bytes < (least := udp_headers(ipv6)):
            yield (
                f".packet_bytes = {flows.packet_bytes} must be at least {least}: headers "
                "of IP and UDP"
            )
    else:
        least, most = (each + tcp_headers(ipv6) for each in _SEGMENT_BYTES)
        if not least <= flows.tcp.packet_bytes <= most:
            yield (
                f".tcp.packet_bytes = {flows.tcp.packet_bytes} must lie between {least} and "
                f"{most}: the kernel makes no others"
            )
        if flows.tcp.server_ecn is not None:
            yield (
                f".tcp.server_ecn = {flows.tcp.server_ecn} must be left out: both ends are "
                "like this kernel (the network world has others)"
            )
        name = congestion_control or flows.tcp.congestion_control
        if name not in known:
            yield (
                f".tcp.congestion_control = {name} must be one that this kernel has: "
                f"{', '.join(known)} (perhaps: modprobe tcp_{name})"
            )


def _sides(scenario: NetworkScenario) -> list[list[tuple[Side | None, Side | None]]]:
    """The sides of each group's pairs of nodes, sender first; None: the node is no host."""
    places = hosts(scenario)

    def side(node: str) -> Side | None:
        return places[node][0] if node in places else None

    return [[(side(source), side(sink)) for source, sink in pairs] for pairs in scenario.pairs()]
