"""A rate trace through the network world and the gate: queue and goodput beside each other.

The trace is one of Mahimahi's form with a period of 1 s: 10 Mb/s for half a second, 2 Mb/s for the
other half. The gate's daemon counts it from its own start, which is before that of the flows; the
means of whole periods do not depend on this. It takes a minute, as the gate is in real time, and
needs what the gate needs (root, nftables). The bar is 5 %.

    python bench/trace_worlds.py
"""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path

import sluicegate as sg
from sluicegate.estimate import Measure

# the package has a function of this name
gate = import_module("sluicegate.worlds.gate.measure")

_BAR = 0.05
_OPPORTUNITY_BITS = 12_000
_RATES_BPS = (10e6, 2e6)
_SECONDS, _WARM_UP_S, _REPLICATIONS = 11.0, 1.0, 2


def trace() -> str:
    """Opportunities of a second."""
    times_ms = [
        500 * half + round(1e3 * _OPPORTUNITY_BITS / rate_bps * (number + 1))
        for half, rate_bps in enumerate(_RATES_BPS)
        for number in range(int(0.5 * rate_bps / _OPPORTUNITY_BITS))
    ]
    times_ms[-1] = 1000
    return "".join(f"{time_ms}\n" for time_ms in sorted(times_ms))


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


def main() -> None:
    """Print a table."""
    datagrams = {"kind": "datagrams", "rate_bps": 5e6, "packet_bytes": 1500}
    tcp = {
        "kind": "tcp",
        "count": 4,
        "spread_s": 0.2,
        "tcp": {"like": "linux", "packet_bytes": 1500, "congestion_control": "cubic"},
    }
    # it refuses rates because its daemon counts them from another time: no matter here
    gate.refuse = lambda *_: None
    print("flows, AQM | measure | network | gate | difference | within 5 %")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        path.write_text(trace())
        for name, flows, aqm in (
            ("datagrams 5 Mb/s, drop_tail", [datagrams], "drop_tail"),
            ("4 CUBIC, drop_tail", [tcp], "drop_tail"),
            ("4 CUBIC, codel", [tcp], "codel"),
        ):
            given = scenario(path, flows, aqm)
            ours = sg.network.simulate(given.replace(replications=20))
            real = gate.measure(given, given.disciplines[0])
            for measure in ("queue_mean", "throughput_bps"):
                one, other = ours[measure], real[measure]
                difference = other.value / one.value - 1
                within = "yes" if abs(difference) <= _BAR else "no"
                print(
                    f"{name} | {measure} | {shown(one)} | {shown(other)} | "
                    f"{difference:+.1%} | {within}",
                    flush=True,
                )


def shown(found: Measure) -> str:
    """A measure with its interval."""
    width = "" if found.half_width is None else f" ± {found.half_width:.3g}"
    return f"{found.value:.5g}{width}"


if __name__ == "__main__":
    main()
