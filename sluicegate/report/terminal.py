"""Tables in the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markup import escape
from rich.table import Table

# a bound is a number, too
_NUMBER = re.compile(r"(?:[<>] )?[-+(]?\d|n/a$")

# between two columns
_GAP = 2
# a longer name or word, such as a path, may be broken
_LONG_NAME = 32


def numeric_columns(header: list[str], rows: list[list[str]]) -> list[bool]:
    """Which columns hold only numbers, and so are aligned to the right."""
    return [
        bool(rows) and all(_NUMBER.match(row[place]) for row in rows if row[place])
        for place in range(len(header))
    ]


@dataclass(frozen=True)
class TerminalTable:
    """A plain table: words aligned to the left, numbers to the right.

    Texts are broken at spaces, except names in the first column. Where there is no room for all
    columns beside each other, the others are in a table below, again with the first column: no
    number is broken. More rows can be `below`, in the same columns, each group under a line.
    """

    header: list[str]
    rows: list[list[str]]
    title: str = ""
    below: Mapping[str, list[list[str]]] = field(default_factory=dict)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one table, or several one below the other."""
        title, places = self.title, list(range(len(self.header)))
        while True:
            widths = self._widths(places, options.max_width)
            yield self._table(widths, self.rows, title)
            for line, rows in self.below.items():
                yield escape(line)
                yield self._table(widths, rows, show_header=False)
            places, title = [0, *(place for place in places if place not in widths)], ""
            if len(places) == 1:
                return

    def _widths(self, places: Sequence[int], room: int) -> dict[int, int]:
        """How wide each column is that has room beside the others; at least two columns have."""
        shown = list(places[:2])
        for place in places[2:]:
            if sum(self._least_width(each) + _GAP for each in (*shown, place)) - _GAP > room:
                break
            shown.append(place)
        widths = {place: self._least_width(place) for place in shown}
        spare = max(0, room - sum(widths.values()) - _GAP * (len(shown) - 1))
        missing = {place: self._full_width(place) - widths[place] for place in shown}
        # columns that need little get it, and the others share the rest
        for number, place in enumerate(sorted(shown, key=lambda place: missing[place])):
            more = min(missing[place], spare // (len(shown) - number))
            widths[place] += more
            spare -= more
        return widths

    def _table(
        self,
        widths: Mapping[int, int],
        rows: list[list[str]],
        title: str = "",
        show_header: bool = True,
    ) -> Table:
        table = Table(
            title=escape(title) or None,
            title_justify="left",
            title_style="bold",
            box=None,
            padding=(0, _GAP, 0, 0),
            pad_edge=False,
            show_header=show_header,
        )
        for place, width in widths.items():
            justify: JustifyMethod = "right" if self._is_numeric(place) else "left"
            table.add_column(self.header[place], justify=justify, overflow="fold", width=width)
        for row in rows:
            table.add_row(*(escape(row[place]) for place in widths))
        return table

    def _is_numeric(self, place: int) -> bool:
        return numeric_columns(self.header, self.rows)[place]

    def _cells(self, place: int) -> list[str]:
        return [row[place] for row in chain(self.rows, *self.below.values())]

    def _least_width(self, place: int) -> int:
        """Width of the longest number, name in the first column, or word in another one."""
        numeric, words = self._is_numeric(place), self.header[place].split()
        for cell in self._cells(place):
            words += [cell] if numeric or not place else cell.split()
        longest = max(map(cell_len, words), default=1)
        return longest if numeric else min(longest, _LONG_NAME)

    def _full_width(self, place: int) -> int:
        """Width of all of its lines."""
        texts = [self.header[place], *self._cells(place)]
        return max((cell_len(line) for text in texts for line in text.splitlines()), default=1)


def as_text(table: TerminalTable, width: int | None = None) -> str:
    """A table as plain text, for `repr`; as wide as the terminal if no width is given."""
    # in a notebook, rich would also display what it prints, which is nothing
    screen = Console(
        color_system=None, highlight=False, emoji=False, force_jupyter=False, width=width
    )
    with screen.capture() as text:
        screen.print(table)
    return text.get().rstrip("\n")


def terminal_table(
    header: list[str],
    rows: list[list[str]],
    title: str = "",
    below: Mapping[str, list[list[str]]] | None = None,
) -> TerminalTable:
    """A table for the terminal."""
    return TerminalTable(header, rows, title, below or {})
