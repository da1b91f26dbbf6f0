"""What the laboratory needs of this machine, and how to get it."""

from __future__ import annotations

import platform
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.programs import which

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
EMULATOR = "qemu-system-x86_64"
_TO_RUN = {EMULATOR: "qemu-system-x86", "busybox": "busybox-static"}
_TO_FETCH = {"apt-get": "apt", "apt-cache": "apt", "dpkg-deb": "dpkg"}
_TO_BUILD = {"tar": "tar", "xz": "xz-utils", "unshare": "util-linux"}


def missing_to_run() -> list[str]:
    """Packages of Debian that a run lacks here."""
    return [package for program, package in _TO_RUN.items() if not which(program)]


def missing_to_fetch() -> list[str]:
    """Packages of Debian that fetching a kernel lacks here."""
    lacking = [package for program, package in _TO_FETCH.items() if not which(program)]
    return lacking if KEYRING.is_file() else [*lacking, "debian-archive-keyring"]


def missing_to_build() -> list[str]:
    """Packages of Debian that building a module of the kernel lacks here."""
    lacking = [package for program, package in _TO_BUILD.items() if not which(program)]
    return missing_to_fetch() + lacking


def require(packages: list[str]) -> None:
    """Refuse to go on without these packages, or on a processor other than the machine's.

    Raises:
        SluiceError: If there are any, with the command that installs them.
    """
    if (here := platform.machine()) != "x86_64":
        raise SluiceError(f"the laboratory runs programs of this machine: {here} must be x86_64")
    if packages:
        names = " ".join(sorted(set(packages)))
        raise SluiceError(
            f"the laboratory needs programs that are not installed: apt install {names}"
        )
