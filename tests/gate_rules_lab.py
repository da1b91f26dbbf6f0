"""Rules under load: run by tests/test_gate_rules.py here, where the kernel has the tool, and by
tests/test_lab_nft.py in the laboratory, whose kernel takes nft's queues."""

from __future__ import annotations

import select
import signal
import subprocess
import time
from typing import Any

import gate_lab as lab
from gate_lab import SLUICED, Daemon, Got, datagram, paced, perform, receiver, sender

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


OWN = ("--rules", "near", *HOLDING)
OWN_OPEN = ("--fail", "open", *OWN)


def own(number_of_signal: signal.Signals) -> dict[str, Any]:
    """A gate with rules of its own ends under load, ten times what the link carries."""
    gate = Daemon(*OWN_OPEN)
    far, near = receiver(), sender()
    got = Got()

    def send(number: int) -> None:
        if number == 500:
            gate.signal(number_of_signal)
        near.send(datagram(number, 500))
        while select.select([far], [], [], 0)[0]:
            got.take(far)

    paced(send, 1000, 1000)
    gate.process.communicate(timeout=10)
    found = {"table": table()}
    got.drain(far)
    far.close()
    return {"numbers": got.numbers, "next": sent(1000, 20), "exit": gate.process.returncode,
            **found}  # fmt: skip


def own_ended() -> dict[str, Any]:
    return own(signal.SIGTERM)


def own_killed() -> dict[str, Any]:
    return own(signal.SIGKILL)


def own_both() -> dict[str, Any]:
    """What nft shows of rules of a gate's own, and what it takes to change them."""
    rules("--fail", "open", "--both-ways", "--tool", "nft", "--install")
    found: dict[str, Any] = {"set": table(), "there": sluiced("run", *OWN_OPEN)}
    rules("--fail", "open", "--tool", "nft", "--remove")
    gate = Daemon(*OWN_OPEN, "--reverse-delay", "0.001")
    found |= {
        "own": table(),
        "removed": rules("--fail", "open", "--tool", "nft", "--remove"),
        "installed": rules("--fail", "open", "--tool", "nft", "--install"),
        "check": sluiced("check", "--interface", "near")["said"],
        "numbers": sent(0, 20),
    }
    return {**found, **gate.end(), "after": table()}


def own_refused() -> dict[str, Any]:
    """Where rules of its own cannot be had; `without` a kernel whose nft has queues."""
    set_by_nft = rules("--fail", "open", "--tool", "nft", "--install")
    without = sluiced("run", *OWN_OPEN) if set_by_nft["exit"] else None
    closed = sluiced("run", *OWN, "--fail", "closed", "--two-way")
    return {"closed": closed, "without": without, "tables": table()}


if __name__ == "__main__":
    perform([looked_at, nft, own_ended, own_killed, own_both, own_refused])
