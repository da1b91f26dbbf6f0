"""The gate as a daemon that is watched, fenced in and asked: run by tests/test_gate_daemon.py.

As tests/gate_lab.py, which has the two namespaces and the senders.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from gate_lab import (
    FOLDER,
    SCENARIO,
    SLUICED,
    Daemon,
    Gate,
    Got,
    datagram,
    paced,
    perform,
    receiver,
    sender,
    sh,
)

ROOT = Path(__file__).resolve().parent.parent
METRICS = ("--metrics", f"unix:{FOLDER / 'metrics'}")


def ask(path: Path, page: str) -> str:
    """A page of the daemon's endpoint."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(path))
        peer.sendall(f"GET /{page} HTTP/1.0\r\n\r\n".encode())
        answer = b""
        while more := peer.recv(65536):
            answer += more
    return answer.decode().partition("\r\n\r\n")[2]


def watched() -> dict[str, Any]:
    """What a service manager is told, by a gate that stands still for a while."""
    path = FOLDER / "notify"
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(path))
    os.environ |= {"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "400000"}
    gate = Gate("open", "--aqm", "drop_tail", "--rate", "10e6", "--interval", "60")

    def heard(for_s: float) -> list[str]:
        found, end = [], time.monotonic() + for_s
        while (left := end - time.monotonic()) > 0:
            if select.select([manager], [], [], left)[0]:
                found.append(manager.recv(1000).decode().strip())
        return found

    alive = heard(3)
    gate.signal(signal.SIGSTOP)
    heard(0.3)
    stopped = heard(1.5)
    gate.signal(signal.SIGCONT)
    again = heard(1.5)
    gate.end()
    return {"alive": alive, "stopped": stopped, "again": again, "end": heard(0.1)}


def fenced() -> dict[str, Any]:
    """Reloads of a header that stands beside the scenario, and of one that stands elsewhere."""
    # what a program may do in the folder of temporary files it may do everywhere below it
    temporary = FOLDER / "temporary"
    temporary.mkdir()
    os.environ["TMPDIR"] = str(temporary)
    here, elsewhere = FOLDER / "here", FOLDER / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
        shutil.copy(ROOT / "tests" / "shorter.h", folder)
    scenario = here / "scenario.toml"

    def write(aqm: str) -> None:
        scenario.write_text(SCENARIO.format(rate=2e6, discipline=f"aqm = {json.dumps(aqm)}"))

    write("red")
    gate = Gate("open", "--scenario", str(scenario))
    assert gate.process.stderr is not None
    reloads = []
    for aqm in ("shorter.h", "../elsewhere/shorter.h"):
        write(aqm)
        gate.signal(signal.SIGHUP)
        # compiling takes its time
        lines = (line.strip() for line in gate.process.stderr)
        reloads.append(next(line for line in lines if "memory: " not in line))
    return {"reloads": reloads, "announced": gate.announced, **gate.end()}


def shares() -> dict[str, Any]:
    """Two senders, one with three times the bytes of the other."""
    path, jsonl = FOLDER / "metrics", FOLDER / "lines"
    gate = Gate("closed", "--aqm", "codel", "--rate", "20e6", "--interval", "0.2",
                "--metrics", f"unix:{path}", "--jsonl", str(jsonl))  # fmt: skip
    far, pair = receiver(), [sender(), sender()]

    def send(number: int) -> None:
        pair[number % 2].send(datagram(number, 300 if number % 2 else 900))

    paced(send, 1000, 1000)
    Got().drain(far, 0.5)
    # two intervals in which nothing comes
    time.sleep(0.5)
    record = metrics = None
    # both of the same interval
    while record is None or ask(path, "records") != record:
        record, metrics = ask(path, "records"), ask(path, "metrics")
    *_, record = (json.loads(line) for line in record.splitlines())
    lines = [json.loads(line) for line in jsonl.read_text().splitlines()]
    lines = [line for line in lines if line["clock_ns"] <= record["clock_ns"]]
    ports = [made.getsockname()[1] for made in pair]
    return {"record": record, "lines": lines, "ports": ports, "metrics": metrics,
            "mode": stat.S_IMODE(path.stat().st_mode), **gate.end()}  # fmt: skip


def statuses(path: Path) -> dict[str, str]:
    return dict(line.split(":\t", 1) for line in path.read_text().splitlines())


def folder_of(pid: int) -> Path:
    """Where /proc tells of a process, by its number here; /proc may count otherwise."""
    here = os.readlink("/proc/self/ns/pid")
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            status = statuses(folder / "status")
            if status["NSpid"].split()[-1] == str(pid) and os.readlink(folder / "ns/pid") == here:
                return folder
    raise LookupError(f"no process has the number {pid}")


def status_of(pid: int) -> dict[str, str]:
    """What /proc says of a process."""
    return statuses(folder_of(pid) / "status")


CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs")


def tried(gate: Daemon) -> dict[str, Any]:
    """What each thread of a gate may do, and what the AQM got that tried to do more."""
    far, near = receiver(), sender()
    near.send(datagram(1, 1237))
    got = Got().drain(far).numbers
    tasks = (folder_of(gate.process.pid) / "task").iterdir()
    threads = [statuses(task / "status") for task in tasks]
    held = [{name: thread[name] for name in CAPABILITIES} for thread in threads]
    found = gate.end()
    answers = re.findall(r"intruder: (\w+) (\d+)", found["said"])
    return {"got": got, "held": held, "announced": gate.announced,
            "answers": {what: int(error) for what, error in answers}}  # fmt: skip


def changed_view() -> dict[str, Any]:
    """A gate whose AQM, a header, changes its view, which its trial did not show."""
    header = FOLDER / "shorter.h"
    text = (ROOT / "tests" / "shorter.h").read_text()
    late = "if (view->limit_packets == 777) ((struct aqm_view *)(u64)view)->queue_packets = 9;"
    header.write_text(text.replace("(void)s;", f"(void)s; {late}"))
    gate = Gate("closed", "--aqm", str(header), "--rate", "20e6", "--limit", "777",
                "--interval", "0.1")  # fmt: skip
    assert gate.process.stderr is not None
    far, near = receiver(), sender()
    near.send(datagram(1))
    first = gate.process.stderr.readline()
    for number in range(2, 50):
        near.send(datagram(number))
    got = len(Got().drain(far, 0.5).numbers)
    return {"first": first, "got": got, **gate.end()}


INTRUDER = ("--rate", "10e6", "--limit", "54321", "--jsonl", str(FOLDER / "lines"),
            "--metrics", f"unix:{FOLDER / 'metrics'}")  # fmt: skip


def tried_over_nfqueue() -> dict[str, Any]:
    return tried(Gate("closed", "--aqm", str(ROOT / "tests" / "intruder.h"), *INTRUDER))


def memory() -> dict[str, Any]:
    """All that a gate may hold, whole packets, and the memory that it took."""
    gate = Gate("closed", "--aqm", "red:min_th=9000,max_th=9900,ecn=true", "--rate", "1e6",
                "--limit", "10000", "--jsonl", str(FOLDER / "records.jsonl"), "--interval",
                "0.01", *METRICS)  # fmt: skip
    # none of them may keep the kernel's memory for more
    near = [sender(tos=2) for _ in range(10)]
    _far = receiver()
    # where others are at work, too, the kernel drops some before the gate can read them
    for start in range(0, 40_000, 500):
        for number in range(start, start + 500):
            near[number % 10].send(datagram(number, 1500))
        time.sleep(0.02)
        records = ask(FOLDER / "metrics", "records").splitlines()
        if any(json.loads(record)["queue_max"] == 10_000 for record in records):
            break
    time.sleep(1)
    status = status_of(gate.process.pid)
    return {
        "peak_bytes": 1024 * int(status["VmHWM"].split()[0]),
        "announced": gate.announced,
        **gate.end(),
    }


WATCHED = ("--limit", "500", "--interval", "0.2", *METRICS)


def where(rate: str, per_s: float, queue_of_near: str = "") -> dict[str, Any]:
    """What `sluiced check --watch` says of packets of 1000 bytes."""
    if queue_of_near:
        try:
            sh(f"tc qdisc add dev near root {queue_of_near}")
        except RuntimeError as error:
            return {"refused": str(error)}
    gate = Gate("closed", "--aqm", "drop_tail", "--rate", rate, *WATCHED)
    return where_under_load(gate, per_s, "--interface", "near")


def where_under_load(gate: Daemon, per_s: float, *looks: str) -> dict[str, Any]:
    """What `sluiced check --watch` says of a gate before which packets of 1000 bytes come."""
    _far, near = receiver(), sender()
    check = [SLUICED, "check", *looks, "--watch", "2", *METRICS]
    watching = []

    def send(number: int) -> None:
        if number == int(0.7 * per_s):
            pipe = subprocess.PIPE
            watching.append(subprocess.Popen(check, stdout=pipe, stderr=pipe, text=True))
        near.send(datagram(number, 1000))

    paced(send, int(3.5 * per_s), per_s)
    said, refused = watching[0].communicate(timeout=20)
    gate.end()
    return {"said": said, "refused": refused, "exit": watching[0].returncode}


def where_here() -> dict[str, Any]:
    return where("2e6", 600)


def where_behind() -> dict[str, Any]:
    """The interface is slower than the gate thinks."""
    return where("20e6", 350, "tbf rate 1mbit burst 3kb limit 200k")


def where_elsewhere() -> dict[str, Any]:
    return where("20e6", 200)


def where_unknown() -> dict[str, Any]:
    """One packet, at the start."""
    return where("2e6", 0.3)


EXPERIMENTS = [watched, fenced, changed_view, tried_over_nfqueue, shares, memory, where_here,
               where_behind, where_elsewhere, where_unknown]  # fmt: skip


if __name__ == "__main__":
    perform(EXPERIMENTS)
