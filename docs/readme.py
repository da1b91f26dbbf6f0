"""Writes the table of the algorithms in the README, from the headers: `make outputs`."""

from pathlib import Path

from catalogue import table

import sluicegate as sg

README = Path(__file__).parent.parent / "README.md"
_HEADER = ("name", "what it does", "source")


def with_table(text: str) -> str:
    """The README with the present table."""
    first = next(table(_HEADER, []))
    start = text.index(first)
    end = text.index("\n\n", start) + 1
    rows = [[f"`{each.name}`", each.summary, each.source] for each in sg.aqms().values()]
    return text[:start] + "\n".join(table(_HEADER, rows)) + text[end:]


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
