"""The laboratory's machine: QEMU in virtual time."""

from __future__ import annotations

import gzip
import os
import subprocess
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.lab.archive import unpack
from sluicegate.lab.check import EMULATOR, missing_to_run, require
from sluicegate.lab.kernel import Kernel

_MEMORY_MB = 768
# it boots in 5 s on a machine of today; a script that hangs shall not hold the caller for ever
_PATIENCE_S = 600.0
_CONSOLE_LINES = 20


@dataclass(frozen=True)
class Result:
    """What a script left.

    Attributes:
        status: Its exit status.
        stdout: What it wrote.
        stderr: Likewise.
        files: What it put into `/out`, with the paths from there.
        console: What the kernel said.
    """

    status: int
    stdout: bytes
    stderr: bytes
    files: dict[str, bytes]
    console: str


def run(kernel: Kernel, image: bytes, *, seed: int = 1, patience_s: float = _PATIENCE_S) -> Result:
    """Boot an image, wait until its script is through, and bring back what it left.

    The same kernel, image, seed and emulator give the same result, to the byte.

    Args:
        kernel: What boots.
        image: What `image.build` made.
        seed: Of everything that is random in there: 0 to 2^32 - 1.
        patience_s: Real time after which the machine is stopped.

    Raises:
        SluiceError: If a program is missing, or if the machine brings nothing back: then with the
            last words of its kernel.
    """
    require(missing_to_run())
    with tempfile.TemporaryDirectory(prefix="sluice-lab-") as name:
        folder = Path(name)
        (folder / "image").write_bytes(image)
        console, out = folder / "console", folder / "out"
        # the library that lets other clocks in would undo all of it
        environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        try:
            done = subprocess.run(
                _command(kernel, folder, seed),
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=patience_s,
            )
        except subprocess.TimeoutExpired:
            raise _lost(f"nothing came back within {patience_s:g} s", console) from None
        if done.returncode:
            raise SluiceError(f"{EMULATOR}: {done.stderr.strip()}")
        try:
            files = unpack(gzip.decompress(out.read_bytes()))
        except (OSError, EOFError, zlib.error):
            raise _lost("the machine ended without a result", console) from None
        return Result(
            status=int(files.pop(".status")),
            stdout=files.pop(".stdout"),
            stderr=files.pop(".stderr"),
            files=files,
            console=_words(console),
        )


def _command(kernel: Kernel, folder: Path, seed: int) -> list[str]:
    """One processor, whose instructions are the clock; nothing that depends on this machine."""
    return [
        EMULATOR,
        *["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
        *["-machine", "q35", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", "1"],
        *["-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01,clock=vm"],
        *["-m", str(_MEMORY_MB), "-seed", str(seed)],
        *["-kernel", str(kernel.image), "-initrd", str(folder / "image")],
        *["-append", "console=ttyS0 quiet panic=-1 nokaslr mitigations=off random.trust_cpu=on"],
        *["-serial", f"file:{folder / 'console'}", "-serial", f"file:{folder / 'out'}"],
    ]


def _lost(why: str, console: Path) -> SluiceError:
    last = "\n".join(_words(console).splitlines()[-_CONSOLE_LINES:])
    return SluiceError(f"the laboratory: {why}" + (f"; its kernel said:\n{last}" if last else ""))


def _words(console: Path) -> str:
    return console.read_text(errors="replace") if console.exists() else ""
