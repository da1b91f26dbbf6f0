"""Steps per second of CPU time of the slotted environment: 64 queues, one, and a naive loop.

`python bench/gym.py`. The naive loop is what one would write without an environment: a session with
an AQM in Python, advanced and observed slot by slot.
"""

from __future__ import annotations

import time

import numpy as np

import sluicegate as sg
from sluicegate.gym import SlottedEnv, SlottedVectorEnv, TradeOff

_TRADE_OFF = TradeOff(late=1.0, deadline=10)


def scenario() -> sg.Scenario:
    """A full link."""
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=0.5),
        service=sg.GeometricService(mu=0.5),
        queue=sg.Queue(limit=40),
        disciplines=[sg.Discipline(aqm="drop_tail")],
        slots=10_000_000,
    )


def many(steps: int) -> int:
    """Steps of 64 queues."""
    queues = SlottedVectorEnv(scenario(), _TRADE_OFF)
    seen, _ = queues.reset(seed=1)
    for _ in range(steps // 64):
        seen, *_ = queues.step((seen[:, 0] >= 4).astype(int))
    return steps // 64 * 64


def one(steps: int) -> int:
    """Steps of one queue."""
    env = SlottedEnv(scenario(), _TRADE_OFF)
    seen, _ = env.reset(seed=1)
    for _ in range(steps):
        seen, *_ = env.step(int(seen[0] >= 4))
    return steps


def naive(steps: int) -> int:
    """Arrivals of a session with an AQM in Python, one slot at a time."""
    waiting = [0]

    class Given:
        def arrive(self, view: sg.View) -> int:
            return sg.DROP_EARLY if waiting[0] >= 3 else sg.ADMIT

    session = sg.session(scenario(), sg.Discipline(aqm=Given))
    arrivals = 0
    while arrivals < steps:
        session.advance(by=1)
        seen = session.observe()
        waiting[0], arrivals = seen.queue.packets, seen.arrivals
    return arrivals


def main() -> None:
    """Print a line for each."""
    for name, work, steps in (("64 queues", many, 640_000), ("one", one, 5_000)):
        _print(name, work, steps)
    _print("naive loop", naive, 500)


def _print(name: str, work, steps: int) -> None:  # type: ignore[no-untyped-def]
    rates = []
    for _ in range(3):
        before = time.process_time()
        done = work(steps)
        rates.append(done / (time.process_time() - before))
    print(f"{name:12}: {np.median(rates):12,.0f} arrivals/s of CPU time", flush=True)


if __name__ == "__main__":
    main()
