"""The C headers that an AQM of a user includes, as files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import platformdirs

from sluicegate import _engine
from sluicegate.files import make_folder, write_whole

_DIGITS = 12


def headers_folder() -> Path:
    """The folder with `aqm.h`, `fixed.h` and all others, for editors and `cc -I`.

    The engine carries them, and compiles an AQM against its own. They are written into the user's
    cache, those of each version into a folder of its own.

    Raises:
        OSError: If they cannot be written.
    """
    headers = _engine.aqm_headers()
    mark = hashlib.sha256(repr(headers).encode()).hexdigest()[:_DIGITS]
    folder = platformdirs.user_cache_path("sluicegate") / f"headers-{mark}"
    make_folder(folder)
    for name, text in headers:
        path = folder / name
        if not path.is_file() or path.read_bytes() != text.encode():
            write_whole(path, text, sync=False)
    return folder
