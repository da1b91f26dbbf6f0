"""Files that are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Add the file's name to errors of the system: that of a full disk, for example, has none.

    Raises:
        OSError: Whatever was raised within, with `filename`.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename == os.fspath(path):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file as a whole or not at all: what was there stays until the new one is complete.

    Args:
        path: The file; a pipe or the like is written to directly.
        content: Text (in UTF-8) or bytes.

    Raises:
        OSError: If the file cannot be written, with `filename`.
    """
    data = content.encode() if isinstance(content, str) else content
    with writing(path):
        # behind a symbolic link, its target is replaced, not the link
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        part = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            part.write_bytes(data)
            part.replace(target)
        finally:
            # a part cut off by a full disk would only fill it further
            part.unlink(missing_ok=True)
