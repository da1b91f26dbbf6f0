"""Speed and memory of the slotted world: `make bench`.

Geometric arrivals (rate 0.5) and service (mu 0.5), RED with w = 0.07, 250 packets of buffer.
Prints a table and writes `bench/results.json`. Run it on an otherwise idle machine.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

import sluicegate as sg

HERE = Path(__file__).parent
RED = {
    "min_th": 100,
    "max_th": 200,
    "max_p": 0.1,
    "w": 0.07,
    "spacing": "independent",
    "idle_decay": False,
}
PAIRS = 5
MEMORY = """
import re
from pathlib import Path
from slotted import run
run({slots}, replications=1, threads=1)
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def run(slots: int, replications: int, threads: int) -> sg.Record:
    scenario = sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=0.5),
        service=sg.GeometricService(mu=0.5),
        disciplines=[sg.Discipline(aqm="red", params=RED)],
        slots=slots,
        replications=replications,
    )
    return sg.simulate(scenario, threads=threads, fresh=True)


def user_seconds(work: Callable[[], object], who: int) -> float:
    before = resource.getrusage(who).ru_utime
    work()
    return resource.getrusage(who).ru_utime - before


def wall_seconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def against_baseline(slots: int = 200_000_000) -> dict[str, Any]:
    """Measure slots per second of user CPU in turn, ours (with distributions) and a loop in C."""
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder, "slot_baseline")
        subprocess.run(["cc", "-O2", HERE / "slot_baseline.c", "-o", built, "-lm"], check=True)
        words = ["geometric", "0.5", "0.07", "red", "0", "tail"]
        command = [str(built), *words, str(slots), "31", "1"]

        def plain() -> None:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

        pairs = []
        for _ in track(range(PAIRS), "against a plain loop"):
            theirs = slots / user_seconds(plain, resource.RUSAGE_CHILDREN)
            ours = slots / user_seconds(
                lambda: run(slots, replications=1, threads=1), resource.RUSAGE_SELF
            )
            pairs.append({"ours": ours, "baseline": theirs, "ratio": ours / theirs})
    return {"unit": "slots per second of user CPU", "slots": slots, "pairs": pairs}


def two_cores(slots: int = 100_000_000, replications: int = 8) -> dict[str, Any]:
    """Measure the wall time of the same run on one thread and on two, in turn."""
    pairs = []
    for _ in track(range(PAIRS), "two cores against one"):
        one, two = (
            wall_seconds(lambda n=threads: run(slots, replications, threads=n))
            for threads in (1, 2)
        )
        pairs.append({"one_s": one, "two_s": two, "ratio": one / two})
    return {"slots": slots * replications, "pairs": pairs}


def long_run(slots: int = 500_000_000) -> dict[str, Any]:
    """Measure the wall time of one command that simulates 250 million packets."""
    aqm = "red:" + ",".join(
        f"{key}={json.dumps(value)}".replace('"', "") for key, value in RED.items()
    )
    command = [
        str(Path(sys.executable).with_name("sluice")),
        *("simulate", "--arrivals", "geometric:rate=0.5", "--service", "geometric:mu=0.5"),
        *("--aqm", aqm, "--slots", str(slots), "--replications", "1", "--fresh"),
    ]
    seconds = wall_seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
    return {"packets": slots // 2, "seconds": seconds}


def memory() -> list[dict[str, Any]]:
    """Measure the peak resident memory of processes that simulate 10^7 to 10^9 slots."""
    environment = os.environ | {"PYTHONPATH": str(HERE)}
    rows = []
    for slots in track((10**7, 10**8, 10**9), "memory"):
        program = MEMORY.format(slots=slots)
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        rows.append({"slots": slots, "peak_mib": int(done.stdout) / 1024})
    return rows


def spread(pairs: list[dict[str, float]], name: str, scale: float = 1.0) -> str:
    values = [pair[name] / scale for pair in pairs]
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def table(results: dict[str, Any]) -> Table:
    shown = Table("what", "median (least to greatest)", box=None, pad_edge=False)
    pairs = results["against_baseline"]["pairs"]
    shown.add_row("million slots/s of user CPU, one core", spread(pairs, "ours", 1e6))
    shown.add_row("the same, plain loop in C", spread(pairs, "baseline", 1e6))
    shown.add_row("ratio", spread(pairs, "ratio"))
    shown.add_row(
        "two cores against one, wall time", spread(results["two_cores"]["pairs"], "ratio")
    )
    shown.add_row("other load on the machine before", f"{results['load_before']:.2f}")
    long = results["long_run"]
    shown.add_row("250 million packets in one command, s", f"{long['seconds']:.2f}")
    for row in results["memory"]:
        shown.add_row(f"peak memory at {row['slots']:.0e} slots, MiB", f"{row['peak_mib']:.1f}")
    return shown


def main() -> None:
    results = {
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "against_baseline": against_baseline(),
        "two_cores": two_cores(),
        "long_run": long_run(),
        "memory": memory(),
    }
    (HERE / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    Console().print(table(results))


if __name__ == "__main__":
    main()
