"""What section VI of the paper expects of its router in kernel space: RED and DSRED as qdiscs."""

from __future__ import annotations

from functools import partial

from sluicegate.papers.comparison import Plot, Reproduction
from sluicegate.papers.drop_from_front.readings import (
    ANALYSED,
    REAL,
    REAL_READINGS,
    VICTIMS,
    Case,
    scenarios,
)
from sluicegate.papers.drop_from_front.reproduction import PAPER
from sluicegate.papers.drop_from_front.router import (
    SETTING_CHOSEN,
    by_case,
    gains,
    rows_of,
)
from sluicegate.papers.drop_from_front.router_claims import UNJUDGED, claims
from sluicegate.papers.router import figures
from sluicegate.papers.router.runs import found_in
from sluicegate.papers.router.tables import agreement
from sluicegate.worlds import Watch
from sluicegate.worlds.kernel.world import Kernel
from sluicegate.worlds.network.world import Network


def reproduce(
    *, threads: int | None = None, watch: Watch | None = None, fresh: bool = False
) -> Reproduction:
    """Run RED and DSRED with both victims under UDP in a kernel of today, in the laboratory.

    Args:
        threads: Laboratories at a time, and threads of a simulation; as many as cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.

    Raises:
        SluiceError: If there is no laboratory, or if a run in it fails.
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    readings = [*REAL_READINGS]
    given = {
        case: scenario
        for case, scenario in scenarios(readings, REAL).items()
        if case.traffic == "UDP" and case.algorithm in ANALYSED
    }
    run = partial(
        found_in,
        name="drop-from-front",
        scenarios=given,
        threads=threads,
        watch=watch,
        fresh=fresh,
    )
    found, predicted = run(Kernel()), run(Network())
    worlds = {"kernel": found, "network": predicted}
    rows = [*rows_of(found, predicted, [*given])]
    return Reproduction(
        paper=PAPER,
        rows=rows,
        findings=[
            *(
                gains(each, reading, world)
                for reading in readings
                for world, each in worlds.items()
            ),
            *agreement(rows),
        ],
        choices=[
            *SETTING_CHOSEN,
            "The router is a qdisc of BPF in a current Linux, in virtual time: no packet is late. "
            f"{REAL.replications} runs of {REAL.duration_s:g} s, the first "
            f"{REAL.warm_up_s:g} s left out; beside them are as many of the network world.",
        ],
        plots=[
            Plot(
                figures.delays(
                    {
                        f"{algorithm}, UDP, {world}": {
                            victim: each[Case(reading, "UDP", algorithm, victim)]
                            for victim in VICTIMS
                        }
                        for algorithm in ANALYSED
                        for world, each in worlds.items()
                    }
                ),
                "Packet queueing delay, RED and DSRED, UDP",
                f"{reading.name[0].upper()}{reading.name[1:]}. The paper has no such figure: of "
                "figures 8 to 10, which are of TCP, its text says that tail and front are alike.",
            )
            for reading in readings
        ],
        column="kernel",
        predictor="network",
        claims=[
            *claims(
                {reading.name: by_case(found, reading) for reading in readings},
                "kernel",
                "both readings",
            )
        ],
        unjudged=UNJUDGED,
    )
