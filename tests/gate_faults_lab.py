"""Faults of a gate with real packets: run by tests/test_gate_faults.py, as gate_lab.py is."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import gate_lab as lab
from gate_daemon_lab import folder_of, statuses
from gate_lab import FOLDER, Gate, Got, datagram, far_socket, paced, receiver, rules, sender, sh
from gate_packets import mutated

DROP_TAIL = ("--aqm", "drop_tail")
FLOW_QUEUES = 'aqm = "codel", scheduler = { kind = "fq" }'
UDP_SEGMENT = 103
IP_MTU_DISCOVER, IP_PMTUDISC_DONT = 10, 0


def link_records() -> list[dict[str, Any]]:
    """The measures of all links, as the last gate wrote them."""
    found: list[dict[str, Any]] = json.loads((FOLDER / "summary.json").read_text())
    return found


def killed(fail: str) -> dict[str, Any]:
    """Kill -9 with many packets held; then traffic without a gate, another gate, and no rule."""
    lines = FOLDER / "lines"
    recorded = ("--jsonl", str(lines), "--interval", "0.005")
    # it takes 0.9 s to send all of them
    gate = Gate(fail, *DROP_TAIL, "--rate", "4e6", "--limit", "1000", *recorded)
    far, near = receiver(), sender()
    for number in range(300):
        near.send(datagram(number, 1500))
    told = ""
    while '"arrivals":300,' not in told.replace(" ", ""):
        time.sleep(0.005)
        told = lines.read_text()
    gate.signal(signal.SIGKILL)
    gate.process.communicate()
    before = Got().drain(far, 0.3)
    held = lab.TABLE.read_text()
    for number in range(300, 400):
        near.send(datagram(number, 1500))
    without = Got().drain(far, 0.3)
    again = Gate(fail, *DROP_TAIL, "--rate", "10e6")
    for number in range(400, 450):
        near.send(datagram(number, 1500))
    after = Got().drain(far)
    summary = again.end()
    rules(fail, "--remove")
    near.send(datagram(450, 1500))
    # what is written in one call is a line or more
    last = json.loads(lines.read_text().splitlines()[-1])
    return {"before": before.numbers, "without": without.numbers, "after": after.numbers,
            "passed": Got().drain(far, 0.3).numbers, "last": last, "kernel": held,
            "rules": firewall(), **summary}  # fmt: skip


def killed_as_packets_come(fail: str) -> dict[str, Any]:
    """Kill -9 with packets held, and others on their way; five times."""
    far, near = receiver(), sender()
    rounds = []
    for victim in range(303, 803, 100):
        gate = Gate(fail, *DROP_TAIL, "--rate", "8e5", "--limit", "1000")
        got = Got()
        # the first number that is sent after its end, which may take a while on a busy machine
        ended: list[int] = []

        def send(
            number: int, gate: Gate = gate, victim: int = victim, ended: list[int] = ended
        ) -> None:
            if number == victim:
                gate.signal(signal.SIGKILL)
            if not ended and gate.process.poll() is not None:
                ended.append(number)
            near.send(datagram(number, 200))

        paced(send, 1000, 4000)
        gate.process.communicate()
        for number in range(1000, 1020):
            send(number)
        # those of the next round are others
        numbers = got.drain(far, 0.3).numbers
        rounds.append({"numbers": numbers, "killed_at": victim, "ended_at": ended[0]})
    return {"rounds": rounds, "kernel": lab.TABLE.read_text()}


def killed_as_packets_come_open() -> dict[str, Any]:
    return killed_as_packets_come("open")


def killed_as_packets_come_closed() -> dict[str, Any]:
    return killed_as_packets_come("closed")


def firewall() -> str:
    """Rules that hand packets to a gate, by whatever program they were set."""
    said = ""
    for command in (["iptables", "-t", "mangle", "-S"], ["nft", "list", "ruleset"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said += done.stdout
    return "\n".join(line for line in said.splitlines() if "queue" in line.lower())


def killed_open() -> dict[str, Any]:
    return killed("open")


def killed_closed() -> dict[str, Any]:
    return killed("closed")


def stopped() -> dict[str, Any]:
    """SIGSTOP for a second, under a load of one half."""
    gate = Gate("closed", *DROP_TAIL, "--rate", "8e6", "--limit", "5000")
    far, near = receiver(), sender()
    got = Got()
    at_ns: list[int] = []

    def send(number: int) -> None:
        if number in (1000, 2000):
            at_ns.append(time.time_ns())
            gate.signal(signal.SIGSTOP if number == 1000 else signal.SIGCONT)
        near.send(datagram(number, 500))
        while select.select([far], [], [], 0)[0]:
            got.take(far)

    paced(send, 3000, 1000)
    got.drain(far, 0.5)
    return {"offered": 3000, "numbers": got.numbers, "times_ns": got.times_ns, "stopped_ns": at_ns,
            **gate.end()}  # fmt: skip


def rule_removed() -> dict[str, Any]:
    """The rule goes under load and comes back; the gate goes on."""
    gate = Gate("closed", *DROP_TAIL, "--rate", "3e6", "--limit", "5000")
    far, near = receiver(), sender()
    got = Got()

    def send(number: int) -> None:
        if number in (1000, 2000):
            rules("closed", "--remove" if number == 1000 else "--install")
        near.send(datagram(number, 500))
        while select.select([far], [], [], 0)[0]:
            got.take(far)

    paced(send, 3000, 1000)
    got.drain(far, 0.5)
    return {"offered": 3000, "numbers": got.numbers, **gate.end()}


def interface_vanished() -> dict[str, Any]:
    """The interface goes while packets are held for it; another one of its name comes."""
    gate = Gate("closed", *DROP_TAIL, "--rate", "1e6", "--limit", "500")
    far, near = receiver(), sender()
    for number in range(200):
        near.send(datagram(number, 500))
    time.sleep(0.2)
    # nothing is on its way as the interface goes
    gate.signal(signal.SIGSTOP)
    first = Got().drain(far, 0.1)
    sh("ip link del near")
    gate.signal(signal.SIGCONT)
    refused = 0
    for number in range(200, 250):
        try:
            near.send(datagram(number, 500))
        except OSError:
            refused += 1
    # what was held is decided on in its time, 4 ms each
    time.sleep(0.8)
    lab.cable(ipv6=False)
    for number in range(250, 350):
        near.send(datagram(number, 500))
    second = Got().drain(far, 0.5)
    return {"offered": 300, "first": first.numbers, "second": second.numbers,
            "unsendable": refused, **gate.end()}  # fmt: skip


def overrun_open() -> dict[str, Any]:
    """As overrun, but what the kernel cannot hand over passes."""
    gate = Gate("open", *DROP_TAIL, "--rate", "20e6", "--limit", "100000")
    far, near = receiver(), sender()
    near.setblocking(False)
    got = Got()
    gate.signal(signal.SIGSTOP)
    offered = []
    for number in range(20_000):
        try:
            near.send(datagram(number))
            offered.append(number)
        except BlockingIOError:
            pass
        if number % 50 == 0:
            got.drain(far, 0)
    gate.signal(signal.SIGCONT)
    got.drain(far)
    # its number tells the last gap
    near.send(datagram(20_000))
    got.drain(far)
    return {"offered": [*offered, 20_000], "numbers": got.numbers, **gate.end()}


def kernel_errors() -> int:
    """Packets that the kernel has found malformed as they came in."""
    names = {"InHdrErrors", "InTruncatedPkts", "Ip6InHdrErrors", "Ip6InTruncatedPkts"}
    found = 0
    for name in ("snmp", "netstat"):
        rows = [line.split() for line in Path("/proc/net", name).read_text().splitlines()]
        for heads, values in zip(rows[::2], rows[1::2], strict=True):
            found += sum(int(v) for h, v in zip(heads, values, strict=True) if h in names)
    for line in Path("/proc/net/snmp6").read_text().splitlines():
        head, value = line.split()
        found += int(value) if head in names else 0
    return found


def malformed() -> dict[str, Any]:
    """20,000 mutated packets come in by the interface; the kernel drops some before the gate.

    What the gate lets go is counted and dropped behind it, before the kernel reads more of it.
    """
    sh("echo 0 >/proc/sys/net/ipv6/conf/near/disable_ipv6")
    sh("ip netns exec far sh -c 'echo 1 >/proc/sys/net/ipv6/conf/far/disable_ipv6'")
    sh(f"{lab.SLUICED} rules --interface near --fail closed --both-ways --install")
    behind = "type filter hook prerouting priority 0; policy drop; counter;"
    sh(f"nft 'table inet behind {{ chain passed {{ {behind} }}; }}'")
    aqm = "codel:scheduler=fq,ecn=true"
    gate = Gate("closed", "--aqm", aqm, "--rate", "1e9", "--limit", "50000", "--two-way")
    raw = far_socket(socket.AF_PACKET, socket.SOCK_DGRAM)
    mac = bytes.fromhex(lab.link_address("near").replace(":", ""))
    draw = random.Random(12)
    before = kernel_errors()
    for number in range(20_000):
        kind, packet = mutated(draw)
        raw.sendto(packet, ("far", kind, 0, 0, mac))
        if number % 100 == 0:
            time.sleep(0.001)
    time.sleep(0.3)
    errors = kernel_errors() - before
    listed = subprocess.check_output(["nft", "-j", "list", "chain", "inet", "behind", "passed"])
    (passed,) = (
        entry["counter"]["packets"]
        for row in json.loads(listed)["nftables"]
        for entry in row.get("rule", {"expr": []})["expr"]
    )
    return {"offered": 20_000, "kernel_errors": errors, "passed": passed, "forward": gate.end(),
            "reverse": link_records()[1]}  # fmt: skip


def fragments(family: socket.AddressFamily) -> dict[str, Any]:
    """200 datagrams of 4000 bytes that come in, in three fragments each, to a queue per flow."""
    sh(f"{lab.SLUICED} rules --interface near --fail closed --both-ways --install")
    # the kernel's own messages would be counted
    drop = "type filter hook output priority 0; meta l4proto ipv6-icmp drop;"
    sh(f"ip netns exec far nft 'table inet quiet {{ chain output {{ {drop} }}; }}'")
    aqm = "codel:scheduler=fq"
    gate = Gate("closed", "--aqm", aqm, "--rate", "20e6", "--limit", "1000", "--two-way")
    near, far = socket.socket(family, socket.SOCK_DGRAM), far_socket(family, socket.SOCK_DGRAM)
    near.bind((lab.NEAR if family == socket.AF_INET else lab.NEAR6, lab.PORT))
    far.connect(near.getsockname()[:2])
    if family == socket.AF_INET:
        far.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT)
    whole = []
    for number in range(200):
        far.send(struct.pack("!I", number) * 1000)
        time.sleep(0.003)
        while select.select([near], [], [], 0)[0]:
            whole.append(near.recv(5000))
    while select.select([near], [], [], 0.3)[0]:
        whole.append(near.recv(5000))
    intact = [struct.unpack("!I", data[:4])[0] for data in whole if data == data[:4] * 1000]
    gate.end()
    return {"offered": 600, "intact": intact, **link_records()[1]}


def fragments4() -> dict[str, Any]:
    return fragments(socket.AF_INET)


def fragments6() -> dict[str, Any]:
    return fragments(socket.AF_INET6)


def segments() -> dict[str, Any]:
    """Super-packets of 64 kB, each of 45 datagrams (UDP_SEGMENT)."""
    gate = Gate("closed", *DROP_TAIL, "--rate", "50e6", "--limit", "5000")
    far, near = receiver(), sender()
    near.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1444)
    got = Got()
    for first in range(0, 45 * 40, 45):
        numbers = range(first, first + 45)
        near.send(b"".join(datagram(number, 1444 + lab.IP_UDP) for number in numbers))
        got.drain(far, 0)
    got.drain(far, 0.5)
    return {"offered": 45 * 40, "numbers": got.numbers, **gate.end()}


def full_disk(messages: Path | None) -> dict[str, Any]:
    """The recorder's disk, perhaps that of the messages, too, has 64 kB."""
    disk = FOLDER / "disk"
    disk.mkdir()
    sh(f"mount -t tmpfs -o size=64k none {disk}")
    lines = disk / "lines"
    path = FOLDER / "scenario.toml"
    path.write_text(lab.SCENARIO.format(rate=2e6, discipline=lab.DROP_TAIL))
    stderr = subprocess.PIPE if messages is None else (disk / messages).open("w")
    recorded = ("--jsonl", str(lines), "--interval", "0.005")
    gate = Gate("closed", "--scenario", str(path), *recorded, stderr=stderr)
    far, near = receiver(), sender()
    got = Got()

    def send(number: int) -> None:
        if number == 700:
            gate.signal(signal.SIGHUP)
        near.send(datagram(number, 200))
        while select.select([far], [], [], 0)[0]:
            got.take(far)

    paced(send, 1200, 1000)
    got.drain(far, 0.5)
    measures = gate.end()
    text = lines.read_text()
    return {"offered": 1200, "numbers": got.numbers, "lines": text.count("\n"),
            "ends_whole": text.endswith("\n"), **measures}  # fmt: skip


def full_disk_heard() -> dict[str, Any]:
    return full_disk(None)


def full_disk_unheard() -> dict[str, Any]:
    return full_disk(Path("messages"))


STEPPED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static int read_clock(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    return real(id, now);
}
/* Each reading of the clock named by STEPPED is an hour before or after the last one. The monotonic
   clock never goes back, as programs rely on that. It gains an hour at each 256th reading: at each
   reading it would reach the 34 years after which the gate's clock ends. */
int clock_gettime(clockid_t id, struct timespec *now) {
    static unsigned calls;
    int done = read_clock(id, now);
    if (id == atoi(getenv("STEPPED"))) {
        unsigned call = __sync_fetch_and_add(&calls, 1);
        now->tv_sec += 3600L * (id == CLOCK_MONOTONIC ? call / 256 : call & 1);
    }
    return done;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec found;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *to) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (to) *to = found.tv_sec;
    return found.tv_sec;
}
"""


def stepped(clock: int) -> dict[str, Any]:
    """A clock that steps by an hour as it is read; the machine's own stays as it is."""
    source, shim = FOLDER / "stepped.c", FOLDER / "stepped.so"
    source.write_text(STEPPED)
    sh(f"cc -O1 -shared -fPIC -o {shim} {source} -ldl")
    environment = os.environ | {"LD_PRELOAD": str(shim), "STEPPED": str(clock)}
    lines = FOLDER / "lines"
    recorded = ("--jsonl", str(lines), "--interval", "0.1")
    options = (*DROP_TAIL, "--rate", "4e6", "--limit", "5000", *recorded)
    gate = Gate("closed", *options, env=environment)
    far, near = receiver(), sender()
    got = Got()

    def send(number: int) -> None:
        near.send(datagram(number, 500))
        while select.select([far], [], [], 0)[0]:
            got.take(far)

    paced(send, 1000, 900)
    got.drain(far, 0.5)
    found = gate.end()
    clocks = [json.loads(line)["clock_ns"] for line in lines.read_text().splitlines()]
    return {"offered": 1000, "numbers": got.numbers, "clocks_ns": clocks, **found}


def clock_stepped() -> dict[str, Any]:
    return stepped(time.CLOCK_REALTIME)


def monotonic_stepped() -> dict[str, Any]:
    return stepped(time.CLOCK_MONOTONIC)


SHORT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>
/* The kernel has no memory for each third message, once it has the settings. */
ssize_t send(int socket, const void *message, size_t length, int flags) {
    static ssize_t (*real)(int, const void *, size_t, int);
    static unsigned calls;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "send");
    if (++calls > 20 && calls % 3 == 0) {
        errno = ENOBUFS;
        return -1;
    }
    return real(socket, message, length, flags);
}
"""


def no_buffers() -> dict[str, Any]:
    """The kernel is short of memory as it is told the verdicts: ENOBUFS."""
    source, shim = FOLDER / "short.c", FOLDER / "short.so"
    source.write_text(SHORT)
    sh(f"cc -O1 -shared -fPIC -o {shim} {source} -ldl")
    environment = os.environ | {"LD_PRELOAD": str(shim)}
    gate = Gate("closed", *DROP_TAIL, "--rate", "8e6", "--limit", "5000", env=environment)
    far, near = receiver(), sender()
    got = Got()

    def send(number: int) -> None:
        near.send(datagram(number, 500))
        while select.select([far], [], [], 0)[0]:
            got.take(far)

    paced(send, 500, 1000)
    got.drain(far, 0.5)
    return {"offered": 500, "numbers": got.numbers, **gate.end()}


def reloads() -> dict[str, Any]:
    """A thousand reloads under a little load, and what the gate holds after each."""
    path, heap, shim = (FOLDER / name for name in ("scenario.toml", "heap", "heap_held.so"))
    sh(f"cc -O1 -shared -fPIC -o {shim} {Path(__file__).with_name('heap_held.c')}")
    environment = os.environ | {"LD_PRELOAD": str(shim), "HEAP_HELD": str(heap)}

    def write(rate: float, discipline: str) -> None:
        path.write_text(lab.SCENARIO.format(rate=rate, discipline=discipline))

    write(20e6, lab.DROP_TAIL)
    gate = Gate("closed", "--scenario", str(path), env=environment)
    folder = folder_of(gate.process.pid)
    far, near = receiver(), sender()
    got, sent, said, held = Got(), 0, [], []
    assert gate.process.stderr is not None
    for number in range(1000):
        write(*((20e6, lab.DROP_TAIL), (10e6, FLOW_QUEUES))[number % 2])
        gate.signal(signal.SIGHUP)
        # after each packet it looks whether they have been read
        while not select.select([gate.process.stderr], [], [], 0.001)[0]:
            near.send(datagram(sent, 200))
            sent += 1
            got.drain(far, 0)
        said += [gate.process.stderr.readline() for _ in range(2)]
        status = statuses(folder / "status")
        held.append([*struct.unpack("qq", heap.read_bytes()), int(status["Threads"]),
                     len(list((folder / "fd").iterdir()))])  # fmt: skip
    got.drain(far, 0.3)
    return {"numbers": got.numbers, "offered": sent, "held": held, **gate.end(),
            "reloaded": sum("reloaded: " in line for line in said)}  # fmt: skip


EXPERIMENTS: list[lab.Experiment] = [
    reloads, killed_open, killed_closed, killed_as_packets_come_open, killed_as_packets_come_closed,
    stopped, rule_removed, interface_vanished, overrun_open, malformed,
    fragments4, fragments6, segments, full_disk_heard,
    full_disk_unheard, clock_stepped, monotonic_stepped, no_buffers,
]  # fmt: skip


if __name__ == "__main__":
    lab.perform(EXPERIMENTS, ipv6=[fragments6])
