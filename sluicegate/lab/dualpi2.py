"""Linux's own DualPI2, which Debian's kernel leaves out, and a `tc` that knows its parameters.

Both are made of Debian's packages, as an ordinary user. The module is built from the text in
linux-source, with the headers of the kernel's own version, and the compiler of the same release of
Debian; `tc` is that of a later release, with its libraries. The kernel calls such a module out of
tree; nothing else differs from one that it brings along.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.lab import apt
from sluicegate.lab.archive import Link
from sluicegate.lab.check import missing_to_build, require
from sluicegate.lab.kernel import Kernel, fetch

MODULE = "sch_dualpi2"
HOW = "sluice lab --dualpi2"
_SOURCE = f"net/sched/{MODULE}.c"
_OBJECT = f"{MODULE}.ko"
_SUITES, _TC_SUITE = ("trixie-backports", "trixie"), "sid"
# what the kernel's Makefile calls, besides the compiler, which its headers bring
_TOOLS = (
    *("base-files", "bash", "bc", "coreutils", "dash", "findutils", "gawk", "grep", "kmod", "make"),
    *("sed", "tar", "xz-utils"),
)
_LIBRARIES, _LOADER = "usr/lib/x86_64-linux-gnu", "ld-linux-x86-64.so.2"
_PREFIX = "x86_64-linux-gnu-"
# /proc and /dev: objtool reads the former
_CHROOT = (
    "mount --rbind /proc {root}/proc && mount --rbind /dev {root}/dev && "
    "exec chroot {root} /usr/bin/env -i PATH=/usr/bin:/usr/sbin LC_ALL=C KBUILD_BUILD_TIMESTAMP=@0 "
    # without what only a debugger reads
    "sh -c 'make -C /usr/src/linux-headers-{release} M=/build modules && "
    "strip --strip-debug /build/{object}'"
)
_FOLDER, _RECORD = "dualpi2", "built.json"
# in the laboratory
_AT = "dualpi2"
_TC = f'#!/programs/sh\nexec /{_AT}/{_LOADER} --library-path /{_AT} /{_AT}/tc "$@"\n'


@dataclass(frozen=True)
class DualPi2:
    """What was built.

    Attributes:
        folder: The module, compressed as the kernel's others; in `tc` the program, its loader and
            its libraries.
    """

    folder: Path

    @property
    def module(self) -> Path:
        """The module."""
        return self.folder / f"{_OBJECT}.xz"

    def tc(self) -> dict[str, bytes | Link]:
        """The `tc` for an image, at the place of other programs; its loader is its own."""
        parts = sorted((self.folder / "tc").iterdir())
        own: dict[str, bytes | Link] = {f"{_AT}/{part.name}": part.read_bytes() for part in parts}
        return {**own, "programs/tc": _TC.encode()}

    @property
    def contents(self) -> str:
        """SHA-256 of module and `tc`, by names and bytes."""
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        found = hashlib.sha256()
        for path in paths:
            if path.name != _RECORD:
                found.update(f"{_sha256(path)}  {path.relative_to(self.folder)}\n".encode())
        return found.hexdigest()

    @property
    def packages(self) -> dict[str, str]:
        """The packages that it was made of, and the SHA-256 of each."""
        packages: dict[str, str] = json.loads((self.folder / _RECORD).read_text())["packages"]
        return packages


@cache
def find(kernel: Kernel) -> DualPi2 | None:
    """What was built for a kernel; None if nothing was. A process reads it once.

    Raises:
        SluiceError: If it is not what was built.
    """
    found = DualPi2(kernel.folder / _FOLDER)
    record = found.folder / _RECORD
    if not record.is_file():
        return None
    if json.loads(record.read_text())["contents"] != found.contents:
        raise SluiceError(
            f"{found.folder}: the files have changed since they were built: remove the folder and "
            f"build them again with {HOW}"
        )
    return found


def build() -> DualPi2:
    """Build it for today's kernel, unless it is there: 260 MB are fetched, none of which is kept.

    Raises:
        SluiceError: If a program for it is missing, or if a step fails; with its own text.
    """
    require(missing_to_build())
    kernel = fetch()
    if (known := find(kernel)) is not None:
        return known
    with tempfile.TemporaryDirectory(dir=kernel.folder, prefix=".build-") as name:
        work, new = Path(name), DualPi2(Path(name) / "new")
        (new.folder / "tc").mkdir(parents=True)
        packages = _module(kernel, work, new.module) + _newer_tc(work, new.folder / "tc")
        told = {
            "packages": {each.name: _sha256(each) for each in packages},
            "contents": new.contents,
        }
        (new.folder / _RECORD).write_text(json.dumps(told, indent=1) + "\n")
        new.folder.rename(kernel.folder / _FOLDER)
    find.cache_clear()
    return DualPi2(kernel.folder / _FOLDER)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _module(kernel: Kernel, work: Path, into: Path) -> list[Path]:
    """Build the module; give the packages that it took."""
    (number,) = re.findall(r"^\d+\.\d+", kernel.release)
    debian = apt.Apt(_new(work / "apt"), *_SUITES)
    packages = debian.with_needs([f"linux-headers-{kernel.release}", *_TOOLS])
    (source,) = debian.download([f"linux-source-{number}"])
    _same_version([*kernel.packages, *(path.name for path in (*packages, source))])
    root = work / "root"
    _unpack(packages, root)
    _compiler_names(root / "usr/bin")
    folder = _new(root / "build")
    (folder / f"{MODULE}.c").write_bytes(_text(source, f"linux-source-{number}"))
    (folder / "Makefile").write_text(f"obj-m := {MODULE}.o\n")
    inside = _CHROOT.format(root=root, release=kernel.release, object=_OBJECT)
    apt.run("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inside)
    into.write_bytes(lzma.compress((folder / _OBJECT).read_bytes(), check=lzma.CHECK_CRC32))
    return [*packages, source]


def _same_version(packages: Iterable[str]) -> None:
    """Refuse packages of different kernels: the module would be of another one."""
    named = re.compile(r"linux-(?:headers|source|modules|binary)-[^_]*_([^_]+)_")
    versions = {found[1] for name in packages if (found := named.match(name))}
    if len(versions) != 1:
        raise SluiceError(
            f"Debian's packages of the kernel have the versions {', '.join(sorted(versions))}: "
            "they must be one; remove the kernel's folder and try again"
        )


def _newer_tc(work: Path, into: Path) -> list[Path]:
    """Fetch a `tc`, its libraries and its loader; give the packages that they came in."""
    packages = apt.Apt(_new(work / "apt-tc"), _TC_SUITE).with_needs(["iproute2"])
    root = work / "root-tc"
    _unpack(packages, root)
    libraries, program = root / _LIBRARIES, root / "usr/sbin/tc"
    loader = libraries / _LOADER
    needs = apt.run(str(loader), "--library-path", str(libraries), "--list", str(program))
    for path in (program, loader, *re.findall(r"=> (/\S+)", needs)):
        shutil.copy(path, into)
    return packages


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _unpack(packages: list[Path], root: Path) -> None:
    """Unpack without the packages' scripts."""
    # links of base-files, where other packages have folders
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in packages:
        _pipe(
            ["dpkg-deb", "--fsys-tarfile", str(package)],
            ["tar", "x", "--keep-directory-symlink", "--no-same-owner", "-C", str(root)],
        )


def _compiler_names(folder: Path) -> None:
    """The names that scripts of packages would make: `gcc` for `x86_64-linux-gnu-gcc-14`."""
    links = {"awk": "gawk"}
    for path in folder.glob(f"{_PREFIX}*"):
        links[re.sub(r"-\d+$", "", path.name.removeprefix(_PREFIX))] = path.name
    for name, to in links.items():
        if not (folder / name).exists():
            (folder / name).symlink_to(to)


def _text(source: Path, top: str) -> bytes:
    """The module's text: in an archive within a package."""
    return _pipe(
        ["dpkg-deb", "--fsys-tarfile", str(source)],
        ["tar", "xO", f"./usr/src/{top}.tar.xz"],
        ["tar", "xJO", f"{top}/{_SOURCE}"],
    )


def _pipe(*commands: list[str]) -> bytes:
    """Run programs, each of which reads what the one before it writes; give the last's output."""
    running: list[subprocess.Popen[bytes]] = []
    for command in commands:
        before = running[-1].stdout if running else None
        running.append(
            subprocess.Popen(command, stdin=before, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        )
        if before is not None:
            before.close()
    told, said = running[-1].communicate()
    for command, each in zip(commands, running, strict=True):
        if each.wait():
            reason = said if each is running[-1] else each.stderr.read() if each.stderr else b""
            raise SluiceError(f"{' '.join(command)}: {reason.decode().strip()}")
    return told
