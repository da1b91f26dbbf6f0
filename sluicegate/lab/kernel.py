"""The laboratory's kernel: Debian's, from trixie-backports, in a folder of the user's cache.

What was unpacked from its packages has a hash, which is compared before each boot.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import platformdirs

from sluicegate.errors import SluiceError
from sluicegate.lab import apt
from sluicegate.lab.check import missing_to_fetch, missing_to_run, require

_SUITE = "trixie-backports"
# small, and has BPF qdiscs since 6.18
_METAPACKAGE = "linux-image-cloud-amd64"
_PARTS = ("binary", "modules", "base")
_RECORD = "fetched.json"


@dataclass(frozen=True)
class Kernel:
    """A kernel that was fetched.

    Attributes:
        release: Such as `7.3.4+deb13-cloud-amd64`.
        folder: Where its packages are unpacked.
    """

    release: str
    folder: Path

    @property
    def modules(self) -> Path:
        """The folder of its modules."""
        return self.folder / "usr" / "lib" / "modules" / self.release

    @property
    def image(self) -> Path:
        """The kernel itself."""
        return self.modules / "vmlinuz"

    @property
    def congestion_controls(self) -> list[str]:
        """The congestion controls that its TCP can use."""
        modules = {path.name.split(".")[0] for path in self.modules.glob("kernel/net/ipv4/tcp_*")}
        # those in the kernel itself; tcp_diag only reports on connections
        return ["reno", "cubic", *sorted(name[4:] for name in modules - {"tcp_diag"})]

    @cached_property
    def contents(self) -> str:
        """SHA-256 of what boots: the kernel, its modules and their lists, by names and bytes."""
        paths = sorted(path for path in self.modules.rglob("*") if path.is_file())
        found = hashlib.sha256()
        for path in paths:
            own = hashlib.sha256(path.read_bytes()).hexdigest()
            found.update(f"{own}  {path.relative_to(self.modules)}\n".encode())
        return found.hexdigest()

    @property
    def packages(self) -> dict[str, str]:
        """The packages it came in, and the SHA-256 of each."""
        packages: dict[str, str] = json.loads((self.folder / _RECORD).read_text())["packages"]
        return packages


def folder() -> Path:
    """Where kernels are kept."""
    return platformdirs.user_cache_path("sluicegate") / "kernels"


def find() -> Kernel | None:
    """The kernel that was fetched last; None if none was.

    Raises:
        SluiceError: If it is not what was fetched.
    """
    paths = sorted(folder().glob(f"*/{_RECORD}"), key=lambda path: path.stat().st_mtime)
    # earlier versions kept no hash of the contents
    kept = [(path, sha256) for path in paths if (sha256 := _recorded(path))]
    if not kept:
        return None
    path, sha256 = kept[-1]
    kernel = _kernel(path.parent)
    if kernel.contents != sha256:
        raise SluiceError(
            f"{kernel.modules}: the files have changed since they were fetched: fetch them again "
            "with sluice lab --fetch"
        )
    return kernel


def ready() -> Kernel:
    """The kernel, on a machine that has all that a run takes.

    Raises:
        SluiceError: If something is missing, with the line for the shell that brings all of it.
    """
    kernel = find()
    lacking = missing_to_run() + ([] if kernel else missing_to_fetch())
    # on another processor, installing packages would not help
    require([])
    if kernel and not lacking:
        return kernel
    lines = [f"apt install {' '.join(sorted(set(lacking)))}"] if lacking else []
    lines += [] if kernel else ["sluice lab --fetch"]
    what = (
        "programs"
        if kernel
        else "programs and its kernel (38 MB)"
        if lacking
        else "its kernel (38 MB)"
    )
    raise SluiceError(f"the laboratory lacks {what}: {' && '.join(lines)}")


def _recorded(record: Path) -> str | None:
    """The hash of what was fetched."""
    found: str | None = json.loads(record.read_text()).get("contents")
    return found


@cache
def _kernel(folder: Path) -> Kernel:
    """The kernel in a folder; a process reads its files once."""
    return Kernel(folder.name, folder)


def fetch() -> Kernel:
    """Download today's kernel, unless it is already there: 38 MB.

    Raises:
        SluiceError: If a program for it is missing, or if apt fails; with apt's own text.
    """
    require(missing_to_fetch())
    folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder(), prefix=".fetch-") as name:
        debian = apt.Apt(Path(name), _SUITE)
        release = _release(debian)
        kernel = Kernel(release, folder() / release)
        record = kernel.folder / _RECORD
        if record.is_file() and _recorded(record) == kernel.contents:
            return kernel
        packages = debian.download([f"linux-{part}-{release}" for part in _PARTS])
        new = Path(name) / "new"
        for package in packages:
            apt.run("dpkg-deb", "--extract", str(package), str(new))
        told = {
            "release": release,
            "source": f"{apt.ARCHIVE} {_SUITE}",
            "packages": {
                each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in packages
            },
            "contents": Kernel(release, new).contents,
        }
        (new / _RECORD).write_text(json.dumps(told, indent=1) + "\n")
        # what an interrupted removal left, or what somebody has changed
        shutil.rmtree(kernel.folder, ignore_errors=True)
        new.rename(kernel.folder)
    _kernel.cache_clear()
    return Kernel(release, folder() / release)


def _release(debian: apt.Apt) -> str:
    """The release that Debian's metapackage names today."""
    said = debian.show(_METAPACKAGE)
    found = re.search(r"^Depends:.*\blinux-image-(\d\S*)", said, re.MULTILINE)
    if not found:
        raise SluiceError(f"apt: {_METAPACKAGE} of {_SUITE} names no kernel")
    return found[1]
