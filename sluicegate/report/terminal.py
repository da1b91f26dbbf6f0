"""Tables in the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

# a bound is a number, too
_NUMBER = re.compile(r"(?:[<>] )?[-+(]?\d|n/a$")

_BOUNDLESS = 100_000
# a longer name or word, such as a path, may be broken
_LONG_NAME = 32


def numeric_columns(header: list[str], rows: list[list[str]]) -> list[bool]:
    """Which columns hold nothing but numbers, and so stand to the right."""
    return [
        bool(rows) and all(_NUMBER.match(row[place]) for row in rows if row[place])
        for place in range(len(header))
    ]


@dataclass(frozen=True)
class TerminalTable:
    """A plain table: words to the left, numbers to the right.

    Texts are broken where they have spaces, but for names in the first column. Where columns have
    no room beside each other, the others stand in a table below, again with the first column: no
    number is broken.
    """

    header: list[str]
    rows: list[list[str]]
    title: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one table, or several one below the other."""
        # measured where nothing is in the way, or it would be clipped
        boundless = options.update(max_width=_BOUNDLESS)
        left = list(range(1, len(self.header)))
        title = self.title
        while True:
            shown = left[:1]
            while len(shown) < len(left):
                wider = self._table([0, *left[: len(shown) + 1]], title)
                if Measurement.get(console, boundless, wider).minimum > options.max_width:
                    break
                shown = left[: len(shown) + 1]
            yield self._table([0, *shown] if self.header else [], title)
            left, title = left[len(shown) :], ""
            if not left:
                return

    def _table(self, places: Sequence[int], title: str) -> Table:
        table = Table(
            title=escape(title) or None, title_justify="left", title_style="bold", box=None
        )
        table.pad_edge = False
        numeric = numeric_columns(self.header, self.rows)
        for place in places:
            table.add_column(
                self.header[place],
                justify="right" if numeric[place] else "left",
                overflow="fold",
                no_wrap=False,
                min_width=self._least_width(place, numeric[place]),
            )
        for row in self.rows:
            table.add_row(*(escape(row[place]) for place in places))
        return table

    def _least_width(self, place: int, numeric: bool) -> int:
        """What the longest number takes, or name in the first column, or word in another one."""
        whole = numeric or not place
        words = self.header[place].split()
        for row in self.rows:
            words += [row[place]] if whole else row[place].split()
        longest = max((len(word) for word in words), default=1)
        return longest if numeric else min(longest, _LONG_NAME)


def terminal_table(header: list[str], rows: list[list[str]], title: str = "") -> TerminalTable:
    """A table for the terminal."""
    return TerminalTable(header, rows, title)
