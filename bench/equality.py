"""Compares a discipline in four worlds: network, gate, our qdisc (kernel), Linux's own (twin).

`run` makes the runs that are missing, in the network world and in the laboratory unless other
worlds are named. Each run is kept as a line of `bench/equality.jsonl`, so the command can be
interrupted and started again. `page` writes the tables into the page of the documentation.

    .venv/bin/python bench/equality.py run --seeds 10
    sudo .venv/bin/python bench/equality.py run --worlds gate --at-once 1 --seeds 2
    .venv/bin/python bench/equality.py page
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gate_truth import MOST_LATE_S, TCP, in_gate

import sluicegate as sg
from sluicegate.errors import SluiceError
from sluicegate.estimate import student
from sluicegate.record import Record
from sluicegate.report.text import measure_text
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds import world as world_class

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "bench" / "equality.jsonl"
PAGE = ROOT / "docs" / "background" / "equality.md"
MARKERS = ("<!-- table: begin -->", "<!-- table: end -->")

RED = {"min_th": 20, "max_th": 60, "max_p": 0.1, "w": 2**-9, "mean_packet_bytes": 1500}
PI = {"q_ref": 40, "coefficients": "designed", "n_min": 20, "r_max": 0.25, "capacity": 833}
DISCIPLINES: dict[str, dict[str, Any]] = {
    "RED": {"aqm": "red", "params": RED},
    "PIE": {"aqm": "pie"},
    "PIE, timestamps": {"aqm": "pie", "params": {"delay": "timestamps"}},
    "CoDel": {"aqm": "codel"},
    "FQ-CoDel": {"aqm": "codel", "scheduler": {"kind": "fq"}, "victim": "front"},
    "FQ-CoDel, like Linux": {
        "aqm": "codel",
        "params": {"like": "linux", "sqrt": "newton"},
        "scheduler": {"kind": "fq"},
        "victim": "front",
    },
    "drop-tail": {"aqm": "drop_tail"},
    "PI": {"aqm": "pi", "params": PI},
    "REM": {"aqm": "rem", "params": {"q_ref": 40, "gamma": 0.01}},
    "LRED": {"aqm": "lred", "params": {"q_ref": 40, "beta": 0.01}},
    "AVQ": {"aqm": "avq", "params": {"virtual_buffer": 0.2, "mean_packet_bytes": 1500}},
    "BLUE": {"aqm": "blue"},
    "FRED": {"aqm": "fred", "params": {"min_th": 20, "max_th": 60, "mean_packet_bytes": 1500}},
    "SRED": {"aqm": "sred"},
    "Gentle RED": {"aqm": "gentle_red", "params": RED},
    "DSRED": {"aqm": "dsred", "params": {"min_th": 20, "max_th": 60, "w": 2**-9}},
    "NLRED": {"aqm": "nlred", "params": RED},
    "S-RED": {"aqm": "self_configuring_red", "params": RED},
    "REDwM": {"aqm": "redwm", "params": {"min_th": 20, "max_th": 60}},
    "LPF/ODA": {"aqm": "lpf_oda", "params": RED},
}
DISCIPLINES |= {
    f"{name}, marks": DISCIPLINES[name] | {"ecn": True}
    for name in ("RED", "PIE", "CoDel", "FQ-CoDel")
}
# these are measured first
FIRST = ("RED", "PIE", "PIE, timestamps", "CoDel", "FQ-CoDel")
CONTROLS, FLOWS = ("reno", "cubic"), (20, 100)
LAB = ("network", "kernel", "twin")
WORLDS = ("network", "gate", "kernel", "twin")
NAMES = {"network": "network", "gate": "gate", "kernel": "our qdisc", "twin": "Linux's own"}
MEASURES: dict[str, tuple[str, float]] = {
    "queue_mean": ("queue, packets", 1),
    "sojourn_mean": ("sojourn, ms", 1e3),
    "loss_ratio": ("lost, %", 100),
    "goodput": ("goodput, packets/s", 1),
}
MARKED: dict[str, tuple[str, float]] = {"mark_ratio": ("marked, %", 100)}
MORE = ("queue_deviation", "sojourn_p99", "fairness", "timeout_rate", "retransmission_rate")


@dataclass(frozen=True)
class Cell:
    """One case: congestion control, number of flows, discipline."""

    control: str
    flows: int
    discipline: str

    @property
    def marks(self) -> bool:
        """True if the AQM marks instead of dropping, and the flows use ECN."""
        return bool(DISCIPLINES[self.discipline].get("ecn"))

    @property
    def measures(self) -> dict[str, tuple[str, float]]:
        """The measures in the tables: heading and factor of each."""
        return MEASURES | MARKED if self.marks else MEASURES

    def scenario(self, *, replications: int, seed: int) -> NetworkScenario:
        """The scenario, with its only discipline."""
        flows = {
            "kind": "tcp",
            "count": self.flows,
            "spread_s": 1.0,
            "tcp": {
                **TCP,
                "congestion_control": self.control,
                "ecn": self.marks,
                "packet_bytes": 1500,
                "ack_bytes": 52,
            },
        }
        return NetworkScenario.parse(
            {
                "topology": {
                    "kind": "dumbbell",
                    "rate_bps": 10e6,
                    "delay_s": 0.048,
                    "client_delays_s": [0.001],
                    "server_delay_s": 0.001,
                },
                "flows": [flows],
                "queue": {"limit": 200},
                "disciplines": [{"label": self.discipline} | DISCIPLINES[self.discipline]],
                "duration_s": 30.0,
                "warm_up_s": 10.0,
                "replications": replications,
                "seed": seed,
            }
        )


def cells(only: Sequence[str]) -> Iterator[Cell]:
    """Yield the cells whose name (such as `reno-20-RED`) contains a text of `only`; empty: all."""
    rest = [name for name in DISCIPLINES if name not in FIRST]
    for part in (FIRST, rest):
        for flows, control, discipline in itertools.product(FLOWS, CONTROLS, part):
            if not only or any(text in f"{control}-{flows}-{discipline}" for text in only):
                yield Cell(control, flows, discipline)


def why_not(cell: Cell, world: str) -> str:
    """Return the reason why a world cannot run a cell; empty if it can."""
    scenario = cell.scenario(replications=1, seed=1)
    try:
        world_class(world)().check(scenario, scenario.disciplines[0])
    except SluiceError as error:
        return str(error)
    return ""


def kept() -> list[dict[str, Any]]:
    """Return all runs so far."""
    return [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []


def key(cell: Cell, world: str, seed: int) -> tuple[object, ...]:
    """Return the values that identify a run."""
    return (*asdict(cell).values(), world, seed)


def measure(cell: Cell, world: str, seed: int) -> dict[str, Any]:
    """Make one run; return its line."""
    scenario = cell.scenario(replications=1, seed=seed)
    record = (
        in_time(scenario)
        if world == "gate"
        else sg.compare(scenario, world=world, threads=1).records[0]
    )
    figures = {name: record[name].value for name in (*cell.measures, *MORE)}
    return {**asdict(cell), "world": world, "seed": seed, **figures}


def in_time(scenario: NetworkScenario) -> Record:
    """Make a run in the gate.

    Raises:
        SluiceError: If one packet of a hundred left the link too late, because of other load.
    """
    record = in_gate(scenario)
    late_s = record.lateness.filter(of="router, forward")["p99_s"][0]
    if late_s > MOST_LATE_S:
        raise SluiceError(f"one packet of a hundred was {1e3 * late_s:.1f} ms late: run again")
    return record


def run(worlds: Sequence[str], seeds: int, only: Sequence[str], at_once: int) -> None:
    """Make the runs that are missing: every cell with the first seed, then with the next one."""
    have = {
        (line["control"], line["flows"], line["discipline"], line["world"], line["seed"])
        for line in kept()
    }
    able = {(cell, world) for cell in cells(only) for world in worlds if not why_not(cell, world)}
    wanted = [
        (cell, world, seed)
        for seed in range(1, seeds + 1)
        for cell in cells(only)
        for world in worlds
        if (cell, world) in able and key(cell, world, seed) not in have
    ]
    print(f"{len(wanted)} runs are missing", flush=True)
    with ThreadPoolExecutor(at_once) as pool:
        doing = {pool.submit(measure, *each): each for each in wanted}
        for count, done in enumerate(as_completed(doing), 1):
            cell, world, seed = doing[done]
            name = f"{cell.control}-{cell.flows}-{cell.discipline} ({world}, seed {seed})"
            try:
                found = done.result()
            except SluiceError as error:
                print(f"{count}/{len(wanted)} {name}: {error}", file=sys.stderr, flush=True)
                continue
            with KEPT.open("a") as file:
                file.write(json.dumps(found) + "\n")
            figures = "  ".join(f"{each} {found[each]:.4g}" for each in MEASURES)
            print(f"{count}/{len(wanted)} {name}: {figures}", flush=True)


def table(lines: Sequence[dict[str, Any]], worlds: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a Markdown table for each number of flows and congestion control."""
    for marks, flows, control in itertools.product((False, True), FLOWS, CONTROLS):
        every = (Cell(control, flows, name) for name in DISCIPLINES)
        own = [cell for cell in every if cell.marks == marks]
        rows = [row for cell in own for world in worlds if (row := _row(cell, world, lines))]
        if rows:
            headings = [heading for heading, _ in own[0].measures.values()]
            name = "CUBIC" if control == "cubic" else "Reno"
            yield f"\n### {flows} flows of {name}{', marked' if marks else ''}\n"
            yield f"| AQM | where | {' | '.join(headings)} | seeds |"
            yield f"|---|---|{'---:|' * len(headings)}---:|"
            yield from rows


def _row(cell: Cell, world: str, lines: Sequence[dict[str, Any]]) -> str:
    """Return a line of the table; empty if nothing was measured."""
    own = [line for line in lines if {**line, **asdict(cell), "world": world} == line]
    if not own:
        return ""
    texts = [
        measure_text(student([line[name] for line in own]).times(factor), digits=3)
        for name, (_, factor) in cell.measures.items()
    ]
    return f"| {cell.discipline} | {NAMES[world]} | {' | '.join(texts)} | {len(own)} |"


def page() -> None:
    """Write the tables into the page."""
    text = PAGE.read_text()
    before, after = text.partition(MARKERS[0])[0], text.partition(MARKERS[1])[2]
    tables = "\n".join(table(kept(), WORLDS))
    PAGE.write_text(f"{before}{MARKERS[0]}\n{tables}\n\n{MARKERS[1]}{after}")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("--worlds", nargs="*", default=LAB, choices=WORLDS)
    parser.add_argument("--only", nargs="*", default=[], help="names of cells contain one of these")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=2, help="runs at the same time")
    given = parser.parse_args()
    if given.what == "page":
        page()
    else:
        run(given.worlds, given.seeds, given.only, given.at_once)


if __name__ == "__main__":
    main()
