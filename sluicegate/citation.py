"""How to cite Sluicegate: what `CITATION.cff` says, as BibTeX."""

from __future__ import annotations

from datetime import date

from sluicegate import _engine

AUTHOR = "The Sluicegate maintainers"
# of the version; a test compares it with CITATION.cff
RELEASED = date(2026, 11, 24)


def bibtex() -> str:
    """An entry that every style of BibTeX takes, with the version that is installed."""
    return "\n".join(
        [
            "@misc{sluicegate,",
            f"  author = {{{{{AUTHOR}}}}},",
            "  title = {Sluicegate},",
            f"  year = {{{RELEASED:%Y}}},",
            f"  month = {RELEASED:%b},".lower(),
            f"  note = {{Version {_engine.__version__}}},",
            "}",
        ]
    )
