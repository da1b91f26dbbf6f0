"""What commands share: where they print, and how they write JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from sluicegate.files import write_whole

_WIDTH_OF_A_FILE = 120


def console(stderr: bool = False) -> Console:
    """A console on standard output or error; wide enough for tables where that is no terminal."""
    screen = Console(stderr=stderr, highlight=False, emoji=False)
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = _WIDTH_OF_A_FILE
    return screen


def write_json(path: Path, schema: str, content: Mapping[str, Any]) -> None:
    """Write types that JSON has; numbers that are not finite become null.

    Args:
        path: The file.
        schema: Name of the content's published schema; written into the file, with this version.
        content: All the rest.
    """
    marked = {"sluicegate": version("sluicegate"), "schema": schema, **content}
    write_whole(path, json.dumps(_finite(marked), indent=2) + "\n")


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
