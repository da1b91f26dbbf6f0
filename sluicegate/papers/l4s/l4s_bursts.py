"""l4s-tests: one flow behind a radio that aggregates, and one beside a video call.

P. Heist and J. Morton, 2021, with kernels of 2021 and today's Prague. One run each, 120 to 300 s.
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
from sluicegate.papers.l4s.disciplines import Discipline, codel, dualpi2, fq_codel

BURSTY, SKYPE = "l4s-tests/bursty-link.csv", "l4s-tests/skype-goodput.csv"
_TRIALS = 3
_LIMIT = 10_240
_CONTROLS = {"Prague": "prague_2021", "CUBIC": "cubic"}
_QDISCS: Mapping[str, Discipline] = {
    "DualPI2": dualpi2(),
    "fq_codel": fq_codel(),
    "Codel": codel(ecn=True),
}
# by the names in the table
_STEPS_S = {"1ms": 0.001, "5ms": 0.005}
# netem's slots of S2, with which they imitate such a radio
_SLOTS = {"gap": {"kind": "uniform", "least_s": 0.0008, "greatest_s": 0.005}, "packets": 16}
_RUN_S = 300.0
# the call: what Skype sent beside each, and how we let it send
_SKYPE_MBIT = {"Prague": 2.3, "CUBIC": 1.8}
_FRAMES = {"gap": {"kind": "constant", "mean_s": 1 / 30}, "packets": 1000}
_SKYPE_BYTES = 1200
_SKYPE_LINK_MBIT, _SKYPE_RTT_S = 20.0, 0.16


def cases(folder: Path) -> Iterator[Case]:
    """The cases whose senders we have.

    Raises:
        SluiceError: If a table is not what it should be.
    """
    for row in rows(folder, BURSTY):
        if text(row, "cc") in _CONTROLS:
            yield _bursty(row)
    for row in rows(folder, SKYPE):
        if text(row, "state") == "steady":
            yield _skype(row)


def _bursty(row: Mapping[str, str]) -> Case:
    mbit, rtt_s = number(row, "rate_mbit"), number(row, "base_rtt_ms") / 1e3
    steady = text(row, "goodput_kind") == "steady state"
    name, step = text(row, "qdisc"), text(row, "step_thresh")
    discipline = dualpi2(step=_STEPS_S[step]) if step in _STEPS_S else known(row, "qdisc", _QDISCS)
    return Case(
        "bursty link",
        f"bursty link: {text(row, 'cc')}, {name} ({step}), {mbit:g} Mbit/s, {1e3 * rtt_s:g} ms",
        scenario(
            [tcp("own", _CONTROLS[text(row, "cc")], ecn=True, offload=False)],
            discipline,
            {"limit": _LIMIT},
            mbit=mbit,
            rtts_s=[rtt_s],
            duration_s=number(row, "t_end_s") if steady else _RUN_S,
            warm_up_s=number(row, "t_start_s") if steady else 0.0,
            replications=_TRIALS,
            links={"client0 -> left": {"wire": {"bursts": _SLOTS}}},
        ),
        [figure(row, "goodput, Mbit/s", "goodput_mbit", goodput("own"))],
    )


def _skype(row: Mapping[str, str]) -> Case:
    control, call = text(row, "cc"), text(row, "skype")
    in_l = call.endswith("in L")
    skype = {
        "kind": "datagrams",
        "label": "skype",
        "rate_bps": 1e6 * known(row, "cc", _SKYPE_MBIT),
        "packet_bytes": _SKYPE_BYTES,
        "ecn": in_l,
        "ect1": in_l,
        "source": "client1",
        "sink": "server1",
        "spread_s": 0.1,
    }
    own = tcp(
        "own",
        known(row, "cc", _CONTROLS),
        ecn=True,
        offload=False,
        source="client0",
        sink="server0",
    )
    return Case(
        "Skype",
        f"Skype: {control}, {text(row, 'qdisc')}, Skype {call}",
        scenario(
            [own] if call == "no" else [own, skype],
            known(row, "qdisc", _QDISCS),
            {"limit": _LIMIT},
            mbit=_SKYPE_LINK_MBIT,
            rtts_s=[_SKYPE_RTT_S, _SKYPE_RTT_S],
            duration_s=number(row, "t_end_s"),
            warm_up_s=number(row, "t_start_s"),
            replications=_TRIALS,
            links={} if call == "no" else {"client1 -> left": {"wire": {"bursts": _FRAMES}}},
        ),
        [figure(row, "goodput, Mbit/s", "goodput_mbit", goodput("own"))],
    )
