"""A rate trace through the network world, the gate and the laboratory: queue and goodput.

The trace is a table of steps with a period of 1 s: 10 Mb/s for half a second, 2 Mb/s for the other
half. All three read the same file. The gate is in real time and needs what it needs (root,
nftables), and goes before all other processes: on a busy machine it is 2 ms late without. The
laboratory takes a minute of a core for each run. The bar is 5 %, or what the intervals leave open.

    python bench/trace_worlds.py [REPLICATIONS]
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sluicegate as sg
from sluicegate.estimate import Measure
from sluicegate.worlds import Kernel
from sluicegate.worlds.gate import measure
from sluicegate.worlds.network import NetworkRecord

_BAR = 0.05
_RATES_BPS = (10e6, 2e6)
_SECONDS, _WARM_UP_S, _REPLICATIONS = 11.0, 1.0, 4
_OF_NETWORK = 20
_PRIORITY = 50


def trace() -> str:
    """Half a second at each rate, again and again."""
    rows = [
        f"{second + half / 2},{rate_bps:.0f}"
        for second in range(round(_SECONDS))
        for half, rate_bps in enumerate(_RATES_BPS)
    ]
    return "\n".join(["time_s,rate_bps", *rows, ""])


def scenario(path: Path, flows: list[dict[str, object]], aqm: str) -> sg.network.NetworkScenario:
    """One bottleneck that follows the trace."""
    return sg.network.NetworkScenario.parse(
        {
            "duration_s": _SECONDS,
            "warm_up_s": _WARM_UP_S,
            "replications": _REPLICATIONS,
            "topology": {
                "kind": "dumbbell",
                "rate_bps": 10e6,
                "delay_s": 0.0,
                "server_delay_s": 0.0,
                "client_delays_s": [0.02],
                "access_rate_bps": 1e9,
            },
            "flows": flows,
            "queue": {"limit": 300},
            "links": {"left -> right": {"rate": {"kind": "file", "path": str(path)}}},
            "disciplines": [{"aqm": aqm}],
        }
    )


def records(given: sg.network.NetworkScenario) -> dict[str, NetworkRecord]:
    """The scenario in all three."""
    (discipline,) = given.disciplines
    laboratory = Kernel().run(
        given, discipline, threads=None, on_progress=lambda *_: None, fresh=False
    )
    with first():
        gate = measure(given, discipline)
    network = sg.network.simulate(given.replace(replications=_OF_NETWORK))
    return {"network": network, "laboratory": laboratory, "gate": gate}


@contextmanager
def first() -> Iterator[None]:
    """Let this process, and those that it starts, go before all others (SCHED_FIFO)."""
    policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, param)


def main() -> None:
    """Print a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else _REPLICATIONS
    datagrams = {"kind": "datagrams", "rate_bps": 5e6, "packet_bytes": 1500}
    tcp = {
        "kind": "tcp",
        "count": 4,
        "spread_s": 0.2,
        "tcp": {"like": "linux", "packet_bytes": 1500, "congestion_control": "cubic"},
    }
    print(
        "| flows, AQM | measure | world | value | from network |\n| --- | --- | --- | ---: | ---: |"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.csv"
        path.write_text(trace())
        for name, flows, aqm in (
            ("datagrams 5 Mb/s, drop_tail", [datagrams], "drop_tail"),
            ("4 CUBIC, drop_tail", [tcp], "drop_tail"),
            ("4 CUBIC, codel", [tcp], "codel"),
        ):
            found = records(scenario(path, flows, aqm).replace(replications=count))
            for measure in ("queue_mean", "throughput_bps"):
                ours = found["network"][measure]
                for world, record in found.items():
                    other = record[measure]
                    print(
                        f"| {name} | {measure} | {world} | {shown(other)} | "
                        f"{verdict(ours, other)} |",
                        flush=True,
                    )


def verdict(one: Measure, other: Measure) -> str:
    """How far another value is, and whether that is within the bar or the intervals."""
    difference = other.value / one.value - 1
    spread = sum(each.half_width or 0.0 for each in (one, other))
    within = "within 5 %" if abs(difference) <= _BAR else "no"
    if within == "no" and abs(other.value - one.value) <= spread:
        within = "within the intervals"
    return f"{difference:+.1%}, {within}"


def shown(found: Measure) -> str:
    """A measure with its interval."""
    width = "" if found.half_width is None else f" ± {found.half_width:.3g}"
    return f"{found.value:.5g}{width}"


if __name__ == "__main__":
    main()
