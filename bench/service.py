"""Compares classes of service in three worlds: network, our qdisc (kernel), Linux's own (twin).

As `dualpi2.py`, whose measures these are: `run` makes the runs that are missing and keeps each as a
line of `bench/service.jsonl`; `page` writes the tables into the page of the documentation.

    .venv/bin/python bench/service.py run --seeds 10
    .venv/bin/python bench/service.py page
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dualpi2 import (
    ACK_BYTES,
    BY_CLASS,
    PACKET_BYTES,
    WHOLE,
    WORLDS,
    in_lab,
    in_network,
    labels,
    row,
    write,
)
from gate_truth import TCP

from sluicegate.errors import SluiceError
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds import world as world_class

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "bench" / "service.jsonl"
PAGE = ROOT / "docs" / "background" / "classes.md"
DURATION_S, WARM_UP_S = 20.0, 5.0

# a weight and a packet size that Linux has, too
_AVERAGE = {"w": 2**-9, "mean_packet_bytes": 1500}
_RED = {"min_th": 20, "max_th": 60, "max_p": 0.1, **_AVERAGE}
# levels that overlap, so that none of them starves
_LEVELS = {
    **_AVERAGE,
    "min_th_1": 30,
    "max_th_1": 90,
    "max_p_1": 0.05,
    "min_th_2": 20,
    "max_th_2": 80,
    "max_p_2": 0.1,
    "min_th_3": 10,
    "max_th_3": 70,
    "max_p_3": 0.2,
}
_CLASSES: list[dict[str, Any]] = [
    {"dscp": [46], "aqm": "drop_tail"},
    {"dscp": [10], "aqm": "red", "params": _RED},
    {"aqm": "codel"},
]
_SHARES = [
    _CLASSES[0],
    {**_CLASSES[1], "quantum_bytes": 4500},
    {**_CLASSES[2], "quantum_bytes": 1500},
]


@dataclass(frozen=True)
class Cell:
    """One case.

    Attributes:
        name: For the page.
        discipline: What stands before the link, 10 Mbit/s.
        flows: Number of TCP flows by DSCP, each a class.
        voice: Whether there is voice, too: datagrams of 200 bytes, 1 Mbit/s, DSCP 46.
        flood: Whether there are datagrams of 1500 bytes at the rate of the link.
        dctcp: Number of DCTCP flows, with ECN and DSCP 0; the others are CUBIC without ECN.
    """

    name: str
    discipline: Mapping[str, Any]
    flows: Mapping[int, int]
    voice: bool = False
    flood: bool = False
    dctcp: int = 0

    def scenario(self, seed: int) -> NetworkScenario:
        """The scenario, with one replication."""
        names = {0: "rest", 10: "AF11", 12: "AF12", 14: "AF13", 34: "AF41"}
        sizes = {"packet_bytes": PACKET_BYTES, "ack_bytes": ACK_BYTES}
        cubic = {**TCP, **sizes, "congestion_control": "cubic"}
        dctcp = {**TCP, **sizes, "congestion_control": "dctcp", "ecn": True}
        groups = [(names[dscp], dscp, count, cubic) for dscp, count in self.flows.items()]
        if self.dctcp:
            groups.append(("DCTCP", 0, self.dctcp, dctcp))
        flows: list[dict[str, Any]] = [
            {
                "kind": "tcp",
                "label": label,
                "count": count,
                "spread_s": 1.0,
                "dscp": dscp,
                "tcp": tcp,
            }
            for label, dscp, count, tcp in groups
        ]
        datagrams: dict[str, Any] = {"kind": "datagrams", "gaps": "exponential"}
        if self.voice:
            voice = {**datagrams, "label": "voice", "dscp": 46}
            flows.append({**voice, "rate_bps": 1e6, "packet_bytes": 200})
        if self.flood:
            flows.append(
                {**datagrams, "label": "flood", "rate_bps": 10e6, "packet_bytes": PACKET_BYTES}
            )
        return NetworkScenario.parse(
            {
                "topology": {
                    "kind": "dumbbell",
                    "rate_bps": 10e6,
                    "delay_s": 0.018,
                    "client_delays_s": [0.001],
                    "server_delay_s": 0.001,
                    # in the laboratory the links to the router have no rate
                    "access_rate_bps": 1e10,
                },
                "flows": flows,
                "queue": {"limit": 200},
                "disciplines": [self.discipline],
                "duration_s": DURATION_S,
                "warm_up_s": WARM_UP_S,
                "replications": 1,
                "seed": seed,
            }
        )


_OF_LEVELS, _OF_CLASSES = {10: 4, 12: 6, 14: 10}, {10: 5, 0: 10}
_ANY: dict[str, Any] = {"aqm": "drop_tail"}
_FQ_PIE: dict[str, Any] = {
    "aqm": "pie",
    "params": {"like": "linux", "delay": "timestamps"},
    "scheduler": {"kind": "fq"},
}
_SFB: dict[str, Any] = {"aqm": "sfb", "ecn": True}


def _cake(rate_bps: float) -> dict[str, Any]:
    params = {"rate_bps": rate_bps, "diffserv": "diffserv4"}
    return {"aqm": "cake", "victim": "front", "ecn": True, "params": params}


CELLS = [
    *(
        Cell(name.upper(), {"aqm": name, "params": _LEVELS}, _OF_LEVELS)
        for name in ("gred", "rio", "wred")
    ),
    Cell(
        "Strict priority",
        {**_ANY, "scheduler": {"kind": "prio"}, "classes": _CLASSES},
        # a class behind these would starve
        {10: 15},
        voice=True,
    ),
    Cell(
        "ETS", {**_ANY, "scheduler": {"kind": "ets"}, "classes": _SHARES}, _OF_CLASSES, voice=True
    ),
    # with a rate below the link's CAKE shapes, and the shaper before the link never waits
    *(
        Cell(name, _cake(rate_bps), {34: 5, 0: 10}, voice=True)
        for name, rate_bps in (("CAKE without a rate", 0), ("CAKE at 9.5 Mbit/s", 9.5e6))
    ),
    Cell("FQ-PIE", _FQ_PIE, {0: 15}, voice=True),
    Cell("SFB", _SFB, {0: 10}, flood=True),
    # with 100 flows FQ-PIE is full, and SFB with 20
    *(
        Cell(f"{name}, {each} CUBIC and {each} DCTCP", {**own, "ecn": True}, {0: each}, dctcp=each)
        for name, own, each in (
            ("CAKE", _cake(0), 10),
            ("CAKE", _cake(0), 50),
            ("FQ-PIE", _FQ_PIE, 10),
        )
    ),
]


def is_able(cell: Cell, world: str) -> bool:
    """Return whether a world can run a cell."""
    scenario = cell.scenario(1)
    try:
        world_class(world)().check(scenario, scenario.disciplines[0])
    except SluiceError:
        return False
    return True


def measure(cell: Cell, world: str, seed: int) -> dict[str, Any]:
    """Make one run; return its line."""
    scenario = cell.scenario(seed)
    found = in_network(scenario) if world == "network" else in_lab(scenario, world, seed)
    return {"cell": cell.name, "world": world, "seed": seed, **found}


def kept() -> list[dict[str, Any]]:
    """Return all runs so far."""
    return [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []


def run(worlds: Sequence[str], seeds: int, only: Sequence[str], at_once: int) -> None:
    """Make the runs that are missing."""
    have = {(line["cell"], line["world"], line["seed"]) for line in kept()}
    wanted = [
        (cell, world, seed)
        for seed in range(1, seeds + 1)
        for cell in CELLS
        for world in worlds
        if (cell.name, world, seed) not in have
        and (not only or cell.name in only)
        and is_able(cell, world)
    ]
    print(f"{len(wanted)} runs are missing", flush=True)
    with ThreadPoolExecutor(at_once) as pool:
        doing = {pool.submit(measure, *each): each for each in wanted}
        for done in as_completed(doing):
            cell, world, seed = doing[done]
            try:
                found = done.result()
            except SluiceError as error:
                print(f"{cell.name} ({world}): {error}", file=sys.stderr, flush=True)
                continue
            with KEPT.open("a") as file:
                file.write(json.dumps(found) + "\n")
            print(f"{cell.name} ({world}, seed {seed}): {found['queue_mean']:.4g}", flush=True)


def table(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the Markdown tables: for each cell the whole queue, and each class."""
    for cell in CELLS:
        own = [line for line in lines if line["cell"] == cell.name]
        if not own:
            continue
        columns = {"queue_mean": WHOLE["queue_mean"], **BY_CLASS}
        if not cell.dctcp:
            del columns["mark_ratio"]
        headings = [heading for heading, _ in columns.values()]
        yield f"\n### {cell.name}\n"
        yield f"| class | where | {' | '.join(headings)} | seeds |"
        yield f"|---|---|{'---:|' * len(headings)}---:|"
        for label in labels(cell.scenario(1)):
            names = {
                name if name == "queue_mean" else f"{label}.{name}": factor
                for name, (_, factor) in columns.items()
            }
            for world in WORLDS:
                yield from row(label, world, own, names)


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--only", nargs="*", default=[], help="names of cells")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=2, help="runs at the same time")
    given = parser.parse_args()
    if given.what == "page":
        write(PAGE, kept(), table(kept()))
    else:
        run(given.worlds, given.seeds, given.only, given.at_once)


if __name__ == "__main__":
    main()
