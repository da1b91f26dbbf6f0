"""What viewers of the live page, and a shadow, cost the packets: `make bench-live`.

The gate whose records go to /dev/null; with 50 viewers, too, of whom 10 read nothing; and with a
shadow beside these: by turns. Packets per second at full rate; the processor time of the packets'
thread for each packet (what else runs on this machine hardly changes it); and lateness on a link of
100 Mbit/s. As bench/gate.py, it needs root for real-time priority.
"""

from __future__ import annotations

import os
import select
import socket
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import gate_bed as bed
from rich.console import Console
from rich.table import Table

ROUNDS = 3
VIEWERS, STALLED = 50, 10
PACKET_BYTES, WINDOW, UNLIMITED_BPS = 100, 192, 100e9
SHAPED_BPS, SHAPED_BYTES = 100e6, 1500
# twenty events a second; in this time those of a viewer that reads nothing fill its socket
INTERVAL_S, FILLING_S = 0.05, 6
ASK = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
METRICS = ("127.0.0.1", 8417)
JSONL = ("--interval", str(INTERVAL_S), "--jsonl", "/dev/null")
SEEN = ("--metrics", "{}:{}".format(*METRICS), *JSONL)
CASES = {"nobody": JSONL, "viewers": SEEN, "viewers and shadow": (*SEEN, "--shadow", "codel")}


class Viewers:
    """Clients that ask for events; some never read."""

    def __init__(self) -> None:
        self.ended, self.events = threading.Event(), 0
        self.thread = threading.Thread(target=self.view)
        self.thread.start()

    def one(self, room_bytes: int = 1 << 20) -> socket.socket:
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room_bytes)
        made.connect(METRICS)
        made.sendall(ASK)
        return made

    def view(self) -> None:
        stalled = [self.one(2048) for _ in range(STALLED)]
        reading = [self.one() for _ in range(VIEWERS - STALLED)]
        while not self.ended.is_set():
            ready, _, _ = select.select(reading, [], [], 0.2)
            for one in ready:
                self.events += one.recv(1 << 20).count(b"event: ")
        for one in (*stalled, *reading):
            one.close()

    def end(self) -> None:
        self.ended.set()
        self.thread.join()


@contextmanager
def watched(options: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Viewers, if there is something to see; their counts at the end."""
    counts: dict[str, int] = {}
    if options == JSONL:
        time.sleep(FILLING_S)
        yield counts
        return
    viewers = Viewers()
    try:
        time.sleep(FILLING_S)
        yield counts
    finally:
        viewers.end()
        counts["events"] = viewers.events


def threads_cpu_s(process: Any) -> tuple[float, float]:
    """Time of the processor: of the thread of the packets, and of all others, s."""
    own, others = 0.0, 0.0
    for thread in Path(f"/proc/{process.pid}/task").iterdir():
        with suppress(FileNotFoundError):
            took = int((thread / "schedstat").read_text().split()[0]) / 1e9
            if int(thread.name) == process.pid:
                own = took
            else:
                others += took
    return own, others


def full_speed(options: tuple[str, ...]) -> dict[str, float]:
    given = ("--limit", "100000", "--timer", "realtime", *options)
    with bed.gate(UNLIMITED_BPS, *given) as (process, found), watched(options) as counts:
        before, start = threads_cpu_s(process), time.monotonic()
        sent = bed.sent(bed.loading(PACKET_BYTES, 2, WINDOW, pieces=32))
        after, passed = threads_cpu_s(process), time.monotonic() - start
    own, others = (b - a for a, b in zip(before, after, strict=True))
    return {"per_s": sent.per_s, "own_us": 1e6 * own / sent.arrived, "lost": found["id_gaps"],
            "others": others / passed, **counts}  # fmt: skip


def lateness(options: tuple[str, ...]) -> dict[str, float]:
    per_s = SHAPED_BPS / 8 / SHAPED_BYTES
    given = ("--limit", str(round(per_s / 2)), "--timer", "realtime", *options)
    with bed.gate(SHAPED_BPS, *given) as (_, found), watched(options):
        bed.sent(bed.loading(SHAPED_BYTES, 3, 10**12, per_s=round(1.2 * per_s)))
    return {name: 1e3 * found["lateness_ms"][name] for name in ("p50", "p99")}


def middle(values: list[float], digits: int) -> str:
    least, most = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"


def measure() -> None:
    """Print a column for each case: the median of all rounds, from the least to the greatest."""
    bed.build()
    bed.watch_first()
    rounds = []
    for _ in range(ROUNDS):
        rounds.append({name: full_speed(each) | lateness(each) for name, each in CASES.items()})
    shown = Table("median (least to greatest)", *CASES, box=None, pad_edge=False)
    for title, key, scale, digits in (
        ("thousand packets/s", "per_s", 1e-3, 0),
        ("thread of the packets, us for each", "own_us", 1, 2),
        ("other threads, share of a processor, %", "others", 100, 1),
        ("lateness p50, us", "p50", 1, 1),
        ("lateness p99, us", "p99", 1, 0),
        ("packets the kernel could not hand over", "lost", 1, 0),
        ("events that viewers got", "events", 1, 0),
    ):
        cells = [[scale * each[name].get(key, 0) for each in rounds] for name in CASES]
        shown.add_row(title, *(middle(values, digits) for values in cells))
    Console(width=140).print(shown)
    print("load: {:.1f}, {:.1f}, {:.1f}".format(*os.getloadavg()))


if __name__ == "__main__":
    if "--inside" in sys.argv:
        measure()
    else:
        os.execvp("unshare", [*bed.enter(), sys.executable, __file__, "--inside"])
