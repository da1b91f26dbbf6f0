"""Time and memory of the frontier: one policy, and 100 points, for thousands to a million states.

`python bench/frontier.py`; each size runs in a process of its own, so that its memory is seen.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

from sluicegate.frontier.admission import admission
from sluicegate.frontier.front import Front
from sluicegate.frontier.iteration import least
from sluicegate.frontier.objectives import pair
from sluicegate.frontier.source import Source

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_MOST_FOR_A_FRONT = 10_000
_POINTS = 100


def measure(states: int) -> None:
    """Print one line for a chain of that many states."""
    before = time.perf_counter(), time.process_time()
    source = Source(np.array([[0.5]]), np.array([[0.5]]), 0.5)
    process = admission(source, states - 2)
    least(process, [process.weighted({"queue": 1 / states**2, "lost": 1.0})])
    took = time.perf_counter() - before[0], time.process_time() - before[1]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    line = f"{states:9,} states: one policy {took[0]:7.2f} s ({took[1]:.2f} s of CPU), "
    line += f"{memory:5.2f} GB at most"
    if states <= _MOST_FOR_A_FRONT:
        before = time.perf_counter(), time.process_time()
        front = Front(process, pair("queue", "loss"), corners=_POINTS)
        took = time.perf_counter() - before[0], time.process_time() - before[1]
        line += f"; {len(front.corners)} corners {took[0]:.1f} s ({took[1]:.1f} s of CPU)"
    print(line, flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
    else:
        for size in _SIZES:
            subprocess.run([sys.executable, __file__, str(size)], check=True)
