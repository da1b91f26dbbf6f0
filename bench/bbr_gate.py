"""Compares BBR in the network world with that of this machine's kernel, in the gate.

The gate runs in real time, one run after the other; router and hosts run under SCHED_FIFO if that
is allowed. `run` makes the runs that are missing. Each is kept as a line of
`bench/bbr_gate.jsonl`, with how late packets left the link. A run in which one of a hundred was
more than `MOST_LATE_S` late is kept, too, but is not in the table, which tells their number; the
next `run` makes it again. `page` writes the table into the page of the documentation.

    sudo nice -n -15 .venv/bin/python bench/bbr_gate.py run
    .venv/bin/python bench/bbr_gate.py page
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bbr_truth import Cell, figures, table, write
from gate_truth import MOST_LATE_S, in_gate

KEPT = Path(__file__).resolve().parent / "bbr_gate.jsonl"
MARKERS = ("<!-- bbr in the gate: begin -->", "<!-- bbr in the gate: end -->")

CELLS = (
    Cell("1 BBR", 10, 40, 1, "drop-tail"),
    Cell("1 BBR", 20, 100, 2, "drop-tail"),
    Cell("2 BBR", 10, 40, 1, "drop-tail"),
    Cell("2 BBR", 20, 20, 2, "drop-tail"),
    Cell("1 BBR, 1 CUBIC", 10, 40, 1, "drop-tail"),
    Cell("1 BBR, 1 CUBIC", 20, 100, 2, "drop-tail"),
    Cell("1 BBR, 1 CUBIC", 10, 40, 2, "CoDel"),
    Cell("1 BBR, 1 CUBIC", 10, 40, 2, "FQ-CoDel"),
    Cell("1 BBR, 1 CUBIC", 10, 40, 2, "PIE"),
    Cell("2 BBR", 20, 20, 2, "CoDel"),
    Cell("2 BBR", 10, 40, 2, "FQ-CoDel"),
    # those that do not agree with the laboratory
    Cell("2 BBR", 10, 40, 0.5, "drop-tail"),
    Cell("1 BBR, 1 Reno", 10, 40, 2, "FQ-CoDel"),
    Cell("1 BBR, 1 CUBIC", 20, 200, 2, "drop-tail"),
)


def kept() -> list[dict[str, Any]]:
    """Return all runs so far."""
    return [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []


def in_time(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return those in which the machine kept up."""
    return [line for line in lines if line["late_p99_s"] <= MOST_LATE_S]


def measure(cell: Cell, seed: int) -> dict[str, Any]:
    """Make one run of the gate; return its line."""
    record = in_gate(cell.scenario(replications=1, seed=seed))
    late = record.lateness.filter(of="router, forward").row(0, named=True)
    return {
        **asdict(cell),
        "seed": seed,
        **figures(cell, record),
        "late_p99_s": late["p99_s"],
        "late_max_s": late["max_s"],
        "kernel": record.run["kernel"],
        "machine": record.run["machine"][0],
    }


def run(seeds: int) -> None:
    """Make the runs that are missing: every cell with the first seed, then with the next one."""
    for seed in range(1, seeds + 1):
        for cell in CELLS:
            if any(Cell.of(line) == cell and line["seed"] == seed for line in in_time(kept())):
                continue
            found = measure(cell, seed)
            with KEPT.open("a") as file:
                file.write(json.dumps(found) + "\n")
            told = "  ".join(f"{name} {found[name]:.4g}" for name in cell.measures)
            late = f"late: p99 {1e3 * found['late_p99_s']:.2f}, max {1e3 * found['late_max_s']:.1f}"
            print(f"{cell.name} (seed {seed}): {told}; {late} ms", flush=True)


def rows() -> Iterator[str]:
    """Yield the table, and how late the runs were."""
    lines = kept()
    used = in_time(lines)
    yield from table(used, CELLS, lets_go_early=False)
    p99, most = (sorted(1e3 * line[f"late_{of}_s"] for line in used) for of in ("p99", "max"))
    middle = len(used) // 2
    # without the name that this machine's maker gave it
    kernels = sorted({line["kernel"].partition("-")[0] for line in used})
    yield (
        f"\n{len(used)} runs, kernel {', '.join(kernels)}. One "
        f"packet in a hundred left the link more than {p99[middle]:.2f} ms late (median of the "
        f"runs; {p99[-1]:.2f} in the worst); the latest one {most[middle]:.0f} ms "
        f"({most[-1]:.0f}). Runs that are left out because that was more than "
        f"{1e3 * MOST_LATE_S:g} ms: {len(lines) - len(used)}."
    )


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("run", "table", "page"))
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    if given.what == "run":
        run(given.seeds)
    elif given.what == "page":
        write(rows(), MARKERS)
    else:
        sys.stdout.writelines(f"{row}\n" for row in rows())


if __name__ == "__main__":
    main()
