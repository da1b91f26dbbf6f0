"""Runs the experiments of gate_lab.py and gate_faults_lab.py, if the machine can run them."""

import json
import shutil
import subprocess
import sys
from errno import EACCES, EPERM
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SLUICED = ROOT / ".venv" / "bin" / "sluiced"
# The experiment is the first process of a PID namespace: all that it started ends with it. The user
# namespace is made first, so that it owns the network namespace.
ENTER = ["unshare", "-Ur", "unshare", "-nmp", "--kill-child"]

needs_nft = pytest.mark.skipif(not shutil.which("nft"), reason="apt install nftables")

CAP_NET_ADMIN, CAP_BPF = 1 << 12, 1 << 39
# attempts of tests/intruder.h that Landlock refuses
FENCED = ("read", "proc", "write", "folder", "tun", "program", "connect", "bind")


@cache
def lacking():
    """Return the reason why no real packets can be sent here; empty if they can."""
    for program in ("unshare", "ip"):
        if shutil.which(program) is None:
            return f"there is no {program} here"
    rules = [SLUICED, "rules", "--interface", "lo", "--fail", "open", "--install"]
    done = subprocess.run([*ENTER, *rules], capture_output=True, text=True, check=False)
    return done.stderr.strip()


def measured(lab, name, enter=ENTER):
    """Run an experiment of a lab; return its results."""
    if why := lacking():
        pytest.skip(why)
    command = [*enter, sys.executable, ROOT / "tests" / lab, SLUICED, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def it_may_do_no_more(found, capabilities):
    """Assert that a gate's threads have only these capabilities, and its AQM got nothing else."""
    if not found["answers"]:
        pytest.skip("the AQM that tries knows the system calls of x86-64 only")
    for held in found["held"]:
        assert held.pop("NoNewPrivs") == "1"
        assert {int(held.pop(name), 16) for name in ("CapInh", "CapAmb")} == {0}
        assert {int(value, 16) for value in held.values()} == {capabilities}
    # three threads: the main one, that of the metrics' server, and that of the records
    assert len(found["held"]) == 3
    assert found["got"] == [1]
    answers = found["answers"]
    assert answers.pop("administer") == (0 if capabilities else EPERM)
    files = {answers.pop(what) for what in FENCED}
    assert set(answers.values()) == {EPERM}, answers
    if "has no Landlock" in found["announced"]:
        pytest.skip("this kernel has no Landlock")
    assert files == {EACCES}


def nothing_is_forgotten(found, left_at_end=0, refused=0):
    """Assert that each packet that arrived was released, lost by a verdict, or held at the end."""
    assert found["arrivals"] == found["released"] + found["lost"] + found["left_at_end"]
    assert found["left_at_end"] == left_at_end
    assert found["refused_verdicts"] == refused
    assert found["unmarkable"] == 0
