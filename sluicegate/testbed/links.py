"""Links of a testbed: pairs of virtual Ethernet devices.

The command `ip` makes them: a dozen lines that anybody can read and type, where a netlink library
would be one more dependency for the same words.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.testbed.addresses import address, gateway
from sluicegate.testbed.command import NEAR, command
from sluicegate.testbed.job import HostJob
from sluicegate.testbed.wire import add_wire

# one packet at a time: else TCP hands the link up to 64 kB as one packet
_LINK = "mtu {mtu} gso_max_segs 1"
# hardware addresses at both ends of every link
_ROUTER, _HOST = "02:00:00:00:00:01", "02:00:00:00:00:02"


def _ip(lines: Sequence[str]) -> None:
    command("ip", "-batch", "-", text="\n".join(lines))


def add_link(job: HostJob, process: int) -> None:
    """Lay a link from the router, where this is called, to the namespace of a process."""
    side, link = job.side, _LINK.format(mtu=job.mtu)
    near = f"name {NEAR} address {_HOST} {link} netns {process}"
    _ip([f"link add {side} address {_ROUTER} {link} type veth peer {near}"])
    _take(side, [gateway(side, job.ipv6)], job.ipv6)
    _ip(_know(_addresses(job), _HOST, side))


def name_namespace(name: str, process: int) -> None:
    """Let `ip netns` know the namespace of a process by a name."""
    command("ip", "netns", "attach", name, str(process))


def forward(ipv6: bool) -> None:
    """Let the kernel forward between the links of this namespace."""
    _ip(["link set lo up"])
    _set("ipv4/ip_forward", 1)
    if ipv6:
        _set("ipv6/conf/all/forwarding", 1)


def take_addresses(job: HostJob) -> None:
    """Give this namespace its link's addresses, and the router as its way to everybody else."""
    _ip(["link set lo up"])
    _take(NEAR, _addresses(job), job.ipv6)
    router = gateway(job.side, job.ipv6)
    _ip([*_know([router], _ROUTER, NEAR), f"route add default via {router}"])
    _ask_for_ecn(job.ecn)
    # without path MTU discovery each packet has a number, by which a log identifies it
    _set("ipv4/ip_no_pmtu_disc", 1)
    # ACKs have the DSCP of their flow, as in the network world
    _set("ipv4/tcp_reflect_tos", 1)
    _keep_hashes()
    if job.qdiscs:
        command("tc", "-batch", "-", text="\n".join(job.qdiscs))
    if job.wire is not None:
        add_wire(job.wire, job.qdiscs)


def _keep_hashes() -> None:
    """Let TCP keep the hash of a flow for ever; else it draws a new one at each time-out.

    Across virtual links a packet takes this hash with it to the router's qdisc, which would find
    the flow in another lane. A router behind a real link computes the hash from addresses and
    ports.
    """
    drawn_anew = "core/txrehash"
    # Linux 5.17 and older cannot be told
    if _setting(drawn_anew).exists():
        _set(drawn_anew, 0)


def _ask_for_ecn(ecn: int) -> None:
    """Say what TCP asks for, of both versions of IP.

    Raises:
        SluiceError: If the kernel has no accurate feedback.
    """
    try:
        _set("ipv4/tcp_ecn", ecn)
    except OSError:
        raise SluiceError(
            f"tcp.accurate_ecn = true must be false: Linux {os.uname().release} has none"
        ) from None


def _addresses(job: HostJob) -> list[str]:
    return [address(job.side, k, job.ipv6) for k in range(job.hosts)]


def _take(link: str, addresses: Sequence[str], ipv6: bool) -> None:
    """Give a link addresses of this namespace, and put it to work."""
    # nobody else can have these addresses; IPv6 would check that first
    width, unasked = ("64", "nodad") if ipv6 else ("16", "")
    own = f"ipv6/conf/{link}/disable_ipv6"
    if not ipv6 and _setting(own).exists():
        # else its own packets, of neighbours and groups, wait in the queue that is measured
        _set(own, 1)
    lines = [f"address add {each}/{width} dev {link} {unasked}" for each in addresses]
    _ip([*lines, f"link set {link} up"])


def _know(addresses: Sequence[str], hardware: str, link: str) -> list[str]:
    """The words that tell where neighbours are: IPv6 that asks too early asks again after 1 s."""
    return [f"neigh add {each} lladdr {hardware} dev {link} nud permanent" for each in addresses]


def _set(name: str, value: int) -> None:
    """Set what the kernel knows of this namespace's network."""
    _setting(name).write_text(str(value))


def _setting(name: str) -> Path:
    return Path("/proc/sys/net", name)
