"""Packets through the bottleneck per second of CPU time: ours, ns-2's and ns-3's, in turn.

All sample the queue every 10 ms; ns-2 also runs without samples. Our time includes all set-up. The
figures are medians of a few rounds. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys

import numpy as np
from cases import Case
from rich.console import Console
from rich.progress import track
from rich.table import Table
from simulators import HERE, RESULTS, ns3_program, raw, scenario

import sluicegate as sg

CASES = [Case(aqm, flows) for flows in (100, 1000) for aqm in ("RED", "PI")]
ROUNDS = 3
# ns-3 takes 20 s for what ns-2 does in 1.5
NS3_DURATION_S = 40.0
# the speed by which ours is divided: the factor to reach
BARS = {"ns-2 with set-up": 10, "ns-2, bare event loop": 5, "ns-3, event loop": 50}


def cpu_seconds() -> float:
    """Return the CPU time of this process, s."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def ours(case: Case) -> float:
    """Return our packets per second of CPU time."""
    before = cpu_seconds()
    record = sg.network.simulate(scenario(case), threads=1, fresh=True)
    cpu_s = cpu_seconds() - before
    packets = record.whole["throughput_bps"].value / 8 / 500 * case.duration_s * case.seeds
    return packets / cpu_s


def ns2(case: Case, seed: int) -> dict[str, float]:
    """Return the same of ns-2."""
    command = ["ns", str(HERE / "dumbbell.tcl"), *case.words(seed)]
    sampled, bare = raw(command), raw([*command, "sample=0"])
    return {
        "ns-2 with set-up": sampled["end"][1] / sampled["cpu_s"],
        "ns-2, bare event loop": bare["end"][1] / bare["loop_cpu_s"],
    }


def ns3(case: Case, seed: int) -> dict[str, float]:
    """Return the same of ns-3, always with RED, because it has no PI."""
    words = [f"--flows={case.flows}", f"--seed={seed}", f"--duration={NS3_DURATION_S}"]
    printed = raw([str(ns3_program()), "--aqm=RED", *words])
    return {"ns-3, event loop": printed["end"][1] / printed["loop_cpu_s"]}


def main() -> int:
    """Measure, print, and write `bench/peers/results/speed.json`."""
    if shutil.which("ns") is None:
        print("peers: ns-2 is missing (Debian, Ubuntu: apt install ns2); no speeds compared")
        return 0
    RESULTS.mkdir(exist_ok=True)
    peers = [ns2, ns3]
    try:
        ns3_program()
    except (OSError, subprocess.CalledProcessError):
        print("peers: ns-3 is missing (Debian, Ubuntu: apt install libns3-dev); not compared")
        peers.remove(ns3)
    ours(CASES[0])  # not counted: the first run of a process also imports modules
    table = Table(
        *("aqm", "flows", "ours, packets/s"),
        *(f"times {name} (bar {bar})" for name, bar in BARS.items()),
        title="ns-3 has no PI: it runs RED in every row",
    )
    results = []
    for case in track(CASES, "speed", console=Console(stderr=True)):
        rounds = []
        for seed in range(1, ROUNDS + 1):
            speeds = {"ours": ours(case)}
            for peer in peers:
                speeds |= peer(case, seed)
            rounds.append(speeds)
        medians = {name: float(np.median([one[name] for one in rounds])) for name in rounds[0]}
        ratios = [
            f"{medians['ours'] / medians[name]:.1f}" if name in medians else "" for name in BARS
        ]
        table.add_row(case.aqm, str(case.flows), f"{medians['ours']:.3g}", *ratios)
        results.append({"aqm": case.aqm, "flows": case.flows, "rounds": rounds})
    Console(width=150).print(table)
    (RESULTS / "speed.json").write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
