"""L4S-PAM2025: one flow against one, and many against many, ten trials each.

F. Sarpkaya, A. Srivastava, F. Fund, S. Panwar, "To adopt or not to adopt L4S-compatible congestion
control?", PAM 2025. 100 Mbit/s, 10 ms, 60 s with slow start, buffers of n bandwidth-delay products.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sluicegate.papers.l4s.case import (
    PACKET_BYTES,
    Case,
    figure,
    goodput,
    number,
    rows,
    scenario,
    smoothed_round_trip,
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
from sluicegate.scenario import NetworkScenario

ONE, MANY = "l4s-pam2025/one-vs-one.csv", "l4s-pam2025/many-flows.csv"
_TARGET_S = 0.005
_DURATION_S = 60.0
_TRIALS = 10
_DUALPI2_LIMIT = 10_000
# what a qdisc does of its own (`ce_threshold`) we do not have for some packets only
_DISCIPLINES: Mapping[str, Discipline] = {
    "FIFO": DROP_TAIL,
    "Codel": codel(ecn=True, target=_TARGET_S),
    "Codel_drop": codel(ecn=False, target=_TARGET_S),
    "FQ_Codel": fq_codel(),
    "pie_drop": pie(ecn=False, target=_TARGET_S),
    "DualPI2": dualpi2(target=_TARGET_S),
}
# the classic side: congestion control, and whether it asks for marks
_SETTINGS = {
    "cubic_ecn": ("cubic", True),
    "cubic_ecn_fallback": ("cubic", True),
    "cubic_noecn": ("cubic", False),
    "bbrv1_noecn": ("bbr", False),
    "bbrv3_noecn": ("bbr3", False),
    "bbrv3_ecn": ("bbr3", True),
}


def cases(folder: Path) -> Iterator[Case]:
    """The cases whose senders and qdiscs we have.

    Raises:
        SluiceError: If a table is not what it should be.
    """
    for row in rows(folder, ONE):
        setting, aqm = text(row, "setting"), text(row, "aqm")
        if text(row, "cc_l4s") == "prague" and setting in _SETTINGS and aqm in _DISCIPLINES:
            control, ecn = _SETTINGS[setting]
            yield _case(
                row, ("l4s", "classic"), (1, 1), tcp("classic", control, ecn=ecn, offload=True)
            )
    for row in rows(folder, MANY):
        counts = int(number(row, "flows_a")), int(number(row, "flows_b"))
        if text(row, "l4s_cc") == "Prague" and text(row, "aqm") in _DISCIPLINES and max(counts) > 1:
            yield _case(
                row, ("l4s", "cubic"), counts, tcp("classic", "cubic", ecn=True, offload=True)
            )


def _case(
    row: Mapping[str, str],
    columns: tuple[str, str],
    counts: tuple[int, int],
    classic: dict[str, Any],
) -> Case:
    buffer = number(row, "buffer_bdp")
    control, own = classic["tcp"]["congestion_control"], row.get("setting", "")
    aqm = text(row, "aqm")
    # not stated for many flows: off, as by default
    fallback = row.get("ecn_fallback") == "1"
    # their kernel is the testing build of 5.15
    flows = [tcp("l4s", "prague_2024", ecn=True, offload=True, fallback=fallback), classic]
    sides = zip(("Prague", "classic"), ("l4s", "classic"), columns, strict=True)
    figures = [
        found
        for name, label, column in sides
        for found in (
            figure(
                row,
                f"{name}, Mbit/s",
                f"tput_{column}_mean_mbit",
                goodput(label),
                f"tput_{column}_sd",
            ),
            figure(
                row,
                f"{name}, round trip, ms",
                f"srtt_{column}_mean_ms",
                smoothed_round_trip(label),
                f"srtt_{column}_sd",
            ),
        )
    ]
    count = f"{counts[0]} and {counts[1]}"
    return Case(
        "L4S-PAM2025",
        f"{aqm}, {buffer:g} BDP, {count}, {own or control}",
        _scenario(
            [each | {"count": n} for each, n in zip(flows, counts, strict=True)], aqm, buffer, row
        ),
        figures,
    )


def _scenario(
    flows: list[dict[str, Any]], aqm: str, buffer: float, row: Mapping[str, str]
) -> NetworkScenario:
    mbit, rtt_s = number(row, "capacity_mbit"), number(row, "base_rtt_ms") / 1e3
    limit_bytes = round(buffer * mbit * 1e6 * rtt_s / 8)
    queue = {
        "FIFO": {"limit": _DUALPI2_LIMIT, "limit_bytes": limit_bytes},
        "DualPI2": {"limit": _DUALPI2_LIMIT},
    }
    return scenario(
        flows,
        _DISCIPLINES[aqm],
        queue.get(aqm, {"limit": limit_bytes // PACKET_BYTES + 1}),
        mbit=mbit,
        rtts_s=[rtt_s],
        duration_s=_DURATION_S,
        warm_up_s=0.0,
        replications=_TRIALS,
    )
