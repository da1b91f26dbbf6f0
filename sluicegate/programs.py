"""Programs of the system, such as `ip` and `iptables`.

Debian's ordinary users do not have `/usr/sbin` and `/sbin` on their PATH, but may run what is in
them: in namespaces of their own they are root.
"""

from __future__ import annotations

import os
import shutil

_MORE = ("/usr/sbin", "/sbin")


def environment() -> dict[str, str]:
    """The environment in which a program of the system is started; for `env` of `subprocess`."""
    return {**os.environ, "PATH": os.pathsep.join([os.environ.get("PATH", os.defpath), *_MORE])}


def which(name: str) -> str | None:
    """The path of a program; None if it is not installed."""
    return shutil.which(name, path=environment()["PATH"])
