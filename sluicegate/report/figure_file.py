"""A figure as a file of its own, for papers and slides."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib

from sluicegate.errors import SluiceError
from sluicegate.files import write_whole
from sluicegate.report.figure import Figure

FORMATS = (".pdf", ".svg", ".png")
# text stays text, in fonts that journals take
_FILES: Any = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "sluicegate"}
_METADATA: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


def check_format(path: Path) -> None:
    """Refuse a file's name whose suffix is none of `FORMATS`."""
    if path.suffix not in FORMATS:
        raise SluiceError(f"{path} must end in {', '.join(FORMATS)}")


def save(figure: Figure, path: Path) -> None:
    """Save a figure; the suffix says as what.

    Raises:
        SluiceError: If the suffix is none of `FORMATS`.
        OSError: If the file cannot be written.
    """
    check_format(path)
    kind = path.suffix[1:]
    content = io.BytesIO()
    with matplotlib.rc_context(_FILES):
        figure.savefig(content, format=kind, dpi=300, metadata=_METADATA.get(kind))
    write_whole(path, content.getvalue())
