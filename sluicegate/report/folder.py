"""The folder of a report: the page, its data, and its figures as files."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import sluicegate
from sluicegate import store
from sluicegate.comparison import Comparison
from sluicegate.errors import SluiceError
from sluicegate.extras import require
from sluicegate.files import make_folder, write_whole
from sluicegate.report.csv import csv_text
from sluicegate.report.latex import latex_table
from sluicegate.report.tables import comparison_rows, labelled_differences
from sluicegate.seal import SLOT, DamagedError, check, sealed

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("pdf", "svg", "png")
# the short tables, which are also written as CSV, for spreadsheets
_SHORT = ("measures", "differences")
_PAGE = "report.html"
# names the files of the report in its folder
_OURS = "files.json"
# what options of the command change: with others the scenario is still the same
_CHANGED = ("disciplines", "duration_s", "replications", "seed", "slots")
# what other commands write into folders of theirs
_OF_OTHERS = ("sweep.json", "tuning.json", "evaluation.json")


def write_report(comparison: Comparison, folder: str | Path, *, figures: str | None = None) -> Path:
    """Write `report.html` and its data into a folder: Parquet files, and CSV of the short ones.

    The data are `measures`, `differences` and `distributions`; a world may have more: networks have
    `series` and `flows`. `measures.tex` and `differences.tex` are the tables of the page for LaTeX;
    there is no second one where there are no differences. A page of the same results that was
    drawn before is not drawn again: it is there already, or in the store.

    Args:
        comparison: With one record at least.
        folder: Made if it is missing. It has one report: files of these names are replaced, and
            files that an earlier report wrote and this one does not are removed. Two processes
            write one after the other.
        figures: `pdf`, `svg` or `png`: every figure of the page is also written to a file of its
            own, in the folder `figures`.

    Returns:
        The path of the page.

    Raises:
        SluiceError: If there is no such format, if the folder is that of a sweep, a tuning or an
            evaluation, or if matplotlib is not installed.
        OSError: If the folder or a file cannot be written.
    """
    require("matplotlib", "a report")
    if figures is not None and figures not in FORMATS:
        raise SluiceError(f"figures = {figures} must be one of {', '.join(FORMATS)}")
    folder = Path(folder)
    check_folder(folder)
    make_folder(folder)
    data = _data(comparison)
    path, mark = folder / _PAGE, _mark(comparison)
    with _alone(folder):
        page, there = None, _bearing(path, mark)
        drawn = there or store.find_page(mark)
        if drawn is None or figures is not None:
            from sluicegate.report.comparison import comparison_page  # drawing takes seconds

            page = comparison_page(comparison, mark)
            drawn = sealed(f"{page.html()}<!-- {SLOT} -->\n".encode(), mark).decode()
            if not any(record.interrupted for record in comparison.records):
                store.keep_page(mark, drawn)
        names = [*data, _PAGE]
        if page is not None and figures is not None:
            names += [f"figures/{name}" for name in page.figure_files(figures)]
        with _replacing(folder, names, mark, _subject(comparison)):
            for name, content in data.items():
                write_whole(folder / name, content)
            if page is not None and figures is not None:
                page.save_figures(folder / "figures", figures)
            if drawn != there:
                write_whole(path, drawn)
    return path


def replaces(comparison: Comparison, folder: Path) -> bool:
    """Whether the folder has the report of another scenario: by its title, or what it is of."""
    _, _, subject = _ours(folder)
    # earlier versions had the kind of a scenario without a title
    unknown = ("", "Scenario", "NetworkScenario")
    return (folder / _PAGE).is_file() and subject not in (*unknown, _subject(comparison))


def _subject(comparison: Comparison) -> str:
    """What tells the scenario from others: its title, or a hash of what no option changes."""
    scenario = comparison.scenario
    if scenario.title:
        return scenario.title
    # every kind is a dataclass
    all_ = fields(scenario)  # type: ignore[arg-type]
    names = [each.name for each in all_ if each.name not in _CHANGED]
    told = "\n".join(f"{name} = {getattr(scenario, name)!r}" for name in names)
    return hashlib.sha256(f"{type(scenario).__name__}\n{told}".encode()).hexdigest()[:32]


def check_folder(folder: Path) -> None:
    """Refuse a folder that has the results of something else.

    Raises:
        SluiceError: If it is that of a sweep or a tuning.
    """
    for name in _OF_OTHERS:
        if (folder / name).exists():
            what = name.removesuffix(".json")
            raise SluiceError(
                f"{folder} has the results of a {what} ({name}): choose another folder with --out"
            )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process writes a report into the folder, and let none begin."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@contextmanager
def _replacing(folder: Path, names: Sequence[str], mark: str, subject: str) -> Iterator[None]:
    """Have these files written; then remove those of earlier reports that are not among them.

    Which files are ours, and of which report, is kept in the folder: no other is removed, nor the
    figures of this one that were asked for before.
    """
    ours, of, before = _ours(folder)
    _note(folder, {*ours, *names}, of, before)
    yield
    if of != mark:
        for name in ours.difference(names):
            (folder / name).unlink(missing_ok=True)
        with suppress(OSError):  # it is not there, or has other files
            (folder / "figures").rmdir()
        _note(folder, names, mark, subject)


def _ours(folder: Path) -> tuple[set[str], str, str]:
    """The files of earlier reports, the mark and the subject of the last; none if not known."""
    try:
        content = (folder / _OURS).read_bytes()
        check(content, _OURS)
    except (OSError, DamagedError):
        return set(), "", ""
    known, root = json.loads(content), folder.resolve()
    names = {name for name in known["files"] if (root / name).resolve().is_relative_to(root)}
    return names, known["mark"], known.get("subject", "")


def _note(folder: Path, names: Iterable[str], mark: str, subject: str) -> None:
    told = {"files": sorted(names), "mark": mark, "subject": subject, "seal": SLOT}
    content = sealed(json.dumps(told).encode(), _OURS)
    if not (folder / _OURS).is_file() or (folder / _OURS).read_bytes() != content:
        write_whole(folder / _OURS, content)


def _data(comparison: Comparison) -> dict[str, bytes]:
    """The contents of the files of data by their names."""
    found = {}
    for name, frame in _frames(comparison).items():
        content = io.BytesIO()
        frame.write_parquet(content)
        found[f"{name}.parquet"] = content.getvalue()
        if name in _SHORT:
            found[f"{name}.csv"] = csv_text(frame).encode()
    header, rows = comparison_rows(comparison)
    found["measures.tex"] = latex_table(header, rows).encode()
    if differences := labelled_differences(comparison):
        found["differences.tex"] = latex_table(header, differences).encode()
    return found


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


def _bearing(path: Path, mark: str) -> str | None:
    """The page there, if it has that mark and is as it was written; None otherwise."""
    if not path.is_file():  # a device may be read without end
        return None
    try:
        content = path.read_bytes()
        check(content, mark)
    except (OSError, DamagedError):
        return None
    return content.decode()
