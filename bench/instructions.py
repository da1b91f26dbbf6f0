"""Counts instructions and cycles of the simulated worlds, and compares them with other commits.

    .venv/bin/python bench/instructions.py [FOLDER ...]

Counts in user space: per slot (slotted), per packet through the bottleneck (network) and per
solution (chain). `perf stat` counts the process where the processor's counters can be read; else
valgrind's callgrind counts the instructions of the engine alone, without Python (callgrind.py),
which takes minutes. The table's title says which; figures of one kind cannot be compared with those
of the other. A run is counted at two lengths and the difference is taken, so that its start is not
counted. FOLDER is a copy of another commit in which `make build` was run; modules that only that
commit imports are looked for on PYTHONPATH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from callgrind import instructions_of
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
EVENTS = ("instructions", "cycles")
# what is counted, by whether it is by perf
COUNTED = {
    True: "of the whole process, Python too (perf)",
    False: "of the engine and of the C library for it, without Python (callgrind)",
}
RED = """{"min_th": 100, "max_th": 200, "max_p": 0.1, "w": 0.07, "spacing": "independent",
"idle_decay": False}"""
# programs that make a run of a given size; each prints the number by which counts are divided
SLOTTED = """
import sys
import sluicegate as sg
size = int(sys.argv[1])
scenario = sg.Scenario(
    arrivals=sg.GeometricArrivals(rate=0.5), service=sg.GeometricService(mu=0.5), slots=size,
    replications=1, disciplines=[sg.Discipline(aqm="AQM", params=PARAMS)],
)
sg.simulate(scenario, threads=1, fresh=True)
print(size)
"""
NETWORK = """
import sys
import sluicegate as sg
from sluicegate import network
scenario = network.NetworkScenario(
    topology=network.Dumbbell(rate_bps=10e6), flows=[network.TcpFlows(count=FLOWS)],
    queue=sg.Queue(limit=200), replications=1, warm_up_s=0.0, duration_s=float(sys.argv[1]),
    disciplines=[sg.Discipline(aqm="AQM")],
)
record = network.simulate(scenario, threads=1, fresh=True)
print(record["throughput_bps"].value * scenario.duration_s / 8 / 500)
"""
CHAIN = """
import sys
import sluicegate as sg
from sluicegate.papers import model
red = model.red({"w": 0.07, "sampling": "arrivals"})
scenario = model.scenario(model.GEOMETRIC, 0.5, red, 1000)
for _ in range(int(sys.argv[1])):
    sg.chain.solve(scenario, grid=4.0, method="METHOD")
print(int(sys.argv[1]))
"""
CASES = {
    "slotted, drop-tail": (SLOTTED.replace("AQM", "drop_tail").replace("PARAMS", "{}"), 1e6, 3e6),
    "slotted, RED": (SLOTTED.replace("AQM", "red").replace("PARAMS", RED), 1e6, 3e6),
    "network, RED, 100 flows": (NETWORK.replace("AQM", "red").replace("FLOWS", "100"), 10, 30),
    "network, RED, 1000 flows": (NETWORK.replace("AQM", "red").replace("FLOWS", "1000"), 10, 30),
    "chain, direct": (CHAIN.replace("METHOD", "direct"), 1, 2),
    "chain, iterative": (CHAIN.replace("METHOD", "iterative"), 1, 2),
}


def counters() -> bool:
    """Return True if `perf` can read the processor's counters."""
    if not shutil.which("perf"):
        return False
    done = subprocess.run(
        ["perf", "stat", "-x,", "-e", "instructions:u", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0 and "<not" not in done.stderr


def count(folder: Path, code: str, size: float, by_perf: bool) -> tuple[list[float], float]:
    """Return the events of one run, and the number by which they are divided."""
    events = ",".join(f"{event}:u" for event in EVENTS)
    command = ["perf", "stat", "-x,", "-e", events]
    with tempfile.TemporaryDirectory() as empty:
        profile = Path(empty, "callgrind.out")
        if not by_perf:
            command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        done = subprocess.run(
            [*command, sys.executable, "-c", code, f"{size:g}" if size < 1e3 else f"{size:.0f}"],
            capture_output=True,
            text=True,
            check=False,
            cwd=empty,
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
            | {"SLUICE_RUNS": empty, "PYTHONHASHSEED": "0"}
            | {"RAYON_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        if by_perf:
            found = [float(each) for each in re.findall(r"^([\d.]+),,", done.stderr, re.MULTILINE)]
        else:
            with profile.open() as lines:
                found = [float(instructions_of("/_engine.", lines))]
    return found, float(done.stdout)


def main() -> None:
    """Count, and print a table."""
    by_perf = counters()
    if not by_perf and not shutil.which("valgrind"):
        raise SystemExit("neither perf's counters nor valgrind: apt install valgrind")
    folders = [ROOT, *map(Path, sys.argv[1:])]
    events = EVENTS if by_perf else EVENTS[:1]
    heads = [f"{event}, {folder.name}" for folder in folders for event in events]
    table = Table("case", *heads, title=COUNTED[by_perf])
    for name, (code, less, more) in CASES.items():
        cells = []
        for folder in folders:
            short, long = (count(folder.resolve(), code, size, by_perf) for size in (less, more))
            per = long[1] - short[1]
            cells += [f"{(b - a) / per:,.2f}" for a, b in zip(short[0], long[0], strict=True)]
        table.add_row(name, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
