"""From a scenario to what clients, servers and the router have to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.scenario import (
    Discipline,
    Dumbbell,
    NetworkScenario,
)
from sluicegate.testbed.addresses import SIDES, Side, across, udp_headers
from sluicegate.testbed.job import (
    CallEnds,
    Datagrams,
    Drawn,
    HostJob,
    Job,
    QdiscJob,
    RouterJob,
    Stream,
)
from sluicegate.testbed.row import First, RowJob
from sluicegate.worlds.real.alone import alone
from sluicegate.worlds.real.hosts import Place, hosts
from sluicegate.worlds.real.refusals import MOST_FLOWS, PRAGUE, controls, of_hosts, sends_ect1

# `HostJob.ecn` that asks for the same, and grants accurate feedback to who asks for it
_GRANTS_ACCURATE = {0: 5, 1: 4, 3: 3}
# between two looks at the kernel's state of each connection
INFO_S = 0.1
_USUAL_MTU = 1500
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Plan:
    """One replication.

    Attributes:
        job: For the testbed.
        groups: Of each TCP flow of the scenario, in its order, the group, as the engine counts
            them: one for each pair of nodes of the flows' route.
        streams: Where each TCP flow is.
        datagram_groups: The group of each UDP flow.
        datagrams: Where each UDP flow is.
        starts_s: When each UDP flow sends first; None: never.
    """

    job: Job
    groups: Sequence[int]
    streams: Sequence[Place]
    datagram_groups: Sequence[int]
    datagrams: Sequence[Place]
    starts_s: Sequence[float | None]


@dataclass(frozen=True)
class _Group:
    """A pair of nodes and the flows between them."""

    number: int
    side: Side
    source: int
    sink: int


def plan(
    scenario: NetworkScenario,
    discipline: Discipline,
    replication: int,
    router: RouterJob | QdiscJob,
    congestion_control: str | None,
    ipv6: bool,
) -> Plan:
    """The plan of a replication; starts, sizes and datagrams are those of the network world.

    Args:
        scenario: What is run.
        discipline: Which discipline.
        replication: Its number.
        router: What the router does.
        congestion_control: Of all TCP flows; None: as the scenario says.
        ipv6: Whether all packets are of IPv6, in place of IPv4.

    Raises:
        SluiceError: If there is more than real senders can send.
    """
    offered = _engine.offered_traffic(scenario.handle, discipline.handle, replication)
    groups = _groups(scenario)
    most = max(len(offered.tcp), len(offered.datagram_groups))
    if most > MOST_FLOWS:
        raise SluiceError(f"flows: {most} flows must be at most {MOST_FLOWS}: each is a socket")
    streams: dict[Side, list[Stream]] = {side: [] for side in SIDES}
    places: list[Place] = []
    for flow in offered.tcp:
        group = groups[flow.group]
        flows = scenario.flows[group.number]
        tcp = flows.tcp
        assert tcp is not None
        places.append((group.side, len(streams[group.side])))
        control = congestion_control or tcp.congestion_control
        ends = group.source, group.sink
        streams[group.side].append(
            Stream(
                *ends,
                flow.start_ns,
                flow.stop_ns,
                flow.packets,
                tcp.packet_bytes,
                control,
                sends_ect1(flows, congestion_control),
                flows.dscp,
                len(places) - 1,
                flow.supplied,
            )
        )
    datagrams, datagram_places = _datagrams(scenario, offered, groups, udp_headers(ipv6))
    calls = _calls(offered, groups, datagram_places)
    return Plan(
        job=Job(
            hosts=_hosts(
                scenario,
                streams,
                datagrams,
                congestion_control,
                ipv6,
                _drawn(scenario, replication),
                calls,
            ),
            router=router,
        ),
        groups=[flow.group for flow in offered.tcp],
        streams=places,
        datagram_groups=offered.datagram_groups,
        datagrams=datagram_places,
        starts_s=_first_times_s(offered),
    )


def in_a_row(planned: Plan, first: First | None) -> Plan:
    """The plan with a further router between the clients and the other; None: with none."""
    if first is None:
        return planned
    return replace(planned, job=RowJob(planned.job.hosts, planned.job.router, first))


def _drawn(scenario: NetworkScenario, replication: int) -> Drawn | None:
    """From what the hosts draw the applications; None if there are none."""
    if not any(flows.has_application for flows in scenario.flows):
        return None
    # they draw the same whatever links and replays are, as each group has a stream of its own; the
    # laboratory has no captures
    flows = [each.without_capture() for each in scenario.flows]
    plain = scenario.replace(links={}, flows=flows)
    return Drawn(alone(plain, Discipline(aqm="drop_tail")), replication)


def _groups(scenario: NetworkScenario) -> list[_Group]:
    places = hosts(scenario)
    return [
        _Group(number, *places[source], places[sink][1])
        for number, pairs in enumerate(scenario.pairs())
        for source, sink in pairs
    ]


def _first_times_s(offered: _engine.Offered) -> list[float | None]:
    flows, first = np.unique(offered.flow, return_index=True)
    times = dict(zip(flows.tolist(), (offered.time_ns[first] / _NS_PER_S).tolist(), strict=True))
    times |= {
        call.flow: call.start_ns / _NS_PER_S for call in offered.calls if call.start_ns is not None
    }
    return [times.get(flow) for flow in range(len(offered.datagram_groups))]


def _calls(
    offered: _engine.Offered, groups: Sequence[_Group], places: Sequence[Place]
) -> dict[Side, list[CallEnds]]:
    """The calls that each side sends."""
    calls: dict[Side, list[CallEnds]] = {side: [] for side in SIDES}
    for number, call in enumerate(offered.calls):
        group = groups[offered.datagram_groups[call.flow]]
        side, place = places[call.flow]
        ends = group.source, group.sink
        calls[side].append(CallEnds(number, place, *ends, call.start_ns, *call.traffic_classes))
    return calls


def _datagrams(
    scenario: NetworkScenario,
    offered: _engine.Offered,
    groups: Sequence[_Group],
    headers: int,
) -> tuple[dict[Side, Datagrams], list[Place]]:
    """The datagrams of each side, and where each UDP flow is."""
    if len(offered.bytes) and (least := offered.bytes.min()) < headers:
        raise SluiceError(
            f"flows: a recorded packet has {least} bytes; with headers of IP and UDP it is "
            f"{headers} at least"
        )
    of = [groups[number] for number in offered.datagram_groups]
    codepoints = np.array([scenario.flows[each.number].dscp << 2 for each in of], dtype=np.uint8)
    sides = np.array([SIDES.index(group.side) for group in of], dtype=np.int64)
    ranks = np.zeros(len(of), dtype=np.int64)
    datagrams: dict[Side, Datagrams] = {}
    for place, side in enumerate(SIDES):
        own: NDArray[np.bool_] = sides == place
        ranks[own] = np.arange(own.sum())
        sent = own[offered.flow]
        datagrams[side] = Datagrams(
            sources=[group.source for group in of if group.side == side],
            sinks=[group.sink for group in of if group.side == side],
            time_ns=offered.time_ns[sent],
            flow=ranks[offered.flow[sent]],
            bytes=offered.bytes[sent],
            traffic_class=codepoints[offered.flow[sent]] | offered.ecn[sent],
        )
    return datagrams, [(group.side, int(rank)) for group, rank in zip(of, ranks, strict=True)]


def _hosts(
    scenario: NetworkScenario,
    streams: dict[Side, list[Stream]],
    datagrams: dict[Side, Datagrams],
    congestion_control: str | None,
    ipv6: bool,
    drawn: Drawn | None,
    calls: dict[Side, list[CallEnds]],
) -> tuple[HostJob, HostJob]:
    topology = scenario.topology
    assert isinstance(topology, Dumbbell)
    sizes = [stream.packet_bytes for each in streams.values() for stream in each]
    sizes += [int(each.bytes.max()) for each in datagrams.values() if len(each.bytes)]
    sizes += [each.packet_bytes or 0 for each in scenario.flows if each.knows_ways]
    # the same for all that need a setting of the host (`refusals`)
    ecn = max(of_hosts(scenario, congestion_control), default=0)
    if PRAGUE in controls(scenario, congestion_control):
        ecn = _GRANTS_ACCURATE[ecn]

    def host(side: Side) -> HostJob:
        return HostJob(
            side=side,
            hosts=len(topology.client_delays_s),
            streams=streams[side],
            datagrams=datagrams[side],
            arriving_streams=len(streams[across(side)]),
            arriving_dctcp=any(
                stream.congestion_control == "dctcp" for stream in streams[across(side)]
            ),
            arriving_datagrams=len(datagrams[across(side)].sources),
            mtu=max([_USUAL_MTU, *sizes]),
            duration_ns=round(scenario.duration_s * _NS_PER_S),
            sample_ns=round(scenario.sample_s * _NS_PER_S),
            info_ns=round(INFO_S * _NS_PER_S),
            ecn=ecn,
            ipv6=ipv6,
            arriving_answered=[
                place
                for place, stream in enumerate(streams[across(side)])
                if stream.supplied == "objects"
            ],
            calls=calls[side],
            arriving_calls=calls[across(side)],
            drawn=drawn,
        )

    clients, servers = map(host, SIDES)
    return clients, servers
