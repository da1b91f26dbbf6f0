"""Needs of the tests of BPF and of the laboratory. They are checked first and separately: if a
machine has all of them, a qdisc that does not compile or load is a failure, no reason to skip."""

import os
import re
import shutil
import subprocess
from functools import cache

import pytest

from sluicegate.daemon import sluiced
from sluicegate.lab import dualpi2, kernel
from sluicegate.lab.check import missing_to_run

WITHOUT_BPF = "this sluiced was built without BPF"


@cache
def lacking(name, path=os.environ["PATH"]):
    """Return the reason why a line of `sluiced check --backend kernel` is not `ok`; else empty."""
    done = subprocess.run(
        [sluiced(), "check", "--backend", "kernel"],
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if WITHOUT_BPF in done.stderr:
        return done.stderr.strip()
    ((word, told),) = re.findall(rf"^(\w+) +{name}: (.*)", done.stdout, re.MULTILINE)
    return "" if word == "ok" else told


@cache
def lacking_lab():
    """Return the reason why the laboratory cannot boot here; empty if it can."""
    if packages := missing_to_run():
        return f"apt install {' '.join(packages)}"
    if not shutil.which("bpftool"):
        return "apt install bpftool"
    return "" if kernel.find() else "no kernel: sluice lab --fetch"


@cache
def lacking_dualpi2():
    """Return the reason why the laboratory has no DualPI2 of Linux; empty if it has."""
    if why := lacking_lab():
        return why
    return "" if dualpi2.find(kernel.find()) else f"no DualPI2 of Linux: {dualpi2.HOW}"


def _mark(why):
    return pytest.mark.skipif(bool(why), reason=why or "nothing is lacking")


needs_compiler = _mark(lacking("compiler"))
needs_verifier = _mark(lacking("compiler") or lacking("capabilities"))
needs_lab = _mark(lacking_lab())
needs_qdiscs = _mark(lacking_lab() or lacking("compiler"))
needs_dualpi2 = _mark(lacking_dualpi2())
