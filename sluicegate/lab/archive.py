"""The file format of an initramfs: cpio, of the kind "newc".

Linux, Documentation/driver-api/early-userspace/buffer-format.rst. Times, owners and numbers of
files are 0 or counted, so that the same files give the same bytes. The machine's results come back
in the same format, which busybox writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluicegate.errors import SluiceError

_MAGIC = b"070701"
_FIELDS = 13
_HEADER = len(_MAGIC) + 8 * _FIELDS
_END = "TRAILER!!!"
_DIRECTORY, _FILE, _LINK = 0o040755, 0o100755, 0o120777
_KIND = 0o170000


@dataclass(frozen=True)
class Link:
    """A symbolic link to a path."""

    to: str


def pack(files: Mapping[str, bytes | Link]) -> bytes:
    """An archive of files, each with its path, and of their folders.

    Every file may be executed.
    """
    folders = {
        "/".join(parts[:depth])
        for parts in (path.split("/") for path in files)
        for depth in range(1, len(parts))
    }
    entries = [(path, _DIRECTORY, b"") for path in sorted(folders)]
    for path, content in sorted(files.items()):
        if isinstance(content, Link):
            entries.append((path, _LINK, content.to.encode()))
        else:
            entries.append((path, _FILE, content))
    return b"".join(
        _entry(number, *entry) for number, entry in enumerate([*entries, (_END, 0, b"")], start=1)
    )


def _entry(number: int, path: str, mode: int, content: bytes) -> bytes:
    name = path.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
    header = _MAGIC + b"".join(b"%08x" % field for field in fields)
    return _padded(header + name) + _padded(content)


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)


def unpack(archive: bytes) -> dict[str, bytes]:
    """The files of an archive, without its folders and links.

    Raises:
        SluiceError: If it is no archive, or not a whole one.
    """
    files: dict[str, bytes] = {}
    place = 0
    while True:
        header = archive[place : place + _HEADER]
        if len(header) < _HEADER or not header.startswith(_MAGIC):
            raise SluiceError(f"damaged archive: byte {place} of {len(archive)} begins no file")
        sizes = [int(header[6 + 8 * field : 14 + 8 * field], 16) for field in range(_FIELDS)]
        mode, size, name_size = sizes[1], sizes[6], sizes[11]
        path = archive[place + _HEADER : place + _HEADER + name_size - 1].decode()
        begin = place + _HEADER + name_size
        begin += -begin % 4
        if path == _END:
            return files
        if begin + size > len(archive):
            raise SluiceError(f"damaged archive: it ends within {path}")
        if mode & _KIND == _FILE & _KIND:
            files[path.removeprefix("./")] = archive[begin : begin + size]
        place = begin + size + -size % 4
