"""What `sluiced check` says to root and to an ordinary user: run by tests/test_gate_check.py, as
gate_lab.py is; those with another user in namespaces of the machine's root."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

import gate_lab as lab
from gate_lab import FOLDER, Daemon, Gate, Got, datagram, perform, receiver, sender, sh

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
DROP_TAIL = ("--aqm", "drop_tail", "--rate", "10e6")


def said(*words: str, user: tuple[str, ...] = ()) -> dict[str, Any]:
    """What `sluiced` says, and its exit status; of `check`, the lines by what they are about."""
    command = [*user, lab.SLUICED, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    found = re.findall(r"^(\w+) +([^:]+): (.*)(?:\n +(?:fix|check): (.*))?", done.stdout, re.M)
    lines = {about: [word, what, then] for word, about, what, then in found}
    return {"exit": done.returncode, "stderr": done.stderr, **lines}


def as_root() -> dict[str, Any]:
    """With nothing, with rules, and with a gate of both directions, too."""
    look = ("check", "--interface", "near", "--both-ways")
    found = {"no_interface": said("check"), "nothing": said(*look)}
    sh("echo 1 >/proc/sys/net/ipv4/ip_forward")
    sh(found["nothing"]["rules"][2].removeprefix("sudo "))
    found["rules"] = said(*look)
    found["another"] = said("check", "--interface", "lo")
    Daemon("--fail", "open", *DROP_TAIL, "--queue", "1")
    sh("echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
    found["gate"] = said(*look)
    return found


def for_everybody() -> None:
    """`sluiced` as a link to a program that every user can start."""
    FOLDER.chmod(0o777)
    program = FOLDER / "a folder" / "sluiced"
    program.parent.mkdir()
    shutil.copy(lab.SLUICED, program)
    lab.SLUICED = FOLDER / "sluiced"
    lab.SLUICED.symlink_to(program)


def as_nobody() -> dict[str, Any]:
    """With rules and a gate that are there."""
    for_everybody()
    Gate("open", *DROP_TAIL)
    tool = ("rules", "--interface", "near", "--fail", "open")
    return {
        "check": said("check", "--interface", "near", user=NOBODY),
        "tool": said(*tool, user=NOBODY),
        "shown": said(*tool, "--tool", "nft", user=NOBODY),
    }


def as_nobody_by_setcap() -> dict[str, Any]:
    """The same with the capability that `sluiced check` advises; then a gate of that user."""
    for_everybody()
    try:
        sh(f"cp {lab.SLUICED} {FOLDER}/tried && setcap cap_net_admin+ep {FOLDER}/tried")
    except RuntimeError as error:
        return {"refused": str(error)}
    _, _, fix = said("check", user=NOBODY)["capability"]
    sh(fix.partition("   (")[0].removeprefix("sudo "))
    first = Gate("open", *DROP_TAIL)
    run = ("run", "--fail", "open", *DROP_TAIL)
    found = {
        "refused": "",
        "check": said("check", "--interface", "near", user=NOBODY),
        "second": said(*run, user=NOBODY),
    }
    first.end()
    # of root
    first.summary.unlink()
    found["free"] = said("check", "--interface", "near", user=NOBODY)
    # the rules are still there
    program, lab.SLUICED = lab.SLUICED, FOLDER / "as_nobody"
    lab.SLUICED.write_text(f'#!/bin/sh\nexec {" ".join(NOBODY)} {program} "$@"\n')
    lab.SLUICED.chmod(0o755)
    gate = Daemon("--fail", "open", *DROP_TAIL)
    far, near = receiver(), sender()
    for number in range(50):
        near.send(datagram(number))
    got = len(Got().drain(far, 0.5).numbers)
    gate.process.terminate()
    summary, _ = gate.process.communicate(timeout=10)
    (record,) = json.loads(gate.summary.read_text())
    return {**found, "announced": gate.announced, "got": got, "summary": summary, "record": record}


EXPERIMENTS = [as_root, as_nobody, as_nobody_by_setcap]


if __name__ == "__main__":
    perform(EXPERIMENTS)
