"""Rate, shaping and cost of the gate: `make bench-gate`.

Prints tables and writes `bench/gate.json`. Sender and deciders (gate, nfq loop) get real-time
priority if that is allowed (root). What is compared is measured in turn, so that other load affects
both.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gate_bed as bed
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
ROUNDS = 5
PACKET_BYTES = 100
UNLIMITED_BPS = 100e9
# packets under way: few enough that no receive buffer overflows, not even that of the crate nfq,
# and enough to keep the deciders busy
WINDOW = 192
# rates of a sender with constant gaps, packets/s; each 1.4 times the one before
OFFERED = [round(20_000 * 1.4**k) for k in range(11)]
TIMERS = {
    "default slack": ("sleep", True),
    "sleep": ("sleep", False),
    "realtime": ("realtime", False),
    "spin": ("spin", False),
}
SHAPES = [(rate, size) for rate in (0.5e6, 10e6, 100e6) for size in (100, 500, 1500)]


def nfq_loop(measure: Callable[[Any], dict[str, float]]) -> dict[str, float]:
    with bed.decider(bed.NFQ_LOOP, first=True) as process:
        return measure(process)


def gate(measure: Callable[[Any], dict[str, float]], *options: str) -> dict[str, float]:
    with bed.gate(UNLIMITED_BPS, "--limit", "100000", *options, first=True) as (process, found):
        measured = measure(process)
    measured["lost"] += found["id_gaps"]
    return measured


def full_speed(process: Any, pieces: int = 32) -> dict[str, float]:
    before = bed.cpu_s(process)
    sent = bed.sent(bed.loading(PACKET_BYTES, 1, WINDOW, pieces=pieces))
    cpu_us = (bed.cpu_s(process) - before) / sent.arrived * 1e6
    return {"per_s": sent.per_s, "cpu_us": cpu_us, "lost": sent.lost}


def without_loss(process: Any) -> dict[str, float]:
    """Return the greatest rate of OFFERED up to which no packet is lost in a second."""
    held = 0
    for per_s in OFFERED:
        sent = bed.sent(bed.loading(PACKET_BYTES, 1, 10**12, per_s=per_s, pieces=8))
        if sent.lost or sent.sent < 0.95 * per_s:
            break
        held = per_s
    return {"per_s": held, "lost": 0}


def plain() -> dict[str, float]:
    sent = bed.sent(bed.loading(PACKET_BYTES, 1, 512))
    return {"per_s": sent.per_s, "lost": sent.lost}


def rates() -> list[dict[str, Any]]:
    rounds = []
    for _ in range(ROUNDS):
        rounds.append(
            {
                "plain": plain(),
                "nfq": nfq_loop(full_speed),
                "gate": gate(full_speed),
                # packets sent one by one, as in plain forwarding
                "single": gate(lambda process: full_speed(process, pieces=1)),
            }
        )
    return rounds


def even_rates() -> list[dict[str, Any]]:
    return [{"nfq": nfq_loop(without_loss), "gate": gate(without_loss)} for _ in range(3)]


def departures(seconds: float) -> list[tuple[int, int]]:
    """Return pairs of a time (ns) and the number of packets that had left by then."""
    seen = bed.arrived()
    rows: list[tuple[int, int]] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end or not rows:
        now = bed.arrived()
        if now != seen:
            rows.append((time.monotonic_ns(), now))
            seen = now
        # leaves the processor to the gate
        time.sleep(0.0001)
    return rows


def shape(rate_bps: float, packet_bytes: int, timer: str) -> dict[str, Any]:
    """Measure a link that is offered 1.2 times its rate: lateness of packets, error of the rate.

    A late gate or a late reading of the counter only adds lateness. So the rate's error is taken
    from the least lateness of many readings at the end and at the start.
    """
    mode, with_slack = TIMERS[timer]
    per_s = rate_bps / 8 / packet_bytes
    # the queue holds packets for half a second, in case the sender gets no processor for that long
    options = ["--limit", str(max(50, round(per_s / 2))), "--timer", mode]
    with bed.gate(rate_bps, *options, slack=with_slack) as (_, found):
        load = bed.loading(packet_bytes, 60, 10**12, per_s=round(1.2 * per_s))
        # the queue fills
        time.sleep(1)
        first = departures(0.5)
        time.sleep(3)
        last = departures(0.5)
        load.kill()
        load.communicate()
    late = [[at - count * 1e9 / per_s for at, count in rows] for rows in (first, last)]
    drift = (min(late[1]) - min(late[0])) / (last[0][0] - first[0][0])
    return {"rate_bps": rate_bps, "packet_bytes": packet_bytes, "timer": timer,
            "error": drift, "lateness_ms": found["lateness_ms"]}  # fmt: skip


def middle(values: list[float], digits: int = 2) -> str:
    least, most = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"


def show(results: dict[str, Any]) -> None:
    rounds, even = results["rates"], results["even_rates"]
    shown = Table("packets of 100 B", "median (least to greatest)", box=None, pad_edge=False)
    for name in ("plain", "single", "nfq", "gate"):
        thousands = [found[name]["per_s"] / 1e3 for found in rounds]
        shown.add_row(f"{name}, thousand packets/s", middle(thousands, 0))
    for name in ("nfq", "gate"):
        shown.add_row(f"{name}, CPU per packet, us", middle([r[name]["cpu_us"] for r in rounds]))

    def ratio(this: str, to: str, of: str = "per_s") -> str:
        return middle([found[this][of] / found[to][of] for found in rounds])

    shown.add_row("gate / nfq, packets/s", ratio("gate", "nfq"))
    shown.add_row("nfq / gate, CPU per packet", ratio("nfq", "gate", "cpu_us"))
    shown.add_row("single / plain forwarding, packets/s", ratio("single", "plain"))
    for name in ("nfq", "gate"):
        thousands = [found[name]["per_s"] / 1e3 for found in even]
        shown.add_row(f"{name}, even sender, no loss, thousand packets/s", middle(thousands, 0))
    for name in ("plain", "single", "nfq", "gate"):
        lost = sum(found[name]["lost"] for found in rounds)
        shown.add_row(f"{name}, packets lost in all rounds at full speed", str(lost))
    shown.add_row("load before and after", "{:.1f}, {:.1f}".format(*results["load"]))
    Console().print(shown)
    shown = Table("link, packets", *(f"{timer}: p50, p99 us" for timer in TIMERS),
                  "greatest error of the rate, %", box=None, pad_edge=False)  # fmt: skip
    for rate, size in SHAPES:
        rows = [row for row in results["shaping"]
                if (row["rate_bps"], row["packet_bytes"]) == (rate, size)]  # fmt: skip
        late = [row["lateness_ms"] for row in rows]
        cells = [f"{1e3 * ms['p50']:.1f}, {1e3 * ms['p99']:.0f}" for ms in late]
        error = max(abs(row["error"]) for row in rows)
        shown.add_row(f"{rate / 1e6:g} Mbit/s, {size} B", *cells, f"{100 * error:.4f}")
    Console(width=140).print(shown)


def measure() -> None:
    bed.build()
    bed.watch_first()
    load = os.getloadavg()[0]
    results: dict[str, Any] = {"cores": os.cpu_count(), "rates": rates()}
    results["even_rates"] = even_rates()
    results["shaping"] = [shape(*link, timer) for link in SHAPES for timer in TIMERS
                          if bed.PRIORITY or TIMERS[timer][0] == "sleep"]  # fmt: skip
    results["load"] = [load, os.getloadavg()[0]]
    (HERE / "gate.json").write_text(json.dumps(results, indent=2) + "\n")
    show(results)


if __name__ == "__main__":
    if "--inside" in sys.argv:
        measure()
    else:
        os.execvp("unshare", [*bed.enter(), sys.executable, __file__, "--inside"])
