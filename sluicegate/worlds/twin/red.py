"""The words of `tc` for a RED: thresholds, and what makes `tc` choose the weight."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sluicegate.errors import SluiceError
from sluicegate.registry import Value

# of RED's weight: the powers that tc tries, and how far from one a scenario's may be
_MOST_LOG, _MOST_OFF = 31, 0.05
# a threshold times the inverse of the weight has fewer bits (include/net/red.h: red_check_params)
_RED_BITS = 32


def red_words(
    params: Mapping[str, Value], unit: int, packet_bytes: int, kbit: int, *, level: str = ""
) -> str:
    """A RED in the words of `tc`, without its limit.

    Args:
        params: Of the AQM: `w`, and with the level behind them `min_th`, `max_th` and `max_p`.
        unit: What the qdisc counts for a packet.
        packet_bytes: Size of the packets.
        kbit: Rate of the link, kbit/s.
        level: What the names of a level's parameters end with.

    Raises:
        SluiceError: If Linux has no room for them, or no such weight.
    """
    names = f"min_th{level}", f"max_th{level}"
    w = float(params["w"])
    log = _weight_log(w)
    least, most = (round(float(params[name]) * unit) for name in names)
    if most.bit_length() + log >= _RED_BITS:
        raise SluiceError(
            f"{names[1]} = {float(params[names[1]]):g} with w = {w:g} is too large "
            f"for Linux: {most} / w must be below 2^{_RED_BITS - 1}"
        )
    return (
        f"min {least} max {most} avpkt {packet_bytes} "
        f"burst {_burst(float(params[names[0]]), w, log)} bandwidth {kbit}kbit "
        f"probability {float(params[f'max_p{level}']):g}"
    )


def _weight_log(w: float) -> int:
    """The weight, which is a power of 1/2 in Linux.

    Raises:
        SluiceError: If it is not near to one.
    """
    log = min(max(1, round(-math.log2(w))), _MOST_LOG) if w else _MOST_LOG
    if abs(w / 0.5**log - 1) > _MOST_OFF:
        raise SluiceError(f"w = {w:g} must be a power of 1/2, as in Linux: {0.5**log:g}")
    return log


def _burst(least: float, w: float, wanted: int) -> int:
    """What makes `tc` choose the weight.

    Raises:
        SluiceError: If nothing does.
    """
    for burst in range(1, 1 << 20):
        if (found := _chosen(least, burst)) == wanted:
            return burst
        if found is not None and found > wanted:
            break
    raise SluiceError(f"w = {w:g}: with min_th = {least:g} tc chooses no such weight")


def _chosen(min_packets: float, burst: int) -> int | None:
    """The weight that `tc` chooses (iproute2, tc_red.c: tc_red_eval_ewma), as a power of 1/2."""
    wanted = burst + 1 - min_packets
    if wanted < 1:
        return None
    for log in range(1, _MOST_LOG + 1):
        weight = 0.5**log
        if wanted <= (1 - (1 - weight) ** burst) / weight:
            return log
    return None
