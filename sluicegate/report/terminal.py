"""Tables in the terminal."""

from __future__ import annotations

import re

from rich.markup import escape
from rich.table import Table

# a bound is a number, too
_NUMBER = re.compile(r"(?:[<>] )?[-+(]?\d|n/a$")


def numeric_columns(header: list[str], rows: list[list[str]]) -> list[bool]:
    """Which columns hold nothing but numbers, and so stand to the right."""
    return [
        bool(rows) and all(_NUMBER.match(row[place]) for row in rows if row[place])
        for place in range(len(header))
    ]


def terminal_table(header: list[str], rows: list[list[str]], title: str = "") -> Table:
    """A plain table for the terminal: words to the left, numbers to the right."""
    table = Table(title=escape(title) or None, title_justify="left", title_style="bold", box=None)
    table.pad_edge = False
    for place, numeric in enumerate(numeric_columns(header, rows)):
        # folded where there is no room: a number that is cut off would be another one
        table.add_column(header[place], justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table
