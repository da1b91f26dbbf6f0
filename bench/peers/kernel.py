"""Compares CUBIC in ns-2, in our network world and in this machine's kernel (the world `gate`).

All run the dumb-bell of the other comparisons. Runs of the kernel are in real time: half an hour in
all.

    sudo PYTHONPATH=bench .venv/bin/python bench/peers/kernel.py
"""

from __future__ import annotations

from collections.abc import Sequence

from cases import Case
from equality import in_gate
from simulators import Run, ns2, ours, scenario

import sluicegate as sg
from sluicegate.estimate import student
from sluicegate.report.text import measure_text
from sluicegate.scenario import TcpFlows

CASES = [
    Case("DropTail", flows, variant="cubic", limit=500, seeds=5, duration_s=100.0)
    for flows in (10, 30, 100)
]
FIGURES = {"queue": 1, "deviation": 1, "loss": 100, "goodput": 1}


def like_linux(case: Case) -> sg.network.NetworkScenario:
    """Return the case's scenario with TCP as in Linux."""
    found = scenario(case)
    flows = found.flows[0]
    assert isinstance(flows, TcpFlows)
    tcp = flows.tcp.replace(like="linux", variant=None)
    return found.replace(flows=[flows.replace(tcp=tcp)], warm_up_s=case.duration_s / 2)


def linux(case: Case) -> list[Run]:
    """Return our runs, with TCP as in Linux."""
    record = sg.network.simulate(like_linux(case), threads=1)
    port, rows = record.ports[0], record.replications
    each = zip(port.samples, rows["loss_ratio"], rows["goodput"], strict=True)
    return [Run.of(queue, loss, goodput, case.q_ref) for queue, loss, goodput in each]


def kernel(case: Case) -> list[Run]:
    """Return runs of the kernel's TCP."""
    runs = []
    for seed in range(1, case.seeds + 1):
        record = in_gate(like_linux(case).replace(replications=1, seed=seed))
        queue = record.ports[0].series["queue"].to_numpy()
        loss, goodput = record["loss_ratio"].value, record["goodput"].value
        runs.append(Run.of(queue, loss, goodput, case.q_ref))
    return runs


def line(case: Case, where: str, runs: Sequence[Run]) -> str:
    """Return a line of the table in `docs/background/ns2.md`."""
    texts = [
        measure_text(student([getattr(run, name) for run in runs]).times(factor), digits=3)
        for name, factor in FIGURES.items()
    ]
    return f"| {case.flows} | {where} | {' | '.join(texts)} |"


def main() -> None:
    """Print the table."""
    places = {"ns-2": ns2, "ours, `ns2`": ours, "ours, `linux`": linux, "the kernel": kernel}
    for case in CASES:
        for where, run in places.items():
            print(line(case, where, run(case)), flush=True)


if __name__ == "__main__":
    main()
