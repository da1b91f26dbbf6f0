"""Tables as CSV that a spreadsheet opens without calculating anything.

A spreadsheet takes a text that begins with `=`, `+`, `-` or `@` for a formula, and runs it. So a
text that begins so gets an apostrophe before it, which spreadsheets take for "this is text"; one
that begins with an apostrophe gets another. Numbers stay as they are. Whoever reads the file by
program removes one apostrophe from the beginning of each text that has one, and has what was
written.
"""

from __future__ import annotations

import polars as pl

# tab and carriage return are skipped by spreadsheets before they look (OWASP, "CSV Injection")
_BEGINS = r"^(['=+\-@\t\r\n])"


def csv_text(frame: pl.DataFrame) -> str:
    """A table as CSV; its texts, those of the header too, begin with nothing that is calculated."""
    header = pl.Series(frame.columns, dtype=pl.String).str.replace(_BEGINS, "'$1")
    texts = frame.with_columns(pl.col(pl.String).str.replace(_BEGINS, "'$1"))
    return texts.rename(dict(zip(frame.columns, header, strict=True))).write_csv()
