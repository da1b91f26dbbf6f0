"""Time and memory of the chain: against scipy's `splu`, by number of states, on the paper's chains.

Prints tables and writes `bench/chain.json` and `bench/chain.png`. Each measurement runs in a
separate process, so that its peak of memory is its own. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).parent
# the `a` that gives the published loss of one case, as found by `sluice reproduce`
A = 31.46
# geometric chains have 252 states for each of the limit's 250 / grid levels, self-similar ones 1260
GROWTH = {
    "geometric, direct": ("geometric", "direct", (6.25, 2.5, 1.0, 0.5, 0.25)),
    "geometric, iterative": ("geometric", "iterative", (6.25, 2.5, 1.0, 0.25, 1 / 16)),
    "self-similar, direct": ("self-similar", "direct", (12.5, 5.0, 2.5)),
    "self-similar, iterative": ("self-similar", "iterative", (12.5, 4.0, 1.0, 0.25, 1 / 16)),
}
SPLU_GRID = 0.25
PAPERS_GRID = 0.25


def solve(scenario: Any, grid: float, method: str) -> dict[str, Any]:
    """Solve a scenario's only discipline; return states, seconds, residual and mean queue."""
    import sluicegate as sg

    start = time.perf_counter()
    solution = sg.chain.solve(scenario, grid=grid, method=method)
    return {
        "states": solution.states,
        "s": time.perf_counter() - start,
        "residual": solution.residual,
        "queue_mean": solution.record["queue_mean"].value,
    }


def by_chain(source: str, method: str, grid: float) -> dict[str, Any]:
    """Solve RED with w = 0.07, sampled at arrivals, mu = 0.5."""
    import sluicegate as sg
    from sluicegate.papers import model

    arrivals = {
        "geometric": model.GEOMETRIC,
        "self-similar": sg.SelfSimilarArrivals(rate=model.RATE, a=A),
    }
    red = model.red({"w": 0.07, "sampling": "arrivals"})
    return solve(model.scenario(arrivals[source], 0.5, red, 1000), grid, method)


def papers_case(place: int) -> dict[str, Any]:
    """Solve a row of drop-from-front with victim tail, on the paper's grid."""
    import sluicegate as sg
    from sluicegate.papers import model
    from sluicegate.papers.drop_from_front.tables import published

    case = published()[place]
    arrivals = (
        model.GEOMETRIC
        if case.source == "geometric"
        else sg.SelfSimilarArrivals(rate=model.RATE, a=A)
    )
    scenario = model.scenario(arrivals, case.mu, case.discipline("tail"), 1000)
    return {"case": case.name, **solve(scenario, PAPERS_GRID, "auto")}


def one(kind: str, arguments: list[Any]) -> dict[str, Any]:
    """Make one measurement; add this process's peak of memory, MiB."""
    if kind == "splu":
        import splu

        result = splu.solve(*arguments)
    else:
        result = {"chain": by_chain, "case": papers_case}[kind](*arguments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return result | {"peak_mib": peak / 1024}


def apart(kind: str, *arguments: Any) -> dict[str, Any]:
    """Call `one` in a separate process."""
    command = [sys.executable, __file__, "--one", kind, json.dumps(arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def against_splu() -> dict[str, Any]:
    rows = {
        "splu": apart("splu", SPLU_GRID),
        "chain": apart("chain", "geometric", "iterative", SPLU_GRID),
    }
    ratios = {name: rows["splu"][name] / rows["chain"][name] for name in ("s", "peak_mib")}
    return {**rows, "times_faster": ratios["s"], "times_less_memory": ratios["peak_mib"]}


def growth() -> dict[str, list[dict[str, Any]]]:
    return {
        name: [apart("chain", source, method, grid) for grid in track(grids, name)]
        for name, (source, method, grids) in GROWTH.items()
    }


def papers_cases() -> list[dict[str, Any]]:
    """Solve all 24 rows with victim tail."""
    return [apart("case", place) for place in track(range(24), "the paper's chains")]


def draw(curves: dict[str, list[dict[str, Any]]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for ax, name, words in zip(
        figure.subplots(1, 2), ("s", "peak_mib"), ("time (s)", "peak memory (MiB)"), strict=True
    ):
        for label, rows in curves.items():
            ax.loglog(
                [row["states"] for row in rows], [row[name] for row in rows], "o-", label=label
            )
        ax.set_xlabel("states")
        ax.set_ylabel(words)
        ax.grid(alpha=0.25)
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def table(title: str, rows: Sequence[tuple[str, dict[str, Any]]]) -> Table:
    columns = ("what", "states", "s", "MiB", "residual", "mean queue")
    shown = Table(*columns, title=title, title_justify="left", box=None, pad_edge=False)
    for name, row in rows:
        shown.add_row(
            name,
            f"{row['states']:,}",
            f"{row['s']:.2f}",
            f"{row['peak_mib']:.0f}",
            f"{row['residual']:.1e}",
            f"{row['queue_mean']:.10f}",
        )
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("KIND", "ARGUMENTS"), help="in this process")
    if given := parser.parse_args().one:
        print(json.dumps(one(given[0], json.loads(given[1]))))
        return
    results: dict[str, Any] = {"cores": os.cpu_count(), "load_before": os.getloadavg()[0]}
    results |= {"against_splu": against_splu(), "growth": growth(), "paper": papers_cases()}
    (HERE / "chain.json").write_text(json.dumps(results, indent=2) + "\n")
    draw(results["growth"], HERE / "chain.png")
    screen, against = Console(), results["against_splu"]
    screen.print(table("Against splu", [(name, against[name]) for name in ("splu", "chain")]))
    screen.print(
        f"{against['times_faster']:.1f} times faster, "
        f"{against['times_less_memory']:.1f} times less memory"
    )
    grown = [(name, row) for name, rows in results["growth"].items() for row in rows]
    screen.print(table("Growth", grown))
    screen.print(table("The paper's chains", [(row["case"], row) for row in results["paper"]]))


if __name__ == "__main__":
    main()
