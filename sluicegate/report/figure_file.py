"""A figure as a file of its own, for papers and slides."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib

from sluicegate.errors import SluiceError
from sluicegate.files import make_folder, write_whole
from sluicegate.report.figure import Figure

FORMATS = (".pdf", ".svg", ".png")
# text stays text, in fonts that journals take
_FILES: Any = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "sluicegate"}
_METADATA: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


def check_format(path: Path) -> None:
    """Refuse a file whose suffix is none of `FORMATS`, or that no folder can have."""
    if path.suffix.lower() not in FORMATS:
        raise SluiceError(f"{path} must end in {', '.join(FORMATS)}")
    if path.is_dir():
        raise SluiceError(f"{path} is a folder, and must be a file")
    # folders that are missing are made with it
    if not next(each for each in path.absolute().parents if each.exists()).is_dir():
        raise SluiceError(f"{path}: {path.parent} cannot be a folder")


def save(figure: Figure, path: Path) -> None:
    """Save a figure, in folders that are made if they are missing; the suffix says as what.

    Raises:
        SluiceError: As for `check_format`.
        OSError: If the file cannot be written.
    """
    check_format(path)
    kind = path.suffix[1:].lower()
    content = io.BytesIO()
    with matplotlib.rc_context(_FILES):
        figure.savefig(content, format=kind, dpi=300, metadata=_METADATA.get(kind))
    make_folder(path.parent)
    write_whole(path, content.getvalue())
