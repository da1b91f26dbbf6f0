"""Cost of the gate's records: runs with and without them in turn, part of `make bench-gate`.

Both count flows, queue and times, so this is the cost of the records alone.
`bench/gate_recording_cost.py` counts all of it. Single runs vary by a fifth, so there are many
pairs. Prints the median ratio of the pairs with its 95 % interval, from order statistics, and
writes `bench/gate_recording.json`.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path

import gate_bed as bed
from scipy.stats import binom

from gate import full_speed, gate

PAIRS = 100


def pair(number: int) -> dict[str, float]:
    """Return packet rate and CPU per packet with telemetry, divided by those without."""
    lines = ("--jsonl", str(bed.FOLDER / "lines"), "--interval", "0.1")
    telemetry = (*lines, "--metrics", "127.0.0.1:9177")
    # the first one of a pair alternates
    order = (telemetry, ()) if number % 2 else ((), telemetry)
    found = {options: gate(full_speed, *options) for options in order}
    return {each: found[telemetry][each] / found[()][each] for each in ("per_s", "cpu_us")}


def median(ratios: list[float]) -> tuple[float, float, float]:
    """Return the median and its interval: two of the ratios, with a confidence of 95 % at least."""
    # with a probability of at most 2.5 % the median lies outside this rank, at either end
    rank = int(binom.ppf(0.025, len(ratios), 0.5)) - 1
    ratios = sorted(ratios)
    return statistics.median(ratios), ratios[rank], ratios[-1 - rank]


def measure() -> None:
    """Run all pairs, in a network namespace."""
    bed.build()
    bed.watch_first()
    load = os.getloadavg()[0]
    pairs = [pair(number) for number in range(PAIRS)]
    results = {"load": [load, os.getloadavg()[0]], "pairs": pairs}
    Path(__file__).with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
    for name, what in (("per_s", "packets/s"), ("cpu_us", "CPU per packet")):
        text = "{:.3f} ({:.3f} to {:.3f})".format(*median([each[name] for each in pairs]))
        print(f"with telemetry / without, {what}: {text}")


if __name__ == "__main__":
    if "--inside" in sys.argv:
        measure()
    else:
        os.execvp("unshare", [*bed.enter(), sys.executable, __file__, "--inside"])
