"""The folder of a report: the page, its data, and its figures as files."""

from __future__ import annotations

import hashlib
import io
import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import sluicegate
from sluicegate import store
from sluicegate.comparison import Comparison
from sluicegate.errors import SluiceError
from sluicegate.files import write_whole

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("pdf", "svg", "png")
# the short tables, which are also written as CSV, for spreadsheets
_SHORT = ("measures", "differences")


def write_report(comparison: Comparison, folder: str | Path, *, figures: str | None = None) -> Path:
    """Write `report.html` and its data into a folder: Parquet files, and CSV of the short ones.

    The data are `measures`, `differences` and `distributions`; a world may have more: networks have
    `series` and `flows`. A page of the same results that was drawn before is not drawn again: it
    is there already, or in the store.

    Args:
        comparison: With one record at least.
        folder: Made if it is missing; files of these names in it are replaced.
        figures: `pdf`, `svg` or `png`: every figure of the page is also written to a file of its
            own, in the folder `figures`.

    Returns:
        The path of the page.

    Raises:
        SluiceError: If there is no such format.
        OSError: If the folder or a file cannot be written.
    """
    if figures is not None and figures not in FORMATS:
        raise SluiceError(f"figures = {figures} must be one of {', '.join(FORMATS)}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in _frames(comparison).items():
        # written by Python: a full disk is an OSError then
        content = io.BytesIO()
        frame.write_parquet(content)
        write_whole(folder / f"{name}.parquet", content.getvalue())
        if name in _SHORT:
            write_whole(folder / f"{name}.csv", frame.write_csv())
    path, mark = folder / "report.html", _mark(comparison)
    if figures is None and _bears(path, mark):
        return path
    drawn = store.find_page(mark) if figures is None else None
    if drawn is None:
        from sluicegate.report.comparison import comparison_page  # drawing takes seconds

        page = comparison_page(comparison, mark)
        if figures is not None:
            page.save_figures(folder / "figures", figures)
        drawn = page.html()
        if not any(record.interrupted for record in comparison.records):
            store.keep_page(mark, drawn)
    write_whole(path, drawn)
    return path


def _frames(comparison: Comparison) -> dict[str, pl.DataFrame]:
    frames = {
        "measures": comparison.frame(),
        "differences": comparison.differences(),
        "distributions": comparison.distributions(),
    }
    for world, records in comparison.records_by_world():
        frames |= world.frames(records)
    return frames


def _mark(comparison: Comparison) -> str:
    """A hash of all that determines the page: what was found, this package, what draws for it."""
    found = {
        **comparison.summary(),
        "notes": comparison.notes(),
        "columns": comparison.columns,
        "matplotlib": version("matplotlib"),
    }
    package = Path(str(sluicegate.__file__)).parent
    code = sorted(file for kind in ("py", "html", "css") for file in package.rglob(f"*.{kind}"))
    parts = [json.dumps(found, sort_keys=True).encode(), *(file.read_bytes() for file in code)]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:32]


def _bears(path: Path, mark: str) -> bool:
    """Whether there is a page with that mark in its head."""
    try:
        with path.open(encoding="utf-8", errors="replace") as page:
            return mark in page.read(1000)
    except OSError:
        return False
