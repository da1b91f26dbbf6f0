"""Rules under load: run by tests/test_gate_rules.py here, where the kernel has the tool, and by
tests/test_lab_nft.py in the laboratory, whose kernel takes nft's queues."""

from __future__ import annotations

import subprocess
import time
from typing import Any

import gate_lab as lab
from gate_lab import SLUICED, Daemon, Got, datagram, perform, receiver, sender

HOLDING = ("--aqm", "drop_tail", "--rate", "4e5", "--limit", "1000")


def sluiced(*words: str) -> dict[str, Any]:
    done = subprocess.run([SLUICED, *words], capture_output=True, text=True, check=False)
    return {"exit": done.returncode, "said": done.stdout + done.stderr}


def rules(*words: str) -> dict[str, Any]:
    return sluiced("rules", "--interface", "near", *words)


def table() -> str:
    command = ["nft", "list", "table", "inet", "sluiced_0"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def sent(first: int, count: int) -> list[int]:
    """Numbers of the packets that come through at once, of so many."""
    far, near = receiver(), sender()
    for number in range(first, first + count):
        near.send(datagram(number, 500))
    got = Got().drain(far, 0.5).numbers
    far.close()
    near.close()
    return got


def looked_at() -> dict[str, Any]:
    """While packets are held, others look what could be set, and set the same rules again."""
    gate = lab.Gate("open", *HOLDING)
    far, near = receiver(), sender()
    for number in range(50):
        near.send(datagram(number, 500))
    time.sleep(0.05)
    said = [
        rules("--fail", "open"),
        rules("--fail", "open", "--queue", "6"),
        sluiced("check", "--interface", "near"),
        rules("--fail", "open", "--install"),
    ]
    got = Got().drain(far)
    return {"numbers": got.numbers, "told": said, **gate.end()}


def nft() -> dict[str, Any]:
    """The life of nft's rules."""
    found: dict[str, Any] = {"none": sent(0, 20)}
    closed = rules("--fail", "closed", "--tool", "nft", "--install")
    found |= {"installed": closed, "closed_table": table(), "closed": sent(0, 20)}
    rules("--fail", "open", "--tool", "nft", "--install")
    found |= {"open_table": table(), "open": sent(0, 20)}
    gate = Daemon("--fail", "open", "--aqm", "drop_tail", "--rate", "10e6")
    found["check"] = sluiced("check", "--interface", "near")["said"]
    found["gate"] = sent(0, 100)
    found["measures"] = gate.end()
    both = rules("--fail", "open", "--both-ways", "--tool", "nft", "--install")
    found |= {"both": both, "both_table": table()}
    found["removed"] = rules("--fail", "open", "--tool", "nft", "--remove")
    found |= {"removed_table": table(), "passed": sent(0, 20)}
    found["again"] = rules("--fail", "open", "--tool", "nft", "--remove")
    return found


if __name__ == "__main__":
    perform([looked_at, nft])
