"""A gate between two network namespaces, with real packets: run by tests/test_gate.py.

`unshare -Urnm python tests/gate_lab.py SLUICED NAME` does one experiment and prints what was
measured as JSON. The namespace it runs in sends and has the gate; another one, `far`, receives.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SLUICED = Path(sys.argv[1])
FOLDER = Path(tempfile.mkdtemp())
NEAR, FAR, NEAR6, FAR6 = "10.9.0.1", "10.9.0.2", "fd09::1", "fd09::2"
PORT = 9000
CLONE_NEWNET = 0x40000000
SO_TIMESTAMPNS = 35
IP_UDP = 28
# a row for each queue; the third number is of packets that wait for a verdict
TABLE = Path("/proc/net/netfilter/nfnetlink_queue")
# within it the kernel brings from one namespace to the other what was let go
DELIVERY_S = 0.1

Experiment = Callable[[], dict[str, Any]]


def sh(command: str) -> None:
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr.strip()}")


def link_address(name: str, *where: str) -> str:
    said = subprocess.check_output(["ip", "-j", *where, "link", "show", name])
    return str(json.loads(said)[0]["address"])


def namespaces() -> None:
    """This one and `far`, with nothing between them."""
    sh("mount -t tmpfs none /run && mkdir -p /run/netns && ip netns add far")
    sh("ip link set lo up && ip -n far link set lo up")


def cable(ipv6: bool = True) -> None:
    """`near` to `far`."""
    sh("ip link add near type veth peer name far netns far")
    addresses = [(NEAR, FAR, 24, ""), (NEAR6, FAR6, 64, "nodad")]
    if not ipv6:
        without_ipv6()
        addresses.pop()
    for near_at, far_at, width, nodad in addresses:
        sh(f"ip addr add {near_at}/{width} dev near {nodad}")
        sh(f"ip -n far addr add {far_at}/{width} dev far {nodad}")
    sh("ip link set near up && ip -n far link set far up")
    # nothing else moves while packets are counted
    near, far = link_address("near"), link_address("far", "-n", "far")
    for near_at, far_at, *_ in addresses:
        sh(f"ip neigh add {far_at} lladdr {far} dev near nud permanent")
        sh(f"ip -n far neigh add {near_at} lladdr {near} dev far nud permanent")


def without_ipv6() -> None:
    """The kernel's own packets, such as those that look for routers, would be counted."""
    sh("echo 1 >/proc/sys/net/ipv6/conf/near/disable_ipv6")


def far_socket(family: int, kind: int, protocol: int = 0) -> socket.socket:
    """A socket of the other namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as home, open("/run/netns/far") as far:
        if libc.setns(far.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            return socket.socket(family, kind, protocol)
        finally:
            libc.setns(home.fileno(), CLONE_NEWNET)


def receiver(family: int = socket.AF_INET) -> socket.socket:
    found = far_socket(family, socket.SOCK_DGRAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    found.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    if family == socket.AF_INET:
        found.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    else:
        found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
    found.bind((FAR if family == socket.AF_INET else FAR6, PORT))
    found.settimeout(1.5)
    return found


def sender(family: int = socket.AF_INET, tos: int = 0) -> socket.socket:
    made = socket.socket(family, socket.SOCK_DGRAM)
    # as much as the gate may hold: a sender that has no room waits, and nothing is lost
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    if family == socket.AF_INET:
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    else:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
    made.connect((FAR if family == socket.AF_INET else FAR6, PORT))
    return made


def datagram(number: int, ip_bytes: int = 100) -> bytes:
    return struct.pack("!I", number).ljust(ip_bytes - IP_UDP, b"x")


class Got:
    """What a receiver got: numbers, times in ns, ECN fields."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.times_ns: list[int] = []
        self.ecn: list[int] = []

    def take(self, from_: socket.socket) -> None:
        data, details, _, _ = from_.recvmsg(2048, 256)
        self.numbers.append(struct.unpack("!I", data[:4])[0])
        for level, kind, value in details:
            if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                seconds, ns = struct.unpack("qq", value)
                self.times_ns.append(seconds * 10**9 + ns)
            else:
                self.ecn.append(value[0] & 3)

    def drain(self, from_: socket.socket, patience_s: float = 1.5) -> Got:
        """Take all until nothing comes for so long, or no gate holds anything that could come."""

        def comes(within_s: float) -> bool:
            return bool(select.select([from_], [], [], within_s)[0])

        while comes(0) or comes(min(patience_s, DELIVERY_S) if none_held() else patience_s):
            self.take(from_)
        return self


def none_held() -> bool:
    """Whether gates have queues of the kernel, and no packet of these waits for a verdict."""
    table = TABLE.read_text() if TABLE.exists() else ""
    waiting = [int(line.split()[2]) for line in table.splitlines()]
    return bool(waiting) and not any(waiting)


def rules(fail: str, action: str = "--install") -> None:
    sh(f"{SLUICED} rules --interface near --fail {fail} {action}")


class Daemon:
    """`sluiced run`, ready to route."""

    def __init__(self, *options: str, **process: Any) -> None:
        self.summary = FOLDER / "summary.json"
        command = [SLUICED, "run", "--json", self.summary, *options]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            **{"stderr": subprocess.PIPE, **process},
        )
        assert self.process.stdout is not None
        self.announced = ""
        while (line := self.process.stdout.readline()) != "ready\n":
            if not line:
                raise RuntimeError(self.process.communicate()[1])
            self.announced += line

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> dict[str, Any]:
        """The measures of the forward link, with what was said on stderr."""
        self.signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=10)
        summary = self.summary.read_text()
        if not summary:
            raise RuntimeError(f"sluiced ended with {self.process.returncode}: {said}")
        forward: dict[str, Any] = json.loads(summary)[0]
        return {**forward, "said": said, "exit": self.process.returncode}


class Gate(Daemon):
    """One that takes what leaves by `near` from a queue of the kernel."""

    def __init__(self, fail: str, *options: str, **process: Any) -> None:
        rules(fail)
        super().__init__("--fail", fail, *options, **process)


def paced(send: Callable[[int], None], count: int, per_s: float) -> None:
    """Call `send` with each number at an even pace."""
    start = time.monotonic()
    for number in range(count):
        while (ahead := start + number / per_s - time.monotonic()) > 0:
            time.sleep(ahead)
        send(number)


def shaping() -> dict[str, Any]:
    """1500 bytes each, a fifth more than the link can carry, for 6 s, before a full queue."""
    gate = Gate("closed", "--aqm", "drop_tail", "--rate", "10e6", "--limit", "800")
    far, near = receiver(), sender()
    got = Got()
    # the link has something to send even if this program gets no processor for half a second
    for number in range(800):
        near.send(datagram(number, 1500))

    def send(number: int) -> None:
        near.send(datagram(number, 1500))
        while select.select([far], [], [], 0)[0]:
            got.take(far)

    paced(send, 6000, 1000)
    got.drain(far)
    return {"times_ns": got.times_ns, "offered": 6800, **gate.end()}


def second() -> dict[str, Any]:
    """A second gate on the same queue; the first goes on."""
    gate = Gate("closed", "--aqm", "drop_tail", "--rate", "10e6")
    command = [SLUICED, "run", "--fail", "closed", "--aqm", "red", "--rate", "1e6"]
    other = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    far, near = receiver(), sender()
    for number in range(50):
        near.send(datagram(number))
    got = len(Got().drain(far, 0.5).numbers)
    gate.end()
    return {"got": got, "exit": other.returncode, "said": other.stderr}


SCENARIO = """
duration_s = 10
topology = {{ kind = "graph", links = [
    {{ source = "near", sink = "far", rate_bps = {rate}, delay_s = 0.01, queue = true,
       both_ways = false }} ] }}
flows = [{{ kind = "tcp", source = "near", sink = "far" }}]
queue = {{ limit = 5000 }}
disciplines = [{{ {discipline} }}]
"""
DROP_TAIL = 'aqm = "drop_tail"'
# it drops nothing: its thresholds are far
RED = 'aqm = "red", params = { min_th = 4000, max_th = 4900 }'


def reload() -> dict[str, Any]:
    """Other settings, wrong ones, and other ones again, under load."""
    path = FOLDER / "scenario.toml"

    def write(rate: float, discipline: str) -> None:
        path.write_text(SCENARIO.format(rate=rate, discipline=discipline))

    write(2e6, DROP_TAIL)
    gate = Gate("closed", "--scenario", str(path))
    far, near = receiver(), sender()
    got = Got()

    def send(number: int) -> None:
        changes = {1000: (1e6, DROP_TAIL), 2000: (0.0, DROP_TAIL), 3000: (8e6, RED)}
        if number in changes:
            write(*changes[number])
            gate.signal(signal.SIGHUP)
        near.send(datagram(number, 500))
        while select.select([far], [], [], 0)[0]:
            got.take(far)

    paced(send, 4000, 1000)
    got.drain(far)
    return {"numbers": got.numbers, "offered": 4000, **gate.end()}


# of its own for each flow, with room for all that a busy machine sends late
QUEUES = ("--aqm", "drop_tail:scheduler=fq", "--rate", "20e6", "--limit", "1200")
MARKING = ("--aqm", "red:min_th=5,max_th=50,max_p=0.5,w=0.1,ecn=true", "--rate", "2e6",
           "--limit", "100")  # fmt: skip


def ecn(family: int, gate: Daemon) -> dict[str, Any]:
    """ECN-capable packets by turns with others, three times what the link carries."""
    far = receiver(family)
    senders = [sender(family, tos=0), sender(family, tos=2)]
    got = Got()

    def send(number: int) -> None:
        senders[number % 2].send(datagram(number, 500))

    paced(send, 3000, 1500)
    got.drain(far)
    ce_of_others = sum(
        ecn == 3 and number % 2 == 0 for ecn, number in zip(got.ecn, got.numbers, strict=True)
    )
    return {"ce": got.ecn.count(3), "ce_of_others": ce_of_others, "offered": 3000,
            "got": len(got.numbers), **gate.end()}  # fmt: skip


def ecn4() -> dict[str, Any]:
    return ecn(socket.AF_INET, Gate("closed", *MARKING))


def ecn6() -> dict[str, Any]:
    return ecn(socket.AF_INET6, Gate("closed", *MARKING))


def odd() -> dict[str, Any]:
    """Packets that end where they should not, and those of unknown kinds."""
    gate = Gate("closed", "--aqm", "codel:scheduler=fq,ecn=true", "--rate", "50e6")
    tap = far_socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    address, far_address = socket.inet_aton(NEAR), socket.inet_aton(FAR)
    count = seen = 0

    def look(patience_s: float) -> int:
        found = 0
        while select.select([tap], [], [], patience_s)[0]:
            data, (_, protocol, *_) = tap.recvfrom(2048)
            found += protocol == 0x0800 and data[12:16] == address
        return found

    for protocol in (1, 6, 17, 132, 253):
        for rest in (b"", b"\x00", b"\x00" * 3, b"\xff" * 7, b"\x00" * 40):
            for options in (b"", b"\x01\x01\x01\x00", b"\x07\xff\x04\x00"):
                for offset in (0, 0x2000, 0x2001, 0x0100):
                    first = 0x45 + len(options) // 4
                    header = struct.pack("!BBHHHBBH", first, 2, 0, count, offset, 64, protocol, 0)
                    packet = header + address + far_address + options + rest
                    raw.sendto(packet, (FAR, 0))
                    count += 1
        seen += look(0.2)
    seen += look(1)
    # a datagram in three pieces
    far, near = receiver(), sender()
    near.send(b"y" * 4000)
    whole = len(far.recv(5000))
    return {"offered": count, "seen": seen, "whole": whole, "alive": gate.process.poll() is None,
            **gate.end()}  # fmt: skip


def in_fragments(gate: Daemon) -> dict[str, Any]:
    """400 datagrams in a second that come in three fragments each, as from another host."""
    far, near = receiver(), sender()
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    whole = set()

    def send(number: int) -> None:
        udp = struct.pack("!HHHH", near.getsockname()[1], PORT, 8 + 3000, 0)
        data = udp + struct.pack("!I", number).ljust(3000, b"x")
        for start in range(0, len(data), 1464):
            part = data[start : start + 1464]
            offset = start // 8 | (0x2000 if start + 1464 < len(data) else 0)
            size = 20 + len(part)
            # the kernel would give an identification of 0 another number in each fragment
            header = struct.pack("!BBHHHBBH", 0x45, 0, size, number + 1, offset, 64, 17, 0)
            raw.sendto(header + socket.inet_aton(NEAR) + socket.inet_aton(FAR) + part, (FAR, 0))
        look(0)

    def look(patience_s: float) -> None:
        while select.select([far], [], [], patience_s)[0]:
            data = far.recv(4000)
            assert data[4:] == b"x" * 2996
            whole.add(struct.unpack("!I", data[:4])[0])

    paced(send, 400, 400)
    look(1.5)
    return {"whole": len(whole), "offered": 400, **gate.end()}


def fragments_lost() -> dict[str, Any]:
    return in_fragments(Gate("closed", "--aqm", "drop_tail", "--rate", "8e6", "--limit", "20"))


def tcp() -> dict[str, Any]:
    """A real connection, whose segments of 64 kB the kernel cuts before it queues them."""
    return transfer(Gate("closed", "--aqm", "drop_tail", "--rate", "50e6", "--limit", "100"))


def transfer(gate: Daemon) -> dict[str, Any]:
    """4 MB by TCP to the other namespace."""
    listener = far_socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind((FAR, PORT))
    listener.listen()
    near = socket.create_connection((FAR, PORT))
    far, _ = listener.accept()
    left, got = 4_000_000, 0
    near.setblocking(False)
    while got < 4_000_000 and select.select([far], [near] if left else [], [], 5)[0:2] != ([], []):
        readable, writable, _ = select.select([far], [near] if left else [], [], 0)
        if writable:
            left -= near.send(b"z" * min(left, 65536))
        if readable:
            got += len(far.recv(65536))
    return {"got": got, **gate.end()}


def overrun() -> dict[str, Any]:
    """The gate stands still while far more comes than the kernel keeps for it."""
    gate = Gate("closed", "--aqm", "red:min_th=20,max_th=80", "--rate", "20e6", "--limit", "100")
    far, near = receiver(), sender()
    got, sent = Got(), 0
    gate.signal(signal.SIGSTOP)
    near.setblocking(False)
    refused = 0
    for number in range(60_000):
        try:
            near.send(datagram(number))
            sent += 1
        except BlockingIOError:
            refused += 1
    time.sleep(1)
    gate.signal(signal.SIGCONT)
    got.drain(far)
    near.setblocking(True)
    # its number tells the last gap
    near.send(datagram(60_000))
    got.drain(far)
    return {"offered": sent + 1, "got": len(got.numbers), "refused": refused, **gate.end()}


def limit_bytes() -> dict[str, Any]:
    """Packets of 100 and of 1400 bytes, twice what the link carries, before a limit in bytes."""
    lines = FOLDER / "lines"
    gate = Gate("closed", "--aqm", "drop_tail", "--rate", "4e6", "--limit-bytes", "60000",
                "--jsonl", str(lines), "--interval", "0.005")  # fmt: skip
    far, near = receiver(), sender()
    got = Got()

    def send(number: int) -> None:
        # at first small ones alone: more of them have room than 250
        near.send(datagram(number, 100 if number < 1500 or number % 2 else 1400))

    for number in range(1500):
        send(number)
    paced(lambda number: send(1500 + number), 2000, 1300)
    got.drain(far)
    found = gate.end()
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    held = [(row["queue_packets"], row["queue_bytes"]) for row in rows if row["link"] == "forward"]
    return {"held": held, "limits": [rows[0]["limit"], rows[0]["limit_bytes"]], "offered": 3500,
            "announced": gate.announced, **found}  # fmt: skip


def overhead(bytes_: int) -> dict[str, Any]:
    """Packets of 400 bytes before a full queue, and when each left."""
    gate = Gate("closed", "--aqm", "drop_tail", "--rate", "2e6", "--limit", "3000",
                "--overhead", str(bytes_))  # fmt: skip
    far, near = receiver(), sender()
    got = Got()
    for number in range(1500):
        near.send(datagram(number, 400))
    got.drain(far)
    return {"times_ns": got.times_ns, **gate.end()}


def overhead_0() -> dict[str, Any]:
    return overhead(0)


def overhead_100() -> dict[str, Any]:
    return overhead(100)


EXPERIMENTS = [
    limit_bytes, overhead_0, overhead_100, shaping, second, reload, ecn4, ecn6, odd,
    fragments_lost, tcp, overrun,
]  # fmt: skip


def perform(experiments: Sequence[Experiment], ipv6: Sequence[Experiment] = ()) -> None:
    """Do the experiment that the command line names, and print what it gave; some need IPv6."""
    (chosen,) = (made for made in experiments if made.__name__ == sys.argv[2])
    namespaces()
    cable()
    if chosen not in ipv6:
        without_ipv6()
    conclude(chosen)


def conclude(experiment: Experiment) -> None:
    json.dump(experiment(), sys.stdout)
    sys.stdout.flush()
    # what was started goes with the namespace
    os._exit(0)


if __name__ == "__main__":
    perform(EXPERIMENTS, ipv6=[ecn6])
