"""What the testbed needs of this machine, and how to get it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from sluicegate.daemon import GET_PROGRAM, NO_PROGRAM, program
from sluicegate.errors import SluiceError
from sluicegate.programs import environment, which
from sluicegate.testbed.router import firewall, rule
from sluicegate.testbed.run import entrance

CONGESTION_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_COMMANDS = {"unshare": "util-linux", "mount": "util-linux", "ip": "iproute2"}


@dataclass(frozen=True)
class Need:
    """Something that the testbed needs.

    Attributes:
        name: What.
        missing: Why it cannot be used; empty if it can.
        remedy: What helps, a command wherever there is one.
    """

    name: str
    missing: str
    remedy: str


def needs(ipv6: bool = False) -> list[Need]:
    """Everything that is needed, tried out in namespaces that vanish at once."""
    return [*namespace_needs(), *([ipv6_need()] if ipv6 else []), *daemon_needs(ipv6)]


def namespace_needs() -> list[Need]:
    """What client, router and server need, if the kernel forwards."""
    commands = [
        Need(
            f"the command {name}",
            "" if which(name) else "it is not installed",
            f"apt install {package}",
        )
        for name, package in _COMMANDS.items()
    ]
    namespaces = Need(
        "the right to create namespaces",
        _why_no_namespaces(),
        "run as root; or allow them for all users: sysctl -w kernel.unprivileged_userns_clone=1 "
        "user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0 (those of "
        "these that exist)",
    )
    links = Need(
        "virtual Ethernet links",
        _why_not(*["ip", "link", "add", "name", "near", "type", "veth", "peer", "name", "far"]),
        "modprobe veth",
    )
    return [*commands, namespaces, links]


def ipv6_need() -> Need:
    """What hosts and router need for packets of IPv6."""
    return Need(
        "IPv6",
        _why_not(*["ip", "address", "add", "fd00::1/64", "dev", "lo"]),
        "start the kernel without ipv6.disable=1; sysctl -w net.ipv6.conf.default.disable_ipv6=0",
    )


def qdisc_need() -> Need:
    """What delays and shapes where qdiscs are the router."""
    add = "tc qdisc add dev lo root"
    shaper = "tbf rate 1mbit burst 2000 limit 2000"
    return Need(
        "the qdiscs netem and tbf",
        _why_not(
            "sh", "-c", f"{add} netem delay 1ms && tc qdisc del dev lo root && {add} {shaper}"
        ),
        "modprobe -a sch_netem sch_tbf",
    )


def daemon_needs(ipv6: bool = False) -> list[Need]:
    """What the daemon as the router needs in addition."""
    name = firewall(ipv6)
    return [
        Need(
            f"the command {name}",
            "" if which(name) else "it is not installed",
            "apt install iptables",
        ),
        Need(
            "the kernel's packet queue (NFQUEUE)",
            # as ordinary users, for whom the usual lock file is out of reach
            _why_not("sh", "-c", f"mount -t tmpfs tmpfs /run && {' '.join(rule(ipv6, 0))}"),
            "modprobe -a nfnetlink_queue xt_NFQUEUE",
        ),
        Need(
            "the daemon sluiced",
            "" if program() else NO_PROGRAM,
            GET_PROGRAM,
        ),
    ]


def missing(wanted: list[Need]) -> str:
    """What is missing and the remedy, a line each; empty if nothing is."""
    return "\n".join(
        f"{each.name}: {each.missing}: {each.remedy}" for each in wanted if each.missing
    )


def congestion_controls() -> list[str]:
    """The congestion controls that the kernel has loaded; `modprobe tcp_NAME` may bring others."""
    return CONGESTION_CONTROLS.read_text().split()


def _why_no_namespaces() -> str:
    try:
        entrance()
    except SluiceError as error:
        return str(error)
    return ""


def _why_not(*command: str) -> str:
    """Why a command fails in namespaces of its own; empty if it does not."""
    try:
        tried = subprocess.run(
            [*entrance(), *command],
            capture_output=True,
            text=True,
            check=False,
            env=environment(),
        )
    except SluiceError:
        return "there are no namespaces to try it in"
    return tried.stderr.strip() if tried.returncode else ""
