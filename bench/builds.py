"""Checks that every build gives the same results, bit for bit, on one thread and on two.

`make bench-builds` builds the engine without optimisation and with the full optimisation of a
wheel. It runs every AQM in the slotted world and in the network world under these builds and the
daily one, and compares the records.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

ROOT = Path(__file__).parent.parent
ENGINES = {
    "daily": ROOT / "sluicegate" / "_engine.abi3.so",
    "plain": ROOT / "target" / "plain" / "lib_engine.so",
    "release": ROOT / "target" / "release" / "lib_engine.so",
}
TCPS = (
    *({"variant": name} for name in ("tahoe", "reno", "newreno", "sack")),
    {"variant": "sack", "congestion_control": "cubic"},
    {"variant": "sack", "congestion_control": "dctcp", "ecn": True},
)
FGN = {"hurst": 0.8, "deviation": 0.3, "frame_s": 0.1}


def load(engine: Path) -> None:
    """Load a build of the extension module in place of the package's own."""
    loader = ExtensionFileLoader("sluicegate._engine", str(engine))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    sys.modules[loader.name] = module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)


def scenarios() -> list[Any]:
    """Return scenarios of a few seconds for both worlds, with every kind of traffic."""
    import sluicegate as sg

    aqms = [{"aqm": name, "ecn": aqm.coupled} for name, aqm in sg.aqms().items()]
    slotted = {
        "arrivals": {"kind": "self-similar", "rate": 0.5, "a": 10},
        "service": {"kind": "geometric", "mu": 0.5},
        "disciplines": aqms,
        "slots": 20_000,
        "slot_s": 0.001,
        "replications": 2,
    }
    network = {
        "topology": {"kind": "dumbbell", "two_way": True},
        "flows": [
            *({"kind": "tcp", "count": 10, "tcp": tcp} for tcp in TCPS),
            {
                "kind": "short-tcp",
                "route": "reverse",
                "gaps": {"kind": "exponential", "mean_s": 0.1},
                "fgn": FGN,
                "duration": {"kind": "pareto", "mean_s": 0.5},
            },
            {
                "kind": "web",
                "count": 5,
                "objects": {"kind": "pareto", "mean_packets": 20, "shape": 1.5},
                "think": {"kind": "exponential", "mean_s": 0.5},
            },
            {"kind": "datagrams", "rate_bps": 1e5, "gaps": "exponential", "fgn": FGN},
            {"kind": "datagrams", "rate_bps": 1e5, "self_similar": {"share": 0.5, "a": 10}},
        ],
        "queue": {"limit": 100},
        "disciplines": [*aqms, {"aqm": "codel", "scheduler": {"kind": "fq"}, "label": "fq_codel"}],
        "duration_s": 10,
        "replications": 2,
    }
    return [sg.Scenario.parse(slotted), sg.network.NetworkScenario.parse(network)]


def digest(record: Any) -> str:
    """Return the SHA-256 of a record without its identity, which names the build."""
    summary = {**record.summary(), "identity": ""}
    found = hashlib.sha256(json.dumps(summary, sort_keys=True).encode())
    for name, frame in sorted(record.frames().items()):
        found.update(name.encode())
        frame.write_ipc(ipc := io.BytesIO())
        found.update(ipc.getvalue())
    return found.hexdigest()


def digests(threads: int) -> dict[str, str]:
    """Return the digests of all records, by world and discipline."""
    import sluicegate as sg

    found = {}
    for scenario in scenarios():
        simulate = sg.simulate if isinstance(scenario, sg.Scenario) else sg.network.simulate
        for discipline in scenario.disciplines:
            record = simulate(scenario, discipline, threads=threads, fresh=True)
            found[f"{record.world} {discipline.name}"] = digest(record)
    return found


def child(build: str, threads: int) -> dict[str, str]:
    """Return the digests of one build, from a separate process with a separate store."""
    with tempfile.TemporaryDirectory() as runs:
        done = subprocess.run(
            [sys.executable, __file__, build, str(threads)],
            env={**os.environ, "SLUICE_RUNS": runs},
            stdout=subprocess.PIPE,
            check=True,
        )
    return dict(json.loads(done.stdout))


def main() -> int:
    """Compare all builds; return 1 if any differ. `builds.py BUILD THREADS` prints digests."""
    if len(sys.argv) > 1:
        load(ENGINES[sys.argv[1]])
        print(json.dumps(digests(int(sys.argv[2]))))
        return 0
    runs = [(build, threads) for build in ENGINES for threads in (1, 2)]
    found = [child(*run) for run in track(runs, "builds", console=Console(stderr=True))]
    differ = [name for name, first in found[0].items() if any(one[name] != first for one in found)]
    print(
        f"{len(found[0])} runs: {len(differ)} differ between {', '.join(ENGINES)}, 1 and 2 threads"
    )
    for name in differ:
        print(f"  {name}")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
