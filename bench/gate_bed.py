"""Test bed of bench/gate.py: the sender's namespace `source`, and this namespace, the router."""

from __future__ import annotations

import fcntl
import json
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SLUICED = ROOT / ".venv" / "bin" / "sluiced"
NFQ_LOOP = ROOT / "target" / "nfq_loop" / "release" / "nfq_loop"
FOLDER = Path(tempfile.mkdtemp())
LOAD = FOLDER / "gate_load"
NO_SLACK_SET = FOLDER / "no_slack_set.so"
FAR = "10.8.2.2"
# real-time priority, if it is allowed
PRIORITY = ["chrt", "--fifo", "50"]
if subprocess.run([*PRIORITY, "true"], capture_output=True, check=False).returncode:
    PRIORITY = []
# priority of the measuring process: above all it measures
WATCHING = 60
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
ARRIVED = FOLDER / "sys/class/net/near/statistics/tx_dropped"

# ignores PR_SET_TIMERSLACK (29), so that the timer slack stays the kernel's 50 us
PRCTL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
int prctl(int what, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    int (*real)(int, ...);
    *(void **)&real = dlsym(RTLD_NEXT, "prctl");
    return what == 29 ? 0 : real(what, a, b, c, d);
}
"""


def watch_first() -> None:
    """Give this process real-time priority if that is allowed, but not the processes it starts."""
    if PRIORITY:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(WATCHING))


def sh(command: str) -> None:
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr.strip()}")


def build() -> None:
    """Set up `source` -> router -> `near`, an interface that counts packets and drops them.

    `near` is a TUN device that nothing reads: it drops all packets that do not fit into its queue
    of one packet.
    """
    sh(f"cc -O2 -o {LOAD} {ROOT / 'bench/gate_load.c'}")
    (FOLDER / "prctl.c").write_text(PRCTL)
    sh(f"cc -O2 -shared -fPIC -o {NO_SLACK_SET} {FOLDER / 'prctl.c'} -ldl")
    sh("mount -t tmpfs none /run && mkdir -p /run/netns")
    (FOLDER / "sys").mkdir()
    sh(f"mount -t sysfs none {FOLDER / 'sys'}")
    sh("ip netns add source && ip link set lo up")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"near", IFF_TUN | IFF_NO_PI))
    sh("ip link set near txqueuelen 1")
    sh("ip link add left type veth peer name source netns source")
    # without IPv6, only the counted packets are sent
    for where in ("", "ip netns exec source "):
        sh(f"{where}sysctl -qw net.ipv6.conf.all.disable_ipv6=1")
    sh("ip addr add 10.8.1.1/24 dev left && ip addr add 10.8.2.1/24 dev near")
    sh("ip link set left up && ip link set near up && sysctl -qw net.ipv4.ip_forward=1")
    sh("ip -n source addr add 10.8.1.2/24 dev source && ip -n source link set source up")
    sh("ip -n source route add default via 10.8.1.1")
    sent(loading(100, 0.01, 64))


def arrived() -> int:
    return int(ARRIVED.read_text())


@dataclass
class Sent:
    """Output of `gate_load`: counts of packets, and s."""

    sent: int
    arrived: int
    lost: int
    seconds: float

    @property
    def per_s(self) -> float:
        return self.arrived / self.seconds


def loading(
    packet_bytes: int, seconds: float, window: int, per_s: int = 0, pieces: int = 1
) -> subprocess.Popen[str]:
    given = [FAR, packet_bytes, seconds, window, per_s, pieces, ARRIVED]
    command = [*PRIORITY, "ip", "netns", "exec", "source", str(LOAD), *map(str, given)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def sent(load: subprocess.Popen[str]) -> Sent:
    said, _ = load.communicate(timeout=120)
    first, second, third, seconds = said.split()
    return Sent(int(first), int(second), int(third), float(seconds))


def cpu_s(process: subprocess.Popen[str]) -> float:
    """Return the CPU time of all threads of a process, s."""
    threads = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


@contextmanager
def decider(
    *command: str | Path, first: bool = False, slack: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Run a program that takes packets of queue 0, with its nft rule; `first`: with priority."""
    sh(f"{SLUICED} rules --interface near --fail closed --install")
    environment = os.environ | ({"LD_PRELOAD": str(NO_SLACK_SET)} if slack else {})
    whole = [*(PRIORITY if first else []), *command]
    process = subprocess.Popen(whole, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        while (line := process.stdout.readline()) != "ready\n":
            if not line:
                raise RuntimeError(f"{command[0]} has ended")
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=10)
        sh(f"{SLUICED} rules --interface near --fail closed --remove")


@contextmanager
def gate(
    rate_bps: float, *options: str, first: bool = False, slack: bool = False
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Run `sluiced`; yield its process and a dict that gets its link's measures at its end."""
    summary = FOLDER / "summary.json"
    found: dict[str, Any] = {}
    given = ["--fail", "closed", "--rate", f"{rate_bps:.0f}", "--aqm", "drop_tail"]
    command = [str(SLUICED), "run", *given, "--json", str(summary), *options]
    with decider(*command, first=first, slack=slack) as process:
        yield process, found
    found.update(json.loads(summary.read_text())[0])


def enter() -> list[str]:
    """Return the command that enters new namespaces; only root gets real-time priority in them."""
    flags = "-nm" if os.geteuid() == 0 else "-Urnm"
    return ["unshare", flags, "--fork", "--kill-child"]
