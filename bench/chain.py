"""The chain against scipy's `splu` on the same chain; time and memory by number of states.

Each measurement runs in a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

LIMIT, RATE, MU, W = 250, 0.5, 0.5, 0.07
MIN_TH, MAX_TH, MAX_P = 100.0, 200.0, 0.1
SELF_SIMILAR_A = 31.0


def scenario(arrivals: dict[str, Any]) -> Any:
    import sluicegate as sg

    red = {
        "aqm": "red",
        "params": {
            "min_th": MIN_TH,
            "max_th": MAX_TH,
            "max_p": MAX_P,
            "w": W,
            "spacing": "independent",
            "idle_decay": False,
        },
    }
    return sg.Scenario.parse(
        {
            "arrivals": arrivals,
            "service": {"kind": "geometric", "mu": MU},
            "queue": {"limit": LIMIT},
            "disciplines": [red],
            "slots": 1000,
        }
    )


def drop_law(average: Any, grid: float) -> Any:
    """RED's law, averaged over a step of the grid each side with falling weights."""
    law = np.zeros(average.shape)
    for off in (np.arange(-32, 32) + 0.5) / 32:
        near = average + off * grid
        p = np.clip(MAX_P * (near - MIN_TH) / (MAX_TH - MIN_TH), 0, None)
        law += (1 - abs(off)) / 32 * np.where(near >= MAX_TH, 1.0, p)
    return law


def transition_matrix(grid: float) -> Any:
    """The geometric chain of the same RED, written with numpy: columns sum to 1."""
    from scipy.sparse import coo_matrix

    levels, sizes = round(LIMIT / grid) + 1, LIMIT + 2
    level, size = (part.ravel() for part in np.indices((levels, sizes)))
    number = np.arange(levels * sizes)
    rows, columns, values = [], [], []

    def add(to_level: Any, to_size: Any, p: Any) -> None:
        rows.append(to_level * sizes + to_size)
        columns.append(number)
        values.append(p)

    for served in (0, 1):
        after = size - served * (size > 0)
        p_served = np.where(size > 0, MU if served else 1 - MU, 0 if served else 1)
        add(level, after, p_served * (1 - RATE))
        average = level * grid
        place = (average + W * (np.maximum(after - 1, 0) - average)) / grid
        low = np.minimum(np.floor(place).astype(int), levels - 1)
        for to_level, p_level in (
            (low, 1 - (place - low)),
            (np.minimum(low + 1, levels - 1), place - low),
        ):
            law = np.where(after == sizes - 1, 1.0, drop_law(to_level * grid, grid))
            add(to_level, after, p_served * RATE * p_level * law)
            more = np.minimum(after + 1, sizes - 1)
            add(to_level, more, p_served * RATE * p_level * (1 - law))
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    matrix = coo_matrix(entries, shape=(number.size, number.size)).tocsc()
    matrix.eliminate_zeros()
    return matrix


def queue_mean(x: Any) -> float:
    by_size = x.reshape(-1, LIMIT + 2).sum(axis=0)
    return float(np.maximum(np.arange(LIMIT + 2) - 1, 0) @ by_size)


def by_splu(grid: float) -> dict[str, float]:
    """x (P - I) = 0 with its first equation replaced by x[0] = 1, then normalised."""
    from scipy.sparse import identity
    from scipy.sparse.linalg import splu

    matrix = transition_matrix(grid)
    start = time.perf_counter()
    singular = (matrix - identity(matrix.shape[0])).tocsc()
    rest = splu(singular[1:, 1:].tocsc()).solve(-singular[1:, [0]].toarray().ravel())
    x = np.concatenate(([1.0], rest))
    x /= x.sum()
    seconds = time.perf_counter() - start
    residual = float(np.abs(matrix @ x - x).sum())
    return {"states": x.size, "s": seconds, "residual": residual, "queue_mean": queue_mean(x)}


def by_chain(grid: float, arrivals: dict[str, Any]) -> dict[str, float]:
    import sluicegate as sg

    wanted = scenario(arrivals)
    start = time.perf_counter()
    solution = sg.chain.solve(wanted, grid=grid, method="iterative")
    seconds = time.perf_counter() - start
    return {
        "states": solution.states,
        "s": seconds,
        "residual": solution.residual,
        "queue_mean": solution.record["queue_mean"].value,
    }


def measure(kind: str, grid: float) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", kind, "--grid", str(grid)],
        capture_output=True,
        text=True,
        check=True,
    )
    return {"kind": kind, "grid": grid, **json.loads(done.stdout)}


def one(kind: str, grid: float) -> dict[str, float]:
    if kind == "splu":
        result = by_splu(grid)
    elif kind == "geometric":
        result = by_chain(grid, {"kind": "geometric", "rate": RATE})
    else:
        source = {"kind": "self-similar", "rate": RATE, "a": SELF_SIMILAR_A}
        result = by_chain(grid, source)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return result | {"peak_mb": peak / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", choices=["splu", "geometric", "self-similar"])
    parser.add_argument("--grid", type=float, default=0.25)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.grid)))
        return
    print(f"{'what':14} {'grid':>6} {'states':>9} {'s':>8} {'MB':>7} {'residual':>9}  queue mean")
    runs = [("splu", given.grid), ("geometric", given.grid)]
    runs += [("self-similar", grid) for grid in (4.0, 1.0, 0.25, 0.0625)]
    for kind, grid in runs:
        row = measure(kind, grid)
        print(
            f"{kind:14} {grid:6g} {row['states']:9,} {row['s']:8.2f} {row['peak_mb']:7.0f} "
            f"{row['residual']:9.1e}  {row['queue_mean']:.12f}"
        )


if __name__ == "__main__":
    main()
