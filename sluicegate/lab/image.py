"""What the laboratory's machine boots: an initramfs, made without privileges."""

from __future__ import annotations

import lzma
import re
import struct
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.lab import dualpi2
from sluicegate.lab.archive import Link, pack
from sluicegate.lab.kernel import Kernel
from sluicegate.programs import which

SCRIPT = "lab/script"
# of a program header: the loader's path (ELF-64, figure 6-3)
_PT_INTERP = 3
# The script's output and its exit status go into /out, too: all of it comes back through the
# second serial port, whose line discipline must not change a byte.
# A program is at the same addresses each time: what the emulator has translated of it serves again.
_INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/programs:/bin HOME=/root LC_ALL=C
mkdir -p /proc /sys /dev /run /tmp /root /var/run
mount -t proc proc /proc
echo 0 >/proc/sys/kernel/randomize_va_space
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t bpf bpf /sys/fs/bpf
ip link set lo up
mkdir /out
cd /root
/{SCRIPT} >/out/.stdout 2>/out/.stderr </dev/null
echo $? >/out/.status
cd /out
stty -F /dev/ttyS1 raw -echo
find . | cpio -o -H newc 2>/dev/null | gzip >/tmp/out
cat /tmp/out >/dev/ttyS1
poweroff -f
"""


def build(
    kernel: Kernel,
    script: str,
    *,
    programs: Iterable[str] = (),
    modules: Iterable[str] = (),
    files: Mapping[str, bytes | Link] | None = None,
) -> bytes:
    """An initramfs that runs a script.

    Args:
        kernel: The kernel whose modules are used.
        script: A shell script; it begins in an empty folder.
        programs: Names or paths of programs of this machine; they come with their libraries and
            can be called by their names, before those of busybox.
        modules: Names of kernel modules, such as `sch_red`; they come with those that they need,
            into `/lib/modules`, where `modprobe` finds them. With `sch_dualpi2` the program `tc` is
            the one that knows it.
        files: More files, each with its path (without `/` before it).

    Raises:
        SluiceError: If a program or a module does not exist.
    """
    content: dict[str, bytes | Link] = {
        "init": _INIT.encode(),
        SCRIPT: b"#!/programs/sh\n" + script.encode(),
        "bin/busybox": _program("busybox").read_bytes(),
    }
    # busybox's own shell would call its own programs in place of others of the same name
    for program in ("sh", *programs):
        path = _program(program)
        content |= _with_libraries(path)
    own = {path.name.split(".")[0]: path for path in kernel.modules.glob("kernel/**/*.ko.xz")}
    modules = list(modules)
    if dualpi2.MODULE in modules and (built := dualpi2.find(kernel)) is not None:
        own[dualpi2.MODULE] = built.module
        content |= built.tc() if "programs/tc" in content else {}
    content |= _modules(kernel, own, modules)
    return pack({**content, **(files or {})})


def _program(name: str) -> Path:
    found = which(name)
    if found is None:
        raise SluiceError(f"{name}: there is no such program on this machine")
    return Path(found)


def _with_libraries(program: Path) -> dict[str, bytes | Link]:
    """A program at `programs/NAME`, and what it is linked with, at the same paths as here."""
    content: dict[str, bytes | Link] = {f"programs/{program.name}": program.read_bytes()}
    for path in libraries(program):
        content[str(path).lstrip("/")] = path.read_bytes()
    return content


def libraries(program: Path) -> list[Path]:
    """What a program or a library is linked with, its loader, too."""
    loader = _loader(program)
    # ldd asks the loader of this system, which may not be that of the program
    command = [str(loader), "--list", str(program)] if loader else ["ldd", str(program)]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = [Path(path) for path in re.findall(r"(/\S+) \(0x", told)]
    return [loader, *found] if loader and loader not in found else found


def _loader(program: Path) -> Path | None:
    """The loader that a program names (ELF, 64 bits); None if it names none, as a library does."""
    content = program.read_bytes()
    if content[:5] != b"\x7fELF\2":
        return None
    (first,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for at in range(first, first + size * count, size):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", content, at)
        if kind == _PT_INTERP:
            return Path(content[start : start + length].rstrip(b"\0").decode())
    return None


def _modules(
    kernel: Kernel, paths: Mapping[str, Path], names: Iterable[str]
) -> dict[str, bytes | Link]:
    """Modules and those that they need, unpacked, with the lists that `modprobe` reads."""
    builtin = (kernel.modules / "modules.builtin").read_text()
    content: dict[str, bytes | Link] = {
        f"lib/modules/{kernel.release}/modules.builtin": builtin.encode()
    }
    lines: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in lines or f"/{name}.ko" in builtin:
            continue
        if name not in paths:
            raise SluiceError(_no_module(kernel, name))
        module = lzma.decompress(paths[name].read_bytes())
        needed = re.search(rb"\0depends=([^\0]*)\0", module)
        needs = needed[1].decode().split(",") if needed and needed[1] else []
        # file names may have dashes where names of modules have underscores
        needs = [each if each in paths else each.replace("_", "-") for each in needs]
        lines[name] = f"{name}.ko:" + "".join(f" {each}.ko" for each in needs)
        content[f"lib/modules/{kernel.release}/{name}.ko"] = module
        waiting += needs
    listed = "".join(f"{line}\n" for line in lines.values())
    content[f"lib/modules/{kernel.release}/modules.dep"] = listed.encode()
    return content


def _no_module(kernel: Kernel, name: str) -> str:
    if name == dualpi2.MODULE:
        return f"{name}: Debian's kernel has no such module: {dualpi2.HOW} builds it (260 MB, 40 s)"
    return f"{name}: Linux {kernel.release} has no module of that name"
