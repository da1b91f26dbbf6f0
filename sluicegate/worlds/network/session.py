"""Sessions of the network world."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, NetworkScenario, Queue, opened
from sluicegate.scenario.choice import Choice, choose
from sluicegate.worlds.network.assemble import record
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.network.simulate import describe, identity
from sluicegate.worlds.session import (
    QueueState,
    Session,
    check_retuned,
    described,
    target,
    whole,
)

_NS_PER_S = 1e9


@dataclass(frozen=True, repr=False)
class PortState:
    """The queue before a link, and the link. Counts are since the start of the run.

    Attributes:
        name: The link, as `left -> right`.
        queue: What waits before it, and what was decided.
        in_service: Whether the link sends a packet.
        rate_bps: Rate of the link.
        arrivals: Packets that arrived.
        sent: Packets whose transmission began.
        sent_bytes: Their bytes.
    """

    name: str
    queue: QueueState
    in_service: bool
    rate_bps: int
    arrivals: int
    sent: int
    sent_bytes: int

    def __repr__(self) -> str:
        service = "busy" if self.in_service else "idle"
        counts = f"{self.arrivals:,} arrived, {self.sent:,} sent"
        return f"{self.name}: {self.queue}, {counts}, {service} at {self.rate_bps:,} bits/s"


@dataclass(frozen=True, repr=False)
class FlowsState:
    """A group of flows of the scenario. Counts are since the start of the run.

    Attributes:
        kind: As in the scenario, such as `tcp`.
        label: As in the scenario; empty if it has none.
        flows: Number of its flows in the whole run.
        windows: Congestion windows of the TCP flows that have begun and not finished, packets,
            shape (F,); empty for datagrams.
        srtts_s: Their smoothed round-trip times, as TCP measures them: from a segment to the ACK
            that covers it, also if that ACK waits for a second segment. 0 before the first
            measurement; shape (F,).
        in_flight: Data packets sent and not acknowledged; None for datagrams, whose senders do not
            learn what was lost.
        delivered: Data packets acknowledged in sequence, each counted once, or datagrams received.
        delivered_bytes: Their bytes on the wire, the goodput; None for a replayed capture.
        retransmissions: Data packets sent again.
        timeouts: Expiries of retransmission timers.
    """

    kind: str
    label: str
    flows: int
    windows: NDArray[np.float64]
    srtts_s: NDArray[np.float64]
    in_flight: int | None
    delivered: int
    delivered_bytes: int | None
    retransmissions: int
    timeouts: int

    def __repr__(self) -> str:
        parts = [f"{self.flows:,} flows"]
        if len(self.windows):
            parts.append(f"{len(self.windows):,} at work, mean window {self.windows.mean():.4g}")
        if self.in_flight is not None:
            parts.append(f"{self.in_flight:,} packets in flight")
        parts.append(f"{self.delivered:,} delivered")
        return f"{self.label or self.kind}: {', '.join(parts)}"


@dataclass(frozen=True, repr=False)
class NetworkObservation:
    """What can be seen of a network at one moment: all that comes before it has happened.

    Attributes:
        now_s: The time.
        ports: Each link with a queue, in the order of the scenario's links.
        flows: Each group of flows, in the order of the scenario.
    """

    now_s: float
    ports: list[PortState]
    flows: list[FlowsState]

    def __repr__(self) -> str:
        lines = [f"at {self.now_s:g} s", *map(repr, self.ports), *map(repr, self.flows)]
        return "\n  ".join(lines)


class NetworkSession(Session[NetworkScenario]):
    """A run of one discipline in the network world that is advanced in parts.

    It is the first replication: its record is, to the bit, that of
    `simulate(scenario.replace(replications=1))`, however it is advanced and observed. For other
    replications, start sessions of other seeds.

    Attributes:
        scenario: What is run, with one replication.
        discipline: Which discipline.
    """

    def __init__(
        self,
        scenario: NetworkScenario | str | PathLike[str],
        discipline: Choice = None,
    ) -> None:
        """Start at time 0.

        Args:
            scenario: What to run, or the path of its file.
            discipline: Which discipline, itself or by its name or place; the only one if None.

        Raises:
            SluiceError: If the scenario has several disciplines and none is named, or if flows have
                no route.
        """
        opened_scenario = opened(scenario, NetworkScenario).replace(replications=1)
        super().__init__(opened_scenario, choose(opened_scenario, discipline), _AtWork)

    @property
    def now_s(self) -> float:
        """The time it has come to, seconds."""
        now_ns: int = self._call("now_ns")
        return now_ns / _NS_PER_S

    @property
    def end_s(self) -> float:
        """The time of its end: the scenario's duration."""
        return self.scenario.duration_s

    def advance(self, *, to_s: float | None = None, by_s: float | None = None) -> None:
        """Go on to a time: all that comes before it then has happened.

        Ctrl-C ends the call; the session stands where it came to and can go on. Only one with a
        user's header is then over.

        Args:
            to_s: The time, seconds since the start; not before the present, nor after the end.
            by_s: Or how many seconds from the present.

        Raises:
            SluiceError: If the time is none of these, if the session is over, if too many packets
                wait, or if an AQM returned an invalid verdict.
            Exception: Whatever a Python AQM raises; the session is then over.
        """
        now_s = self.now_s
        until_s = target(now_s, to=to_s, by=by_s, names=("to_s", "by_s"))
        now_ns, until_ns, end_ns = (round(_NS_PER_S * s) for s in (now_s, until_s, self.end_s))
        if not now_ns <= until_ns <= end_ns:
            raise SluiceError(
                f"the time to advance to, {until_s:g} s, must lie between {now_s:g} s, the "
                f"present, and {self.end_s:g} s, the end"
            )
        self._call("advance", until_ns)

    def observe(self) -> NetworkObservation:
        """What can be seen now. This does not change the run.

        Raises:
            SluiceError: If the session is over.
        """
        seen: NetworkObservation = self._call("observe")
        return seen

    def retune(
        self,
        discipline: Discipline | None = None,
        *,
        queue: Queue | None = None,
        rate_bps: float | None = None,
        link: str | None = None,
    ) -> None:
        """Go on under other settings from now on; what is None stays as it is.

        What waits stays, in its order. So does the state of the AQM (averages, probabilities) if it
        stays the same AQM, and that of a scheduler if it has the same queues; otherwise they start
        anew, as a Python AQM always does. If more waits than a new limit allows, nothing is lost by
        that alone: the queue counts as full until enough has left.

        The record says what was changed, in `run["changes"]`. The same settings change nothing.

        Args:
            discipline: AQM, parameters, scheduler, victim and marking.
            queue: The buffer.
            rate_bps: Rate of the link from its next packet on, bits/s.
            link: Name of the link, `left -> right`; every link with the compared discipline if
                None.

        Raises:
            SluiceError: If nothing is to change, if no link with a queue has that name, if the rate
                is out of range or varies by itself, if a header of your own was not among the
                disciplines at the start, or if the session is over.
        """
        check_retuned(None if self._is_beside else discipline, discipline, queue, rate_bps)
        self._call("retune", discipline, queue, rate_bps, link)

    def record(self) -> NetworkRecord:
        """Run what is left, and give the record; the session is then over.

        Raises:
            SluiceError: As `advance`.
        """
        found: NetworkRecord = self._call("record")
        return found


@dataclass(frozen=True)
class _Setting:
    """How a link with a queue is set."""

    discipline: Discipline
    queue: Queue
    rate_bps: float

    def described(self) -> dict[str, Any]:
        """Everything that matters, as types that JSON has."""
        return {**described(self.discipline, self.queue), "rate_bps": self.rate_bps}


class _AtWork:
    """The engine's session, with what its observations and record are made from."""

    def __init__(self, scenario: NetworkScenario, discipline: Discipline) -> None:
        self._scenario = scenario
        self._discipline = discipline
        self._engine = _engine.NetworkSession(scenario.handle, discipline.handle)
        self._links = [link.name for link in scenario.queued_links]
        owns = map(scenario.own_discipline, scenario.queued_links)
        self._compared = [place for place, own in enumerate(owns) if own is None]
        self._settings = list(map(self._setting, scenario.queued_links))
        self._changes: list[dict[str, Any]] = []
        self._pairs = [len(pairs) for pairs in scenario.pairs()]

    def now_ns(self) -> int:
        return self._engine.now_ns

    def advance(self, until_ns: int) -> None:
        self._engine.advance(until_ns)

    def _setting(self, link: _engine.SimplexLink) -> _Setting:
        """How the scenario has it."""
        own = self._scenario.links.get(link.name)
        discipline, queue = self._discipline, self._scenario.queue
        if own is not None:
            discipline, queue = own.discipline or discipline, own.queue or queue
        return _Setting(discipline, queue, link.rate_bps)

    def retune(
        self,
        discipline: Discipline | None,
        queue: Queue | None,
        rate_bps: float | None,
        link: str | None,
    ) -> None:
        if link is not None and link not in self._links:
            known = ", ".join(self._links)
            raise SluiceError(f"{link} is no link with a queue; there are {known}")
        places = self._compared if link is None else [self._links.index(link)]
        for place in places:
            old = self._settings[place]
            new = _Setting(
                discipline or old.discipline, queue or old.queue, rate_bps or old.rate_bps
            )
            if rate_bps is not None:
                self._engine.set_rate(place, whole(rate_bps, "rate_bps"))
            if discipline is not None or queue is not None:
                self._engine.retune(place, new.discipline.handle, new.queue)
            self._settings[place] = new
            if (described := new.described()) != old.described():
                now_s = self._engine.now_ns / _NS_PER_S
                change = {"at_s": now_s, "link": self._links[place], **described}
                self._changes.append(change)

    def observe(self) -> NetworkObservation:
        seen = self._engine.observe()
        ports = [
            PortState(
                name,
                QueueState.of(port.queue),
                port.in_service,
                port.rate_bps,
                port.arrivals,
                port.sent,
                port.sent_bytes,
            )
            for name, port in zip(self._links, seen.ports, strict=True)
        ]
        groups = iter(seen.groups)
        flows = [
            _flows(flows.kind, flows.label or "", list(islice(groups, count)))
            for flows, count in zip(self._scenario.flows, self._pairs, strict=True)
        ]
        return NetworkObservation(seen.now_ns / _NS_PER_S, ports, flows)

    def record(self) -> NetworkRecord:
        scenario, discipline = self._scenario, self._discipline
        run = describe(scenario, discipline)
        if self._changes:
            run["changes"] = self._changes
        ended = [self._engine.end()]
        return record(scenario, ended, identity=identity(run), discipline=discipline.name, run=run)


def _flows(kind: str, label: str, groups: list[_engine.GroupState]) -> FlowsState:
    """A group of flows, from its parts between each pair of nodes."""
    flights = [each.in_flight for each in groups if each.in_flight is not None]
    sizes = [each.delivered_bytes for each in groups if each.delivered_bytes is not None]
    return FlowsState(
        kind=kind,
        label=label,
        flows=sum(each.flows for each in groups),
        windows=np.concatenate([each.windows for each in groups]),
        srtts_s=np.concatenate([each.srtts_ns for each in groups]) / _NS_PER_S,
        in_flight=sum(flights) if flights else None,
        delivered=sum(each.delivered for each in groups),
        delivered_bytes=sum(sizes) if sizes else None,
        retransmissions=sum(each.retransmissions for each in groups),
        timeouts=sum(each.timeouts for each in groups),
    )
