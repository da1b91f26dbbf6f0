"""Faults around a cable that goes on: run by tests/test_gate_tun_faults.py."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import gate_lab as lab
from gate_daemon_lab import METRICS, ask, folder_of, statuses
from gate_lab import datagram, paced
from gate_tun_lab import DROP_TAIL, TUN, Cable, Receiver

ADDRESS = lab.FOLDER / "metrics"


def told_to(stdout: int) -> dict[str, Any]:
    """What a gate says on stderr, and measures, that says the rest to `stdout`."""
    address, summary = lab.FOLDER / "metrics", lab.FOLDER / "summary.json"
    words = ["run", *TUN, *DROP_TAIL, "--rate", "1e6", "--json", summary, *METRICS]
    process = subprocess.Popen(
        [lab.SLUICED, *words], stdout=stdout, stderr=subprocess.PIPE, text=True
    )
    # signals wait for it from before it opens its address
    while not address.exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    (link,) = json.loads(summary.read_text())
    return {**link, "said": said, "exit": process.returncode}


def stdout_full() -> dict[str, Any]:
    return told_to(os.open("/dev/full", os.O_WRONLY))


def stdout_gone() -> dict[str, Any]:
    ours, theirs = os.pipe()
    os.close(ours)
    return told_to(theirs)


def slow_clients() -> dict[str, Any]:
    """Clients that never ask, ask byte by byte, or do not read; packets, and one client more."""
    cable = Cable(*DROP_TAIL, "--rate", "8e6", "--limit", "1000", "--interval", "0.05", *METRICS)
    far, near = Receiver(), lab.sender()
    slow = []
    for _ in range(40):
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(str(ADDRESS))
        peer.setblocking(False)
        slow.append(peer)
    trickling, unread = slow[:10], slow[10:20]
    for peer in unread:
        peer.send(b"GET /records HTTP/1.0\r\n\r\n")

    def send(number: int) -> None:
        for peer in trickling:
            # it may have been put out
            with suppress(OSError):
                peer.send(b"h")
        near.send(datagram(number, 500))
        far.look()

    paced(send, 500, 1000)
    held = len(list((folder_of(cable.process.pid) / "fd").iterdir()))
    with socket.socket(socket.AF_UNIX) as peer:
        # 40 seconds, if it had to wait for a second for each of them
        peer.settimeout(35)
        peer.connect(str(ADDRESS))
        peer.sendall(b"GET /records HTTP/1.0\r\n\r\n")
        told = peer.recv(15)
    threads = int(statuses(folder_of(cable.process.pid) / "status")["Threads"])
    # nobody stays: nothing to wait for but the time that each of them has
    while len(list((folder_of(cable.process.pid) / "fd").iterdir())) >= held:
        time.sleep(0.05)
    return {"offered": 500, "told": told.decode(), "threads": threads,
            "records": ask(ADDRESS, "records"), **far.end(cable)}  # fmt: skip


def few_files() -> dict[str, Any]:
    """More clients than the gate may have files; each takes one for as long as it may."""
    few = (12, 12)
    cable = Cable(
        *(*DROP_TAIL, "--rate", "8e6", "--interval", "0.05", *METRICS),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few),
    )
    silent = [socket.socket(socket.AF_UNIX) for _ in range(60)]
    for peer in silent:
        peer.connect(str(ADDRESS))
    with socket.socket(socket.AF_UNIX) as peer:
        # a second for each few of them, and what a busy machine takes besides
        peer.settimeout(60)
        peer.connect(str(ADDRESS))
        peer.sendall(b"GET /records HTTP/1.0\r\n\r\n")
        told = peer.recv(15)
    return {"told": told.decode(), **cable.end()}


def odd_scenarios() -> dict[str, Any]:
    """The scenario becomes a pipe, a folder, an endless device, a huge file, and one again."""
    path = lab.FOLDER / "scenario.toml"
    right = lab.SCENARIO.format(rate=2e6, discipline=lab.DROP_TAIL)
    path.write_text(right)
    cable = Cable("--scenario", str(path))
    status = folder_of(cable.process.pid) / "status"
    stderr = cable.process.stderr
    assert stderr is not None

    def becomes(make: Any) -> list[str]:
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
        make()
        for _ in range(10):
            cable.signal(signal.SIGHUP)
            time.sleep(0.02)
        # until something is said and no thread is left; what comes later is among the next
        said = b""
        while not said or int(statuses(status)["Threads"]) > threads:
            if select.select([stderr], [], [], 0.1)[0]:
                said += os.read(stderr.fileno(), 65536)
        return said.decode().splitlines()

    threads = int(statuses(status)["Threads"])
    said = {
        "pipe": becomes(lambda: os.mkfifo(path)),
        "folder": becomes(path.mkdir),
        "device": becomes(lambda: path.symlink_to("/dev/zero")),
        "huge": becomes(lambda: path.write_text("#" * (1 << 24) + "#")),
        "right": becomes(lambda: path.write_text(right)),
    }
    return {"answers": said, **cable.end()}


def unread_records() -> dict[str, Any]:
    """The records go to a pipe whose reader reads nothing."""
    path = lab.FOLDER / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    cable = Cable(*DROP_TAIL, "--rate", "8e6", "--interval", "0.001", "--jsonl", str(path))
    far, near = Receiver(), lab.sender()

    def send(number: int) -> None:
        near.send(datagram(number, 500))
        far.look()

    paced(send, 1000, 1000)
    found = far.end(cable)
    os.close(reader)
    return {"offered": 1000, **found}


def little_memory() -> dict[str, Any]:
    """A limit of the address space: 1 MB too small, then just enough for a full queue."""

    def limited(mb: int) -> Callable[[], None]:
        return lambda: resource.setrlimit(resource.RLIMIT_AS, (mb << 20, mb << 20))

    queue = (*DROP_TAIL, "--rate", "1e6", "--limit", "20000")
    words = [lab.SLUICED, "run", *TUN, *queue]

    def refusal(mb: int, *more: str) -> subprocess.CompletedProcess[str]:
        command = [*words, *more]
        return subprocess.run(
            command, preexec_fn=limited(mb), capture_output=True, text=True, check=False
        )

    first = refusal(100)
    needed = int(first.stderr.partition("must be ")[2].split()[0])
    # what it would decide beside needs room, too
    shadow = ("--metrics", "127.0.0.1:0", "--shadow", "drop_tail")
    exits = [first, refusal(needed - 1), refusal(needed, *shadow)]
    cable = Cable(*queue, preexec_fn=limited(needed))
    # a receiver, so that nobody answers that there is none
    receiver, near = lab.receiver(), lab.sender()
    for number in range(22_000):
        near.send(datagram(number, 1500))
    # until it has read them all
    look = ["ip", "-s", "-j", "link", "show", "near"]
    for _ in range(600):
        if json.loads(subprocess.check_output(look))[0]["stats64"]["tx"]["packets"] == 22_000:
            break
        time.sleep(0.1)
    receiver.close()
    return {"exits": [each.returncode for each in exits],
            "told": [exits[0].stderr, exits[2].stderr], **cable.end()}  # fmt: skip


EXPERIMENTS: list[lab.Experiment] = [
    stdout_full, stdout_gone, slow_clients, few_files, odd_scenarios, unread_records, little_memory,
]  # fmt: skip


if __name__ == "__main__":
    lab.namespaces()
    lab.conclude(next(made for made in EXPERIMENTS if made.__name__ == sys.argv[2]))
