"""The laboratory's machine: QEMU in virtual time."""

from __future__ import annotations

import gzip
import os
import subprocess
import tempfile
import threading
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

from sluicegate.errors import InterruptError, SluiceError
from sluicegate.lab.archive import unpack
from sluicegate.lab.check import EMULATOR, missing_to_run, require
from sluicegate.lab.kernel import Kernel

MEMORY_MB = 768
# it boots in 5 s on a machine of today; a script that hangs must not block the caller for ever. In
# the emulator's processor time, as a busy machine is no reason to stop; a machine that waits takes
# some, too, since its time jumps
_PATIENCE_S = 600.0
# one that takes none at all is stopped after so much more real time
_REAL_S_PER_PROCESSOR_S = 20
_CONSOLE_LINES = 20
_BETWEEN_LOOKS_S = 0.2
# a plain processor is emulated faster: "max" copies each byte as an instruction (ERMS), and must
# save more at each context switch; random numbers follow from the seed
_PROCESSOR = "Nehalem,+rdrand"
# An instruction is a nanosecond. Recording is used only for its lock: without it another thread
# advances the clock of a halted processor before the processor's last instructions are counted,
# and some runs differ from others with the same seed.
_CLOCK = "shift=0,sleep=off,rr=record,rrfile=/dev/null"
_KERNEL = (
    *("console=ttyS0", "quiet", "panic=-1", "nokaslr", "mitigations=off", "random.trust_cpu=on"),
    # without self-tests; an idle processor halts at once: polling would take instructions
    *("cryptomgr.notests", "cpuidle.off=1"),
    # the timer is the HPET: measuring the rate of the processor's own takes a loop of 0.1 s at boot
    *("noapictimer", "no_timer_check"),
    # pages are not cleared before use, and memory access is not monitored
    *("init_on_alloc=0", "damon_stat.enabled=0"),
)


@dataclass(frozen=True)
class Result:
    """The results of a script.

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


def run(
    kernel: Kernel,
    image: bytes,
    *,
    seed: int = 1,
    memory_mb: int = MEMORY_MB,
    patience_s: float = _PATIENCE_S,
    ended: threading.Event | None = None,
) -> Result:
    """Boot an image, wait until its script has ended, and return its results.

    The same kernel, image, seed and emulator give the same result, to the byte.

    Args:
        kernel: What boots.
        image: What `image.build` made.
        seed: Of everything that is random in there: 0 to 2^32 - 1.
        memory_mb: How much memory the machine has; another amount is another machine.
        patience_s: Processor time of the emulator after which the machine is stopped, or a 20th of
            the real time.
        ended: Stops the machine as soon as it is set.

    Raises:
        InterruptError: If `ended` was set.
        SluiceError: If a program is missing, or if the machine returns nothing: then with the
            last lines of its kernel.
    """
    require(missing_to_run())
    with tempfile.TemporaryDirectory(prefix="sluice-lab-") as name:
        folder = Path(name)
        (folder / "image").write_bytes(image)
        console, out = folder / "console", folder / "out"
        # a preloaded library with other clocks would undo the virtual time
        environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        command = _command(kernel, folder, seed, memory_mb)
        with (folder / "said").open("wb") as said:
            emulator = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                # Ctrl-C is for the caller
                start_new_session=True,
            )
        try:
            over = _wait(emulator, patience_s, ended)
        finally:
            emulator.kill()
            emulator.wait()
        if over:
            raise _lost(f"nothing came back within {over}", console)
        if emulator.returncode:
            raise SluiceError(f"{EMULATOR}: {_words(folder / 'said').strip()}")
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


def _wait(
    emulator: subprocess.Popen[bytes], patience_s: float, ended: threading.Event | None
) -> str:
    """Wait for the emulator; give the time within which it did not end, empty if it did."""
    most_s = _REAL_S_PER_PROCESSOR_S * patience_s
    end_s = time.monotonic() + most_s
    while _busy_s(emulator.pid) < patience_s:
        if time.monotonic() > end_s:
            return f"{most_s:g} s"
        if ended is not None and ended.is_set():
            raise InterruptError("the laboratory was interrupted")
        try:
            emulator.wait(_BETWEEN_LOOKS_S)
        except subprocess.TimeoutExpired:
            continue
        return ""
    return f"{patience_s:g} s of processor time"


def _busy_s(pid: int) -> float:
    """The processor time that a process has taken (proc_pid_stat(5)), s."""
    # its name is in brackets, and may have spaces
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _command(kernel: Kernel, folder: Path, seed: int, memory_mb: int) -> list[str]:
    """One processor, whose instructions are the clock; nothing that depends on this machine."""
    return [
        EMULATOR,
        *["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
        *["-machine", "q35", "-accel", "tcg,thread=single", "-cpu", _PROCESSOR, "-smp", "1"],
        *["-icount", _CLOCK, "-rtc", "base=2026-01-01,clock=vm"],
        *["-m", str(memory_mb), "-seed", str(seed)],
        *["-kernel", str(kernel.image), "-initrd", str(folder / "image")],
        *["-append", " ".join(_KERNEL)],
        *["-serial", f"file:{folder / 'console'}", "-serial", f"file:{folder / 'out'}"],
    ]


def _lost(why: str, console: Path) -> SluiceError:
    last = "\n".join(_words(console).splitlines()[-_CONSOLE_LINES:])
    return SluiceError(f"the laboratory: {why}" + (f"; its kernel said:\n{last}" if last else ""))


def _words(console: Path) -> str:
    return console.read_text(errors="replace") if console.exists() else ""
