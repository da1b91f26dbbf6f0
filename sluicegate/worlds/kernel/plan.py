"""From a scenario to what the testbed in the laboratory has to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sluicegate.scenario import Discipline, Dumbbell, NetworkScenario
from sluicegate.testbed.addresses import ECT1_MARK, Side, address
from sluicegate.testbed.command import NEAR
from sluicegate.testbed.job import HostJob, Job, QdiscJob
from sluicegate.testbed.row import First
from sluicegate.worlds.kernel.shaper import COUNTED, HANDLE, Shaper, changes
from sluicegate.worlds.kernel.wire import modules_of_wires, wire_to
from sluicegate.worlds.real.layout import Layout
from sluicegate.worlds.real.plan import Plan, plan
from sluicegate.worlds.real.refusals import sends_ect1
from sluicegate.worlds.real.varying import LINKS, rates

_US_PER_S = 1e6
_NS_PER_S = 1e9
# priorities of Linux, from which prio finds a band
_PRIORITIES = 16
# between two looks at how much waits; a packet of 1500 bytes takes 1.2 ms at 10 Mbit/s
_SAMPLING_NS = 10_000_000
_UNLIMITED_PACKETS = 1_000_000
# half of what comes is lost at most, and a packet more of each kind
_PACKETS_OF_A_PLACE, _MORE_PLACES = 3, 10_000


@dataclass(frozen=True)
class Layer:
    """A discipline as a qdisc.

    Attributes:
        words: What `tc` calls it: the qdisc and its parameters.
        shapes: Whether it keeps to the link's rate by itself.
        keeps: Whether a packet stays in it until its transmission ends, not until it begins.
        marks_behind: Whether it has packets marked behind the link, and counts them as overlimits.
        has_bands: Whether its bands, if it has any, are those of the discipline.
        more: Lines of `tc` that follow, with `{link}` in place of the link; the qdisc's handle is
            `HANDLE` then, and that of the shaper before it `1:`.
        marks: The map of BPF with the marks of its bands; empty: there is none.
        before: Commands that come first.
        after: A command whose output is kept; empty: none.
        during: A command that runs during the run, as in `QdiscJob`; empty: none.
        undo: A command that takes away what is left of it in a machine that goes on; empty: none.
        programs: What it needs of this machine's programs, as `image.build`.
        modules: Likewise of the kernel's modules.
        files: What the commands read, by names: they are in the testbed's `FOLDER`.
    """

    words: str
    shapes: bool
    keeps: bool = False
    marks_behind: bool = False
    has_bands: bool = True
    marks: str = ""
    more: Sequence[str] = ()
    before: Sequence[Sequence[str]] = ()
    after: Sequence[str] = ()
    during: Sequence[str] = ()
    undo: Sequence[str] = ()
    programs: Sequence[str] = ()
    modules: Sequence[str] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


# the discipline as a qdisc in a replication of a seed
LayerOf = Callable[[int], Layer]


def lab_plan(
    scenario: NetworkScenario,
    discipline: Discipline,
    replication: int,
    layer: Layer,
    congestion_control: str | None,
    *,
    back: Layer | None = None,
    headers: bool = False,
) -> Plan:
    """The plan of a replication, with what `tc` has to do at hosts and router.

    Args:
        scenario: What is run, a dumb-bell.
        discipline: Which discipline.
        replication: Its number.
        layer: What stands before the links with a queue.
        congestion_control: Of all TCP flows; None: as the scenario says.
        back: What stands before the link back; None: the same.
        headers: Whether those of the packets are brought back.
    """
    topology = scenario.topology
    assert isinstance(topology, Dumbbell)
    towards: tuple[Side, ...] = ("servers", "clients") if topology.two_way else ("servers",)
    layers = [layer] if back is None else [layer, back]
    router = QdiscJob(
        before=(),
        files={name: content for each in layers for name, content in each.files.items()},
        towards=towards,
        sampling_ns=_SAMPLING_NS,
        places=0,
        after=[each.after for each in layers if each.after],
        marks_behind=any(each.marks_behind for each in layers),
        during=[each.during for each in layers if each.during],
        headers=int(headers),
        marks=[layer.marks, (back or layer).marks][: len(towards)],
    )
    planned = plan(scenario, discipline, replication, router, congestion_control, False)
    clients, servers = planned.job.hosts
    there, back_again = _propagation(scenario, topology)
    clients = replace(clients, qdiscs=[*there, *_ect1(clients)], wire=wire_to(scenario, "clients"))
    servers = replace(
        servers, qdiscs=[*back_again, *_ect1(servers)], wire=wire_to(scenario, "servers")
    )
    plain = Layer(f"pfifo limit {_UNLIMITED_PACKETS}", False)
    links: dict[Side, Layer] = {
        "servers": layer,
        "clients": (back or layer) if topology.two_way else plain,
    }
    shapers = {side: Shaper(scenario, side, clients.mtu) for side in links}
    router = replace(
        router,
        before=[
            *(line for each in layers for line in each.before),
            *(line for side, each in links.items() for line in _link(shapers[side], each)),
        ],
        changes=changes(
            shapers[side].changes(each.words) for side, each in links.items() if not each.shapes
        ),
        places=_places(scenario, planned),
    )
    return replace(planned, job=Job(hosts=(clients, servers), router=router))


def first_router(planned: Plan, laid: Layout, layer: Layer | None) -> First | None:
    """What a router before that of a plan does, with a layer before its link; None: none."""
    if laid.first is None or layer is None:
        return None
    second = planned.job.router
    assert isinstance(second, QdiscJob)
    # its link to the second router has the name of that to the servers
    shaper = Shaper(laid.first[0], "servers", planned.job.hosts[0].mtu)
    router = QdiscJob(
        before=[*layer.before, *_link(shaper, layer)],
        files=layer.files,
        towards=["servers"],
        sampling_ns=_SAMPLING_NS,
        places=max(second.places, _places(laid.first[0], planned)),
        after=[layer.after] if layer.after else [],
        marks_behind=layer.marks_behind,
        during=[layer.during] if layer.during else [],
        changes=[] if layer.shapes else list(shaper.changes(layer.words)),
        marks=[layer.marks],
    )
    return First(router, laid.around)


def _places(scenario: NetworkScenario, planned: Plan) -> int:
    """Packets of one direction that there must be room for."""
    sizes = [stream.packet_bytes for host in planned.job.hosts for stream in host.streams]
    datagrams = sum(len(host.datagrams.time_ns) for host in planned.job.hosts)
    datagrams += sum(flows.most_packets(scenario.duration_s) for flows in scenario.flows)
    streams = 0.0
    if sizes:
        duration_ns = planned.job.hosts[0].duration_ns
        streams = max(_carried(scenario, link, duration_ns) for link in LINKS.values())
        streams /= 8 * min(sizes)
    return _PACKETS_OF_A_PLACE * round(streams) + datagrams + _MORE_PLACES


def _carried(scenario: NetworkScenario, link: str, duration_ns: int) -> float:
    """Bits that a link of the dumb-bell can send in a run."""
    if (varying := rates(scenario, link)) is not None:
        return varying.carried(duration_ns)
    assert isinstance(scenario.topology, Dumbbell)
    return scenario.topology.rate_bps * duration_ns / _NS_PER_S


def _link(shaper: Shaper, layer: Layer) -> Iterator[Sequence[str]]:
    """The commands that lay a discipline before a link, whose packets are those of IP."""
    add = f"tc qdisc add dev {shaper.link}"
    if layer.shapes:
        yield f"{add} root {COUNTED} {layer.words}".split()
        return
    yield from shaper.prepared()
    yield f"tc qdisc add {shaper.words()}".split()
    yield f"{add} parent 1: handle {HANDLE} {layer.words}".split()
    for line in layer.more:
        yield f"tc {line.format(link=shaper.link)}".split()


def _propagation(
    scenario: NetworkScenario, topology: Dumbbell
) -> tuple[Iterator[str], Iterator[str]]:
    """Lines of `tc` that delay what leaves clients, and what leaves servers."""
    behind_s = topology.delay_s + topology.server_delay_s
    one_way_s = [each + behind_s for each in topology.client_delays_s]
    if any(flows.knows_ways for flows in scenario.flows):
        return _delays(one_way_s, "src"), _delays(one_way_s, "dst")
    # the whole round trip on the way back: each timer less is time won, and no TCP notices
    return iter(()), _delays([2 * each for each in one_way_s], "dst")


def _delays(delays_s: Sequence[float], end: Literal["src", "dst"]) -> Iterator[str]:
    """Lines of `tc` that delay packets by the client that is their source, or destination."""
    every_s = sorted(set(delays_s))
    if len(every_s) == 1:
        yield f"qdisc add dev eth0 root {_netem(every_s[0])}"
        return
    # the usual map of priorities names band 2, which need not be there
    priomap = " ".join(["0"] * _PRIORITIES)
    yield f"qdisc add dev eth0 root handle 1: prio bands {len(every_s)} priomap {priomap}"
    for band, delay_s in enumerate(every_s, start=1):
        yield f"qdisc add dev eth0 parent 1:{band:x} {_netem(delay_s)}"
    for client, delay_s in enumerate(delays_s):
        at = address("clients", client, False)
        band = every_s.index(delay_s) + 1
        match = f"match ip {end} {at}/32"
        yield f"filter add dev eth0 parent 1: protocol ip u32 {match} flowid 1:{band:x}"


def _ect1(host: HostJob) -> Iterator[str]:
    """Lines of `tc` that turn ECT(0) into ECT(1), as flows that ask for it leave a host.

    Linux's TCP sends no ECT(1), whatever its congestion control.
    """
    if any(stream.ect1 for stream in host.streams):
        yield f"qdisc add dev {NEAR} clsact"
        yield (
            f"filter add dev {NEAR} egress protocol ip u32 match mark {ECT1_MARK} 0xffffffff "
            "match ip tos 2 0x3 action pedit ex munge ip tos set 1 retain 0x3 pipe action csum ip"
        )


def modules_of_flows(scenario: NetworkScenario, congestion_control: str | None) -> list[str]:
    """Modules of the kernel that its flows and wires need, besides those of the testbed."""
    rewritten = any(sends_ect1(flows, congestion_control) for flows in scenario.flows)
    of_flows = ["sch_ingress", "act_pedit", "act_csum"] if rewritten else []
    return list(dict.fromkeys([*of_flows, *modules_of_wires(scenario)]))


def _netem(delay_s: float) -> str:
    return f"netem delay {delay_s * _US_PER_S:g}us limit {_UNLIMITED_PACKETS}"
