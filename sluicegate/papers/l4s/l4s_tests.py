"""l4s-tests: two flows for three minutes (S1), and Prague before classic AQMs (S6).

P. Heist and J. Morton, 2021. Prague of 2020-08; offloads off. One run each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from sluicegate.papers.l4s.case import (
    Case,
    figure,
    goodput,
    known,
    number,
    rows,
    scenario,
    tcp,
    text,
)
from sluicegate.papers.l4s.disciplines import (
    DROP_TAIL,
    Discipline,
    codel,
    dualpi2,
    fq_codel,
    pie,
)

S1, S6 = "l4s-tests/s1-rtt-fairness.csv", "l4s-tests/s6-rfc3168.csv"
_TRIALS = 3
# by their names in the tables: the discipline, and the buffer, packets
_S1: Mapping[str, tuple[Discipline, int]] = {
    "dualpi2": (dualpi2(), 10_000),
    "pfifo(1000)": (DROP_TAIL, 1000),
    "pfifo(200)": (DROP_TAIL, 200),
    "fq_codel": (fq_codel(), 10_240),
}
# RED's thresholds are not stated
_S6: Mapping[str, tuple[Discipline, int]] = {
    "fq_codel(1q)": (codel(ecn=True), 10_240),
    "fq_codel(1q,1ms/20ms)": (codel(ecn=True, target=0.001, interval=0.02), 10_240),
    "pie": (pie(ecn=True), 1000),
    "pie(100p/5ms)": (pie(ecn=True, target=0.005, t_update=0.032), 100),
}
_CONTROLS = {"prague": "prague_2020"}
_LENGTHS_S = {"s1": (178.0, 60.0), "s6": (58.0, 40.0)}


def cases(folder: Path) -> Iterator[Case]:
    """The cases whose set-up is stated.

    Raises:
        SluiceError: If a table is not what it should be.
    """
    for table, disciplines in ((S1, _S1), (S6, _S6)):
        for row in rows(folder, table):
            if text(row, "qdisc") in disciplines:
                yield _case(row, *disciplines[text(row, "qdisc")])


def _case(row: Mapping[str, str], discipline: Discipline, limit: int) -> Case:
    until_s, window_s = known(row, "scenario", _LENGTHS_S)
    rtts_s = [number(row, f"rtt{place}_ms") / 1e3 for place in (1, 2)]
    controls = [text(row, f"cc{place}") for place in (1, 2)]
    # only the second flow of S6 may be without
    ecn = [True, row.get("cc2_ecn", "ecn") == "ecn"]
    flows = [
        tcp(
            f"flow{place + 1}",
            _CONTROLS.get(controls[place], controls[place]),
            ecn=ecn[place],
            offload=False,
            source=f"client{place}",
            sink=f"server{place}",
        )
        for place in (0, 1)
    ]
    figures = [
        figure(
            row,
            f"{place}: {control}, Mbit/s",
            f"throughput{place}_mbit",
            goodput(f"flow{place}"),
        )
        for place, control in enumerate(controls, start=1)
    ]
    pair = ", ".join(
        f"{control} {1e3 * rtt_s:g} ms" for control, rtt_s in zip(controls, rtts_s, strict=True)
    )
    marked = "" if ecn[1] else ", the second without ECN"
    link = f"{text(row, 'scenario')}: {text(row, 'qdisc')}, {text(row, 'rate_mbit')} Mbit/s"
    return Case(
        text(row, "scenario"),
        f"{link}, {pair}{marked}",
        scenario(
            flows,
            discipline,
            {"limit": limit},
            mbit=number(row, "rate_mbit"),
            rtts_s=rtts_s,
            duration_s=until_s,
            warm_up_s=until_s - window_s,
            replications=_TRIALS,
        ),
        figures,
    )
