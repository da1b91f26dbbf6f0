"""What users write of a link: rates, ranges of round trips and of flows, a buffer."""

from __future__ import annotations

import re

from sluicegate._engine import quantity
from sluicegate.advice.question import RATES_BPS
from sluicegate.errors import UsageError
from sluicegate.report.numbers import plain_number

_NUMBER = r"(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)"
_TIMES = re.compile(rf"{_NUMBER}\s*(us|ms|s)?(?:\.\.{_NUMBER})?\s*(us|ms|s)?")
_FLOWS = re.compile(r"(\d+)(?:\.\.(\d+))?")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def rate_bps(text: str, option: str) -> float:
    """A rate: `2M`, `10Gbit/s`, `50e6`.

    Raises:
        UsageError: If it is none.
    """
    found = quantity(text, "bits/s")
    if found is None:
        raise UsageError(f"{option}: {text!r} must be a rate in bits/s, such as 2M, 50e6 or 10G")
    least, most = RATES_BPS
    if not least <= found <= most:
        meant = f"; did you mean {text.strip()}M?" if text.strip().isdecimal() else ""
        raise UsageError(
            f"{option}: {text} must be between {plain_number(least)} and {plain_number(most)} "
            f"(bits/s){meant}"
        )
    return found


def rtts_s(text: str) -> tuple[float, float]:
    """Round trips: `20..120ms`, `20ms`, `0.5ms..2ms`; a unit behind the last holds for both.

    Raises:
        UsageError: If it is none, or has no unit.
    """
    found = _TIMES.fullmatch(text.strip())
    if found is None or not (found[2] or found[4]):
        raise UsageError(
            f"--rtt: {text!r} must be round trips with their unit, such as 20..120ms or 0.5ms"
        )
    first, last = found[1], found[3] or found[1]
    unit = found[4] or found[2]
    return float(first) * _UNITS[found[2] or unit], float(last) * _UNITS[unit]


def limit(text: str) -> int | None:
    """Packets of a buffer: `1000`; None for `capture`, which lets a capture tell.

    Raises:
        UsageError: If it is neither.
    """
    if text.strip() == "capture":
        return None
    if not text.strip().isdecimal():
        raise UsageError(f"--limit: {text!r} must be a number of packets, such as 1000, or capture")
    return int(text)


def flows(text: str) -> tuple[int, int]:
    """Numbers of flows: `5..50` or `10`.

    Raises:
        UsageError: If they are none.
    """
    found = _FLOWS.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"--flows: {text!r} must be numbers of flows, such as 5..50 or 10")
    return int(found[1]), int(found[2] or found[1])
