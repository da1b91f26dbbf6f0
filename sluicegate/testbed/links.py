"""Links of a testbed: pairs of virtual Ethernet devices.

The command `ip` makes them: a dozen lines that anybody can read and type, where a netlink library
would be one more dependency for the same words.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.testbed.job import HostJob, address, gateway

# one packet at a time: else TCP hands the link up to 64 kB as one
_LINK = "mtu {mtu} gso_max_segs 1"
_NEAR = "eth0"


def command(*words: str, text: str | None = None) -> None:
    """Run a command, with a text as its input.

    Raises:
        SluiceError: If it is missing or fails, with what it said.
    """
    try:
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SluiceError(f"there is no command {words[0]}: see sluice testbed --check") from None
    if done.returncode:
        raise SluiceError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()}")


def _ip(lines: Sequence[str]) -> None:
    command("ip", "-batch", "-", text="\n".join(lines))


def lay_link(job: HostJob, process: int) -> None:
    """Lay a link from the router, where this is called, to the namespace of a process."""
    side, link = job.side, _LINK.format(mtu=job.mtu)
    _ip([f"link add {side} {link} type veth peer name {_NEAR} {link} netns {process}"])
    _take(side, [gateway(side, job.ipv6)], job.ipv6)


def forward(ipv6: bool) -> None:
    """Let the kernel forward between the links of this namespace."""
    _ip(["link set lo up"])
    _set("ipv4/ip_forward", 1)
    if ipv6:
        _set("ipv6/conf/all/forwarding", 1)


def take_addresses(job: HostJob) -> None:
    """Give this namespace its link's addresses, and the router as its way to everybody else."""
    _ip(["link set lo up"])
    _take(_NEAR, [address(job.side, k, job.ipv6) for k in range(job.hosts)], job.ipv6)
    _ip([f"route add default via {gateway(job.side, job.ipv6)}"])
    # of both versions of IP
    _set("ipv4/tcp_ecn", int(job.ecn))


def _take(link: str, addresses: Sequence[str], ipv6: bool) -> None:
    """Give a link addresses of this namespace, and put it to work."""
    if ipv6:
        # its own address holds at once: without one it asks no neighbour for a second or two
        _set(f"ipv6/conf/{link}/accept_dad", 0)
    width = "64" if ipv6 else "16"
    _ip([*(f"address add {each}/{width} dev {link}" for each in addresses), f"link set {link} up"])


def _set(name: str, value: int) -> None:
    """Set what the kernel knows of this namespace's network."""
    Path(f"/proc/sys/net/{name}").write_text(str(value))
