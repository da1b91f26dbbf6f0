"""Figures without an error as text; a module of its own, without slow imports."""

from __future__ import annotations

import re


def plain_number(value: float, digits: int = 6) -> str:
    """Write a number as people do: `2e6`, where Python has `2e+06`."""
    return re.sub(r"e\+0*", "e", f"{value:.{digits}g}")


def number_text(value: float | int | str | None) -> str:
    """Write a figure without an error: four digits, and all those before the point."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or 1e4 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return plain_number(value, 4)
