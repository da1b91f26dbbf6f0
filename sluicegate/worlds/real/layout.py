"""How a scenario lies in a testbed: as a dumb-bell, or as one behind a further link.

A testbed has clients, one router or two in a row, and servers. Its links have a rate where they
have a queue; all others only take their time.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, TypeAlias

from sluicegate._engine import SimplexLink
from sluicegate.errors import SluiceError
from sluicegate.scenario import (
    Discipline,
    Dumbbell,
    LinkSettings,
    NetworkScenario,
    Rate,
    RateStep,
    Steps,
)
from sluicegate.worlds.real.varying import BACK, LINK

# where a link with a queue leads: from the first router of two to the second, or to a side
Towards: TypeAlias = Literal["second", "servers", "clients"]
_Way: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """Where the links of a scenario are.

    Attributes:
        scenario: A dumb-bell: the scenario, or its nearest likeness in a testbed.
        discipline: Before its bottleneck.
        first: A dumb-bell whose bottleneck is the link before that one, and what stands before it;
            None: there is no such link.
        around: Places of the clients whose packets do not cross that link.
        names: Names of the links with a queue, by where they lead.
    """

    scenario: NetworkScenario
    discipline: Discipline
    first: tuple[NetworkScenario, Discipline] | None = None
    around: Sequence[int] = ()
    names: Mapping[Towards, str] = field(default_factory=dict)

    @property
    def dumbbells(self) -> list[NetworkScenario]:
        """All of them."""
        return [self.scenario, *([self.first[0]] if self.first else [])]

    def told(self, why: str) -> str:
        """What is said of the links of its dumb-bell, with the names of the scenario."""
        return _renamed(
            why, {LINK: self.names.get("servers", LINK), BACK: self.names.get("clients", BACK)}
        )

    def told_of_first(self, why: str) -> str:
        """Likewise of the dumb-bell of the first link."""
        return _renamed(why, {LINK: self.names.get("second", LINK)})


def layout(scenario: NetworkScenario, discipline: Discipline) -> Layout:
    """Where the links of a scenario are, if a discipline is the compared one.

    Raises:
        SluiceError: If no testbed can have them, with the reasons, a line each.
    """
    queued = scenario.queued_links
    if isinstance(scenario.topology, Dumbbell):
        ways: tuple[Towards, Towards] = ("servers", "clients")
        names = {way: link.name for way, link in zip(ways, queued, strict=False)}
        return Layout(scenario, discipline, names=names)
    return _Row(scenario, discipline).layout()


class _Row:
    """A scenario that is no dumb-bell."""

    def __init__(self, scenario: NetworkScenario, discipline: Discipline) -> None:
        self._scenario, self._discipline = scenario, discipline
        self._links = {link.name: link for link in scenario.topology.simplex_links}
        ends = ((link.source, link.sink) for link in self._links.values())
        self._nodes = list(dict.fromkeys(chain.from_iterable(ends)))
        self._queued = [link.name for link in scenario.queued_links]
        if problems := list(self._of_groups()) or list(self._of_links()):
            raise SluiceError("\n".join(problems))
        # ends of the groups, the client first, in the order of their places
        self._ends = list(dict.fromkeys(map(self._client_first, range(len(scenario.flows)))))

    def _of_groups(self) -> Iterator[str]:
        """Groups that no testbed can have; finds the queues there, in a row, and that back."""
        self._pairs: list[tuple[str, str]] = []
        for number, pairs in enumerate(self._scenario.pairs()):
            if len(pairs) != 1:
                yield (
                    f"flows.{number}: {len(pairs)} pairs of hosts must be one, given by source and "
                    "sink, where the topology is no dumbbell"
                )
            self._pairs.append(pairs[0])
        ways = [(self._way(*ends), self._way(*reversed(ends))) for ends in self._pairs]
        longest = max([each for both in ways for each in both], key=len)
        if len(longest) > 2:
            yield (
                f"topology: {len(longest)} queues in a row must be at most two: "
                f"{', '.join(longest)} (the world network has any number)"
            )
            return
        # if none crosses two, the first group's packets go there
        self._there = longest if len(longest) == 2 else ways[0][0]
        further = [each for both in ways for each in both if not {*each} <= {*self._there}]
        self._back = next(iter(further), ())
        if len(self._back) > 1:
            yield (
                "topology: two queues in a row must be in one direction: "
                f"{', '.join(self._there)}, and {', '.join(self._back)} back (the world network "
                "has any number)"
            )
            return
        for number, (there, back) in enumerate(ways):
            if not there:
                yield f"flows.{number}: they must cross a link with a queue"
            elif not (self._is_there(there, back) or self._is_there(back, there)):
                crossed = " and ".join(", ".join(way) or "no queue" for way in (there, back))
                yield (
                    f"flows.{number}: they cross {crossed} on their way back, which must be "
                    f"{', '.join(self._there)}, or the last of these, and "
                    f"{', '.join(self._back) or 'no queue'}: two routers stand in a row there"
                )

    def _is_there(self, there: _Way, back: _Way) -> bool:
        """Whether who crosses these links is a client."""
        return there in (self._there, self._there[-1:]) and back == self._back

    def _of_links(self) -> Iterator[str]:
        """Links that no testbed can have."""
        crossed = [*self._there, *self._back]
        if unused := [name for name in self._queued if name not in crossed]:
            yield f"topology: no flow crosses {', '.join(unused)}, which must have no queue"
        for name, own in self._scenario.links.items():
            if name not in crossed:
                for given in own.table():
                    yield (
                        f'links."{name}".{given} must be left out: in a testbed only links with a '
                        "queue have a rate or a wire (the world network has others)"
                    )

    def _route(self, source: str, sink: str) -> list[SimplexLink]:
        """The shortest one, as the engine takes it (engine/network/src/topology.rs: routes_from).

        Least delay, in whole ns, then fewest links, then the node that the links name first.
        """
        leaving: dict[str, list[SimplexLink]] = {}
        for link in self._links.values():
            leaving.setdefault(link.source, []).append(link)
        best, last = {source: (0, 0)}, dict[str, SimplexLink]()
        near = [(0, 0, self._nodes.index(source))]
        while near:
            delay_ns, count, node = heapq.heappop(near)
            for link in leaving.get(self._nodes[node], []):
                length = (delay_ns + round(link.delay_s * 1e9), count + 1)
                if link.sink not in best or length < best[link.sink]:
                    best[link.sink], last[link.sink] = length, link
                    heapq.heappush(near, (*length, self._nodes.index(link.sink)))
        found: list[SimplexLink] = []
        while sink != source and sink in last:
            found.append(last[sink])
            sink = last[sink].source
        return found[::-1]

    def _way(self, source: str, sink: str) -> _Way:
        """The links with a queue on the way."""
        return tuple(link.name for link in self._route(source, sink) if link.queue)

    def _client_first(self, number: int) -> tuple[str, str]:
        source, sink = self._pairs[number]
        is_there = self._is_there(self._way(source, sink), self._way(sink, source))
        return (source, sink) if is_there else (sink, source)

    def layout(self) -> Layout:
        """Likewise."""
        *before, last = self._there
        scenario, discipline = self._behind(last), self._before(last)
        names: dict[Towards, str] = {"servers": last}
        first = None
        if before:
            names["second"] = before[0]
            first = self._behind(before[0]), self._before(before[0])
        links = dict(scenario.links)
        assert isinstance(scenario.topology, Dumbbell)
        if back := self._with_back(scenario.topology.rate_bps):
            links[BACK] = back
        if self._back:
            names["clients"] = self._back[0]
            scenario = scenario.replace({"topology.two_way": True})
        around = [place for place, ends in enumerate(self._ends) if self._way(*ends) != self._there]
        return Layout(scenario.replace(links=links), discipline, first, around, names)

    def _before(self, name: str) -> Discipline:
        """What stands before a link."""
        own = self._scenario.links.get(name, LinkSettings())
        return own.discipline or self._discipline

    def _behind(self, name: str) -> NetworkScenario:
        """The dumb-bell of all flows whose bottleneck is a link."""
        own = self._scenario.links.get(name, LinkSettings())
        rate_bps, rate = constant(self._links[name].rate_bps, own)
        ways = [
            [sum(link.delay_s for link in self._route(*way)) for way in (ends, ends[::-1])]
            for ends in self._ends
        ]
        flows = []
        for number, each in enumerate(self._scenario.flows):
            ends = self._client_first(number)
            place = self._ends.index(ends)
            hosts = [f"client{place}", f"server{place}"]
            source, sink = hosts if ends == self._pairs[number] else reversed(hosts)
            flows.append(each.replace(route=None, source=source, sink=sink))
        return self._scenario.replace(
            topology=Dumbbell(
                rate_bps=rate_bps,
                delay_s=0.0,
                client_delays_s=[sum(both) / 2 for both in ways],
                server_delay_s=0.0,
            ),
            flows=flows,
            links={LINK: LinkSettings(queue=own.queue, rate=rate, wire=own.wire)},
            disciplines=[self._before(name)],
        )

    def _with_back(self, rate_bps: float) -> LinkSettings | None:
        """What the way back has of its own in a dumb-bell with a rate; None: nothing."""
        if not self._back:
            # acknowledgements take no time on a link that is faster than the queue's
            ways = [self._route(sink, source) for source, sink in self._ends]
            back_bps = min([rate_bps, *(link.rate_bps for way in ways for link in way)])
            return LinkSettings(rate=_steady(back_bps)) if back_bps != rate_bps else None
        name = self._back[0]
        own = self._scenario.links.get(name, LinkSettings())
        back_bps = self._links[name].rate_bps
        rate = _steady(back_bps) if own.rate is None and back_bps != rate_bps else own.rate
        chosen = self._before(name)
        same = chosen == self._before(self._there[-1])
        return LinkSettings(
            discipline=None if same else chosen, queue=own.queue, rate=rate, wire=own.wire
        )


def _renamed(why: str, names: Mapping[str, str]) -> str:
    """With other names of links, in one pass: a name may be that of another one."""
    return re.sub("|".join(map(re.escape, names)), lambda found: names[found[0]], why)


def _steady(rate_bps: float) -> Steps:
    return Steps(steps=[RateStep(time_s=0.0, rate_bps=rate_bps)])


def constant(rate_bps: float, own: LinkSettings) -> tuple[float, Rate | None]:
    """The rate of a link, and how it varies, which it does not from one step at the start on."""
    if isinstance(own.rate, Steps) and [each.time_s for each in own.rate.steps] == [0.0]:
        return own.rate.steps[0].rate_bps, None
    return rate_bps, own.rate
