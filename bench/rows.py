"""Two AQMs in a row (RFC 7928, section 10.2) in the network world, the gate and the laboratory.

Each run is a line of FILE, and a run that it has is not made again. `network` has the evaluation's
own TCP, `linux` the same with Linux's rules, as the hosts of the other worlds have them. The gate
is in real time, needs root, and goes before all other processes.

`bench/rows.jsonl` has the runs behind the table of docs/guides/links.md, of all worlds. Its lines
of the case `trace` are losses with drop-tail of `bench/trace_worlds.py`, in %, rounded to 0.01: all
eight of the laboratory, 24 of the 32 of the gate. The others were not kept.

    python bench/rows.py WORLD REPLICATIONS FILE
    python bench/rows.py table FILE...
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from trace_worlds import first

from sluicegate.estimate import student
from sluicegate.evaluate.case import Fitted
from sluicegate.evaluate.profile import PROFILES
from sluicegate.evaluate.suite import case_named
from sluicegate.scenario import Discipline, NetworkScenario, Tcp
from sluicegate.worlds import world as world_class

_PATH = replace(PROFILES["default"], duration_s=20.0, warm_up_s=5.0)
_CASES = (
    ("10-2-same", "drop_tail"),
    ("10-2-same", "codel"),
    ("10-2-parameters", "codel"),
    ("10-2-another", "codel"),
)
_LINUX = Tcp(like="linux", congestion_control="reno", packet_bytes=1500)
_MEASURES = {
    "queue_mean": ("queue, packets", 1.0),
    "throughput_bps": ("Mb/s", 1e-6),
    "loss_ratio": ("lost, %", 100.0),
}


def scenario(world: str, case: str, aqm: str, replication: int) -> NetworkScenario:
    """One replication of a case in a world."""
    of = case_named(case)
    fitted = of.fitted(Discipline(aqm=aqm))
    assert isinstance(fitted, Fitted)
    found = of.scenario(_PATH, fitted, replication, 1)
    if world == "linux":
        found = found.replace(flows=[each.replace(tcp=_LINUX) for each in found.flows])
    return found


def run(world: str, case: str, aqm: str, replication: int) -> dict[str, Any]:
    """What each port counted."""
    given = scenario(world, case, aqm, replication)
    name = "network" if world == "linux" else world
    with first() if world == "gate" else nullcontext():
        record = world_class(name)().run(
            given, given.disciplines[0], threads=1, on_progress=lambda *_: None, fresh=True
        )
    ports = [{each: port.measures[each].value for each in _MEASURES} for port in record.ports[:2]]
    return {"world": world, "case": case, "aqm": aqm, "replication": replication, "ports": ports}


def kept(path: Path) -> Iterator[dict[str, Any]]:
    """The runs that a file has."""
    if path.exists():
        yield from map(json.loads, path.read_text().splitlines())


def make(world: str, replications: int, path: Path) -> None:
    """Make the runs that the file does not have."""
    there = {(each["case"], each["aqm"], each["replication"]) for each in kept(path)}
    for replication in range(replications):
        for case, aqm in _CASES:
            if (case, aqm, replication) not in there:
                with path.open("a") as file:
                    file.write(json.dumps(run(world, case, aqm, replication)) + "\n")


def table(paths: Sequence[Path]) -> None:
    """Print the means with their 95 % intervals, a column for each world."""
    runs = [each for path in paths for each in kept(path)]
    worlds = list(dict.fromkeys(each["world"] for each in runs))
    print(f"| case, AQM | | {' | '.join(worlds)} |\n| --- | --- |{' ---: |' * len(worlds)}")
    for case, aqm in _CASES:
        for place, port in enumerate(("first", "second")):
            for measure, (said, factor) in _MEASURES.items():
                cells = []
                for world in worlds:
                    values = [
                        factor * each["ports"][place][measure]
                        for each in runs
                        if (each["world"], each["case"], each["aqm"]) == (world, case, aqm)
                    ]
                    mean = student(values) if values else None
                    width = (
                        ""
                        if mean is None or mean.half_width is None
                        else f" ± {mean.half_width:.2g}"
                    )
                    cells.append("" if mean is None else f"{mean.value:.4g}{width}")
                print(f"| {case}, {aqm}, {port} | {said} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if sys.argv[1] == "table":
        table([Path(each) for each in sys.argv[2:]])
    else:
        make(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
