"""Runs of the L4S team: one to four flows (IETF 109), a re-run of others' tests, and overload.

Kernels 5.4 with Prague of April (re-run, overload) and November 2020 (IETF 109); offloads off. One
run each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sluicegate.papers.l4s.case import (
    PACKET_BYTES,
    Case,
    Figure,
    figure,
    goodput,
    known,
    number,
    round_trip,
    rows,
    scenario,
    smoothed_round_trip,
    tcp,
    text,
    waiting,
)
from sluicegate.papers.l4s.disciplines import DROP_TAIL, Discipline, codel, dualpi2, pie

ICCRG, RERUN, OVERLOAD = (f"l4steam/{name}.csv" for name in ("iccrg109", "ect1-rerun", "overload"))
_TRIALS = 3
_LIMIT = 10_240
_CONTROLS = {"Prague": "prague_2021", "Cubic": "cubic", "DCTCP": "dctcp"}
_AQMS = {"dualpi2": dualpi2(), "fq_codel_tst": codel(ecn=True)}


def iccrg(folder: Path) -> Iterator[Case]:
    """Flows alone, two, and four of different round trips, in DualPI2 or in CoDel; 10 to 40 s.

    Raises:
        SluiceError: If the table is not what it should be.
    """
    runs: dict[str, list[dict[str, str]]] = {}
    for row in rows(folder, ICCRG):
        runs.setdefault(text(row, "run"), []).append(row)
    for flows in runs.values():
        yield _iccrg_run(flows)


def _iccrg_run(run: Sequence[Mapping[str, str]]) -> Case:
    """The case of a run: a row for each flow."""
    link = run[0]
    mbit, base_ms = number(link, "rate_mbit"), number(link, "base_delay_ms")
    rtts_s = [(base_ms + number(row, "extra_delay", "ms", "a number of ms")) / 1e3 for row in run]
    flows, figures, names = [], [], []
    for place, (row, rtt_s) in enumerate(zip(run, rtts_s, strict=True)):
        # such as Prague0d5: what follows is the round trip
        name = text(row, "cc").rstrip("0123456789d")
        control, label = known({"cc": name}, "cc", _CONTROLS), f"flow{place}"
        flows.append(
            tcp(
                label,
                control,
                ecn=control != "cubic" or number(row, "tcp_ecn") > 0,
                offload=False,
                ect1=control == "dctcp",
                source=f"client{place}",
                sink=f"server{place}",
            )
        )
        of = f"{name} {1e3 * rtt_s:g} ms: " if len(run) > 1 else ""
        names.append(f"{name} {1e3 * rtt_s:g} ms")
        figures += [
            figure(row, f"{of}goodput, Mbit/s", "goodput_mbit", goodput(label)),
            figure(row, f"{of}round trip, ms", "sender_rtt_mean_ms", smoothed_round_trip(label)),
            *(
                figure(row, f"{of}wait, {which}, ms", f"qdelay_{which}_ms", waiting(label, which))
                for which in ("mean", "p50", "p95", "p99")
                if text(row, f"qdelay_{which}_ms")
            ),
        ]
    return Case(
        "IETF 109",
        f"IETF 109: {text(link, 'aqm')}, {mbit:g} Mbit/s, {', '.join(names)}",
        scenario(
            flows,
            known(link, "aqm", _AQMS),
            {"limit": _LIMIT},
            mbit=mbit,
            rtts_s=rtts_s,
            duration_s=40.0,
            warm_up_s=10.0,
            replications=_TRIALS,
        ),
        figures,
    )


# s2: by the name of the qdisc in a run's name: the discipline, and the buffer, packets. Not the
# others of CoDel, whose targets are not stated, and RED
_RERUN: Mapping[str, tuple[Discipline, int]] = {
    "dualpi2": (dualpi2(), 10_000),
    "pfifo_1000_": (DROP_TAIL, 1000),
    "pfifo_50_": (DROP_TAIL, 50),
    "pie_noecn_": (pie(ecn=False), 1000),
    "pie": (pie(ecn=True), 1000),
    "pie_1000p_20ms_": (pie(ecn=True, target=0.02), 1000),
    "pie_100p_20ms_": (pie(ecn=True, target=0.02), 100),
    "pie_100p_5ms_": (pie(ecn=True, target=0.005), 100),
    "codel1q": (codel(ecn=True), _LIMIT),
}
_ALONE = re.compile(r"prague-dualpi2-(\d+)Mbit-(\d+)ms")
_VERSUS = re.compile(r"cubic-vs-prague-(\w+)-(\d+)ms")
_RERUN_MBIT = 50.0
_PRAGUE_AFTER_S, _WINDOW_S, _BEFORE_END_S = 10.0, 20.0, 2.0
_ALONE_FROM_S = 10.0


def rerun(folder: Path) -> Iterator[Case]:
    """Prague alone (s1), and CUBIC with Prague 10 s later (s2); Prague has its fallback.

    Raises:
        SluiceError: If the table is not what it should be.
    """
    for row in rows(folder, RERUN):
        found = _ALONE.fullmatch(text(row, "run"))
        if text(row, "scenario") == "s1" and found is not None:
            yield _rerun_alone(row, float(found[1]), float(found[2]) / 1e3)
        found = _VERSUS.fullmatch(text(row, "run"))
        if text(row, "scenario") == "s2" and found is not None and found[1] in _RERUN:
            yield _rerun_versus(row, found[1], float(found[2]) / 1e3)


def _rerun_alone(row: Mapping[str, str], mbit: float, rtt_s: float) -> Case:
    """Prague in DualPI2, from 10 s on."""
    return Case(
        "re-run",
        f"re-run: Prague alone, {mbit:g} Mbit/s, {1e3 * rtt_s:g} ms",
        scenario(
            [_prague_of_rerun(0.0)],
            dualpi2(),
            {"limit": _RERUN["dualpi2"][1]},
            mbit=mbit,
            rtts_s=[rtt_s],
            duration_s=number(row, "length_s") - _BEFORE_END_S,
            warm_up_s=_ALONE_FROM_S,
            replications=_TRIALS,
        ),
        _rerun_figures(row, "Prague", 1, rtt_s),
    )


def _rerun_versus(row: Mapping[str, str], qdisc: str, rtt_s: float) -> Case:
    """CUBIC and Prague, for the last 20 s but two."""
    discipline, limit = _RERUN[qdisc]
    until_s = number(row, "length_s") - _BEFORE_END_S
    return Case(
        "re-run",
        f"re-run: {qdisc.strip('_')}, {1e3 * rtt_s:g} ms",
        scenario(
            [tcp("cubic", "cubic", ecn=True, offload=False), _prague_of_rerun(_PRAGUE_AFTER_S)],
            discipline,
            {"limit": limit},
            mbit=_RERUN_MBIT,
            rtts_s=[rtt_s],
            duration_s=until_s,
            warm_up_s=until_s - _WINDOW_S,
            replications=_TRIALS,
        ),
        [*_rerun_figures(row, "CUBIC", 1, rtt_s), *_rerun_figures(row, "Prague", 2, rtt_s)],
    )


def _prague_of_rerun(start_s: float) -> dict[str, Any]:
    return tcp("prague", "prague_2020", ecn=True, offload=False, fallback=True, start_s=start_s)


def _rerun_figures(row: Mapping[str, str], name: str, place: int, rtt_s: float) -> list[Figure]:
    """Rate and round trips of a flow, which has this place in the columns' names."""
    label = name.lower()
    return [
        figure(row, f"{name}, Mbit/s", f"rate{place}_mbit", goodput(label)),
        *(
            figure(
                row,
                f"{name}, round trip, {which}, ms",
                f"rtt{place}_{which}_ms",
                round_trip(label, rtt_s, which),
            )
            for which in ("mean", "p50", "p95")
            if text(row, f"rtt{place}_{which}_ms")
        ),
    ]


# the codepoints of a load
_CODEPOINTS = {"UDP": (False, False), "UDP_ECT0": (True, False), "UDP_ECT1": (True, True)}
_COLUMNS = {"UDP": "udp_notect_mbit", "UDP_ECT0": "udp_ect0_mbit", "UDP_ECT1": "udp_ect1_mbit"}
_OVERLOAD_MBIT, _OVERLOAD_RTT_S = 100.0, 0.02


def overload(folder: Path) -> Iterator[Case]:
    """Prague and CUBIC beside datagrams that do not respond; 8 to 20 s.

    Raises:
        SluiceError: If the table is not what it should be.
    """
    for row in rows(folder, OVERLOAD):
        loads = text(row, "load").split()
        codepoints = [known({"load": load}, "load", _CODEPOINTS) for load in loads]
        each_mbit = number(row, "load_each_mbit", "M", "Mbit/s, such as 50 or 50M")
        # 0 % has no weight at all in the qdisc; the least share that we have is as small
        share = max(number(row, "classic_protection_pct") / 100, 0.001)
        flows = [
            tcp("prague", "prague_2020", ecn=True, offload=False),
            tcp("cubic", "cubic", ecn=False, offload=False),
            *(
                {
                    "kind": "datagrams",
                    "label": load,
                    "rate_bps": each_mbit * 1e6,
                    "packet_bytes": PACKET_BYTES,
                    "ecn": ecn,
                    "ect1": ect1,
                    "spread_s": 0.001,
                }
                for load, (ecn, ect1) in zip(loads, codepoints, strict=True)
            ),
        ]
        figures: list[Figure] = [
            figure(row, "Prague, Mbit/s", "prague_mbit", goodput("prague")),
            figure(row, "CUBIC, Mbit/s", "cubic_mbit", goodput("cubic")),
            *(figure(row, f"{load}, Mbit/s", _COLUMNS[load], goodput(load)) for load in loads),
            *(
                figure(
                    row,
                    f"{name}, wait, {which}, ms",
                    f"qdelay_{label}_{which}_ms",
                    waiting(label, which),
                )
                for name, label in (("Prague", "prague"), ("CUBIC", "cubic"))
                for which in ("mean", "p50", "p99")
                if text(row, f"qdelay_{label}_{which}_ms")
            ),
        ]
        yield Case(
            "overload",
            f"overload: {' + '.join(loads)}, {each_mbit:g} Mbit/s each, "
            f"protection {100 * share:.3g} %",
            scenario(
                flows,
                dualpi2(classic_share=share),
                {"limit": 10_000},
                mbit=_OVERLOAD_MBIT,
                rtts_s=[_OVERLOAD_RTT_S],
                duration_s=20.0,
                warm_up_s=8.0,
                replications=_TRIALS,
            ),
            figures,
        )
