"""Seals: a checksum within each file that is written here and read again.

The file has `SLOT` where its format has room for a text: the comment of a zip archive or of HTML,
the metadata of a Parquet file, a field of JSON. `sealed` puts the checksum there and `check`
compares it, so other programs read the file as ever. The checksum is the SHA-256 of all other
bytes, after those of the name of what the file is of: right bytes under a wrong name are no better
than wrong ones.
"""

from __future__ import annotations

import hashlib

from sluicegate.errors import SluiceError

_MARK = "sluicegate-sha256="
_DIGITS = 64
SLOT = _MARK + _DIGITS * "0"


class DamagedError(SluiceError):
    """A file is not as it was written."""


def sealed(content: bytes, of: str = "") -> bytes:
    """The content with its checksum in its last `SLOT`.

    Args:
        content: A whole file.
        of: Name of what it is of, if that is not in it.
    """
    start = content.rindex(SLOT.encode()) + len(_MARK)
    rest = content[start + _DIGITS :]
    return content[:start] + _checksum(content[:start], rest, of) + rest


def is_sealed(content: bytes) -> bool:
    """Whether there is a checksum, right or wrong: earlier versions wrote none."""
    return _MARK.encode() in content


def check(content: bytes, of: str = "") -> None:
    """Compare the checksum of a file that was `sealed`.

    Raises:
        DamagedError: If it differs, or if there is none.
    """
    mark = content.rfind(_MARK.encode())
    if mark < 0:
        raise DamagedError("it has no checksum")
    start = mark + len(_MARK)
    end = start + _DIGITS
    if content[start:end] != _checksum(content[:start], content[end:], of):
        raise DamagedError("its checksum differs")


def _checksum(before: bytes, after: bytes, of: str) -> bytes:
    found = hashlib.sha256(of.encode() + b"\0")
    found.update(before)
    found.update(after)
    return found.hexdigest().encode()
