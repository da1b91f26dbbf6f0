"""Folders that take no output, on a full or a read-only disk: one line, and no traceback."""

import os
import subprocess
from pathlib import Path

import pytest

from sluicegate.cli import main

ROOT = Path(__file__).resolve().parent.parent
SLUICE = ROOT / ".venv" / "bin" / "sluice"
FILE = """
duration_s = 0.5
replications = 1
topology = { kind = "dumbbell", rate_bps = "2M", client_delays_s = [0.01] }
flows = [{ kind = "tcp", count = 2 }]
disciplines = [{ aqm = "drop_tail" }]
"""


@pytest.fixture
def disk(small_disk, tmp_path, monkeypatch):
    """Return a folder that is full or read-only by the function that comes with it."""
    folder, remount = small_disk
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.toml").write_text(FILE)
    return folder, remount


def command(*words, **variables):
    return subprocess.run(
        [SLUICE, *words],
        env=os.environ | {"COLUMNS": "1000"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def outputs(folder):
    """Commands that write into a folder."""
    yield "compare", "short.toml", "--out", folder / "out"
    yield "compare", "short.toml", "--json", folder / "all.json"
    yield "simulate", "short.toml", "--packets", folder / "run.tr"
    yield "trace", "run.tr", "--html", folder / "trace.html"
    yield "page", "short.toml", "--out", folder / "page.html"
    yield "scenarios", "--out", folder / "scenarios"


@pytest.mark.slow
@pytest.mark.parametrize("why", ["full", "read-only"])
def test_what_cannot_be_written_is_told_in_a_line(disk, why, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    folder, remount = disk
    assert command("simulate", "short.toml", "--packets", "run.tr").returncode == 0
    if why == "full":
        with (folder / "filler").open("wb", buffering=0) as filler:
            filler.write(bytes(1 << 20))
    else:
        remount("ro")
    reason = {"full": "No space left on device", "read-only": "Read-only file system"}[why]
    for words in outputs(folder):
        # one as a process; the others here, as each start of Python takes most of a second
        if words[0] == "trace":
            done = command(*words)
            code, told = done.returncode, done.stderr
        else:
            code, told = main([str(word) for word in words]), capsys.readouterr().err
        assert code == 1, words
        assert "Traceback" not in told, words
        last = told.splitlines()[-1]
        assert last.startswith("error: "), words
        assert str(folder) in last, words
        assert reason in last, words
