"""Compares BBR in the network world with that of the laboratory's kernel.

Alone, two and ten flows, and beside CUBIC and Reno, at several buffers, rates, round trips and
AQMs. The laboratory runs in virtual time, so the load of the machine does not matter. `run` makes
the runs that are missing. Each run is kept as a line of `bench/bbr_truth.jsonl`, so the command can
be interrupted and started again. `page` writes the tables into the page of the documentation.

    .venv/bin/python bench/bbr_truth.py run
    .venv/bin/python bench/bbr_truth.py page
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import polars as pl
from scipy.stats import t as student_t

import sluicegate as sg
from sluicegate.errors import SluiceError
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds.real.record import RealRecord

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "bench" / "bbr_truth.jsonl"
PAGE = ROOT / "docs" / "background" / "senders.md"
MARKERS = ("<!-- bbr: begin -->", "<!-- bbr: end -->")

DISCIPLINES: dict[str, dict[str, Any]] = {
    "drop-tail": {"aqm": "drop_tail"},
    "CoDel": {"aqm": "codel"},
    "FQ-CoDel": {"aqm": "codel", "scheduler": {"kind": "fq"}, "victim": "front"},
    "PIE": {"aqm": "pie"},
    "RED": {"aqm": "red", "params": {"min_th": 20, "max_th": 60, "max_p": 0.1, "w": 2**-9}},
}
# flows of BBR, and those of the other congestion control beside them
MIXES: dict[str, dict[str, int]] = {
    "1 BBR": {"bbr": 1},
    "2 BBR": {"bbr": 2},
    "10 BBR": {"bbr": 10},
    "1 BBR, 1 CUBIC": {"bbr": 1, "cubic": 1},
    "1 BBR, 1 Reno": {"bbr": 1, "reno": 1},
    "5 BBR, 5 CUBIC": {"bbr": 5, "cubic": 5},
}
PACKET_BYTES, ACK_BYTES = 1500, 52
DURATION_S, WARM_UP_S = 30.0, 10.0
SIMULATED = 16  # runs of the network world in a cell
BAR = 0.10  # the relative difference that agrees whatever the intervals
# measures: heading, factor, and the difference that does not count, in the measure's unit
MEASURES: dict[str, tuple[str, float, float]] = {
    "share": ("share of BBR, %", 100, 0.0),
    "queue_mean": ("queue, packets", 1, 1.0),
    "loss_ratio": ("lost, %", 100, 0.0005),
    "goodput": ("goodput, packets/s", 1, 0.0),
}


@dataclass(frozen=True)
class Cell:
    """One case: flows, link, buffer in bandwidth-delay products, discipline."""

    mix: str
    mbit: int
    rtt_ms: int
    buffer: float
    discipline: str

    @classmethod
    def of(cls, line: dict[str, Any]) -> Cell:
        """The cell of a run that is kept."""
        return cls(*(line[each.name] for each in fields(cls)))

    @property
    def name(self) -> str:
        """Such as `1 BBR, 10 Mbit/s, 40 ms, 2 BDP, drop-tail`."""
        link = f"{self.mbit} Mbit/s, {self.rtt_ms} ms, {self.buffer:g} BDP"
        return f"{self.mix}, {link}, {self.discipline}"

    @property
    def limit(self) -> int:
        """The buffer, packets."""
        return max(4, round(self.buffer * self.mbit * 1e3 * self.rtt_ms / 8 / PACKET_BYTES))

    @property
    def measures(self) -> list[str]:
        """The measures in the table; a share only beside others."""
        return [name for name in MEASURES if name != "share" or len(MIXES[self.mix]) > 1]

    def scenario(
        self, *, replications: int, seed: int, lets_go_early: bool = False
    ) -> NetworkScenario:
        """The scenario, with its only discipline.

        Args:
            replications: How many runs.
            seed: Of the first.
            lets_go_early: Whether packets get through as in the laboratory, where a link that
                waited lets a packet go as its transmission begins: the shortest round trip (40.00
                ms with 40 ms of delay) then lacks the transmission of a packet and of its ACK.
        """
        sending_s = (PACKET_BYTES + ACK_BYTES) * 8 / (self.mbit * 1e6)
        return NetworkScenario.parse(
            {
                "topology": {
                    "kind": "dumbbell",
                    "rate_bps": self.mbit * 1e6,
                    # in the laboratory there is none
                    "access_rate_bps": 1e11,
                    "delay_s": self.rtt_ms / 2e3 - 0.002 - lets_go_early * sending_s / 2,
                    "client_delays_s": [0.001],
                    "server_delay_s": 0.001,
                },
                "flows": [
                    {
                        "kind": "tcp",
                        "count": count,
                        "spread_s": 0.2,
                        "label": control,
                        "tcp": {
                            "like": "linux",
                            "congestion_control": control,
                            # as in the laboratory
                            "segmentation_offload": False,
                            "packet_bytes": PACKET_BYTES,
                            "ack_bytes": ACK_BYTES,
                        },
                    }
                    for control, count in MIXES[self.mix].items()
                ],
                "queue": {"limit": self.limit},
                "disciplines": [{"label": self.discipline} | DISCIPLINES[self.discipline]],
                "duration_s": DURATION_S,
                "warm_up_s": WARM_UP_S,
                "replications": replications,
                "seed": seed,
            }
        )


FIRST = (
    Cell("1 BBR", 10, 40, 2, "drop-tail"),
    Cell("2 BBR", 10, 40, 2, "drop-tail"),
    Cell("1 BBR, 1 CUBIC", 10, 40, 2, "drop-tail"),
    Cell("1 BBR, 1 Reno", 10, 40, 2, "drop-tail"),
    Cell("10 BBR", 10, 40, 0.5, "drop-tail"),
    Cell("1 BBR, 1 CUBIC", 10, 40, 2, "FQ-CoDel"),
)


def _cells() -> Iterator[Cell]:
    yield from FIRST
    for buffer in (0.5, 2, 8, 1):
        for mix in ("1 BBR, 1 CUBIC", "1 BBR", "10 BBR", "1 BBR, 1 Reno", "2 BBR"):
            yield Cell(mix, 10, 40, buffer, "drop-tail")
    for mix in ("1 BBR, 1 CUBIC", "10 BBR", "1 BBR", "1 BBR, 1 Reno"):
        for discipline in ("CoDel", "FQ-CoDel", "PIE", "RED"):
            yield Cell(mix, 10, 40, 2, discipline)
    for mix in ("1 BBR", "1 BBR, 1 CUBIC", "5 BBR, 5 CUBIC"):
        yield Cell(mix, 5, 200, 2, "drop-tail")
    for mbit, rtt_ms in ((20, 200), (50, 10)):
        for mix in ("1 BBR", "1 BBR, 1 CUBIC"):
            yield Cell(mix, mbit, rtt_ms, 2, "drop-tail")
    # those that did not agree with the gate
    yield Cell("2 BBR", 20, 20, 2, "CoDel")
    yield Cell("2 BBR", 10, 40, 2, "FQ-CoDel")
    yield Cell("1 BBR", 20, 100, 2, "drop-tail")


CELLS = tuple(dict.fromkeys(_cells()))


def kept() -> list[dict[str, Any]]:
    """Return all runs of the laboratory so far."""
    return [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []


def simulated(cell: Cell, *, lets_go_early: bool) -> list[dict[str, float]]:
    """Run the network world; return the measures of each replication."""
    scenario = cell.scenario(replications=SIMULATED, seed=1, lets_go_early=lets_go_early)
    record = sg.compare(scenario, world="network").records[0]
    rows = record.replications
    found = {name: rows[name].to_list() for name in cell.measures if name != "share"}
    if "share" in cell.measures:
        own, other = (rows[f"{name}.goodput"] for name in MIXES[cell.mix])
        found["share"] = (own / (own + other)).to_list()
    return [dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)]


def measure(cell: Cell, seed: int) -> dict[str, Any]:
    """Make one run of the laboratory; return its line."""
    scenario = cell.scenario(replications=1, seed=seed)
    record = sg.compare(scenario, world="kernel", threads=1).records[0]
    return {**asdict(cell), "seed": seed, **figures(cell, record)}


def figures(cell: Cell, record: RealRecord) -> dict[str, float]:
    """Return the measures of one run of real packets."""
    found = {name: record[name].value for name in MEASURES if name != "share"}
    arrived = record.connections.filter(pl.col("time_s") > WARM_UP_S)
    is_bbr = pl.col("flow") < MIXES[cell.mix]["bbr"]
    own, every = arrived.filter(is_bbr)["received"].sum(), arrived["received"].sum()
    return {**found, "share": own / every}


def run(only: Sequence[str], seeds: int, at_once: int) -> None:
    """Make the runs that are missing: every cell with the first seed, then with the next one."""
    have = {(Cell.of(line), line["seed"]) for line in kept()}
    wanted = [
        (cell, seed)
        for seed in range(1, seeds + 1)
        for cell in CELLS
        if (cell, seed) not in have and (not only or any(text in cell.name for text in only))
    ]
    print(f"{len(wanted)} runs are missing", flush=True)
    with ThreadPoolExecutor(at_once) as pool:
        doing = {pool.submit(measure, *each): each for each in wanted}
        for count, done in enumerate(as_completed(doing), 1):
            cell, seed = doing[done]
            try:
                found = done.result()
            except SluiceError as error:
                print(f"{count}/{len(wanted)} {cell.name}: {error}", file=sys.stderr, flush=True)
                continue
            with KEPT.open("a") as file:
                file.write(json.dumps(found) + "\n")
            told = "  ".join(f"{name} {found[name]:.4g}" for name in cell.measures)
            print(f"{count}/{len(wanted)} {cell.name} (seed {seed}): {told}", flush=True)


def agree(name: str, ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """Whether the means differ by no more than the bar, or than chance explains.

    Chance: the interval in which 95 % of the means of as many runs as the laboratory's lie, if
    they scatter as those of the network world do (Student's t).
    """
    difference = abs(fmean(ours) - fmean(theirs))
    if difference <= max(BAR * fmean(theirs), MEASURES[name][2]):
        return True
    chance = student_t.ppf(0.975, len(ours) - 1) * math.sqrt(1 / len(ours) + 1 / len(theirs))
    return difference <= chance * stdev(ours)


def table(
    lines: Iterable[dict[str, Any]], cells: Iterable[Cell], *, lets_go_early: bool
) -> Iterator[str]:
    """Yield a row for each cell that was measured; bold figures do not agree."""
    heads = " | ".join(heading for heading, _, _ in MEASURES.values())
    yield f"| flows | Mbit/s, ms | buffer, BDP | AQM | {heads} |"
    yield "|---|---|---:|---|" + "---|" * len(MEASURES)
    runs: dict[Cell, list[dict[str, Any]]] = {}
    for line in lines:
        runs.setdefault(Cell.of(line), []).append(line)
    held: Counter[str] = Counter()
    of: Counter[str] = Counter()
    for cell in cells:
        if cell not in runs:
            continue
        ours, texts, agrees = simulated(cell, lets_go_early=lets_go_early), [], True
        for name, (_, factor, _) in MEASURES.items():
            if name not in cell.measures:
                texts.append("")
                continue
            own, their = ([each[name] for each in found] for found in (ours, runs[cell]))
            text = f"{factor * fmean(own):.3g} / {', '.join(f'{factor * x:.3g}' for x in their)}"
            does = agree(name, own, their)
            held[name] += does
            of[name] += 1
            agrees &= does
            texts.append(text if does else f"**{text}**")
        held["every measure"] += agrees
        of["every measure"] += 1
        link = f"{cell.mbit}, {cell.rtt_ms}"
        yield (
            f"| {cell.mix} | {link} | {cell.buffer:g} | {cell.discipline} | {' | '.join(texts)} |"
        )
    yield "\nAgree: " + ", ".join(f"{name} {held[name]} of {of[name]}" for name in of) + "."


def trace() -> None:
    """Print a flow alone every 0.1 s: window, packets in flight and gain; ours / the kernel's."""
    cell = FIRST[0]
    scenario = cell.scenario(replications=1, seed=1)
    looks = sg.compare(scenario, world="kernel", threads=1).records[0].connections
    session = sg.session(cell.scenario(replications=1, seed=1, lets_go_early=True))
    for look in looks.filter(pl.col("time_s").is_between(0.05, 11.95)).iter_rows(named=True):
        session.advance(to_s=look["time_s"])
        own = session.observe().flows[0]
        window = own.windows[0] if len(own.windows) else math.nan
        print(
            f"{look['time_s']:.1f} s: window {window:.0f} / {look['cwnd']}, "
            f"in flight {own.in_flight} / {look['unacknowledged']}, gain {look['pacing_gain']}"
        )


def write(rows: Iterable[str], markers: tuple[str, str]) -> None:
    """Write a table into the page, between its markers."""
    text = PAGE.read_text()
    before, after = text.partition(markers[0])[0], text.partition(markers[1])[2]
    PAGE.write_text("\n".join([before + markers[0], *rows, markers[1] + after]))


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("run", "table", "page", "trace"))
    parser.add_argument("--only", nargs="*", default=[], help="names of cells contain one of these")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=2, help="runs at the same time")
    given = parser.parse_args()
    if given.what == "run":
        run(given.only, given.seeds, given.at_once)
    elif given.what == "trace":
        trace()
    elif given.what == "page":
        write(table(kept(), CELLS, lets_go_early=True), MARKERS)
    else:
        only = given.only or [""]
        cells = [cell for cell in CELLS if any(text in cell.name for text in only)]
        for line in table(kept(), cells, lets_go_early=True):
            print(line, flush=True)


if __name__ == "__main__":
    main()
