"""The network world beside the gate: TCP as we simulate it, and as the kernel does it.

Ten disciplines on a link of 10 Mbit/s and 40 ms, with 1, 10 and 50 flows of Reno and of CUBIC. `run`
measures what is missing, several testbeds at a time; each run is kept as a file, so that the command
may be ended and given again. `table` prints both worlds side by side, in Markdown.

    sudo .venv/bin/python bench/gate_truth.py run
    .venv/bin/python bench/gate_truth.py table

Router and hosts run under SCHED_FIFO where that is allowed, so that other programs hardly disturb
them. A run in which one of a hundred packets left the link later than `MOST_LATE_S` is not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sluicegate as sg
from sluicegate.estimate import Measure, student
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds import gate

CONTROLS = ("cubic", "reno")
FLOWS = (1, 10, 50)
DISCIPLINES: dict[str, dict[str, Any]] = {
    "drop-tail": {"aqm": "drop_tail"},
    "RED": {"aqm": "red", "params": {"min_th": 10, "max_th": 30, "max_p": 0.1, "w": 0.002}},
    "ARED": {"aqm": "ared", "params": {"min_th": 10, "max_th": 30, "w": 0.002}},
    "LRED": {"aqm": "lred", "params": {"q_ref": 20}},
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
DURATION_S, WARM_UP_S = 60.0, 15.0
SIMULATED = 16  # runs of the network world in a cell
MEASURES = ("queue_mean", "loss_ratio", "goodput")
MORE = ("queue_deviation", "retransmission_rate", "timeout_rate", "fairness")
# bars: relative, and in the measure's unit
BARS = {"queue_mean": (0.20, 5.0), "loss_ratio": (0.20, 0.0), "goodput": (0.05, 0.0)}
MOST_LATE_S = 0.005
PRIORITY = 50
KEPT = Path("target/gate-truth")


@dataclass(frozen=True)
class Cell:
    """What is run."""

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
                            "variant": "sack",
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

    def file(self, repeat: int) -> Path:
        """Where a run of the gate is kept."""
        return KEPT / f"{self.control}-{self.flows}-{self.discipline}-{repeat}.json"


def cells(only: Sequence[str]) -> Iterator[Cell]:
    """All whose name, `cubic-10-RED`, contains one of the texts; all if there is none."""
    for flows, control, discipline in itertools.product(FLOWS, CONTROLS, DISCIPLINES):
        if not only or any(text in f"{control}-{flows}-{discipline}" for text in only):
            yield Cell(control, flows, discipline)


def measure(cell: Cell, repeat: int) -> dict[str, Any]:
    """Run a cell in the gate once, and keep what came of it."""
    # what is started inherits it; this process goes back as soon as the run has begun
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    scenario = cell.scenario(replications=1, seed=1 + repeat)

    def begun(since_s: float, total_s: float) -> None:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

    record = gate.measure(scenario, scenario.disciplines[0], watch=begun)
    late = record.lateness.filter(of="router, forward").row(0, named=True)
    found = {
        **{name: record[name].value for name in (*MEASURES, *MORE)},
        "late_p99_s": late["p99_s"],
        "late_max_s": late["max_s"],
        "machine": record.run["machine"][0],
    }
    KEPT.mkdir(parents=True, exist_ok=True)
    draft = cell.file(repeat).with_suffix(".draft")
    draft.write_text(json.dumps(found))
    draft.rename(cell.file(repeat))
    return found


def run(only: Sequence[str], repeats: int, at_once: int) -> None:
    """Measure what is missing."""
    wanted = [
        (cell, repeat)
        for repeat in range(repeats)
        for cell in cells(only)
        if not cell.file(repeat).exists()
    ]
    processes = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(at_once, mp_context=processes) as pool:
        doing = {pool.submit(measure, *each): each for each in wanted}
        for count, done in enumerate(as_completed(doing), 1):
            cell, repeat = doing[done]
            found = done.result()
            figures = "  ".join(f"{name} {found[name]:.4g}" for name in MEASURES)
            late = f"p99 {1e3 * found['late_p99_s']:.2f} ms late"
            name = f"{cell.control}-{cell.flows}-{cell.discipline}-{repeat}"
            print(f"{count}/{len(wanted)} {name}: {figures}  {late}", flush=True)


def measured(cell: Cell) -> tuple[dict[str, Measure], int]:
    """The runs of the gate that count, and how many do not."""
    found = [json.loads(path.read_text()) for path in sorted(KEPT.glob(cell.file(0).name[:-6] + "*.json"))]
    good = [each for each in found if each["late_p99_s"] <= MOST_LATE_S]
    if not good:
        return {}, len(found)
    figures = {name: student([each[name] for each in good]) for name in good[0] if isinstance(good[0][name], float)}
    return figures, len(found) - len(good)


def beyond(name: str, ours: Measure, theirs: Measure) -> bool:
    """Whether the network world's figure is farther from the gate's than the bar."""
    relative, absolute = BARS[name]
    return abs(ours.value - theirs.value) > max(relative * theirs.value, absolute)


def table(only: Sequence[str]) -> None:
    """Print both worlds, a row for each cell; bold is beyond its bar."""
    print("| flows | AQM | queue, packets | loss ratio, % | goodput, packets/s |")
    print("|---|---|---|---|---|")
    rejected, outside = 0, {name: 0 for name in MEASURES}
    count = 0
    for cell in cells(only):
        theirs, late = measured(cell)
        rejected += late
        if not theirs:
            continue
        count += 1
        scenario = cell.scenario(replications=SIMULATED)
        ours = sg.compare(scenario, world="network").records[0]
        columns = []
        for name in MEASURES:
            factor = 100 if name == "loss_ratio" else 1
            text = f"{ours[name].times(factor)} / {theirs[name].times(factor)}"
            if beyond(name, ours[name], theirs[name]):
                outside[name] += 1
                text = f"**{text}**"
            columns.append(text)
        print(f"| {cell.flows} {cell.control} | {cell.discipline} | {' | '.join(columns)} |", flush=True)
    held = ", ".join(f"{name} {count - outside[name]}" for name in MEASURES)
    print(f"\nWithin the bars, of {count}: {held}. Runs that do not count: {rejected}.")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--only", nargs="*", default=[], help="names of cells contain one of these")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=4, help="testbeds at the same time")
    given = parser.parse_args()
    if given.what == "run":
        run(given.only, given.repeats, given.at_once)
    else:
        table(given.only)


if __name__ == "__main__":
    main()
