"""The packets of a run in a file, as the network world writes them.

`.pcapng` is a capture of what the links with the discipline sent, at the start of each
transmission. `.tr` is a trace of ns-2: a line as a packet comes to such a link (`+`), as its
transmission begins (`-`), and for one that never left (`d`). When that one was dropped is not seen:
the line stands at its arrival. Both end with the run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sluicegate._engine import SimplexLink
from sluicegate.errors import SluiceError
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.addresses import (
    CALL_PORT,
    DATAGRAM_PORT,
    DCTCP_PORT,
    FIRST_CALL_PORT,
    FIRST_PORT,
    SIDES,
    STREAM_PORT,
    Side,
    across,
)
from sluicegate.testbed.job import QdiscJob
from sluicegate.testbed.outcome import Outcome, Seen
from sluicegate.testbed.packets import HEADER_BYTES
from sluicegate.worlds.kernel.seen import sources
from sluicegate.worlds.real.hosts import hosts
from sluicegate.worlds.real.plan import Plan

_SUFFIXES = (".tr", ".pcapng")
_NS_PER_S = 1_000_000_000
# blocks and options of pcapng, and the link type of packets that begin with their IP header
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_IF_NAME, _IF_SPEED, _IF_TSRESOL = 2, 8, 9
_LINKTYPE_RAW = 101
_TCP = 6
# of TCP's header, within the packet: sequence number, that acknowledged, flags
_NUMBERS, _FLAGS = slice(24, 32), 33
_ECE, _CWR = 0x40, 0x80
_NUMBERS_ARE_BELOW = 1 << 32
_ECT, _CE = 3, 3


def check_suffix(path: Path) -> None:
    """Refuse a file whose name does not say what to write.

    Raises:
        SluiceError: If it does not.
    """
    if path.suffix not in _SUFFIXES:
        raise SluiceError(f"{path} must end with .tr (ns-2's trace) or .pcapng")


def write_packets(path: Path, scenario: NetworkScenario, plan: Plan, outcome: Outcome) -> None:
    """Write what was seen, with the packets' headers, to a file of that suffix.

    Raises:
        SluiceError: If the suffix is another, or if the file cannot be written.
    """
    check_suffix(path)
    links = scenario.queued_links
    try:
        if path.suffix == ".tr":
            path.write_text(_trace(scenario, links, plan, outcome))
        else:
            path.write_bytes(_capture(links, outcome, plan.job.hosts[0].duration_ns))
    except OSError as error:
        raise SluiceError(f"{path}: {error.strerror}") from None


def _capture(links: list[SimplexLink], outcome: Outcome, duration_ns: int) -> bytes:
    blocks = [_block(_SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for link in links:
        name = f"{link.source} -> {link.sink}".encode()
        options = [(_IF_NAME, name), (_IF_SPEED, struct.pack("<Q", round(link.rate_bps)))]
        options += [(_IF_TSRESOL, bytes([9])), (0, b"")]
        body = struct.pack("<HHI", _LINKTYPE_RAW, 0, HEADER_BYTES)
        blocks.append(_block(_INTERFACE, body + b"".join(_option(*each) for each in options)))
    # of all links together in the order of time
    left = [
        (int(row["time_ns"]) - outcome.start_ns, interface, row)
        for interface, each in enumerate(outcome.seen)
        for row in each.left
    ]
    for since_ns, interface, row in sorted(left, key=lambda each: each[0]):
        if since_ns >= duration_ns:
            break
        kept = row["headers"].tobytes()[: row["bytes"]]
        head = (interface, since_ns >> 32, since_ns & 0xFFFFFFFF, len(kept), row["bytes"])
        blocks.append(_block(_PACKET, struct.pack("<IIIII", *head) + kept))
    return b"".join(blocks)


def _block(kind: int, body: bytes) -> bytes:
    length = 12 + len(body) + -len(body) % 4
    return struct.pack("<II", kind, length) + _padded(body) + struct.pack("<I", length)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)


def _trace(
    scenario: NetworkScenario, links: list[SimplexLink], plan: Plan, outcome: Outcome
) -> str:
    assert isinstance(plan.job.router, QdiscJob)
    lines: list[tuple[int, str]] = []
    first_id = 0
    for link, towards, seen in zip(links, plan.job.router.towards, outcome.seen, strict=True):
        nodes = [scenario.topology.nodes.index(name) for name in (link.source, link.sink)]
        way = "{} {}".format(*nodes)
        flows = _FlowsOf(scenario, plan, outcome, towards)
        lines += _lines(seen, way, flows, first_id, outcome.start_ns)
        first_id += len(seen.came)
    # of one time as they are: a packet comes before it leaves
    lines.sort(key=lambda line: line[0])
    end_ns = plan.job.hosts[0].duration_ns
    return "".join(text for since_ns, text in lines if since_ns < end_ns)


def _lines(
    seen: Seen, way: str, flows: _FlowsOf, first_id: int, start_ns: int
) -> Iterator[tuple[int, str]]:
    """Time and text of each line of a link."""
    source = sources(seen)
    told = [flows.of(row) for row in seen.came]

    def line(step: str, row: np.void, place: int) -> tuple[int, str]:
        time_ns = int(row["time_ns"]) - start_ns
        packet = told[place]
        when = f"{time_ns // _NS_PER_S}.{time_ns % _NS_PER_S:09}"
        flags = _flags(row)
        return time_ns, (
            f"{step} {when} {way} {packet.kind} {row['bytes']} {flags} {packet.flow} "
            f"{packet.ends} {packet.number} {first_id + place}\n"
        )

    left = np.zeros(len(seen.came), dtype=np.bool_)
    left[source] = True
    # the last of each flow that left: what came before it and did not leave is lost
    last: dict[int, int] = {}
    for place in np.flatnonzero(left).tolist():
        last[told[place].flow] = place
    for place, row in enumerate(seen.came):
        yield line("+", row, place)
        if not left[place] and place < last.get(told[place].flow, -1):
            yield line("d", row, place)
    for place, row in zip(source.tolist(), seen.left, strict=True):
        yield line("-", row, place)


def _flags(row: np.void) -> str:
    """As the network world's: echo of a mark, window reduced, mark, and ECN understood."""
    tcp = row["headers"][_FLAGS] if row["protocol"] == _TCP else 0
    ecn = row["tos"] & _ECT
    return "{}--{}{}-{}".format(
        "C" if tcp & _ECE else "-",
        "A" if tcp & _CWR else "-",
        "E" if ecn == _CE else "-",
        "N" if ecn else "-",
    )


@dataclass(frozen=True)
class _Told:
    """What a trace tells of a packet."""

    kind: str
    flow: int
    ends: str
    number: int


class _FlowsOf:
    """The flows whose packets come to a link."""

    def __init__(
        self, scenario: NetworkScenario, plan: Plan, outcome: Outcome, towards: Side
    ) -> None:
        self._towards = towards
        nodes = scenario.topology.nodes
        self._nodes = {place: nodes.index(name) for name, place in hosts(scenario).items()}
        self._plan = plan
        self._streams = {place: flow for flow, place in enumerate(plan.streams)}
        first = len(plan.streams)
        self._datagrams = {place: first + flow for flow, place in enumerate(plan.datagrams)}
        self._outcome = dict(zip(SIDES, outcome.hosts, strict=True))
        # sequence number of each flow's SYN, and how many datagrams came
        self._begun: dict[int, int] = {}

    def of(self, row: np.void) -> _Told:
        """Of a packet; they are asked of in the order in which they came."""
        ports = int(row["ports"])
        source, sink = ports >> 16, ports & 0xFFFF
        back = source in (STREAM_PORT, DCTCP_PORT, CALL_PORT)
        side = self._towards if back else across(self._towards)
        of_call = CALL_PORT in (source, sink)
        number = (sink if back else source) - (FIRST_CALL_PORT if of_call else FIRST_PORT)
        job = self._plan.job.hosts[SIDES.index(side)]
        if of_call or sink == DATAGRAM_PORT:
            flow = self._datagrams[side, number]
            ends = job.datagrams.sources[number], job.datagrams.sinks[number]
            kind, count = "udp", self._begun.get(flow, 0)
            self._begun[flow] = count + 1
        else:
            flow = self._streams[side, number]
            ends = job.streams[number].source, job.streams[number].sink
            payload = self._outcome[side].sent.streams[number].payload or 1
            count = self._in_packets(flow, row["headers"], back, payload)
            kind = "ack" if back else "tcp"
        nodes = self._nodes[side, ends[0]], self._nodes[across(side), ends[1]]
        here, there = reversed(nodes) if back else nodes
        return _Told(kind, flow, f"{here}.{source} {there}.{sink}", count)

    def _in_packets(self, flow: int, headers: NDArray[np.uint8], back: bool, payload: int) -> int:
        """A sequence number, counted in packets from the SYN on, which has 0.

        That of an ACK is of the last packet that came in its turn.
        """
        sent, acknowledged = struct.unpack("!II", headers[_NUMBERS].tobytes())
        # what is acknowledged is what comes next
        number = acknowledged - 1 if back else sent
        since = (number - self._begun.setdefault(flow, number)) % _NUMBERS_ARE_BELOW
        return int(-(-since // payload))
