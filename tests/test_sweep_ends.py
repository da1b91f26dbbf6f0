"""Sweeps that are ended by signals, as batch systems and `kill` do: no process is left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sluicegate as sg
from sluicegate.sweeps import workers

pytestmark = pytest.mark.slow

SCENARIO = """
slots = 200000
replications = 1
arrivals = { kind = "geometric", rate = 0.45 }
service = { kind = "geometric", mu = 0.5 }
queue = { limit = 20 }
disciplines = [{ aqm = "drop_tail" }]
"""
DEADLINE_S = 60


def children(parent):
    """Return the living child processes of a process."""
    found = Path("/proc") / str(parent) / "task"
    return [int(pid) for each in found.glob("*/children") for pid in each.read_text().split()]


def until(is_so):
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def words_of(pid):
    """Return the words of the command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")


def is_there(pid):
    try:
        os.kill(pid, 0)
        return b"\nState:\tZ" not in Path(f"/proc/{pid}/status").read_bytes()
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc with the processes")
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_a_sweep_that_is_ended_leaves_no_process_behind(by, tmp_path):
    scenario, out = tmp_path / "scenario.toml", tmp_path / "out"
    scenario.write_text(SCENARIO)
    vary = ["--vary", "seed=1..1000", "--workers", "2", "--out", str(out), "--no-report"]
    command = [sys.executable, "-m", "sluicegate", "sweep", str(scenario), *vary]
    with (
        (tmp_path / "said").open("w+") as said,
        subprocess.Popen(command, stderr=said, stdout=said, start_new_session=True) as process,
    ):
        until(lambda: list(out.glob("runs/*.parquet")))
        begun = children(process.pid)
        assert len(begun) >= 2
        # what may end, and warn, after our message
        trackers = [each for each in map(words_of, begun) if "resource_tracker import" in each[-1]]
        assert trackers
        assert all("-Wignore:resource_tracker" in each for each in trackers)
        process.send_signal(by)
        code = process.wait(DEADLINE_S)
    until(lambda: not any(is_there(pid) for pid in begun))
    if by == signal.SIGTERM:
        # as after Ctrl-C: a message, and all finished runs are kept
        assert code == 130
        told = (tmp_path / "said").read_text().splitlines()[-1]
        count = len(sg.Sweep(out).frame())
        assert told == (
            f"error: interrupted: {count:,} of 1,000 runs are in {out}; the same command makes "
            "the others"
        )


def test_the_callers_own_handler_of_sigterm_is_kept():
    from sluicegate.sweeps.workers import here_or_beside

    def own(number, frame):
        pass

    before = signal.signal(signal.SIGTERM, own)
    try:
        with here_or_beside(1):
            assert signal.getsignal(signal.SIGTERM) is own
        assert signal.getsignal(signal.SIGTERM) is own
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with here_or_beside(1), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_ctrl_c_as_a_wait_takes_its_lock_again_is_ctrl_c(monkeypatch):
    def interrupted(*_, **__):
        try:
            raise KeyboardInterrupt
        finally:
            # so says `with` of a lock that is not held
            raise RuntimeError("release unlocked lock")

    monkeypatch.setattr(workers, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        workers.ended([])
