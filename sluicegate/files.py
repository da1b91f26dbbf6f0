"""Files that are written: whole or not at all, also if the power fails."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# how a file that is being written is called; what is left of it after a kill is of no use
UNFINISHED = ".sluicegate-"
# folders of some file systems, or that may not be read, cannot be synced
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES)


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


def write_whole(path: Path, content: str | bytes, *, sync: bool = True) -> None:
    """Write a file as a whole or not at all: what was there stays until the new one is complete.

    Args:
        path: The file; a pipe or the like is written to directly.
        content: Text (in UTF-8) or bytes.
        sync: Wait until it is on the disk. Without it a power cut may leave the file empty or cut
            off: for files that are `sealed` and can be made again.

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
        # other processes, on other machines too, may be writing the same file
        part = target.with_name(UNFINISHED + secrets.token_hex(8))
        try:
            with part.open("wb") as file:
                file.write(data)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            part.replace(target)
        finally:
            # a part cut off by a full disk would only fill it further
            part.unlink(missing_ok=True)
        if sync:
            _sync_names(target.parent)


def disk_of(path: Path) -> Path:
    """Where the disk is mounted on which a file is, or would be."""
    return next(each for each in (path, *path.absolute().parents) if each.is_mount())


def make_folder(path: Path) -> None:
    """Make a folder and those above it that are missing, on the disk when this returns.

    Raises:
        OSError: If one cannot be made.
    """
    if path.is_dir():
        return
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for each in missing:
        _sync_names(each.parent)


def _sync_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
