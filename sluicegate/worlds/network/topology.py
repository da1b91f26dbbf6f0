"""Topologies: nodes, links, which links have the discipline, and the ways flows can take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from sluicegate.checked import Checked, Whole, printable
from sluicegate.errors import SluiceError

# the engine's rates are whole: from here on that is at most 10 parts in a million of a rate
_ANY_RATE = 50_000


def _nearly_whole(rate_bps: float) -> float:
    if rate_bps < _ANY_RATE and not rate_bps.is_integer():
        raise SluiceError(f"{rate_bps:g} must be whole, as all rates below {_ANY_RATE} (bits/s)")
    return rate_bps


Name: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(printable)]
Delay: TypeAlias = Annotated[float, Field(ge=0, le=3600)]
Rate: TypeAlias = Annotated[float, Field(ge=1, le=1e14), AfterValidator(_nearly_whole)]
# finding the ways takes time and memory with the square of their number
Delays: TypeAlias = Annotated[list[Delay], Field(max_length=1000)]
Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Wire:
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
    queue: bool = False


def _both(one: str, other: str, rate_bps: float, delay_s: float) -> list[Wire]:
    return [Wire(one, other, rate_bps, delay_s), Wire(other, one, rate_bps, delay_s)]


class Dumbbell(Checked):
    """Clients, a router, the bottleneck, a router, servers: client i talks to server i.

    Nodes are `client0` and so on, `left`, `right`, `server0` and so on. Ways are `forward`, from
    clients to servers, and `reverse`.

    Attributes:
        rate_bps: Of the bottleneck, both directions.
        delay_s: Of the bottleneck.
        client_delays_s: Between each client and its router; as many clients as servers.
        server_delay_s: Between each server and its router.
        access_rate_bps: Of all links but the bottleneck.
        two_way: Whether the discipline stands before the bottleneck's reverse direction, too.
    """

    kind: Literal["dumbbell"] = "dumbbell"
    rate_bps: Rate = 10e6
    delay_s: Delay = 0.0025
    client_delays_s: Annotated[Delays, Field(min_length=1)] = Field(
        default=[0.01, 0.05, 0.1, 0.15, 0.2]
    )
    server_delay_s: Delay = 0.0025
    access_rate_bps: Rate = 100e6
    two_way: bool = False

    def wires(self) -> list[Wire]:
        """All links, the bottleneck first."""
        wires = [
            Wire("left", "right", self.rate_bps, self.delay_s, queue=True),
            Wire("right", "left", self.rate_bps, self.delay_s, queue=self.two_way),
        ]
        for place, delay_s in enumerate(self.client_delays_s):
            wires += _both(f"client{place}", "left", self.access_rate_bps, delay_s)
            wires += _both("right", f"server{place}", self.access_rate_bps, self.server_delay_s)
        return wires

    def ways(self) -> dict[str, list[Pair]]:
        """`forward` from clients to servers, `reverse` from servers to clients."""
        pairs = [(f"client{place}", f"server{place}") for place in range(len(self.client_delays_s))]
        return {"forward": pairs, "reverse": [(server, client) for client, server in pairs]}


class ParkingLot(Checked):
    """A row of routers; one way leads along all links between them, a crossing way over each.

    Nodes are `entry`, `router0` and so on, `exit`, and for each hop `enters0` and `leaves0` and so
    on. Ways are `long`, from entry to exit, and `cross`, over one hop each.

    Attributes:
        hops: Links between routers, each with the discipline.
        rate_bps: Of the links between routers.
        delay_s: Of the links between routers.
        access_rate_bps: Of the links to hosts.
        access_delay_s: Of the links to hosts.
    """

    kind: Literal["parking-lot"] = "parking-lot"
    hops: Annotated[Whole, Field(ge=1, le=1000)] = 3
    rate_bps: Rate = 10e6
    delay_s: Delay = 0.01
    access_rate_bps: Rate = 100e6
    access_delay_s: Delay = 0.001

    def wires(self) -> list[Wire]:
        """All links, those between routers first."""
        wires = []
        for hop in range(self.hops):
            here, there = f"router{hop}", f"router{hop + 1}"
            wires.append(Wire(here, there, self.rate_bps, self.delay_s, queue=True))
            wires.append(Wire(there, here, self.rate_bps, self.delay_s))
        hosts = [("entry", 0), ("exit", self.hops)]
        for hop in range(self.hops):
            hosts += [(f"enters{hop}", hop), (f"leaves{hop}", hop + 1)]
        for host, router in hosts:
            wires += _both(host, f"router{router}", self.access_rate_bps, self.access_delay_s)
        return wires

    def ways(self) -> dict[str, list[Pair]]:
        """`long` over all hops, `cross` over one hop each."""
        cross = [(f"enters{hop}", f"leaves{hop}") for hop in range(self.hops)]
        return {"long": [("entry", "exit")], "cross": cross}


class Star(Checked):
    """Hosts around a hub; all but the first send to the first, whose link has the discipline.

    Nodes are `hub`, `host0` and so on. Ways are `inward`, from each host to the first, and
    `outward`.

    Attributes:
        rate_bps: From the hub to the first host, and back.
        access_rate_bps: Between the other hosts and the hub.
        delays_s: Between each host and the hub, the first host's first.
    """

    kind: Literal["star"] = "star"
    rate_bps: Rate = 10e6
    access_rate_bps: Rate = 100e6
    delays_s: Annotated[Delays, Field(min_length=2)] = [0.01] * 4

    def wires(self) -> list[Wire]:
        """All links, that from the hub to the first host first."""
        first, *others = self.delays_s
        wires = [
            Wire("hub", "host0", self.rate_bps, first, queue=True),
            Wire("host0", "hub", self.rate_bps, first),
        ]
        for place, delay_s in enumerate(others, start=1):
            wires += _both(f"host{place}", "hub", self.access_rate_bps, delay_s)
        return wires

    def ways(self) -> dict[str, list[Pair]]:
        """`inward` from each host to the first, `outward` from the first to each."""
        inward = [(f"host{place}", "host0") for place in range(1, len(self.delays_s))]
        return {"inward": inward, "outward": [(sink, source) for source, sink in inward]}


class Link(Checked):
    """A link between two nodes.

    Attributes:
        source: Name of one node.
        sink: Name of the other.
        rate_bps: Bits/s, of each direction.
        delay_s: Propagation.
        queue: Whether the discipline stands before it, from source to sink; else an unlimited
            FIFO does.
        both_ways: Whether the link leads back, too: there it has no discipline.
    """

    source: Name
    sink: Name
    rate_bps: Rate
    delay_s: Delay
    queue: bool = False
    both_ways: bool = True


class Graph(Checked):
    """Links of one's own; nodes are what the links name, flows name their two ends.

    From one node to another there is one link at most. For the discipline in both directions, give
    two links with `both_ways = false`.
    """

    kind: Literal["graph"] = "graph"
    links: Annotated[list[Link], Field(min_length=1)]

    @model_validator(mode="after")
    def _sensible(self) -> Graph:
        # no route would take a second one, and so none might pass the discipline
        first: dict[Pair, int] = {}
        for place, link in enumerate(self.links):
            if link.source == link.sink:
                raise SluiceError(f"links.{place}.sink = {link.sink} must differ from its source")
            there, back = (link.source, link.sink), (link.sink, link.source)
            for pair in (there, back) if link.both_ways else (there,):
                if (other := first.setdefault(pair, place)) != place:
                    way = " -> ".join(pair)
                    raise SluiceError(
                        f"links.{place} leads {way} as links.{other} does: "
                        "with both_ways = true a link leads back, too"
                    )
        return self

    def wires(self) -> list[Wire]:
        """All links, each direction one."""
        wires = []
        for link in self.links:
            wires.append(Wire(link.source, link.sink, link.rate_bps, link.delay_s, link.queue))
            if link.both_ways:
                wires.append(Wire(link.sink, link.source, link.rate_bps, link.delay_s))
        return wires

    def ways(self) -> dict[str, list[Pair]]:
        """None has a name."""
        return {}


Topology: TypeAlias = Dumbbell | ParkingLot | Star | Graph
