"""The best known under TCP: a table by delay, tuned and learned, beside all AQMs on other networks.

`python bench/closed_loop.py run` searches and measures what `bench/closed_loop.jsonl` has not; with
`page` it writes the table into docs/background/regret.md. `make closed-loop` does both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sluicegate as sg
from sluicegate import network
from sluicegate.estimate import student
from sluicegate.report.text import measure_text

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "bench" / "closed_loop.jsonl"
PAGE = ROOT / "docs" / "background" / "regret.md"
TABLE = str(ROOT / "bench" / "delay_table.h")
NAMES = [f"p{number}" for number in range(1, 6)]
_RUNS = 4
# of the cross-entropy method: candidates of a generation, those that shape the next, generations
_CANDIDATES, _BEST, _GENERATIONS = 10, 3, 5
_DELAY_COST = 10.0
# they would drop what these senders, which have no ECN, cannot have marked
_MUST_MARK = ("dualpi2", "cake")


def dumbbell(rate_bps: float, flows: int, delays_s: Sequence[float]) -> network.NetworkScenario:
    """TCP flows through one link, whose buffer holds a quarter of a second."""
    return network.NetworkScenario(
        topology=network.Dumbbell(rate_bps=rate_bps, client_delays_s=list(delays_s)),
        flows=[network.TcpFlows(count=flows)],
        queue=sg.Queue(limit=max(int(rate_bps / 4 / 12_000), 20)),
        disciplines=[sg.Discipline(aqm="drop_tail")],
        duration_s=12,
        warm_up_s=4,
        replications=1,
    )


TRAINING = dumbbell(10e6, 10, [0.01, 0.02, 0.04])
HELD_OUT = {
    "few flows": dumbbell(10e6, 3, [0.02]),
    "many flows": dumbbell(10e6, 40, [0.01, 0.02, 0.04]),
    "long way": dumbbell(20e6, 10, [0.08, 0.1]),
}


def cost(scenario: network.NetworkScenario, discipline: sg.Discipline, seed: int) -> float:
    """Unused share of the link, plus 10 for each second of mean delay in the queue."""
    record = network.simulate(scenario.replace(seed=seed), discipline)
    unused = 1 - record["utilization"].value
    return float(unused + _DELAY_COST * record["sojourn_mean"].value)


def table(label: str, probabilities: Sequence[float]) -> sg.Discipline:
    """The header with these drop probabilities."""
    params = dict(zip(NAMES, map(float, probabilities), strict=True))
    return sg.Discipline(aqm=TABLE, params=params, label=label)


def tuned() -> list[float]:
    """The probabilities that `sluice tune` finds on the training network."""
    found = sg.tune(
        TRAINING.replace(disciplines=[sg.Discipline(aqm=TABLE)]),
        {f"delay_table.{name}": "1e-4..1:log" for name in NAMES},
        f"{_DELAY_COST:g}*sojourn_mean - utilization",
        evaluations=12,
        replications=3,
    )
    return [float(found.values[f"delay_table.{name}"]) for name in NAMES]


def learned() -> list[float]:
    """Learned by the cross-entropy method: a normal distribution of the logarithms."""
    random = np.random.default_rng(1)
    mean, spread = np.log10([0.001, 0.01, 0.03, 0.1, 0.3]), np.full(len(NAMES), 0.7)
    for generation in range(_GENERATIONS):
        logs = np.clip(random.normal(mean, spread, (_CANDIDATES, len(NAMES))), -5, 0)
        # all candidates of a generation see the same traffic
        costs = [cost(TRAINING, table("candidate", 10**each), 100 + generation) for each in logs]
        best = logs[np.argsort(costs)[:_BEST]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.05
        print(f"generation {generation}: {min(costs):.4f}", flush=True)
    return [float(each) for each in 10**mean]


def disciplines(found: dict[str, list[float]]) -> list[sg.Discipline]:
    """All AQMs with their defaults, and both tables; those that must mark are left out."""
    every = [sg.Discipline(aqm=name, label=name) for name in sg.aqms() if name not in _MUST_MARK]
    return [*every, *(table(label, values) for label, values in found.items())]


def kept() -> list[dict[str, Any]]:
    """All lines."""
    return [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []


def run() -> None:
    """Search, then measure what is missing."""
    with KEPT.open("a") as file:

        def keep(line: dict[str, Any]) -> None:
            file.write(json.dumps(line) + "\n")
            file.flush()

        found = {line["table"]: line["values"] for line in kept() if "table" in line}
        for label, search in (("table, tuned", tuned), ("table, learned", learned)):
            if label not in found:
                found[label] = search()
                keep({"table": label, "values": found[label]})
        known = {(line["network"], line["aqm"]) for line in kept() if "aqm" in line}
        for name, scenario in {**HELD_OUT, "training": TRAINING}.items():
            for discipline in disciplines(found):
                if (name, discipline.name) in known:
                    continue
                costs = [cost(scenario, discipline, seed) for seed in range(1, _RUNS + 1)]
                keep({"network": name, "aqm": discipline.name, "cost": costs})
                print(name, discipline.name, np.mean(costs), flush=True)


def page() -> None:
    """Write the table into the page."""
    lines = kept()
    found = {line["table"]: line["values"] for line in lines if "table" in line}
    costs = {(line["network"], line["aqm"]): line["cost"] for line in lines if "aqm" in line}
    networks = [*HELD_OUT, "training"]
    rows = [f"| AQM | {' | '.join(networks)} |", f"|---|{'---:|' * len(networks)}"]
    for discipline in disciplines(found):
        cells = [
            measure_text(student(np.array(costs[name, discipline.name]), ""), digits=3)
            if (name, discipline.name) in costs
            else ""
            for name in networks
        ]
        rows.append(f"| {discipline.name} | {' | '.join(cells)} |")
    text = PAGE.read_text()
    begin, end = "<!-- closed loop -->", "<!-- end of closed loop -->"
    before, after = text.partition(begin)[0], text.partition(end)[2]
    PAGE.write_text(f"{before}{begin}\n\n" + "\n".join(rows) + f"\n\n{end}{after}")


if __name__ == "__main__":
    if sys.argv[1:] not in (["run"], ["page"]):
        sys.exit("usage: bench/closed_loop.py run | page")
    run() if sys.argv[1] == "run" else page()
