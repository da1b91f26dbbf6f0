"""Programs in /usr/sbin are found by users who do not have it on their PATH, as those of Debian."""

import os
import subprocess
from pathlib import Path

import pytest
from gate_run import ENTER, SLUICED, lacking

from sluicegate import programs
from sluicegate.testbed.check import needs

# `ip` and `sh` are in /bin; what sets rules and shapes is in /usr/sbin only
NARROW = "/usr/bin:/bin"


def only_in_sbin(name):
    return not any(os.access(Path(each) / name, os.X_OK) for each in NARROW.split(":")) and (
        os.access(f"/usr/sbin/{name}", os.X_OK) or os.access(f"/sbin/{name}", os.X_OK)
    )


@pytest.fixture
def narrow(monkeypatch):
    """Leave out the folders that ordinary users do not have."""
    monkeypatch.setenv("PATH", NARROW)


def test_a_program_is_found_there_too(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(programs, "_MORE", (str(tmp_path),))
    assert programs.which("tool") is None
    (tmp_path / "tool").write_text("#!/bin/sh\necho it ran\n")
    (tmp_path / "tool").chmod(0o755)
    assert programs.which("tool") == f"{tmp_path}/tool"
    monkeypatch.delenv("PATH")
    assert programs.which("sh")
    done = subprocess.run(
        ["tool"], env=programs.environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "it ran\n"


@pytest.mark.skipif(not only_in_sbin("iptables"), reason="iptables is not in /usr/sbin alone")
def test_the_testbed_lacks_nothing_that_is_there(narrow):
    if why := lacking():
        pytest.skip(why)
    assert {each.name: each.missing for each in needs()}["the command iptables"] == ""
    assert not [each for each in needs() if each.missing]


@pytest.mark.skipif(not only_in_sbin("iptables"), reason="iptables is not in /usr/sbin alone")
def test_sluiced_finds_what_sets_rules(narrow):
    if why := lacking():
        pytest.skip(why)
    words = ["rules", "--interface", "lo", "--fail", "open", "--install"]
    done = subprocess.run([*ENTER, SLUICED, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
