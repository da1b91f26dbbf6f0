"""Section 6 of the paper repeated: RED and REDwM in a Linux router, table 1 and figures 9 to 14."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from sluicegate.papers.comparison import Plot, Reproduction, Row
from sluicegate.papers.redwm.readings import (
    REAL,
    REAL_READINGS,
    SIMULATED,
    Case,
    Reading,
    grid,
    scenarios,
)
from sluicegate.papers.redwm.router_claims import UNJUDGED, Rows, claims
from sluicegate.papers.redwm.simulated import PAPER
from sluicegate.papers.redwm.table1 import ALGORITHMS, COLUMNS, RED, REDWM, printed
from sluicegate.papers.router import figures
from sluicegate.papers.router.found import Found
from sluicegate.papers.router.runs import Worlds, run
from sluicegate.papers.router.setting import TRAFFIC
from sluicegate.papers.router.tables import agreement, remarks, row
from sluicegate.worlds import Watch

_FIGURES = {"TCP": 9, "UDP": 10, "UDP + TCP": 11}
# figure: traffic, algorithm
_QUEUES = {12: ("TCP", RED), 13: ("TCP", REDWM), 14: ("UDP + TCP", REDWM)}


def repeat(
    *,
    gate: bool,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
) -> Reproduction:
    """Run both algorithms under every reading, and under some with real packets.

    Args:
        gate: Whether to measure, too, where this machine can.
        threads: Threads of a simulation, and testbeds at a time; None: as many as suit the machine.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.

    Raises:
        SluiceError: If a run in the gate fails.
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    readings, some = grid(), [*REAL_READINGS]
    worlds = run(
        "redwm",
        scenarios(readings, SIMULATED),
        scenarios(some, REAL) if gate else None,
        threads=threads,
        watch=watch,
        fresh=fresh,
    )
    near = nearest(worlds.predicted)
    shown = dict.fromkeys(some if worlds.measured else [near, *some])
    rows = [each for reading in shown for each in _rows(worlds, reading)]
    judged = {
        ("network", "all readings"): (worlds.predicted, readings),
        ("network", "nearest reading"): (worlds.predicted, [near]),
    }
    if worlds.measured is not None:
        judged["gate", "all measured readings"] = (worlds.measured.found, some)
        judged["gate", "first reading"] = (worlds.measured.found, some[:1])
    return Reproduction(
        paper=PAPER,
        rows=rows,
        findings=[
            *_nearest_by_size(worlds.predicted),
            *_contradictions(),
            *agreement(rows),
            *remarks(worlds),
        ],
        choices=_choices(),
        plots=list(_plots(worlds, some[0])),
        column=worlds.column,
        predictor="network" if worlds.measured else "",
        claims=[
            claim
            for (world, which), (found, those) in judged.items()
            for claim in claims({each.name: _table(found, each) for each in those}, world, which)
        ],
        unjudged=UNJUDGED,
    )


predict = partial(repeat, gate=False)
measure = partial(repeat, gate=True)


def _table(found: Mapping[Case, Found], reading: Reading) -> Rows:
    return {(case.traffic, case.algorithm): found[case] for case in reading.cases()}


def distance(found: Mapping[Case, Found], reading: Reading) -> float:
    """How far a reading is off table 1: the mean factor of its 18 figures, as its logarithm."""
    factors = [
        column.scale * found[case][column.measure].mean() / getattr(published, name)
        for case in reading.cases()
        for published in [printed()[case.traffic, case.algorithm]]
        for name, column in COLUMNS.items()
    ]
    return float(np.abs(np.log(np.maximum(factors, 1e-9))).mean())


def nearest(found: Mapping[Case, Found]) -> Reading:
    """The reading whose figures come nearest to table 1."""
    return min(dict.fromkeys(case.reading for case in found), key=partial(distance, found))


def _nearest_by_size(found: Mapping[Case, Found]) -> Iterator[str]:
    readings = list(dict.fromkeys(case.reading for case in found))
    best = nearest(found)
    yield (
        f"Of {len(readings)} readings '{best.name}' comes nearest to table 1: its figures are off "
        f"by a factor of {np.exp(distance(found, best)):.2f} in the (geometric) mean."
    )
    sizes = sorted({reading.packet_bytes for reading in readings})
    by_size = {
        size: min(distance(found, each) for each in readings if each.packet_bytes == size)
        for size in sizes
    }
    told = ", ".join(f"{size} B {np.exp(off):.2f}" for size, off in by_size.items())
    yield f"The same factor of the best reading with each size of packets: {told}."


def _contradictions() -> Iterator[str]:
    """What table 1 says of itself."""
    rows = printed()
    sizes = [rows["UDP", name].packet_bytes_by_loss for name in ALGORITHMS]
    yield (
        "The losses under UDP fix the packets: of 2000 packets/s a link of 516 kb/s carries "
        f"{100 - rows['UDP', RED].loss:.1f} % only if they have {min(sizes):.1f} to "
        f"{max(sizes):.1f} B, all headers included. Then the delays follow, too: 15 waiting "
        "packets and the one in service take 9.9 ms."
    )
    little = ", ".join(
        f"{each.name} {each.queue:g} against {each.queue_by_little:.1f}" for each in rows.values()
    )
    yield (
        "The queues contradict the rest. A mean queue of 24.8 packets of 25 is impossible where "
        "RED drops every packet while its average is above 15. And the printed losses and waits "
        f"give shorter queues by Little's law (printed against implied): {little}."
    )
    yield (
        "The link cannot carry 2000 packets/s of TCP, yet the table has losses of 0.05 %: under "
        "TCP the generator sends less than the text says."
    )


def _rows(worlds: Worlds[Case], reading: Reading) -> Iterator[Row]:
    for case in reading.cases():
        published = printed()[case.traffic, case.algorithm]
        for name, column in COLUMNS.items():
            yield row(
                worlds.here,
                worlds.beside,
                case,
                reading.name,
                column.quantity,
                published.name,
                getattr(published, name),
                measure=column.measure,
                scale=column.scale,
            )


def _choices() -> list[str]:
    return [
        "Not printed: the sizes of the packets, the number of flows, the delay of the Internet "
        "behind the link, max_p in the router (section 5 has 0.1), and whether the generator "
        "spaces its packets evenly. Varied: packets of 40, 128, 500 and 1500 B; 1 and 10 flows; "
        "round trips of 6.1 ms (the two links printed) and 106.1 ms; max_p of 0.1 and 0.02; "
        "constant gaps and Poisson.",
        "TCP is CUBIC, as Linux has it, and always has "
        "something to send: the text's 2000 packets/s are of UDP only. Its packets have 128 B at "
        "least, the shortest that Linux sends. Time-outs and delayed ACKs are as in Linux.",
        "REDwM has [a1, a2, b1] = [0.08, 0.0014, 0.001], in the reading of equation (5) that "
        "section 5's figures support; RED has w = 0.002. Both drop each packet independently, from "
        "the tail, and let nothing decay while idle. The average follows arrivals.",
        "The waiting time is taken as the delay, service included, as in the papers' simulations; "
        "without it a packet of 40 B has 0.6 ms less.",
        f"Simulated: {_length(SIMULATED)}. Measured: {_length(REAL)}, three of the readings; "
        "beside them are as many runs of the network world, of the same length. A claim is "
        "judged under every reading of its world; it holds or fails only if it does under all.",
    ]


def _length(length: tuple[float, float, int]) -> str:
    duration_s, warm_up_s, replications = length
    return f"{replications} runs of {duration_s:g} s, the first {warm_up_s:g} s left out"


def _plots(worlds: Worlds[Case], reading: Reading) -> Iterator[Plot]:
    found = {"network": worlds.predicted}
    if worlds.measured is not None:
        found["gate"] = worlds.measured.found
    for traffic in TRAFFIC:
        panels = {
            f"{traffic}, {world}": {
                name: cases[Case(reading, traffic, name)] for name in ALGORITHMS
            }
            for world, cases in found.items()
        }
        yield Plot(
            figures.delays(panels),
            f"Figure {_FIGURES[traffic]}: waiting times, {traffic}",
            f"Reading '{reading.name}'. By the text REDwM's are shorter.",
        )
    for number, (kind, name) in _QUEUES.items():
        panels = {
            f"{name}, {kind}": {
                world: cases[case]
                for world, cases in found.items()
                for case in reading.cases()
                if (case.traffic, case.algorithm) == (kind, name)
            }
        }
        skew = "positively" if kind == "TCP" else "negatively"
        yield Plot(
            figures.queues(panels),
            f"Figure {number}: the queue",
            f"Reading '{reading.name}'. By the text it is {skew} skewed.",
        )
