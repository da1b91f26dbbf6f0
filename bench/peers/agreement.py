"""Compares the network world with ns-2 and ns-3: `make bench-peers`.

Runs every case in each simulator and prints the figures side by side, all of the second half of a
run: mean queue, its mean absolute deviation, loss ratio, goodput; and the response time. ns-3,
which has neither PI nor REM nor ns-2's TCP, is a second opinion on drop-tail, RED and CUBIC. All
figures (`agreement.json`) and plots of the queue's distributions are written to
`bench/peers/results/`. Finished runs of ns-2 and ns-3 are kept there, so an interrupted bench can
continue; `make clean` removes them. `--sets` selects other networks.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias

import numpy as np
from cases import SETS, Case
from drawing import draw
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.special import stdtrit
from simulators import HERE, RESULTS, Run, ns2, ns3, ns3_program, ours

from sluicegate.cli.screen import write_json

FloatArray: TypeAlias = NDArray[np.float64]

# figure: largest relative difference of the means
BARS = {"queue": 0.05, "deviation": 0.10, "loss": 0.05, "goodput": 0.01}
QUEUE_PACKETS = 5.0
NS3_CASES = [
    *(
        Case(aqm, flows, variant="sack", seeds=3)
        for flows in (100, 500)
        for aqm in ("DropTail", "RED")
    ),
    *(
        Case("DropTail", flows, variant="cubic", limit=500, seeds=5, duration_s=100.0)
        for flows in (10, 30, 100)
    ),
]


@dataclass(frozen=True)
class Verdict:
    """One figure of two simulators.

    Attributes:
        ours: Mean over the seeds.
        theirs: Mean over the seeds.
        half_width: Of the 95 % interval of the difference, by Student's t with one degree of
            freedom less than seeds, relative to theirs.
        within: True if the difference of the means is within the bar.
    """

    ours: float
    theirs: float
    half_width: float
    within: bool

    def __str__(self) -> str:
        if not np.isfinite(self.half_width):
            return f"{self.ours:.4g} / {self.theirs:.4g}"
        off = self.ours / self.theirs - 1
        return f"{self.ours:.4g} / {self.theirs:.4g} ({off:+.1%} ±{100 * self.half_width:.1f})"


def verdict(our: FloatArray, their: FloatArray) -> Verdict:
    """Return means and interval of the values of all seeds; the caller sets `within`."""
    error = np.sqrt(sum(row.var(ddof=1) / len(row) for row in (our, their)))
    factor = stdtrit(min(len(our), len(their)) - 1, 0.975)
    # theirs is 0 for losses if all packets are marked instead
    half_width = float(factor * error / their.mean()) if their.any() else np.nan
    return Verdict(float(our.mean()), float(their.mean()), half_width, within=False)


def judged(name: str, our: FloatArray, their: FloatArray) -> Verdict:
    """Compare a figure with its bar in BARS; the queue may also differ by QUEUE_PACKETS."""
    found = verdict(our, their)
    within = abs(found.ours - found.theirs) <= BARS[name] * found.theirs
    within |= name == "queue" and abs(found.ours - found.theirs) <= QUEUE_PACKETS
    return replace(found, within=within)


def response(our: FloatArray, their: FloatArray) -> Verdict:
    """Compare response times: our mean must lie within the range of the peer's seeds."""
    # without an interval where a response time is infinite
    with np.errstate(invalid="ignore"):
        found = verdict(our, their)
    return replace(found, within=bool(their.min() <= found.ours <= their.max()))


def compare(case: Case, our_runs: Sequence[Run], their_runs: Sequence[Run]) -> dict[str, Verdict]:
    """All figures that the case has."""

    def seeds(name: str) -> tuple[FloatArray, FloatArray]:
        our, their = (
            np.array([getattr(run, name) for run in row]) for row in (our_runs, their_runs)
        )
        return our, their

    verdicts = {name: judged(name, *seeds(name)) for name in BARS}
    if case.has_target:
        verdicts["response"] = response(*seeds("response_s"))
    return verdicts


def against_ns2(cases: Sequence[Case], screen: Console) -> list[dict[str, object]]:
    """Run the cases in both, print and draw them; return all figures."""
    table = Table(
        *("aqm", "flows", "network", "seeds", *BARS, "response, s", "within"),
        title="ours / ns-2: means over the seeds, difference with its 95 % half width",
    )
    runs: dict[Case, tuple[list[Run], list[Run]]] = {}
    rows: list[dict[str, object]] = []
    for case in track(cases, "ns-2", console=Console(stderr=True)):
        our_runs, their_runs = runs[case] = ours(case), ns2(case)
        verdicts = compare(case, our_runs, their_runs)
        cells = [str(v) if v.within else f"[red]{v}[/]" for v in verdicts.values()]
        cells += [""] * (len(BARS) + 1 - len(cells))
        within = "yes" if all(v.within for v in verdicts.values()) else "no"
        table.add_row(case.aqm, str(case.flows), case.network, str(case.seeds), *cells, within)
        rows.append({**asdict(case), **_named(verdicts)})
    screen.print(table)
    for path in draw(runs, RESULTS):
        screen.print(f"distributions: {path.relative_to(HERE.parent.parent)}", highlight=False)
    return rows


def against_ns3(screen: Console) -> list[dict[str, object]]:
    """Run drop-tail and RED under SACK, and CUBIC, in all three simulators; return all figures."""
    table = Table(
        "aqm", "flows", "network", *BARS, title="ours / ns-2 / ns-3: means over the seeds"
    )
    rows: list[dict[str, object]] = []
    for case in track(NS3_CASES, "ns-3", console=Console(stderr=True)):
        all_runs = {run.__name__: run(case) for run in (ours, ns2, ns3)}
        means = {
            simulator: {name: float(np.mean([getattr(run, name) for run in runs])) for name in BARS}
            for simulator, runs in all_runs.items()
        }
        cells = [" / ".join(f"{means[one][name]:.4g}" for one in means) for name in BARS]
        table.add_row(case.aqm, str(case.flows), case.network, *cells)
        rows.append({**asdict(case), **means})
    screen.print(table)
    return rows


def _named(verdicts: dict[str, Verdict]) -> dict[str, object]:
    return {name: asdict(verdict) for name, verdict in verdicts.items()}


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sets", nargs="+", default=["paper", "phases", "short", "red"], choices=list(SETS)
    )
    given = parser.parse_args()
    if shutil.which("ns") is None:
        print("peers: ns-2 is missing (Debian, Ubuntu: apt install ns2); nothing was compared")
        return 0
    RESULTS.mkdir(exist_ok=True)
    screen = Console(width=190)
    cases = [case for name in given.sets for case in SETS[name]()]
    results = {"ns2": against_ns2(cases, screen)}
    try:
        ns3_program()
    except (OSError, subprocess.CalledProcessError):
        print("peers: ns-3 is missing (Debian, Ubuntu: apt install libns3-dev); not compared")
    else:
        results["ns3"] = against_ns3(screen)
    write_json(RESULTS / "agreement.json", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
