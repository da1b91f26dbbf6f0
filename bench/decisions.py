"""Cost of a decision of each AQM in the engine and in the kernel's JIT: part of `make bench`.

Both answer the same calls in turns of 16384, so that other load affects both. The loop around the
calls is included on both sides: `drop_tail` shows how much that is. Needs root, for BPF.
"""

import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
COMMAND = ["cargo", "run", "--quiet", "--locked", "-p", "sluice-kernel", "--example", "decisions"]
LACKING = 2


def quartiles(values: list[float], digits: int) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def table(printed: str) -> Table:
    turns: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for line in printed.splitlines():
        name, engine, kernel = line.split()
        turns[name].append((float(engine), float(kernel)))
    shown = Table("AQM", "engine (ns)", "kernel (ns)", "kernel / engine", box=None, pad_edge=False)
    for name, pairs in turns.items():
        shown.add_row(
            name,
            quartiles([engine for engine, _ in pairs], 0),
            quartiles([kernel for _, kernel in pairs], 0),
            quartiles([kernel / engine for engine, kernel in pairs], 2),
        )
    return shown


def main() -> int:
    load = os.getloadavg()[0]
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == LACKING:
        print(f"decisions: skipped: {done.stderr.strip()}", file=sys.stderr)
        return 0
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return 1
    console = Console()
    console.print("ns of a call, median (quartiles) of turns of 16384 calls")
    console.print(table(done.stdout))
    console.print(f"other load on the machine before: {load:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
