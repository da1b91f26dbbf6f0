"""Links of a testbed: pairs of virtual Ethernet devices.

The command `ip` makes them: a dozen lines that anybody can read and type, where a netlink library
would be one more dependency for the same words.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.testbed.job import HostJob, Side, address, gateway

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


def lay_link(side: Side, mtu: int, process: int) -> None:
    """Lay a link from the router, where this is called, to the namespace of a process."""
    link = _LINK.format(mtu=mtu)
    _ip(
        [
            f"link add {side} {link} type veth peer name {_NEAR} {link} netns {process}",
            f"address add {gateway(side)}/16 dev {side}",
            f"link set {side} up",
        ]
    )


def forward() -> None:
    """Let the kernel forward between the links of this namespace."""
    _ip(["link set lo up"])
    _set("ip_forward", 1)


def take_addresses(job: HostJob) -> None:
    """Give this namespace its link's addresses, and the router as its way to everybody else."""
    _ip(
        [
            "link set lo up",
            *(f"address add {address(job.side, k)}/16 dev {_NEAR}" for k in range(job.hosts)),
            f"link set {_NEAR} up",
            f"route add default via {gateway(job.side)}",
        ]
    )
    _set("tcp_ecn", int(job.ecn))


def _set(name: str, value: int) -> None:
    """Set what the kernel knows of this namespace's IPv4."""
    Path(f"/proc/sys/net/ipv4/{name}").write_text(str(value))
