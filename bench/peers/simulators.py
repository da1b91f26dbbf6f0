"""Runs a case in each simulator, and returns the figures of every seed."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cases import DELAYS_MS, SAMPLE_S, SHORT_PACKETS, Case

import sluicegate as sg
from sluicegate.worlds.network import response_time_s

HERE = Path(__file__).parent
RESULTS = HERE / "results"
# arguments that dumbbell.cc has, too
NS3_WORDS = ("aqm", "flows", "variant", "limit", "access_bps", "spread", "duration", "sample")


@dataclass(frozen=True)
class Run:
    """The second half of one run.

    Attributes:
        queue: Mean queue, packets.
        deviation: Mean absolute deviation of the queue from its mean, packets.
        loss: Losses divided by arrivals at the bottleneck.
        goodput: Packets acknowledged in sequence, 1/s.
        response_s: Response time to the target, in the whole run; infinite if it is not reached.
        histogram: Number of samples with k packets waiting, shape (K,).
    """

    queue: float
    deviation: float
    loss: float
    goodput: float
    response_s: float
    histogram: list[int]

    @classmethod
    def of(cls, samples: Any, loss: float, goodput: float, target: float) -> Run:
        """Return a run, from samples of the queue every SAMPLE_S in the whole run."""
        samples = np.asarray(samples, dtype=np.int64)
        half = samples[len(samples) // 2 :]
        return cls(
            queue=float(half.mean()),
            deviation=float(np.abs(half - half.mean()).mean()),
            loss=float(loss),
            goodput=float(goodput),
            response_s=response_time_s(samples, SAMPLE_S, target),
            histogram=np.bincount(half).tolist(),
        )


def scenario(case: Case) -> sg.network.NetworkScenario:
    """Return the case as a scenario of the network world."""
    given = case.discipline()
    cubic = {"variant": "sack", "congestion_control": "cubic"}
    control = cubic if case.variant == "cubic" else {"variant": case.variant}
    tcp = {**control, "like": "ns2", "receiver_window": 10_000, "ecn": case.ecn}
    long = {"kind": "tcp", "count": case.flows, "spread_s": case.spread_s, "tcp": tcp}
    routes = ("forward", "reverse") if case.two_way else ("forward",)
    flows: list[dict[str, Any]] = [{**long, "route": route} for route in routes]
    delays_s = [delay / 1000 for delay in DELAYS_MS[case.delays]]
    if case.short:
        gaps = {"kind": "exponential", "mean_s": len(delays_s) / case.short}
        sizes = {"kind": "constant", "mean_packets": SHORT_PACKETS}
        arrive = {"count": len(delays_s), "gaps": gaps, "packets": sizes}
        flows.append({"kind": "short-tcp", "tcp": tcp, **arrive})
    if case.datagrams:
        rate_bps = 8 * 130 * case.datagrams
        sends = {"packet_bytes": 130, "rate_bps": rate_bps, "gaps": "exponential"}
        flows.append({"kind": "datagrams", **sends})
    return sg.network.NetworkScenario.parse(
        {
            "topology": {
                "kind": "dumbbell",
                "access_rate_bps": case.access_bps,
                "client_delays_s": delays_s,
                "two_way": case.two_way,
            },
            "flows": flows,
            "queue": {"limit": given["limit"], "ecn": case.ecn},
            "disciplines": [{"aqm": given["aqm"], "params": given.get("params", {})}],
            "duration_s": case.duration_s,
            "sample_s": SAMPLE_S,
            "replications": case.seeds,
        }
    )


def ours(case: Case) -> list[Run]:
    """Return Sluicegate's runs."""
    record = sg.network.simulate(scenario(case), threads=1)
    port, rows = record.ports[0], record.replications
    each = zip(port.samples, rows["loss_ratio"], rows["goodput"], strict=True)
    return [Run.of(queue, loss, goodput, case.q_ref) for queue, loss, goodput in each]


def ns2(case: Case) -> list[Run]:
    """Return runs of ns-2."""
    script = HERE / "dumbbell.tcl"
    return [
        _kept(["ns", str(script)], case.words(seed), script, case)
        for seed in range(1, case.seeds + 1)
    ]


def ns3(case: Case) -> list[Run]:
    """Return runs of ns-3, which has DropTail and RED."""
    program = ns3_program()
    words = [f"--{word}" for word in case.words(0) if word.split("=")[0] in NS3_WORDS]
    return [
        _kept([str(program)], [*words, f"--seed={seed}"], HERE / "dumbbell.cc", case)
        for seed in range(1, case.seeds + 1)
    ]


def ns3_program(name: str = "dumbbell") -> Path:
    """Return the path of a program for ns-3; compile it first if its source has changed.

    Raises:
        subprocess.CalledProcessError: If it does not compile, for lack of ns-3.
    """
    source, program = HERE / f"{name}.cc", RESULTS / f"{name}-ns3"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        parts = ("point-to-point", "internet", "applications", "traffic-control", "network", "core")
        libraries = [f"-lns3-{part}" for part in parts]
        command = ["g++", "-O2", "-o", str(program), str(source), *libraries]
        subprocess.run(command, check=True, capture_output=True)
    return program


def raw(command: list[str]) -> dict[str, Any]:
    """Return the JSON that a peer's program prints; ns-2's CUBIC prints other text around it."""
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    printed, _ = json.JSONDecoder().raw_decode(done.stdout, done.stdout.index("{"))
    return dict(printed)


def _kept(command: list[str], words: list[str], source: Path, case: Case) -> Run:
    """Return a peer's run, from the folder of finished runs if it is there."""
    what = [words, source.read_text()]
    key = hashlib.sha256(json.dumps(what).encode()).hexdigest()[:24]
    path = RESULTS / "finished" / f"{key}.json"
    if not path.exists():
        run = _figures(raw([*command, *words]), case)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(run)))
        part.rename(path)
    return Run(**json.loads(path.read_text()))


def _figures(printed: dict[str, Any], case: Case) -> Run:
    arrived, _, dropped, acknowledged = np.subtract(printed["end"], printed["half"])
    goodput = acknowledged / (case.duration_s / 2)
    return Run.of(printed["queue"], dropped / arrived, goodput, case.q_ref)
