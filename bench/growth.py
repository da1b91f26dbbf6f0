"""Time per packet and memory per flow of the network world, by the number of flows.

The dumb-bell of the LRED paper under drop-tail with N long-lived flows; each adds 100 kbit/s to the
rate and a packet to the buffer: 10 Gbit/s for 100,000 flows, over 10 simulated seconds. Prints a
table and writes `bench/growth.json` and `bench/growth.png`. With `--pacing` the flows pace. Each
run has a separate process. The numbers of flows take turns, because other load on the machine
varies; the least time counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).parent
# flows and simulated seconds: a few CPU seconds each
RUNS = {100: 800.0, 1000: 160.0, 10_000: 20.0, 100_000: 10.0}
ROUNDS = 3
RATE_BPS, PACKET_BYTES = 100e3, 500
# bars: time per packet relative to that of 100 flows, and bytes per flow
MOST_GROWTH, MOST_BYTES = 1.5, 1000


def memory(field: str) -> int:
    """Return the resident bytes of this process: now (VmRSS) or at the peak (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    assert found
    return int(found[1]) * 1024


def dumbbell(flows: int, duration_s: float, pacing: bool) -> Any:
    """Return a scenario of N flows over a bottleneck whose rate and buffer grow with N."""
    from sluicegate.worlds.network import NetworkScenario

    return NetworkScenario.parse(
        {
            "topology": {
                "kind": "dumbbell",
                "rate_bps": RATE_BPS * flows,
                "access_rate_bps": 10 * RATE_BPS * flows,
            },
            "flows": [
                {
                    "kind": "tcp",
                    "count": flows,
                    "spread_s": 1.0,
                    "tcp": {
                        "variant": "newreno",
                        "like": "ns2",
                        "packet_bytes": PACKET_BYTES,
                        "pacing": pacing,
                    },
                }
            ],
            "queue": {"limit": flows},
            "disciplines": [{"aqm": "drop_tail"}],
            "duration_s": duration_s,
            "sample_s": 0.1,
            "replications": 1,
        }
    )


def run(flows: int, duration_s: float, pacing: bool) -> dict[str, Any]:
    """Make a run; return its packets sent, CPU time (s, with set-up and record), and peak bytes."""
    from sluicegate.worlds.network import simulate

    # a first run, so that what Python loads once is not counted
    simulate(dumbbell(10, 1.0, pacing), threads=1, fresh=True)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    at_rest = memory("VmRSS")
    before = resource.getrusage(resource.RUSAGE_SELF)
    record = simulate(dumbbell(flows, duration_s, pacing), threads=1, fresh=True)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "flows": flows,
        "duration_s": duration_s,
        "packets": record.ports[0].series["sent_bytes"].tail(1).item() // PACKET_BYTES,
        "user_s": after.ru_utime - before.ru_utime,
        "system_s": after.ru_stime - before.ru_stime,
        "bytes": memory("VmHWM") - at_rest,
        "loss_ratio": record["loss_ratio"].value,
    }


def in_process(flows: int, pacing: bool, runs_folder: str) -> dict[str, Any]:
    """Call `run` in a separate process."""
    command = [sys.executable, __file__, "--flows", str(flows)] + ["--pacing"] * pacing
    environment = os.environ | {"SLUICE_RUNS": runs_folder}
    done = subprocess.run(command, check=True, capture_output=True, env=environment)
    return dict(json.loads(done.stdout))


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the least CPU time and the most memory of all runs of one number of flows."""
    first = runs[0]
    cpu_s = min(each["user_s"] + each["system_s"] for each in runs)
    return {
        "flows": first["flows"],
        "duration_s": first["duration_s"],
        "packets": first["packets"],
        "cpu_s": cpu_s,
        "ns_a_packet": cpu_s * 1e9 / first["packets"],
        "bytes_a_flow": max(each["bytes"] for each in runs) / first["flows"],
    }


def table(rows: list[dict[str, Any]]) -> Table:
    columns = ("flows", "simulated s", "packets", "CPU s", "ns a packet", "growth", "bytes a flow")
    shown = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        shown.add_row(
            f"{row['flows']:,}",
            f"{row['duration_s']:g}",
            f"{row['packets']:,}",
            f"{row['cpu_s']:.2f}",
            f"{row['ns_a_packet']:.0f}",
            f"{row['growth']:.2f}",
            f"{row['bytes_a_flow']:.0f}",
        )
    return shown


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    flows = [row["flows"] for row in rows]
    named = {"ns_a_packet": "CPU time a packet (ns)", "bytes_a_flow": "peak memory a flow (bytes)"}
    bars = {"ns_a_packet": MOST_GROWTH * rows[0]["ns_a_packet"], "bytes_a_flow": MOST_BYTES}
    for axes, (name, label) in zip(figure.subplots(1, 2), named.items(), strict=True):
        axes.plot(flows, [row[name] for row in rows], marker="o")
        axes.axhline(bars[name], color="grey", linestyle="--", linewidth=1)
        axes.set(xscale="log", xlabel="flows", ylabel=label)
    # with few flows, the fixed memory of a run is large per flow
    figure.axes[0].set_ylim(bottom=0)
    figure.axes[1].set_yscale("log")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, help="one run of so many flows, as JSON")
    parser.add_argument("--pacing", action="store_true", help="flows that pace")
    given = parser.parse_args()
    if given.flows:
        print(json.dumps(run(given.flows, RUNS[given.flows], given.pacing)))
        return
    load = os.getloadavg()[0]
    runs: dict[int, list[dict[str, Any]]] = {flows: [] for flows in RUNS}
    with tempfile.TemporaryDirectory() as folder:
        for flows in track(list(RUNS) * ROUNDS, "growth with flows"):
            runs[flows].append(in_process(flows, given.pacing, folder))
    rows = [summary(each) for each in runs.values()]
    for row in rows:
        row["growth"] = row["ns_a_packet"] / rows[0]["ns_a_packet"]
    results = {"cores": os.cpu_count(), "load_before": load, "summary": rows, "runs": runs}
    (HERE / "growth.json").write_text(json.dumps(results, indent=2) + "\n")
    plot(rows, HERE / "growth.png")
    console = Console()
    console.print(table(rows))
    console.print(f"other load on the machine before: {load:.2f}")


if __name__ == "__main__":
    main()
