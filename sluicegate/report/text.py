"""Measures, parameters and settings as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sluicegate.estimate import Measure
from sluicegate.record import Record, methods
from sluicegate.report.numbers import plain_number

# larger floats have no digits after the point
_LARGEST_WHOLE = 1e15


def measure_text(measure: Measure, digits: int = 4) -> str:
    """Write a measure as `64.7 ± 0.9`.

    The half width keeps one significant digit, or two if the first is a 1, and the value ends at
    the same place. A value shows five digits at most, and a smaller half width is rounded up.
    Without a half width, or with one of 0, the value keeps `digits` digits. A bound is written as
    `< 3e-06` or `> 99.9997`, behind the value if something was seen, and rounded to the safe side.
    """
    value, half_width = measure.value, measure.half_width
    if not math.isfinite(value):
        return "n/a"
    if measure.bound is not None:
        return _bound_text(value, measure.bound)
    if not half_width:
        # 1.091e+06 would hide digits of a count
        whole = 10**digits <= abs(value) < _LARGEST_WHOLE
        return f"{value:.0f}" if whole else f"{value:.{digits}g}"
    power = math.floor(math.log10(max(abs(value), half_width)))
    if -4 <= power < 9:
        return _to_place(value, half_width)
    scale = 10.0**power
    return f"({_to_place(value / scale, half_width / scale)})e{power:+03d}"


def _bound_text(value: float, bound: float) -> str:
    """A bound, behind the value if there were any events, with few digits of what is rare."""
    if bound >= value:
        shown = f"< {_rounded_up(bound):g}"
        return shown if value == 0 else f"{value:.2g} ({shown})"
    # of a share near the whole, which is 1 or 100 %, the rest up to the whole is rare
    whole = 1.0 if bound <= 1 else 100.0
    missing = _rounded_up(whole - bound)
    decimals = next(n for n in range(20) if round(missing, n) == missing)
    shown = f"> {whole - missing:.{decimals}f}"
    return shown if value == whole else f"{value:.{decimals}f} ({shown})"


def _rounded_up(value: float) -> float:
    """The next number of one significant digit, or of two if the first is a 1; not below."""
    power = math.floor(math.log10(value))
    if value < 1.95 * 10.0**power:
        power -= 1
    # a value above a digit only by a rounding error stays there
    return float(f"{math.ceil(round(value / 10.0**power, 9))}e{power}")


def _to_place(value: float, half_width: float) -> str:
    """Value and half width, both rounded to where the half width has its last digit."""
    power = math.floor(math.log10(half_width))
    decimals = -power + (half_width < 1.95 * 10.0**power)
    most = 4 - math.floor(math.log10(max(abs(value), half_width)))
    if decimals > most:
        decimals = most
        half_width = math.ceil(half_width * 10.0**most) / 10.0**most
    shown = max(0, decimals)
    # a difference of almost nothing is 0, not -0
    return f"{round(value, decimals) + 0.0:.{shown}f} ± {round(half_width, decimals):.{shown}f}"


def value_text(value: object) -> str:
    """Write a parameter's value as a scenario would."""
    if isinstance(value, bool):
        return str(value).lower()
    return plain_number(value) if isinstance(value, float) else str(value)


def assignments(fields: Mapping[str, object]) -> str:
    """Fields as TOML has them in one line, without those that are empty."""
    return ", ".join(
        f"{name} = {_field_text(value)}" for name, value in fields.items() if value is not None
    )


def _field_text(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{ {assignments(value)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_field_text, value))}]"
    return value_text(value)


def reading_of_intervals(records: Sequence[Record]) -> str:
    """A sentence on how the intervals of simulated measures were made."""
    how = ". ".join(methods(records))
    if all(each.half_width is None for record in records for each in record.measures.values()):
        return f"{how}."
    return f"The figure after ± is the half width of the 95 % confidence interval ({how})."
