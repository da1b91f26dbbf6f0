"""What the tests need besides python3, cc and cargo, and where it comes from.

    tests/needs.py install    as root, with apt: everything that is missing, as `make test` does
    tests/needs.py kernel     the laboratory's kernel, where that can boot
    tests/needs.py packages   the names of Debian's packages

Without one of these the tests that need it are skipped, each with the reason.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

# Debian's package, a program or file of it, and what needs it
NEEDS = [
    ("clang-19", "clang-19", "BPF"),
    ("llvm-19", "llvm-objdump-19", "BPF"),
    ("libelf-dev", "/usr/include/libelf.h", "BPF"),
    ("zlib1g-dev", "/usr/include/zlib.h", "BPF"),
    ("bpftool", "bpftool", "BPF"),
    ("iproute2", "ip", "gate"),
    ("iptables", "iptables", "gate"),
    ("nftables", "nft", "gate"),
    ("iperf3", "iperf3", "gate"),
    ("systemd-container", "systemd-nspawn", "gate"),
    ("tshark", "tshark", "captures"),
    ("qemu-system-x86", "qemu-system-x86_64", "laboratory"),
    ("busybox-static", "busybox", "laboratory"),
    ("cpio", "cpio", "laboratory"),
    ("gpg", "gpg", "laboratory"),
    (
        "debian-archive-keyring",
        "/usr/share/keyrings/debian-archive-keyring.gpg",
        "laboratory",
    ),
    ("chromium", "chromium", "pages"),
    ("nodejs", "node", "pages"),
]
# where Debian keeps programs of the network, which are not on every user's path
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_ALL = "sudo make needs, then sudo env PATH=$PATH make test"


def missing() -> list[tuple[str, str]]:
    """Return the missing packages, and what needs each."""
    return [
        (package, what)
        for package, sign, what in NEEDS
        if not (Path(sign).exists() if sign.startswith("/") else shutil.which(sign, path=_PATH))
    ]


def install() -> None:
    """Install what is missing; where that cannot be done, say which command would."""
    lacking = missing()
    packages = [package for package, _ in lacking]
    kinds = ", ".join(dict.fromkeys(what for _, what in lacking))
    if not lacking:
        return
    if shutil.which("apt-get") is None:
        _say(f"tests of {kinds} are skipped: they need (Debian's names) {' '.join(packages)}")
    elif os.environ.get("INSTALL") == "no":
        _say(f"tests of {kinds} are skipped, as INSTALL=no: {_ALL} runs all")
    elif os.geteuid():
        _say(f"tests of {kinds}, and those that only root can run, are skipped: {_ALL} runs all")
    else:
        _say(f"installing for the tests of {kinds} (INSTALL=no leaves it): {' '.join(packages)}")
        _apt("update")
        if _apt("install", *packages):
            _each(packages)


def add_rust_target() -> None:
    """Add Rust's target of pages, where rustup can; without it there is no engine for pages."""
    if os.environ.get("INSTALL") == "no" or os.geteuid() or shutil.which("rustup") is None:
        return
    command = ["rustup", "target", "add", "wasm32-unknown-unknown"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        _say(f"the tests of the engine for pages are skipped: `{' '.join(command)}` fails")


def _each(packages: Iterable[str]) -> None:
    """Install each by itself: apt-get installs nothing if it does not know one of them."""
    for package in packages:
        if why := _apt("install", package):
            _say(f"the tests that need {package} are skipped: {why}")


def _apt(verb: str, *packages: str) -> str:
    """Return the last line of apt-get's error; empty if it did its work."""
    command = ["apt-get", verb, "--yes", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    command += ["--no-install-recommends", *packages] if packages else []
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"apt-get ends with {done.returncode}"])[-1]


def fetch_kernel() -> None:
    """Fetch the laboratory's kernel, if there is none and the laboratory can boot one."""
    from sluicegate.errors import SluiceError
    from sluicegate.lab import kernel
    from sluicegate.lab.check import missing_to_fetch, missing_to_run

    try:
        if os.environ.get("INSTALL") == "no" or missing_to_run() or kernel.find():
            return
        if missing_to_fetch():
            return
        _say("fetching the kernel of the laboratory (38 MB; INSTALL=no leaves it)")
        kernel.fetch()
    except SluiceError as error:
        _say(f"the tests of the laboratory are skipped: {error}")


def build_dualpi2() -> None:
    """Build the DualPI2 that the laboratory's kernel lacks, if there is a kernel."""
    from sluicegate.errors import SluiceError
    from sluicegate.lab import dualpi2, kernel

    try:
        found = kernel.find()
        if os.environ.get("INSTALL") == "no" or found is None or dualpi2.find(found):
            return
        _say("building Linux's DualPI2 for the laboratory (260 MB, 40 s; INSTALL=no leaves it)")
        dualpi2.build()
    except SluiceError as error:
        _say(f"the tests of Linux's DualPI2 are skipped: {error}")


def _say(line: str) -> None:
    print(f"test: {line}", flush=True)


COMMANDS: dict[str, Callable[[], object]] = {
    "install": lambda: (install(), add_rust_target()),
    "kernel": lambda: (fetch_kernel(), build_dualpi2()),
    "packages": lambda: print(*(package for package, *_ in NEEDS)),
}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]]()
