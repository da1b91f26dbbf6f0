"""The network world against ns-2: the dumb-bell of the LRED paper under the same TCP and AQMs.

Runs both in turn, ten seeds each, and prints their figures side by side: second-half mean queue,
its mean absolute deviation, loss ratio and goodput, and the response time. Then packets through
the bottleneck per second of CPU time. Writes `bench/peers.json`. Needs ns-2 (`ns`); takes about a
quarter of an hour on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).parent
DURATION_S, SAMPLE_S, Q_REF = 200.0, 0.01, 100.0

# In ns-2 a buffer of 200 holds 199 waiting packets, with PI and RED 200. RED is set there as by
# default for 2500 packets/s of 500 bytes: thresholds 6.25 and 18.75, w = 1 - exp(-1/2500), wait_.
# Its adaptive RED computes the slope of the gentle law once, from the first max_p: with 500 flows
# max_p climbs to 0.5 without effect and the queue to 180; ours follows max_p, and they differ.
_RED = {"w": 4e-4, "mean_packet_bytes": 500, "spacing": "waiting"}
AQMS: dict[str, dict[str, Any]] = {
    "DropTail": {"aqm": "drop_tail", "limit": 199},
    "RED": {
        "aqm": "gentle_red",
        "limit": 200,
        "params": {**_RED, "min_th": 6.25, "max_th": 18.75, "max_p": 0.1},
    },
    "ARED": {
        "aqm": "ared",
        "limit": 200,
        "params": {**_RED, "min_th": 50, "max_th": 150, "max_p": 0.1},
    },
    "PI": {"aqm": "pi", "limit": 200, "params": {"q_ref": Q_REF}},
    "REM": {"aqm": "rem", "limit": 199, "params": {"q_ref": Q_REF, "congestion": "rate"}},
}
# figure: (bar, whether it is relative)
BARS = {
    "queue": (0.05, True),
    "deviation": (0.10, True),
    "loss": (0.05, True),
    "goodput": (0.01, True),
}
QUEUE_PACKETS = 5.0


def scenario(aqm: str, flows: int, access_bps: float, seeds: int) -> Any:
    """The dumb-bell with one discipline."""
    from sluicegate.network import NetworkScenario

    chosen = AQMS[aqm]
    return NetworkScenario.parse(
        {
            "topology": {"kind": "dumbbell", "access_rate_bps": access_bps},
            "flows": [
                {
                    "kind": "tcp",
                    "count": flows,
                    "spread_s": 1.0,
                    "tcp": {"variant": "newreno", "like": "ns2", "receiver_window": 10_000},
                }
            ],
            "queue": {"limit": chosen["limit"]},
            "disciplines": [{"aqm": chosen["aqm"], "params": chosen.get("params", {})}],
            "duration_s": DURATION_S,
            "sample_s": SAMPLE_S,
            "replications": seeds,
        }
    )


def ours(aqm: str, flows: int, access_bps: float, seeds: int) -> dict[str, Any]:
    """Figures of every seed, shape (seeds,) each, and the speed."""
    from sluicegate.network import simulate

    setting = scenario(aqm, flows, access_bps, seeds)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    record = simulate(setting, threads=1)
    cpu_s = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    rows = record.replications
    throughput = rows["throughput_bps"].to_numpy()
    return {
        "queue": rows["queue_mean"].to_list(),
        "deviation": rows["queue_deviation"].to_list(),
        "loss": rows["loss_ratio"].to_list(),
        "goodput": rows["goodput"].to_list(),
        "response": record.ports[0].response_times_s(Q_REF).tolist(),
        # the second half's rate stands for the whole run's, which is all but the same
        "packets_per_cpu_s": float(throughput.sum()) / 8 / 500 * DURATION_S / cpu_s,
    }


def ns2(aqm: str, flows: int, access_bps: float, seeds: int) -> dict[str, Any]:
    """The same of ns-2, whose speed comes with and without its set-up."""
    from sluicegate.network.measures import response_time_s

    figures: dict[str, list[float]] = {name: [] for name in (*BARS, "response")}
    packets = cpu_s = loop_s = 0.0
    for seed in range(1, seeds + 1):
        words = [f"aqm={aqm}", f"flows={flows}", f"access_bps={access_bps:g}", f"seed={seed}"]
        command = ["ns", str(HERE / "dumbbell.tcl"), *words]
        run = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        samples = np.array(run["queue"], dtype=np.float64)
        half = samples[len(samples) // 2 :]
        arrived, _, dropped, acknowledged = np.subtract(run["end"], run["half"])
        figures["queue"].append(float(half.mean()))
        figures["deviation"].append(float(np.abs(half - half.mean()).mean()))
        figures["loss"].append(dropped / arrived)
        figures["goodput"].append(acknowledged / (DURATION_S / 2))
        figures["response"].append(response_time_s(samples, SAMPLE_S, Q_REF))
        packets += run["end"][1]
        cpu_s += run["cpu_s"]
        loop_s += run["loop_cpu_s"]
    speeds = {"packets_per_cpu_s": packets / cpu_s, "packets_per_loop_s": packets / loop_s}
    return {**figures, **speeds}


def judged(name: str, our_rows: Sequence[float], their_rows: Sequence[float]) -> tuple[str, bool]:
    """The deviation of our mean from ns-2's in words, and whether it is within the bar."""
    our, their = float(np.mean(our_rows)), float(np.mean(their_rows))
    if name == "response":
        if not (np.isfinite(our) and np.isfinite(their)):
            return f"{our:.3g} / {their:.3g}", np.isfinite(our) == np.isfinite(their)
        spread = float(np.std(our_rows, ddof=1) + np.std(their_rows, ddof=1))
        return f"{our:.3g} / {their:.3g}", abs(our - their) <= max(spread, SAMPLE_S)
    bar, _ = BARS[name]
    off = our / their - 1
    within = abs(off) <= bar or (name == "queue" and abs(our - their) <= QUEUE_PACKETS)
    return f"{our:.4g} / {their:.4g} ({off:+.1%})", within


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, nargs="+", default=[100, 500])
    parser.add_argument("--access", type=float, nargs="+", default=[100e6, 10e6], metavar="BPS")
    parser.add_argument("--aqms", nargs="+", default=list(AQMS), choices=list(AQMS))
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    if shutil.which("ns") is None:
        print("peers: ns-2 is missing (Debian, Ubuntu: apt install ns2); nothing was compared")
        return 0
    cases = [(a, n, b) for b in given.access for n in given.flows for a in given.aqms]
    screen, results = Console(width=140), []
    columns = ("aqm", "flows", "access", *BARS, "response (s)", "speed, set-up in", "out", "all")
    table = Table(*columns, title="ours / ns-2, means over the seeds, second half")
    for aqm, flows, access_bps in track(cases, "peers", console=Console(stderr=True)):
        our, their = (run(aqm, flows, access_bps, given.seeds) for run in (ours, ns2))
        cells, verdicts = [], []
        for name in (*BARS, "response"):
            text, within = judged(name, our[name], their[name])
            cells.append(text if within else f"[red]{text}[/]")
            verdicts.append(within)
        speed = our["packets_per_cpu_s"]
        ratios = [speed / their[name] for name in ("packets_per_cpu_s", "packets_per_loop_s")]
        cells += [*(f"{ratio:.1f}" for ratio in ratios), "yes" if all(verdicts) else "no"]
        table.add_row(aqm, str(flows), f"{access_bps / 1e6:g} Mb/s", *cells)
        case = {"aqm": aqm, "flows": flows, "access_bps": access_bps}
        results.append({**case, "ours": our, "ns2": their})
    screen.print(table)
    (HERE.parent / "peers.json").write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
