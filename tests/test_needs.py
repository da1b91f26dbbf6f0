"""What `make test` says and does where packages are missing, before a made-up apt-get."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

NEEDS = Path(__file__).resolve().parent / "needs.py"
# it knows all packages but one
APT = """#!/bin/sh
echo "$*" >>{log}
case "$*" in *tshark*) echo "E: Unable to locate package tshark" >&2; exit 100;; esac
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="packages are installed as root")


@pytest.fixture
def installing(tmp_path):
    """Return a function that gives what is said, and the calls of apt-get, of a fresh machine."""
    log, apt = tmp_path / "log", tmp_path / "apt-get"
    apt.write_text(APT.format(log=log))
    apt.chmod(0o755)
    log.touch()

    def install(**variables):
        done = subprocess.run(
            [sys.executable, NEEDS, "install"],
            env={"PATH": str(tmp_path), **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout, log.read_text().splitlines()

    return install, apt


@needs_root
def test_root_gets_what_is_missing_and_hears_what_and_why(installing):
    install, _ = installing
    said, calls = install()
    first, *others = said.splitlines()
    assert first.startswith("test: installing for the tests of BPF, gate, captures, laboratory")
    assert "(INSTALL=no leaves it): clang-19" in first
    assert calls[0].startswith("update")
    # all at once, and one by one where one of them is unknown
    assert all(word in calls[1] for word in ("clang-19", "tshark", "chromium"))
    assert calls[2].endswith("clang-19")
    assert others == [
        "test: the tests that need tshark are skipped: E: Unable to locate package tshark"
    ]


@needs_root
def test_install_no_leaves_it(installing):
    install, _ = installing
    said, calls = install(INSTALL="no")
    assert "are skipped, as INSTALL=no: sudo make needs, then sudo env PATH=$PATH make test" in said
    assert calls == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root installs what is missing")
def test_another_user_hears_which_command_runs_the_rest(installing):
    install, _ = installing
    said, calls = install()
    assert "those that only root can run, are skipped: sudo make needs, then sudo env" in said
    assert calls == []


def test_without_apt_the_packages_are_named(installing):
    install, apt = installing
    apt.unlink()
    said, _ = install()
    assert "are skipped: they need (Debian's names) clang-19 llvm-19" in said
