"""Compares the network world with the gate: simulated TCP, and the kernel's TCP.

Ten disciplines on a link of 10 Mbit/s and 40 ms, with 1, 10 and 50 flows of Reno and of CUBIC.
`run` makes the runs of the gate that are missing, several testbeds at a time. Each run is kept as a
line of `bench/gate_truth.jsonl`, so the command can be interrupted and started again. `table` runs
the network world and prints both side by side, in Markdown; `page` writes that into the
documentation.

    sudo .venv/bin/python bench/gate_truth.py run
    .venv/bin/python bench/gate_truth.py page

Router and hosts run under SCHED_FIFO if that is allowed, so that other programs hardly disturb
them. A run in which one of a hundred packets left the link more than `MOST_LATE_S` late is not
kept; the next `run` makes it again.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import sluicegate as sg
from sluicegate.record import Record
from sluicegate.report.text import measure_text
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds import gate

CONTROLS = ("cubic", "reno")
FLOWS = (1, 10, 50)
DISCIPLINES: dict[str, dict[str, Any]] = {
    "drop-tail": {"aqm": "drop_tail"},
    "RED": {"aqm": "red", "params": {"min_th": 10, "max_th": 30, "max_p": 0.1, "w": 0.002}},
    "ARED": {"aqm": "ared", "params": {"min_th": 10, "max_th": 30, "w": 0.002}},
    "LRED": {"aqm": "lred", "params": {"q_ref": 20, "beta": 0.01}},
    "PI": {
        "aqm": "pi",
        "params": {
            "q_ref": 20,
            "coefficients": "designed",
            "n_min": 10,
            "r_max": 0.1,
            "capacity": 833,
        },
    },
    "REM": {"aqm": "rem", "params": {"q_ref": 20, "gamma": 0.01}},
    "CoDel": {"aqm": "codel"},
    "PIE": {"aqm": "pie"},
    "SFQ": {"aqm": "drop_tail", "scheduler": {"kind": "sfq"}},
    "FQ-CoDel": {"aqm": "codel", "scheduler": {"kind": "fq"}},
}
# TCP of the network world; the gate has the kernel's own
TCP = {"like": "linux"}
DURATION_S, WARM_UP_S = 60.0, 15.0
SIMULATED = 16  # runs of the network world in a cell
# bars: relative, and in the measure's unit (the wider one counts); then the factor of the table
BARS = {
    "queue_mean": (0.20, 5.0, 1),
    "loss_ratio": (0.20, 0.0, 100),
    "goodput": (0.05, 0.0, 1),
}
MORE = ("queue_deviation", "retransmission_rate", "timeout_rate", "fairness")
MOST_LATE_S = 0.005
# priorities under SCHED_FIFO: while a testbed starts, and then by a part of the command line
STARTING = 10
PRIORITIES = {b"sluiced\0run": 60, b"sluicegate.testbed.bed": 55}
# the process ended before it was read
GONE = (FileNotFoundError, ProcessLookupError)
ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "bench" / "gate_truth.jsonl"
PAGE = ROOT / "docs" / "background" / "gate.md"
MARKERS = ("<!-- table: begin -->", "<!-- table: end -->")
NAMES = {"cubic": "CUBIC", "reno": "Reno"}


@dataclass(frozen=True)
class Cell:
    """One case: congestion control, number of flows, discipline."""

    control: str
    flows: int
    discipline: str

    def scenario(self, *, replications: int, seed: int = 1) -> NetworkScenario:
        """The scenario, with its only discipline."""
        return NetworkScenario.parse(
            {
                "topology": {
                    "kind": "dumbbell",
                    "rate_bps": 10e6,
                    "delay_s": 0.018,
                    "client_delays_s": [0.001],
                    "server_delay_s": 0.001,
                },
                "flows": [
                    {
                        "kind": "tcp",
                        "count": self.flows,
                        "spread_s": 1.0,
                        "tcp": {
                            **TCP,
                            "congestion_control": self.control,
                            "packet_bytes": 1500,
                            "ack_bytes": 52,
                        },
                    }
                ],
                "queue": {"limit": 100},
                "disciplines": [{"label": self.discipline} | DISCIPLINES[self.discipline]],
                "duration_s": DURATION_S,
                "warm_up_s": WARM_UP_S,
                "replications": replications,
                "seed": seed,
            }
        )


def cells(only: Sequence[str]) -> Iterator[Cell]:
    """Yield the cells whose name (such as `cubic-10-RED`) contains a text of `only`; empty: all."""
    for flows, control, discipline in itertools.product(FLOWS, CONTROLS, DISCIPLINES):
        if not only or any(text in f"{control}-{flows}-{discipline}" for text in only):
            yield Cell(control, flows, discipline)


def prefer(process: int, priority: int) -> None:
    """Set the real-time priority of a process and of the processes that it starts from now on."""
    with contextlib.suppress(PermissionError):
        policy = os.SCHED_FIFO if priority else os.SCHED_OTHER
        os.sched_setscheduler(process, policy, os.sched_param(priority))


def prefer_testbed() -> None:
    """Raise router and hosts of this process's run above testbeds that are still starting."""
    prefer(0, 0)
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(*GONE):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    begun = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in begun} - begun:
        begun |= more
    for process in begun - {os.getpid()}:
        with contextlib.suppress(*GONE):
            words = Path(f"/proc/{process}/cmdline").read_bytes()
            for part, priority in PRIORITIES.items():
                if part in words:
                    prefer(process, priority)


def in_gate(scenario: NetworkScenario) -> Record:
    """Make a run with real packets; router and hosts get real-time priority if that is allowed."""
    prefer(0, STARTING)
    news = iter([prefer_testbed])

    def watch(since_s: float, total_s: float) -> None:
        for act in news:
            act()

    return gate.measure(scenario, scenario.disciplines[0], watch=watch)


def measure(cell: Cell, repeat: int) -> dict[str, Any]:
    """Run a cell in the gate once."""
    record = in_gate(cell.scenario(replications=1, seed=1 + repeat))
    late = record.lateness.filter(of="router, forward").row(0, named=True)
    return {
        **asdict(cell),
        **{name: record[name].value for name in (*BARS, *MORE)},
        "late_p99_s": late["p99_s"],
        "late_max_s": late["max_s"],
        "machine": record.run["machine"][0],
    }


def run(only: Sequence[str], repeats: int, at_once: int) -> None:
    """Make the runs that are missing."""
    wanted = [
        (cell, repeat)
        for repeat in range(repeats)
        for cell in cells(only)
        if len(measured(cell)) <= repeat
    ]
    processes = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(at_once, mp_context=processes) as pool:
        doing = {pool.submit(measure, *each): each for each in wanted}
        for count, done in enumerate(as_completed(doing), 1):
            cell, _ = doing[done]
            found = done.result()
            late = found["late_p99_s"] > MOST_LATE_S
            if not late:
                with KEPT.open("a") as file:
                    file.write(json.dumps(found) + "\n")
            figures = "  ".join(f"{name} {found[name]:.4g}" for name in BARS)
            told = f"p99 {1e3 * found['late_p99_s']:.2f} ms late{': not kept' if late else ''}"
            name = f"{cell.control}-{cell.flows}-{cell.discipline}"
            print(f"{count}/{len(wanted)} {name}: {figures}  {told}", flush=True)


def measured(cell: Cell) -> list[dict[str, Any]]:
    """Return the kept runs of a cell in the gate."""
    lines = map(json.loads, KEPT.read_text().splitlines() if KEPT.exists() else [])
    return [line for line in lines if {**line, **asdict(cell)} == line]


def row(cell: Cell, runs: Sequence[Mapping[str, float]]) -> tuple[list[str], set[str]]:
    """Return both worlds' figures as text, and the measures that differ by more than their bar."""
    scenario = cell.scenario(replications=SIMULATED)
    record = sg.compare(scenario, world="network").records[0]
    texts, beyond = [], set()
    for name, (relative, absolute, factor) in BARS.items():
        ours, theirs = record[name], [run[name] for run in runs]
        mean = fmean(theirs)
        each = ", ".join(f"{factor * value:.3g}" for value in theirs)
        text = f"{measure_text(ours.times(factor))} / {each}"
        if abs(ours.value - mean) > max(relative * mean, absolute):
            beyond.add(name)
            text = f"**{text}**"
        texts.append(text)
    return texts, beyond


def table(only: Sequence[str]) -> Iterator[str]:
    """Yield a row with both worlds for each cell measured; bold figures are beyond their bar."""
    yield "| flows | AQM | queue, packets | loss ratio, % | goodput, packets/s |"
    yield "|---|---|---|---|---|"
    beyond: Counter[str] = Counter()
    cells_measured = [(cell, runs) for cell in cells(only) if (runs := measured(cell))]
    for cell, runs in cells_measured:
        texts, far = row(cell, runs)
        beyond.update(far)
        yield f"| {cell.flows} {NAMES[cell.control]} | {cell.discipline} | {' | '.join(texts)} |"
    count = len(cells_measured)
    held = ", ".join(f"{name} {count - beyond[name]}" for name in BARS)
    yield f"\nWithin the bars, of {count}: {held}."


def page() -> None:
    """Write the table into the page."""
    rows = "\n".join(table([]))
    text = PAGE.read_text()
    before, after = text.partition(MARKERS[0])[0], text.partition(MARKERS[1])[2]
    PAGE.write_text(f"{before}{MARKERS[0]}\n{rows}\n{MARKERS[1]}{after}")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("run", "table", "page"))
    parser.add_argument("--only", nargs="*", default=[], help="names of cells contain one of these")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=4, help="testbeds at the same time")
    given = parser.parse_args()
    if given.what == "run":
        run(given.only, given.repeats, given.at_once)
    elif given.what == "page":
        page()
    else:
        for line in table(given.only):
            print(line, flush=True)


if __name__ == "__main__":
    main()
