"""What `make` makes again, and when."""

import os
import pty
import re
import shutil
import subprocess
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# in place of cargo: it notes what it is asked, and "compiles"
CARGO = """#!/bin/sh
echo "$@" >>asked
mkdir -p target/debug target/release && touch target/debug/sluiced target/release/sluiced
"""


@pytest.fixture
def make(tmp_path):
    """Return a function that makes a target, and returns what cargo was asked."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("aqm", "engine", "gate", "kernel", ".cargo", ".venv/bin", "programs"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock", ".cargo/config.toml", "requirements.lock",
                 ".venv/builders", ".venv/installed"):  # fmt: skip
        (tmp_path / name).touch()
    cargo, asked = tmp_path / "programs" / "cargo", tmp_path / "asked"
    cargo.write_text(CARGO)
    cargo.chmod(0o755)
    path = f"{cargo.parent}{os.pathsep}{os.environ['PATH']}"

    def make(target, bpf="", stderr=None):
        asked.write_text("")
        command = ["make", "--silent", f"BPF={bpf}", target]
        env = os.environ | {"PATH": path}
        subprocess.run(command, cwd=tmp_path, env=env, check=True, stderr=stderr)
        return asked.read_text()

    return make


def test_sluiced_is_built_again_when_the_headers_of_bpf_come_or_go(make):
    sluiced = ".venv/bin/sluiced"
    without, with_them = make(sluiced, ""), make(sluiced, "yes")
    assert "--package sluice-gate" in without
    assert "--features" not in without
    assert "--features sluice-gate/kernel" in with_them
    # nothing has changed
    assert make(sluiced, "yes") == ""
    assert make(sluiced, "") == without


def test_who_looks_at_a_long_build_sees_its_progress(make, tmp_path):
    daemon = "wheel/scripts/sluiced"
    (tmp_path / "wheel" / "scripts").mkdir(parents=True)
    assert "--quiet" in make(daemon, stderr=subprocess.PIPE)
    (tmp_path / daemon).unlink()
    ours, theirs = pty.openpty()
    try:
        assert "--release" in (asked := make(daemon, stderr=theirs))
    finally:
        os.close(ours)
        os.close(theirs)
    assert "--quiet" not in asked


def test_nothing_is_installed_but_what_the_lock_names():
    lock = (ROOT / "requirements.lock").read_text()
    locked = set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))
    found = {each.name.lower().replace("_", "-").replace(".", "-") for each in distributions()}
    # until Python 3.11 a new virtual environment has setuptools
    assert found - locked - {"setuptools"} == {"sluicegate"}
