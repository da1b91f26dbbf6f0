#!/usr/bin/env python3
"""Record real TCP and UDP traffic at the entrance of a bottleneck, headers only.

Three network namespaces are sender, gateway and receiver; the gateway's link to the receiver is
shaped by a token bucket (tbf). tcpdump records the sender's packets as they enter the gateway: the
arrivals at the gateway's queue. Transfer sizes and the on and off periods are Pareto distributed,
which causes self-similar traffic (Willinger, Taqqu, Sherman and Wilson, "Self-Similarity Through
High-Variability", SIGCOMM 1995).

Needs root, iproute2, procps and tcpdump; removes everything at its end. Sizes and pauses follow
from the seed; the packets' times are the kernel's, so two recordings are similar but not equal.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import multiprocessing
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

BOTTLENECK = "2mbit"
BOTTLENECK_QUEUE = "60kb"
TCP_SOURCES = 8
UDP_SOURCES = 4
PACKETS = 12_500  # 70 bytes each in the file: under 1 MB
SNAPSHOT_BYTES = 54  # Ethernet 14, IPv4 20, the fixed part of TCP 20
PARETO_SHAPE = 1.3
SENDER, RECEIVER = "10.77.1.1", "10.77.2.1"
PORT = 5000


def main() -> None:
    """Parse the options, check the needs, record."""
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=here / "gateway.pcap")
    parser.add_argument("--seconds", type=float, default=120.0, help="at most this long")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if problems := missing():
        sys.exit("record.py cannot run here:\n" + "\n".join(f"  - {line}" for line in problems))
    record(options.out, options.seconds, options.seed)


def missing() -> list[str]:
    """Return what this machine lacks, one line each."""
    needs = [("ip", "iproute2"), ("tc", "iproute2"), ("sysctl", "procps"), ("tcpdump", "tcpdump")]
    lines = [f"no command {c} (Debian package {p})" for c, p in needs if not shutil.which(c)]
    if os.geteuid() != 0:
        lines.append("not root: network namespaces need it")
    return lines


def record(out: Path, seconds: float, seed: int) -> None:
    """Build the three namespaces, run the traffic for `seconds`, write the capture to `out`."""
    with network() as (sender, gateway, receiver):
        command = ["tcpdump", "-i", "left", "-Q", "in", "-s", str(SNAPSHOT_BYTES), "-n", "-U"]
        command += ["-Z", "root", "-c", str(PACKETS), "-w", str(out), "ip"]
        sniffer = subprocess.Popen(inside(gateway, command), stderr=subprocess.PIPE, text=True)
        assert sniffer.stderr is not None
        first_line = sniffer.stderr.readline()  # "listening on ...": from now on it records
        processes = [start(receiver, receive), start(sender, send, seconds, seed)]
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                sniffer.wait(timeout=seconds + 5)
        finally:
            for process in processes:
                process.kill()
                process.join()
            sniffer.send_signal(signal.SIGINT)
            said = first_line + sniffer.communicate()[1]
    if sniffer.returncode:
        sys.exit(f"record.py: tcpdump: {said.strip()}")
    print(said.strip(), file=sys.stderr)


@contextlib.contextmanager
def network() -> Iterator[tuple[str, str, str]]:
    """Make sender, gateway and receiver; yield their names; remove them at the end."""
    names = [f"sluice-{role}-{os.getpid()}" for role in ("sender", "gateway", "receiver")]
    with contextlib.ExitStack() as stack:
        for name in names:
            run(["ip", "netns", "add", name])
            stack.callback(run, ["ip", "netns", "delete", name])
        sender, gateway, receiver = names
        connect(sender, "10.77.1.1/24", gateway, "left", "10.77.1.2/24")
        connect(receiver, "10.77.2.1/24", gateway, "right", "10.77.2.2/24")
        run(inside(sender, ["ip", "route", "add", "default", "via", "10.77.1.2"]))
        run(inside(receiver, ["ip", "route", "add", "default", "via", "10.77.2.2"]))
        run(inside(gateway, ["sysctl", "-q", "net.ipv4.ip_forward=1"]))
        for end in (sender, receiver):
            run(inside(end, ["sysctl", "-q", "net.ipv4.tcp_ecn=1"]))
        shaper = ["rate", BOTTLENECK, "burst", "5kb", "limit", BOTTLENECK_QUEUE]
        run(inside(gateway, ["tc", "qdisc", "add", "dev", "right", "root", "tbf", *shaper]))
        yield sender, gateway, receiver


def connect(end: str, address: str, gateway: str, port: str, gateway_address: str) -> None:
    """Join `end` (as eth) and the gateway (as `port`) by a veth pair, both addressed and up."""
    peer = ["peer", "name", port, "netns", gateway]
    run(["ip", "link", "add", "eth", "netns", end, "type", "veth", *peer])
    for name, device, ip in ((end, "eth", address), (gateway, port, gateway_address)):
        run(inside(name, ["ip", "address", "add", ip, "dev", device]))
        # single packets, as on a real link: the device does no segmentation
        run(inside(name, ["ip", "link", "set", device, "gso_max_segs", "1", "up"]))


def inside(namespace: str, command: list[str]) -> list[str]:
    """Return the command that runs `command` in a namespace."""
    return ["ip", "netns", "exec", namespace, *command]


def run(command: list[str]) -> None:
    """Run a command; if it fails, exit with its error output."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"record.py: {' '.join(command)}: {done.stderr.strip()}")


def start(namespace: str, work: Callable[..., None], *args: object) -> multiprocessing.Process:
    """Run a function in a separate process inside a namespace."""
    process = multiprocessing.Process(target=enter, args=(namespace, work, *args), daemon=True)
    process.start()
    return process


def enter(namespace: str, work: Callable[..., None], *args: object) -> None:
    """Move this process into a namespace, then work."""
    with open(f"/run/netns/{namespace}") as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
    work(*args)


def receive() -> None:
    """Accept and read every TCP connection; read every UDP datagram; keep nothing."""
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind((RECEIVER, PORT))
    threading.Thread(target=drain, args=(datagrams,), daemon=True).start()
    with socket.create_server((RECEIVER, PORT), backlog=64) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=drain, args=(connection,), daemon=True).start()


def drain(source: socket.socket) -> None:
    """Read until the other side closes."""
    with source:
        while source.recv(65536):
            pass


def send(seconds: float, seed: int) -> None:
    """Run all sources for `seconds`."""
    time.sleep(0.5)  # the receiver's sockets open meanwhile
    end = time.monotonic() + seconds
    sources = [tcp_source] * TCP_SOURCES + [udp_source] * UDP_SOURCES
    threads = [
        threading.Thread(target=source, args=(random.Random(f"{seed}/{i}"), end))
        for i, source in enumerate(sources)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def tcp_source(chance: random.Random, end: float) -> None:
    """Send transfers of Pareto size (mean about 50 kB), one after the other, with pauses."""
    time.sleep(chance.uniform(0, 2))
    while time.monotonic() < end:
        length = int(min(12_000 * chance.paretovariate(PARETO_SHAPE), 2_000_000))
        with socket.socket() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
            connection.connect((RECEIVER, PORT))
            connection.sendall(bytes(length))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        time.sleep(min(0.8 * chance.paretovariate(PARETO_SHAPE), 20))


def udp_source(chance: random.Random, end: float) -> None:
    """Send datagrams of 200 bytes every 25 ms, in on periods; on and off periods are Pareto."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        while time.monotonic() < end:
            time.sleep(min(0.5 * chance.paretovariate(PARETO_SHAPE), 20))
            off = min(time.monotonic() + min(0.3 * chance.paretovariate(PARETO_SHAPE), 20), end)
            while time.monotonic() < off:
                sender.sendto(bytes(200), (RECEIVER, PORT))
                time.sleep(0.025)


if __name__ == "__main__":
    main()
