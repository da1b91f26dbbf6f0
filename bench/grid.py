"""Compares the paper's grid and the limit of the grid with the paper and with a long slotted run.

For the geometric rows of the published tables (Domanska, Domanski & Czachorski 2008): the paper's
figure, the chain with the paper's grid of 1/4 packet, the limit of an infinitely fine grid, and a
run of 10^9 slots. Runs are kept in the store; all rows take about ten minutes on one core.
"""

from __future__ import annotations

import argparse

from scipy.special import stdtrit

import sluicegate as sg
from sluicegate.estimate import CONFIDENCE, Measure
from sluicegate.papers import model
from sluicegate.papers.drop_from_front.tables import Case, published

FIGURES = {
    "queue_mean": "queue_mean",
    "queue_variance": "queue_variance",
    "loss": "loss_ratio",
    "delay_mean": "delay_mean",
    "delay_variance": "delay_variance",
}
# independent units of a run, for its intervals
UNITS = 32
FAMILY = 0.99


def deviation(run: Measure, limit: Measure) -> float:
    """Return the difference of run and limit, in standard errors of the run."""
    t = float(stdtrit(UNITS - 1, (1 + CONFIDENCE) / 2))
    return (run.value - limit.value) / (run.half_width or 0.0) * t


def compare(case: Case, slots: int, seed: int) -> list[tuple[float, bool]]:
    """Print a row; return each figure's deviation, and if the limit is nearer to the paper."""
    discipline = case.discipline("tail")
    each = slots // model.REPLICATIONS
    scenario = model.scenario(model.GEOMETRIC, case.mu, discipline, each, seed=seed)
    paper_grid = sg.chain.solve(scenario, grid=0.25).record
    limit = sg.chain.extrapolate(scenario)
    run = sg.simulate(scenario)
    print(f"{case.name}: {limit.method.partition(';')[0]}")
    results = []
    for column, name in FIGURES.items():
        paper, coarse = float(getattr(case, column)), paper_grid[name].value
        off = deviation(run[name], limit[name])
        is_nearer = abs(limit[name].value - paper) < abs(coarse - paper)
        results.append((off, is_nearer))
        print(
            f"  {name:15} {paper:12.7g} {coarse:12.7g} "
            f"{limit[name].value:12.7g} ±{limit[name].half_width:8.1g} "
            f"{run[name].value:12.7g} ±{run[name].half_width:8.1g} {off:+6.2f}"
            f"  {'limit' if is_nearer else 'grid'}",
            flush=True,
        )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, default=10**9, help="of each run")
    parser.add_argument("--seed", type=int, default=20261120)
    given = parser.parse_args()
    print("figure, paper, grid 1/4, limit, run, its standard errors off the limit, nearer to paper")
    cases = [case for case in published() if case.source == "geometric"]
    results = [result for case in cases for result in compare(case, given.slots, given.seed)]
    widest = max(abs(off) for off, _ in results)
    allowed = float(stdtrit(UNITS - 1, 1 - (1 - FAMILY) / (2 * len(results))))
    nearer = sum(is_nearer for _, is_nearer in results)
    print(f"widest deviation {widest:.2f}; {FAMILY:.0%} of families stay below {allowed:.2f}")
    print(f"the limit is nearer to the paper in {nearer} of {len(results)} figures")


if __name__ == "__main__":
    main()
