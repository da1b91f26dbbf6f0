"""A gate that is a cable between two TUN devices: run by tests/test_gate_tun.py, as gate_lab.py is.

The device `near` stays in the namespace that sends, `far` goes to the other one.
"""

from __future__ import annotations

import json
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import gate_lab as lab
from gate_daemon_lab import (
    INTRUDER,
    METRICS,
    ROOT,
    WATCHED,
    status_of,
    tried,
    where_under_load,
)
from gate_lab import FAR, FAR6, NEAR, NEAR6, Daemon, Got, datagram, paced, sh

TUN = ("--tun", "near", "far")
DROP_TAIL = ("--aqm", "drop_tail")


class Receiver:
    """What comes at the far end, whose socket is never left full."""

    def __init__(self, family: int = socket.AF_INET) -> None:
        self.socket = lab.receiver(family)
        self.socket.settimeout(20)
        self.got = Got()

    def look(self) -> None:
        while select.select([self.socket], [], [], 0)[0]:
            self.got.take(self.socket)

    def end(self, cable: Daemon) -> dict[str, Any]:
        """Wait until nothing comes any more, and end the gate; what it let go has come then."""
        self.got.drain(self.socket)
        found = cable.end()
        self.look()
        return {"numbers": self.got.numbers, **found}


class Cable(Daemon):
    """`sluiced run --tun near far`, with addresses at both ends."""

    def __init__(self, *options: str, **process: Any) -> None:
        quiet = "echo 0 >/proc/sys/net/ipv6/conf/default/router_solicitations"
        sh(f"{quiet} && nsenter --net=/run/netns/far sh -c '{quiet}'")
        super().__init__(*TUN, *options, **process)
        # so that nothing is lost while a busy machine lets it wait
        sh("ip link set near txqueuelen 65536 && ip link set far txqueuelen 65536")
        sh("ip link set far netns far")
        for where, name, addresses in (("", "near", (NEAR, NEAR6)), ("-n far", "far", (FAR, FAR6))):
            # the kernel sends nothing by itself: no router is looked for, no group joined
            sh(f"ip {where} link set {name} addrgenmode none multicast off up")
            sh(f"ip {where} addr add {addresses[0]}/24 dev {name}")
            sh(f"ip {where} addr add {addresses[1]}/64 dev {name} nodad")


def marked(family: int) -> dict[str, Any]:
    """ECN-capable packets by turns with others, three times what the link carries."""
    aqm = "red:min_th=5,max_th=50,max_p=0.5,w=0.1,ecn=true"
    cable = Cable("--aqm", aqm, "--rate", "2e6", "--limit", "100")
    far = Receiver(family)
    senders = [lab.sender(family, tos=0), lab.sender(family, tos=2)]

    def send(number: int) -> None:
        senders[number % 2].send(datagram(number, 500))
        far.look()

    paced(send, 3000, 1500)
    found = far.end(cable)
    marked = [number for number, ecn in zip(far.got.numbers, far.got.ecn, strict=True) if ecn == 3]
    return {"ce": len(marked), "ce_of_others": sum(number % 2 == 0 for number in marked),
            "offered": 3000, **found}  # fmt: skip


def marked4() -> dict[str, Any]:
    return marked(socket.AF_INET)


def marked6() -> dict[str, Any]:
    return marked(socket.AF_INET6)


def fragments() -> dict[str, Any]:
    return lab.in_fragments(Cable(*lab.QUEUES))


def held_at_the_end() -> dict[str, Any]:
    """Many packets are held as it ends."""
    cable = Cable(*DROP_TAIL, "--rate", "1e6", "--limit", "1000")
    far, near = Receiver(), lab.sender()
    for number in range(500):
        near.send(datagram(number, 500))
    far.got.take(far.socket)
    found = cable.end()
    far.look()
    return {"offered": 500, "got": len(far.got.numbers), **found}


def both_ways(*options: str) -> dict[str, Any]:
    """Datagrams that come back, one at a time."""
    cable = Cable(*DROP_TAIL, "--rate", "50e6", "--delay", "0.02", *options)
    far, near = Receiver().socket, lab.sender()
    near.settimeout(20)
    trips_s = []
    for number in range(50):
        start = time.monotonic()
        near.send(datagram(number))
        data, address = far.recvfrom(2048)
        far.sendto(data, address)
        near.recv(2048)
        trips_s.append(time.monotonic() - start)
    found = cable.end()
    links = json.loads(cable.summary.read_text())
    return {"trips_s": trips_s, "links": links, **found}


def back_at_once() -> dict[str, Any]:
    return both_ways()


def back_held() -> dict[str, Any]:
    return both_ways("--reverse-delay", "0.03")


def killed() -> dict[str, Any]:
    """Kill -9 under load, while it records both directions."""
    lines = lab.FOLDER / "lines"
    recorded = ("--jsonl", str(lines), "--interval", "0.01")
    cable = Cable("--aqm", "pie", "--rate", "1e6", "--reverse-delay", "0.01", *recorded)
    far, near = Receiver().socket, lab.sender()

    def send(number: int) -> None:
        near.send(datagram(number, 500))
        with suppress(BlockingIOError):
            data, address = far.recvfrom(2048, socket.MSG_DONTWAIT)
            far.sendto(data, address)

    paced(send, 500, 500)
    cable.signal(signal.SIGKILL)
    cable.process.communicate()
    links = subprocess.check_output(["ip", "-br", "link"], text=True)
    return {"lines": lines.read_text(), "links": links}


def rated(table: str, ip_bytes: int) -> dict[str, Any]:
    """A long queue leaves at a rate that varies, as a file says."""
    path, lines = lab.FOLDER / "rates", lab.FOLDER / "lines"
    path.write_text(table)
    # the last packet leaves long after all have come
    recorded = ("--jsonl", str(lines), "--interval", "0.02", "--limit", "2000")
    cable = Cable(*DROP_TAIL, "--rate-file", str(path), *recorded)
    far, near = Receiver(), lab.sender()
    for number in range(1000):
        near.send(datagram(number, ip_bytes))
        far.look()
    found = far.end(cable)
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    return {"rows": rows, "offered": 1000, **found}


def in_steps() -> dict[str, Any]:
    return rated("time_s,rate_bps\n0,1e6\n1.5,4e6\n2.5,0\n3,2e6\n", 1000)


def at_opportunities() -> dict[str, Any]:
    """Three in 7 ms, and none in the last half of each second."""
    times_ms = [time for time in range(1, 500) if time % 7 in (1, 2, 5)] + [1000]
    return {"times_ms": times_ms, **rated("".join(f"{time}\n" for time in times_ms), 1500)}


def tcp() -> dict[str, Any]:
    """A real connection."""
    return lab.transfer(Cable(*DROP_TAIL, "--rate", "50e6", "--limit", "100"))


def overrun() -> dict[str, Any]:
    """It stands still while more comes than the kernel keeps for it."""
    cable = Cable(*DROP_TAIL, "--rate", "100e6", "--limit", "100")
    sh("ip link set near txqueuelen 2000")
    far, near = Receiver(), lab.sender()
    cable.signal(signal.SIGSTOP)
    while not status_of(cable.process.pid)["State"].startswith("T"):
        time.sleep(0.01)
    for number in range(5000):
        near.send(datagram(number))
    cable.signal(signal.SIGCONT)
    return {"offered": 5000, **far.end(cable)}


def until_it_ends(happens: Callable[[], None]) -> dict[str, Any]:
    """Something happens under load; what the daemon says as it ends."""
    cable = Cable(*DROP_TAIL, "--rate", "2e6", "--limit", "1000")
    far, near = Receiver(), lab.sender()

    def send(number: int) -> None:
        if number == 500:
            happens()
        # then there is no way there any more
        with suppress(OSError):
            near.send(datagram(number, 500))
        far.look()

    paced(send, 1000, 1000)
    _, said = cable.process.communicate(timeout=30)
    far.look()
    forward = json.loads(cable.summary.read_text())[0]
    return {**forward, "numbers": far.got.numbers, "said": said,
            "exit": cable.process.returncode}  # fmt: skip


def device_vanished() -> dict[str, Any]:
    return until_it_ends(lambda: sh("ip link del near"))


def down_and_up() -> dict[str, Any]:
    """The far device is down for a while under load."""
    cable = Cable(*DROP_TAIL, "--rate", "8e6", "--limit", "1000")
    far, near = Receiver(), lab.sender()

    def send(number: int) -> None:
        if number in (500, 1000):
            sh(f"ip -n far link set far {'down' if number == 500 else 'up'}")
        near.send(datagram(number, 500))
        far.look()

    paced(send, 1500, 1000)
    return {"offered": 1500, **far.end(cable)}


def refused() -> dict[str, Any]:
    """What cannot be had, and why."""
    sh("ip link add cable0 type veth peer name cable1")
    cable = Cable(*DROP_TAIL, "--rate", "10e6")
    said = []
    for names in (["near", "other"], ["cable0", "other"], ["other", "other"]):
        command = [lab.SLUICED, "run", "--tun", *names, *DROP_TAIL, "--rate", "1e6"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        assert done.returncode == 2
        said.append(done.stderr)
    capabilities = status_of(cable.process.pid)["CapPrm"]
    cable.end()
    return {"refused": said, "capabilities": capabilities}


def root_of_a_namespace() -> dict[str, Any]:
    """What the machine's root alone can have, and what is said of a device that none may open."""
    run = ("run", "--tun", "near", "far", *DROP_TAIL, "--rate", "1e6", "--timer", "realtime")
    found = {}
    for name, words in (("check", ("check", *TUN)), ("run", run)):
        done = subprocess.run(
            [lab.SLUICED, *words], capture_output=True, text=True, timeout=10, check=False
        )
        found[name] = done.stdout + done.stderr
    sh("mount --bind /dev/net/tun /dev/net/tun && mount -o remount,bind,nodev /dev/net/tun")
    closed = subprocess.run(
        [lab.SLUICED, "check", *TUN], capture_output=True, text=True, check=False
    )
    return {**found, "closed": closed.stdout}


def tried_over_tun() -> dict[str, Any]:
    return tried(Cable("--aqm", str(ROOT / "tests" / "intruder.h"), *INTRUDER))


def own_devices() -> dict[str, Any]:
    """Devices that belong to the user, who has no capability; and one that does not exist."""
    sh("ip tuntap add mode tun user root name near && ip tuntap add mode tun user root name far")
    without = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
    check = subprocess.run(
        [*without, lab.SLUICED, "check", *TUN], capture_output=True, text=True, check=False
    )
    none = subprocess.run(
        [*without, lab.SLUICED, "run", "--tun", "near", "other", *DROP_TAIL, "--rate", "1e6"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lab.SLUICED, sluiced = lab.FOLDER / "sluiced", lab.SLUICED
    lab.SLUICED.write_text(f'#!/bin/sh\nexec {" ".join(without)} {sluiced} "$@"\n')
    lab.SLUICED.chmod(0o755)
    cable = Cable(*DROP_TAIL, "--rate", "10e6")
    status = status_of(cable.process.pid)
    far, near = Receiver(), lab.sender()
    for number in range(50):
        near.send(datagram(number))
    return {"check": check.stdout, "check_exit": check.returncode, "none": none.stderr,
            "capabilities": status["CapPrm"], "announced": cable.announced,
            **far.end(cable)}  # fmt: skip


class Gateway(Daemon):
    """A cable from `one` to `two`, both here: what leaves it goes on by `near`, a veth to `far`."""

    def __init__(self, *options: str, queue_of_near: str = "") -> None:
        lab.cable(ipv6=False)
        if queue_of_near:
            sh(f"tc qdisc add dev near root {queue_of_near}")
        super().__init__("--tun", "one", "two", *options, *WATCHED)
        # packets of this machine are taken for those that it forwards
        settings = {
            "all/rp_filter": 0,
            "two/rp_filter": 0,
            "two/accept_local": 1,
            "two/forwarding": 1,
        }
        for name, value in settings.items():
            sh(f"echo {value} >/proc/sys/net/ipv4/conf/{name}")
        for name in ("one", "two"):
            sh(f"ip link set {name} txqueuelen 65536 addrgenmode none multicast off up")
        sh(f"ip rule add iif lo table 100 && ip route add {FAR} dev one src {NEAR} table 100")


BEHIND_IT = ("--tun", "one", "two", "--interface", "near")


def where_here() -> dict[str, Any]:
    return where_under_load(Gateway(*DROP_TAIL, "--rate", "2e6"), 600, *BEHIND_IT)


def where_behind() -> dict[str, Any]:
    """The interface behind the cable is slower than the gate thinks."""
    try:
        gate = Gateway(*DROP_TAIL, "--rate", "20e6",
                       queue_of_near="tbf rate 1mbit burst 3kb limit 200k")  # fmt: skip
    except RuntimeError as error:
        return {"refused": str(error)}
    return where_under_load(gate, 350, *BEHIND_IT)


def where_before() -> dict[str, Any]:
    """An AQM that takes so long for a packet that others wait for the gate."""
    quick = Path(__file__).with_name("shorter.h")
    slow = lab.FOLDER / quick.name
    # only for our packets: whoever is as slow for all of them is refused
    turns = "view->packet_bytes == 1000 ? 2000000 : 0"
    long = f'for (u32 turn = {turns}; turn; turn--)\n\t\t__asm__ volatile("");'
    slow.write_text(quick.read_text().replace("(void)s;", f"(void)s;\n\t{long}"))
    gate = Gateway("--aqm", f"{slow}:most=1000", "--rate", "100e6")
    return where_under_load(gate, 4000, *BEHIND_IT)


def where_elsewhere() -> dict[str, Any]:
    return where_under_load(Gateway(*DROP_TAIL, "--rate", "20e6"), 200, *BEHIND_IT)


def where_unnamed() -> dict[str, Any]:
    """Without the names of the devices."""
    return where_under_load(Gateway(*DROP_TAIL, "--rate", "2e6"), 600, "--interface", "near")


def where_at_the_end() -> dict[str, Any]:
    """Nothing behind the cable, whose other end is in another namespace; its way back is idle."""
    cable = Cable(*DROP_TAIL, "--rate", "2e6", "--two-way", *WATCHED)
    return where_under_load(cable, 600, *TUN)


def where_refused() -> dict[str, Any]:
    """Cables that cannot be looked at, or are not the daemon's."""
    Cable(*DROP_TAIL, "--rate", "1e6", *WATCHED)
    other = ("--metrics", f"unix:{lab.FOLDER / 'other'}")
    Daemon("--fail", "open", *DROP_TAIL, "--rate", "1e6", *other)

    def told(*looks: str, metrics: tuple[str, ...] = METRICS) -> str:
        check = [lab.SLUICED, "check", *looks, *metrics]
        done = subprocess.run(check, capture_output=True, text=True, timeout=10, check=False)
        assert done.returncode == 2, done.stdout
        return done.stderr

    watch = ("--watch", "1")
    return {
        "refused": [
            told(*TUN, "--interface", "near", *watch),
            told("--tun", "neat", "far", *watch),
            told("--tun", "lo", "far", *watch),
            told(*TUN, "--interface", "lo"),
            told(*TUN, *watch, metrics=other),
        ]
    }


EXPERIMENTS: list[lab.Experiment] = [
    marked4, marked6, fragments, held_at_the_end, back_at_once, back_held, killed,
    in_steps, at_opportunities, tcp, overrun, device_vanished, down_and_up, refused,
    root_of_a_namespace, tried_over_tun,
    own_devices, where_here, where_behind, where_before, where_elsewhere, where_unnamed,
    where_at_the_end, where_refused,
]  # fmt: skip


if __name__ == "__main__":
    lab.namespaces()
    lab.conclude(next(made for made in EXPERIMENTS if made.__name__ == sys.argv[2]))
