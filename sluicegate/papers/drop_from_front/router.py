"""Section V of the paper repeated: RED, DSRED, FRED and ARED in a Linux router, figures 8 to 11."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sluicegate.estimate import student
from sluicegate.papers.comparison import Plot, Reproduction, Row
from sluicegate.papers.drop_from_front.readings import (
    DSRED,
    FRED,
    REAL,
    REAL_READINGS,
    RED,
    SIMULATED,
    VICTIMS,
    Case,
    Reading,
    grid,
    scenarios,
)
from sluicegate.papers.drop_from_front.reproduction import PAPER
from sluicegate.papers.drop_from_front.router_claims import UNJUDGED, Cases, claims
from sluicegate.papers.router import figures
from sluicegate.papers.router.found import Found
from sluicegate.papers.router.runs import run
from sluicegate.papers.router.setting import Traffic
from sluicegate.papers.router.tables import agreement, remarks, row
from sluicegate.report.text import measure_text
from sluicegate.worlds import Watch


class _Quantity(NamedTuple):
    name: str
    measure: str
    scale: float


_LOSS = _Quantity("loss ratio (%)", "loss_ratio", 100.0)
_QUANTITIES = (
    _LOSS,
    _Quantity("mean delay (ms)", "delay_mean", 1000.0),
    _Quantity("mean queue (packets)", "queue_mean", 1.0),
)
# the only figure that section V prints
_PRINTED = {("UDP", RED, _LOSS): 75.0}


def repeat(
    *,
    gate: bool,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
) -> Reproduction:
    """Run all algorithms and both victims under every reading, and under some with real packets.

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
        "drop-from-front",
        scenarios(readings, SIMULATED),
        scenarios(some, REAL) if gate else None,
        threads=threads,
        watch=watch,
        fresh=fresh,
    )
    rows = [
        each for reading in some for each in rows_of(worlds.here, worlds.beside, [*reading.cases()])
    ]
    in_worlds = {"network": worlds.predicted}
    judged = {
        ("network", "all readings"): (worlds.predicted, readings),
        ("network", "first reading"): (worlds.predicted, some[:1]),
    }
    if worlds.measured is not None:
        in_worlds["gate"] = worlds.measured.found
        judged["gate", "all measured readings"] = (worlds.measured.found, some)
        judged["gate", "first reading"] = (worlds.measured.found, some[:1])
    return Reproduction(
        paper=PAPER,
        rows=rows,
        findings=[
            *(
                gains(found, reading, world)
                for world, found in in_worlds.items()
                for reading in some
            ),
            *agreement(rows),
            *remarks(worlds),
        ],
        choices=_choices(),
        plots=list(_plots(in_worlds, some[0])),
        column=worlds.column,
        predictor="network" if worlds.measured else "",
        claims=[
            claim
            for (world, which), (found, those) in judged.items()
            for claim in claims({each.name: by_case(found, each) for each in those}, world, which)
        ],
        unjudged=UNJUDGED,
    )


predict = partial(repeat, gate=False)
measure = partial(repeat, gate=True)


def by_case(found: Mapping[Case, Found], reading: Reading) -> Cases:
    """What was found under a reading."""
    return {
        (case.traffic, case.algorithm, case.victim): each
        for case, each in found.items()
        if case.reading == reading
    }


def rows_of(
    here: Mapping[Case, Found], beside: Mapping[Case, Found], cases: Sequence[Case]
) -> Iterator[Row]:
    """The figures of cases; see `row`."""
    for quantity in _QUANTITIES:
        for case in cases:
            yield row(
                here,
                beside,
                case,
                case.reading.name,
                quantity.name,
                f"{case.traffic}, {case.algorithm}, {case.victim}",
                _PRINTED.get((case.traffic, case.algorithm, quantity)),
                measure=quantity.measure,
                scale=quantity.scale,
            )


def gains(found: Mapping[Case, Found], reading: Reading, world: str) -> str:
    """How much dropping from the front shortens the mean delay."""
    told: dict[Traffic, list[str]] = {}
    for case in found:
        if case.reading == reading and case.victim == "front":
            tail, front = (found[case._replace(victim=victim)]["delay_mean"] for victim in VICTIMS)
            gain = measure_text(student(100 * (1 - front / tail)))
            told.setdefault(case.traffic, []).append(f"{case.algorithm} {gain} %")
    by = "; ".join(f"{traffic}: {', '.join(each)}" for traffic, each in told.items())
    return f"Dropping from the front shortens the mean delay ({world}; {reading.name}) by: {by}."


SETTING_CHOSEN = (
    "Section V prints no parameter at all, and its figures 8 to 11 have no data that could be "
    "read: only their titles and the text say what they show.",
    "The link is that of the same authors' later paper (redwm): 516 kb/s and 2000 datagrams/s. "
    "Packets have 129 B, so that the link carries a quarter of the datagrams: that RED drops "
    "75 percent of them is assumed, not found.",
)


def _choices() -> list[str]:
    return [
        *SETTING_CHOSEN,
        "Varied: thresholds 5 and 15 of 25 packets (the later paper's router) and 100 and 200 of "
        "250 (this paper's model); 1 and 10 flows; round trips of 6.1 and 106.1 ms; w = 0.002 and "
        "0.07; Poisson and constant gaps. max_p = 0.1 and, for DSRED, gamma = 0.5, as in section "
        "IV; the other parameters of FRED and ARED are their authors' defaults.",
        "Traffic that varies as in a real network: RED and DSRED also have as many datagrams of "
        "one self-similar source, that of section III with 3 of its 4 time-scales, up to 1.3 s; "
        "the fourth, 18 s, is longer than a run in the gate.",
        "TCP is CUBIC, as Linux has it, and always has something to send. The "
        "delay is of the packets that leave the router, service included.",
        f"Simulated: {SIMULATED.replications} runs of {SIMULATED.duration_s:g} s, the first "
        f"{SIMULATED.warm_up_s:g} s left out. Measured: {REAL.replications} runs of "
        f"{REAL.duration_s:g} s, the first {REAL.warm_up_s:g} s left out, two of the readings. "
        "Beside them are as many runs of the network world, of the same length. A claim is "
        "judged under every reading of its world; it holds or fails only if it does under all.",
    ]


def _plots(worlds: Mapping[str, Mapping[Case, Found]], reading: Reading) -> Iterator[Plot]:
    def panels(traffic: Traffic, *algorithms: str) -> figures.Panels:
        return {
            f"{' and '.join(algorithms)}, {traffic}, {world}": {
                f"{algorithm} {victim}" if len(algorithms) > 1 else victim: found[
                    Case(reading, traffic, algorithm, victim)
                ]
                for algorithm in algorithms
                for victim in VICTIMS
            }
            for world, found in worlds.items()
        }

    under = f"Mean over the runs. {reading.name[0].upper()}{reading.name[1:]}."
    yield Plot(
        figures.courses(panels("TCP", RED), "queue", "waiting packets"),
        "Figure 8: mean queue length, RED, TCP",
        f"{under} By the text tail and front are alike.",
    )
    yield Plot(
        figures.delays(panels("TCP", RED)),
        "Figure 9: packet queueing delay, RED, TCP",
        f"{under} By the text tail and front are alike.",
    )
    yield Plot(
        figures.courses(panels("TCP", RED, DSRED), "losses", "packets dropped"),
        "Figure 10: amount of dropped packets, RED and DSRED, TCP",
        f"{under} The text says of it that RED drops few.",
    )
    yield Plot(
        figures.courses(panels("UDP", FRED), "queue", "waiting packets"),
        "Figure 11: mean queue length, FRED, UDP",
        f"{under} By the text dropping from the front has a significant advantage.",
    )
