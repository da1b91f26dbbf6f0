"""Compares the methods of tuning, and measures the speed of the search of REDwM's paper.

RED before a link at 90 % load with a limit of 20 packets: the `max_p` and `max_th` with the least
delay_mean + 85 loss_ratio. The tables are those of docs/guides/tune.md.
"""

import sys
import tempfile
import time
from pathlib import Path

import sluicegate as sg
from sluicegate.papers.redwm.optimisation import problem
from sluicegate.sweeps.workers import here_or_beside
from sluicegate.tuning.judge import Judge, Rules
from sluicegate.tuning.kept import Kept, TuningFolder
from sluicegate.tuning.methods import METHODS
from sluicegate.tuning.runner import Runner
from sluicegate.worlds.chain.world import Chain

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from tune_cases import RED, THRESHOLDS

# the scenario of the tests, with longer runs
LONG = RED.replace(slots=1_000_000)
SCORE = "delay_mean + 85*loss_ratio"
SIMULATING = ("pattern", "nelder-mead", "bayesian")
CANDIDATES = 40


def main():
    print("| method | candidates | chains solved | least score | max_p | max_th | s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    world = Chain(grid=0.5)
    for method in METHODS:
        start_s = time.monotonic()
        found = sg.tune(LONG, THRESHOLDS, SCORE, method=method, world=world, workers=1)
        took_s = time.monotonic() - start_s
        candidates = found.trials.height
        # a gradient takes a solve for each parameter, only at candidates that were accepted
        chains = candidates * (1 + len(THRESHOLDS)) if method == "gradient" else candidates
        values = " | ".join(f"{value:.4f}" for value in found.values.values())
        print(
            f"| `{method}` | {candidates} | {'at most ' * (method == 'gradient')}{chains} "
            f"| {found.score.value:.5f} | {values} | {took_s:.1f} |"
        )
    print("\n| method | runs | score, fresh seeds | the chain's at that setting |")
    print("| --- | --- | --- | --- |")
    for method in SIMULATING:
        found = sg.tune(
            LONG, THRESHOLDS, SCORE, method=method, precision=0.01, evaluations=CANDIDATES
        )
        record = sg.chain.solve(found.scenario, grid=0.25).record
        exact = record["delay_mean"].value + 85 * record["loss_ratio"].value
        print(f"| `{method}` | {found.runs} | {found.score:.3f} | {exact:.4f} |")
    for workers in (1, 2):
        rate, of_cpu = redwm_rates(workers)
        print(f"\nREDwM's score, {workers} process(es): {rate:.1f} candidates a second")
        if workers == 1:  # the CPU time of other processes is not measured
            print(f"{of_cpu:.1f} candidates in a second of processor time")


def redwm_rates(workers, candidates=40):
    """Return candidates of REDwM's search judged per second, and per second of own CPU time."""
    asked = problem(sg.SelfSimilarArrivals(rate=0.5, a=31.6), 10)
    places = asked.starts()
    with tempfile.TemporaryDirectory() as folder, here_or_beside(workers) as pool:
        runner = Runner(asked, pool, Kept(asked, TuningFolder(folder)), lambda: None)
        judge = Judge(runner, "search", Rules(0.05, 3, 64))
        judge.judge([asked.at(place) for place in places[-4:]])
        start_s, start_cpu_s = time.monotonic(), time.process_time()
        judge.judge([asked.at(place) for place in places[:candidates]])
        took_s, cpu_s = time.monotonic() - start_s, time.process_time() - start_cpu_s
        return candidates / took_s, candidates / cpu_s


if __name__ == "__main__":
    main()
