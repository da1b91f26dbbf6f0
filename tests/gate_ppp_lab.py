"""A gate before ppp0, whose packets travel in a PPPoE session: run by tests/test_gate_ppp.py.

As gate_lab.py, with a session in the cable between the two namespaces.
"""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from typing import Any

import gate_lab as lab
from gate_lab import FOLDER, Daemon, sh


def session(program: Path, cable: str, other: str, *where: str) -> None:
    """One end of the session, as interface ppp0 with the addresses of the cable."""
    enter = ["ip", "netns", "exec", *where] if where else []
    command = [*enter, program, cable, other]
    begun = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert begun.stdout is not None
    name = begun.stdout.readline().strip()
    assert name == "ppp0", f"{command}: {name or 'no session'}"
    ip = f"ip -n {where[0]}" if where else "ip"
    ends = [(lab.NEAR, lab.FAR, ""), (lab.NEAR6, lab.FAR6, "nodad")]
    sh(f"{ip} addr flush dev {cable} scope global")
    sh(f"{ip} link set {name} mtu 1492 up")
    for near, far, nodad in ends:
        own, peer = (far, near) if where else (near, far)
        sh(f"{ip} addr add {own} peer {peer} dev {name} {nodad}")


def gate(*options: str) -> Daemon:
    """A gate before ppp0, whose link adds what PPPoE, Ethernet and its check sum take."""
    program = FOLDER / "pppoe_session"
    sh(f"cc -O1 -o {program} {Path(__file__).with_name('pppoe_session.c')}")
    near, far = lab.link_address("near"), lab.link_address("far", "-n", "far")
    session(program, "near", far)
    session(program, "far", near, "far")
    sh(f"{lab.SLUICED} rules --interface ppp0 --fail closed --install")
    return Daemon("--fail", "closed", "--overhead", "26", *options)


def marked4() -> dict[str, Any]:
    return lab.ecn(socket.AF_INET, gate(*lab.MARKING))


def marked6() -> dict[str, Any]:
    return lab.ecn(socket.AF_INET6, gate(*lab.MARKING))


def fragments() -> dict[str, Any]:
    return lab.in_fragments(gate(*lab.QUEUES))


def tcp() -> dict[str, Any]:
    return lab.transfer(gate("--aqm", "drop_tail", "--rate", "50e6", "--limit", "100"))


EXPERIMENTS: list[lab.Experiment] = [marked4, marked6, fragments, tcp]


if __name__ == "__main__":
    lab.perform(EXPERIMENTS, ipv6=EXPERIMENTS)
