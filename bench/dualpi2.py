"""Compares DualPI2 in three worlds: network, our qdisc (kernel), Linux's own (twin), by class.

`run` makes the runs that are missing, cell after cell with the first seed, then with the next one.
Each is kept as a line of `bench/dualpi2.jsonl`, so the command can be interrupted and started
again. `page` writes the tables into the page of the documentation.

    .venv/bin/python bench/dualpi2.py run --seeds 10
    .venv/bin/python bench/dualpi2.py page
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import agreement
import numpy as np
from gate_truth import TCP
from numpy.typing import NDArray

import sluicegate as sg
from sluicegate.errors import SluiceError
from sluicegate.estimate import student
from sluicegate.lab import kernel
from sluicegate.lab.testbed import LabTestbed
from sluicegate.report.text import measure_text
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.addresses import FIRST_PORT
from sluicegate.testbed.outcome import Outcome
from sluicegate.worlds import Kernel, Twin
from sluicegate.worlds.kernel.begun import begun
from sluicegate.worlds.kernel.plan import lab_plan, modules_of_flows
from sluicegate.worlds.kernel.prague import with_prague
from sluicegate.worlds.kernel.seen import LinkSeen, sources
from sluicegate.worlds.real.plan import Plan
from sluicegate.worlds.real.varying import LINK, rates

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "bench" / "dualpi2.jsonl"
PAGE = ROOT / "docs" / "background" / "dualpi2.md"
MARKERS = ("<!-- table: begin -->", "<!-- table: end -->")
AGREEMENT = ("<!-- agreement: begin -->", "<!-- agreement: end -->")
WORLDS = {"network": "network", "kernel": "our qdisc", "twin": "Linux's own"}
DURATION_S, WARM_UP_S = 6.0, 2.0
PACKET_BYTES, ACK_BYTES = 1500, 52
# what a packet takes in the laboratory's hosts
LAB_PACKET_S = 10e-6
_NS_PER_S, _CE, _TCP = 1e9, 3, 6
# packets of the last part of a run may still be on their way
_REST_NS = 500_000_000
# by class: heading and factor
BY_CLASS: dict[str, tuple[str, float]] = {
    "sojourn_mean": ("sojourn, ms", 1e3),
    "sojourn_p99": ("p99, ms", 1e3),
    "loss_ratio": ("lost, %", 100),
    "mark_ratio": ("marked, %", 100),
    "goodput_bps": ("goodput, Mbit/s", 1e-6),
}
WHOLE: dict[str, tuple[str, float]] = {
    "queue_mean": ("queue, packets", 1),
    "loss_ratio": ("lost, %", 100),
    "mark_ratio": ("marked, %", 100),
}


@dataclass(frozen=True)
class Cell:
    """One case: the link, the flows of each kind, and unresponsive datagrams.

    Attributes:
        name: For the page.
        rate_mbps: Of the link.
        each: Flows with ECT(1), and CUBIC flows without ECN.
        l4s: Congestion control of those with ECT(1).
        classic: Whether there are CUBIC flows.
        steps: Other rates of the link, each with the time, s, from which on it has it, Mbit/s.
        datagrams: Codepoint of the datagrams; None: there are none.
        datagrams_mbps: How much of them.
    """

    name: str
    rate_mbps: float
    each: int
    datagrams: str | None = None
    datagrams_mbps: float = 0.0
    l4s: str = "dctcp"
    classic: bool = True
    steps: tuple[tuple[float, float], ...] = ()

    def scenario(self, seed: int) -> NetworkScenario:
        """The scenario, with one replication."""
        flows = [self._tcp("classic", "cubic", False)] if self.classic else []
        flows.append(self._tcp("l4s", self.l4s, True))
        if self.datagrams is not None:
            flows.append(
                {
                    "kind": "datagrams",
                    "label": "datagrams",
                    "rate_bps": self.datagrams_mbps * 1e6,
                    "packet_bytes": PACKET_BYTES,
                    "gaps": "exponential",
                    "ecn": self.datagrams != "Not-ECT",
                    "ect1": self.datagrams == "ECT(1)",
                }
            )
        steps = [{"time_s": time_s, "rate_bps": mbps * 1e6} for time_s, mbps in self.steps]
        varying = {"links": {LINK: {"rate": {"kind": "steps", "steps": steps}}}} if steps else {}
        return NetworkScenario.parse(
            varying
            | {
                "topology": {
                    "kind": "dumbbell",
                    "rate_bps": self.rate_mbps * 1e6,
                    "delay_s": 0.008,
                    "client_delays_s": [0.001],
                    "server_delay_s": 0.001,
                    # in the laboratory the links to the router have no rate
                    "access_rate_bps": 1e10,
                },
                "flows": flows,
                "queue": {"limit": 2000, "ecn": True},
                "disciplines": [{"aqm": "dualpi2"}],
                "duration_s": DURATION_S,
                "warm_up_s": WARM_UP_S,
                "replications": 1,
                "seed": seed,
            }
        )

    def _tcp(self, label: str, control: str, l4s: bool) -> dict[str, Any]:
        sizes = {"packet_bytes": PACKET_BYTES, "ack_bytes": ACK_BYTES}
        tcp = {**TCP, **sizes, "congestion_control": control, "ecn": l4s}
        spread = {"count": self.each, "spread_s": 1.0, "ect1": l4s}
        return {"kind": "tcp", "label": label, **spread, "tcp": tcp}


CELLS = [
    Cell("40 Mbit/s, 10 CUBIC and 10 DCTCP", 40, 10),
    Cell("40 Mbit/s, 50 CUBIC and 50 DCTCP", 40, 50),
    Cell("100 Mbit/s, 10 CUBIC and 10 DCTCP", 100, 10),
    *(
        Cell(f"40 Mbit/s, 2 CUBIC, 2 DCTCP and 30 Mbit/s of {each}", 40, 2, each, 30)
        for each in ("Not-ECT", "ECT(0)", "ECT(1)")
    ),
    *(
        Cell(f"40 Mbit/s, 2 CUBIC, 2 DCTCP and 60 Mbit/s of {each}", 40, 2, each, 60)
        for each in ("Not-ECT", "ECT(0)", "ECT(1)")
    ),
    Cell("40 Mbit/s, 2 Prague", 40, 2, l4s="prague", classic=False),
    Cell("40 Mbit/s, 2 CUBIC and 2 Prague", 40, 2, l4s="prague"),
    Cell("40 Mbit/s, 10 CUBIC and 10 Prague", 40, 10, l4s="prague"),
    Cell(
        "40 Mbit/s, from 3 to 4.5 s 20 Mbit/s, 2 CUBIC and 2 Prague",
        40,
        2,
        l4s="prague",
        steps=((3.0, 20), (4.5, 40)),
    ),
]


def measure(cell: Cell, world: str, seed: int) -> dict[str, Any]:
    """Make one run; return its line."""
    scenario = cell.scenario(seed)
    found = in_network(scenario) if world == "network" else in_lab(scenario, world, seed)
    return {"cell": cell.name, "world": world, "seed": seed, **found}


def in_network(scenario: NetworkScenario) -> dict[str, float]:
    """Return the measures of the network world, on a path like the laboratory's.

    There an idle link hands a packet on as its transmission begins, so that the shortest round trip
    lacks the transmission of a packet and of its ACK; where the rate varies our qdisc keeps the
    packet, as a link does. And packets that are sent at once reach the queue 10 us apart, which is
    how long the emulated processor takes for one, at both ends: the round trip is 20.02 ms in both.
    """
    path = scenario.topology
    earlier = ACK_BYTES + (0 if scenario.links else PACKET_BYTES)
    earlier_s = 8 * earlier / path.rate_bps
    like = path.replace(
        delay_s=path.delay_s - earlier_s / 2, access_rate_bps=8 * PACKET_BYTES / LAB_PACKET_S
    )
    record = sg.compare(scenario.replace(topology=like), world="network", threads=1).records[0]
    names = [*WHOLE, *(f"{label}.{name}" for label in labels(scenario) for name in BY_CLASS)]
    return {name: record[name].value for name in names}


def labels(scenario: NetworkScenario) -> list[str]:
    """Return the names of the classes."""
    return list(dict.fromkeys(scenario.classes()))


def in_lab(scenario: NetworkScenario, world: str, seed: int) -> dict[str, float | None]:
    """Return the measures of a run in the laboratory."""
    (discipline,) = scenario.disciplines
    own = (Kernel() if world == "kernel" else Twin()).layer(scenario, discipline)(seed)
    layer = with_prague(own, scenario, None)
    modules = [*layer.modules, *modules_of_flows(scenario, None), "tcp_cubic", "tcp_dctcp"]
    bed = LabTestbed.of(kernel.ready(), programs=layer.programs, modules=modules)
    planned = lab_plan(scenario, discipline, 0, layer, None)
    outcome = bed.run(planned.job, seed=seed, ended=threading.Event())
    varying = rates(scenario)
    if layer.keeps and varying is not None:
        seen_begun = begun(outcome.seen[0], varying, outcome.start_ns)
        outcome = replace(outcome, seen=[seen_begun])
    since_ns, until_ns = judged_ns(scenario, outcome)
    seen = LinkSeen(
        outcome.seen[0],
        layer.marks_behind,
        keeps=layer.keeps,
        rates=varying,
        start_ns=outcome.start_ns,
    )
    tally = seen.tally(since_ns, until_ns, scenario.topology.rate_bps)
    whole = {
        "queue_mean": float(np.average(np.arange(len(tally.queue)), weights=tally.queue)),
        "loss_ratio": sum(tally.verdicts[1:4]) / tally.arrivals,
        "mark_ratio": tally.verdicts[4] / tally.arrivals,
    }
    classes = by_class(scenario, planned, outcome, marks_seen=not layer.marks_behind)
    return {**whole, **classes}


def judged_ns(scenario: NetworkScenario, outcome: Outcome) -> tuple[int, int]:
    """Return begin and end of what is judged, as the times of the outcome."""
    ends_s = scenario.warm_up, scenario.duration_s
    since_ns, until_ns = (outcome.start_ns + round(end_s * _NS_PER_S) for end_s in ends_s)
    return since_ns, until_ns


def by_class(
    scenario: NetworkScenario, plan: Plan, outcome: Outcome, *, marks_seen: bool
) -> dict[str, float | None]:
    """Return the measures of each class after the warm-up, from the packets seen at the router."""
    (seen,) = outcome.seen
    class_of = class_of_each(scenario, plan, seen.came)
    origin = sources(seen)
    since_ns, until_ns = judged_ns(scenario, outcome)
    came_ns, left_ns = seen.came["time_ns"], seen.left["time_ns"]
    arrived = (came_ns >= since_ns) & (came_ns < until_ns - _REST_NS)
    gone = np.zeros(len(seen.came), dtype=bool)
    gone[origin] = True
    left = (left_ns >= since_ns) & (left_ns < until_ns)
    marked = (seen.left["tos"] & _CE == _CE) & (seen.came["tos"][origin] & _CE != _CE)
    sojourn_s = (left_ns - came_ns[origin]) / _NS_PER_S
    found: dict[str, float | None] = {}
    for number, label in enumerate(labels(scenario)):
        own, sent = arrived & (class_of == number), left & (class_of[origin] == number)
        own_measures = {
            # none left, if the class starves
            "sojourn_mean": float(sojourn_s[sent].mean()) if sent.any() else None,
            "sojourn_p99": float(np.quantile(sojourn_s[sent], 0.99)) if sent.any() else None,
            "loss_ratio": float(1 - gone[own].mean()),
            # of all that arrived, as in the network world
            "mark_ratio": marked[sent].mean() * gone[own].mean()
            if marks_seen and sent.any()
            else None,
            "goodput_bps": goodput_bps(scenario, plan, outcome, label),
        }
        found |= {f"{label}.{name}": value for name, value in own_measures.items()}
    return found


def class_of_each(
    scenario: NetworkScenario, plan: Plan, packets: NDArray[np.void]
) -> NDArray[np.int64]:
    """Return the number of the class of each packet of the clients, by its protocol and port."""
    number = {label: place for place, label in enumerate(labels(scenario))}
    of_group = [number[label] for label in scenario.classes()]
    place = (packets["ports"] >> 16).astype(np.int64) - FIRST_PORT
    is_tcp = packets["protocol"] == _TCP
    # hosts have one side: a flow's place there is its place among all
    tcp = np.array([of_group[group] for group in plan.groups], dtype=np.int64)
    udp = np.array([of_group[group] for group in plan.datagram_groups], dtype=np.int64)
    found = np.empty(len(packets), dtype=np.int64)
    found[is_tcp] = tcp[place[is_tcp]]
    if len(udp):
        found[~is_tcp] = udp[place[~is_tcp]]
    return found


def goodput_bps(scenario: NetworkScenario, plan: Plan, outcome: Outcome, label: str) -> float:
    """Return what of a class arrived after the warm-up, headers included, each packet once."""
    clients, servers = outcome.hosts
    info_ns = plan.job.hosts[0].info_ns
    first = round(scenario.warm_up * _NS_PER_S) // info_ns
    names = scenario.classes()
    bits = 0.0
    for place, group in enumerate(plan.groups):
        if names[group] == label:
            payload = clients.sent.streams[place].payload or 1
            packets = servers.received.stream_bytes[place][first:].sum() / payload
            bits += 8 * packets * plan.job.hosts[0].streams[place].packet_bytes
    for flows in scenario.flows:
        # there is one group of datagrams at the most
        if flows.label == label and flows.kind == "datagrams":
            sample_ns = plan.job.hosts[0].sample_ns
            skipped = round(scenario.warm_up * _NS_PER_S) // sample_ns
            received = float(servers.received.sampled_datagrams[skipped:].sum())
            bits += 8 * (flows.packet_bytes or 0) * received
    return bits / (scenario.duration_s - scenario.warm_up)


def kept() -> list[dict[str, Any]]:
    """Return all runs so far."""
    return [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []


def run(worlds: Sequence[str], seeds: Sequence[int], only: Sequence[str], at_once: int) -> None:
    """Make the runs that are missing."""
    have = {(line["cell"], line["world"], line["seed"]) for line in kept()}
    wanted = [
        (cell, world, seed)
        for seed in seeds
        for cell in CELLS
        for world in worlds
        if (cell.name, world, seed) not in have
        and (not only or any(text in cell.name for text in only))
    ]
    print(f"{len(wanted)} runs are missing", flush=True)
    with ThreadPoolExecutor(at_once) as pool:
        doing = {pool.submit(measure, *each): each for each in wanted}
        for count, done in enumerate(as_completed(doing), 1):
            cell, world, seed = doing[done]
            name = f"{count}/{len(wanted)} {cell.name} ({world}, seed {seed})"
            try:
                found = done.result()
            except SluiceError as error:
                print(f"{name}: {error}", file=sys.stderr, flush=True)
                continue
            with KEPT.open("a") as file:
                file.write(json.dumps(found) + "\n")
            print(f"{name}: queue {found['queue_mean']:.4g}", flush=True)


def table(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the Markdown tables: for each cell one by class, and the whole queue."""
    for cell in CELLS:
        own = [line for line in lines if line["cell"] == cell.name]
        if not own:
            continue
        yield f"\n### {cell.name}\n"
        headings = [heading for heading, _ in BY_CLASS.values()]
        yield f"| class | where | {' | '.join(headings)} | seeds |"
        yield f"|---|---|{'---:|' * len(headings)}---:|"
        for label in labels(cell.scenario(1)):
            for world in WORLDS:
                yield from row(
                    label, world, own, {f"{label}.{n}": f for n, (_, f) in BY_CLASS.items()}
                )
        headings = [heading for heading, _ in WHOLE.values()]
        yield f"\n| both | where | {' | '.join(headings)} | seeds |"
        yield f"|---|---|{'---:|' * len(headings)}---:|"
        for world in WORLDS:
            yield from row("all", world, own, {name: factor for name, (_, factor) in WHOLE.items()})


def row(
    label: str, world: str, lines: Sequence[Mapping[str, Any]], names: Mapping[str, float]
) -> Iterator[str]:
    own = [line for line in lines if line["world"] == world]
    if own:
        texts = [_text([line[name] for line in own], factor) for name, factor in names.items()]
        yield f"| {label} | {WORLDS[world]} | {' | '.join(texts)} | {len(own)} |"


def _text(values: Sequence[float | None], factor: float) -> str:
    """Return a mean with its interval; a dash for what is not known."""
    known = [value for value in values if value is not None]
    return measure_text(student(known).times(factor), digits=3) if known else "-"


def names() -> dict[str, str]:
    """Return how measures are called, by the last part of their names."""
    return {name: heading.partition(",")[0] for name, (heading, _) in (BY_CLASS | WHOLE).items()}


def write(page: Path, lines: Sequence[Mapping[str, Any]], tables: Iterator[str]) -> None:
    """Write what agrees, and the tables, into a page."""
    text = page.read_text()
    beside = {world: heading for world, heading in WORLDS.items() if world != "network"}
    agreeing = agreement.table(lines, names(), beside)
    for markers, own in ((AGREEMENT, agreeing), (MARKERS, tables)):
        before, after = text.partition(markers[0])[0], text.partition(markers[1])[2]
        text = f"{before}{markers[0]}\n" + "\n".join(own) + f"\n\n{markers[1]}{after}"
    page.write_text(text)


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--only", nargs="*", default=[], help="names of cells contain one of these")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--at-once", type=int, default=1, help="runs at the same time")
    given = parser.parse_args()
    if given.what == "page":
        write(PAGE, kept(), table(kept()))
    else:
        run(given.worlds, range(given.first, given.seeds + 1), given.only, given.at_once)


if __name__ == "__main__":
    main()
