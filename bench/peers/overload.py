"""Compares our FQ-CoDel with ns-3's under datagrams at 1.5 times the link's rate.

Prints the mean queue and the loss ratio of the second half, with an exact square root and with the
one of Linux and ns-3. 20 seeds each, 200 s; 10 Mb/s, packets of 1000 B, a queue for each flow.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from rich.console import Console
from rich.table import Table
from simulators import RESULTS, ns3_program, raw

import sluicegate as sg
from sluicegate.estimate import Measure, student

RATE_BPS, PACKET_BYTES, LOAD = 10e6, 1000, 1.5
DURATION_S, SEEDS = 200.0, 20
FLOWS = (10, 30)


def ours(flows: int, sqrt: str) -> tuple[Measure, Measure]:
    """Return mean queue (packets) and loss ratio; `sqrt` is CoDel's parameter."""
    link = {"source": "a", "sink": "b", "rate_bps": RATE_BPS, "delay_s": 0.0025, "queue": True}
    datagrams = {
        "kind": "datagrams",
        "source": "a",
        "sink": "b",
        "count": flows,
        "packet_bytes": PACKET_BYTES,
        "rate_bps": LOAD * RATE_BPS / flows,
        "gaps": "exponential",
    }
    codel = {"aqm": "codel", "params": {"sqrt": sqrt}, "victim": "front"}
    # the number of queues and the quantum of overload.cc
    scheduler = {"kind": "fq", "queues": 65_535, "quantum_bytes": 1500}
    record = sg.network.simulate(
        sg.network.NetworkScenario.parse(
            {
                "topology": {"kind": "graph", "links": [link]},
                "flows": [datagrams],
                "queue": {"limit": 10_240},
                "disciplines": [codel | {"scheduler": scheduler}],
                "duration_s": DURATION_S,
                "warm_up_s": DURATION_S / 2,
                "replications": SEEDS,
            }
        )
    )
    return record["queue_mean"], record["loss_ratio"]


def ns3(flows: int) -> tuple[Measure, Measure]:
    """Return the same measures of ns-3."""
    words = [f"--flows={flows}", f"--load={LOAD}", f"--duration={DURATION_S}"]
    program = str(ns3_program("overload"))
    runs = [raw([program, *words, f"--seed={seed}"]) for seed in range(1, SEEDS + 1)]
    queues = [np.mean(run["queue"]) for run in runs]
    losses = [run["dropped"] / run["arrived"] for run in runs]
    return student(queues), student(losses)


def main() -> int:
    """Print the table."""
    RESULTS.mkdir(exist_ok=True)
    try:
        ns3_program("overload")
    except (OSError, subprocess.CalledProcessError):
        print("peers: ns-3 is missing (Debian, Ubuntu: apt install libns3-dev); not compared")
        return 0
    table = Table("flows", "square root", "queue, packets", "loss ratio", title="FQ-CoDel")
    for flows in FLOWS:
        rows = {"exact": ours(flows, "exact"), "newton": ours(flows, "newton"), "ns-3": ns3(flows)}
        for name, measures in rows.items():
            cells = [f"{found.value:.4g} ± {found.half_width:.2g}" for found in measures]
            table.add_row(str(flows), name, *cells)
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
