"""Sweeps whose cluster does not answer or dies, whose disk is full or may not be written."""

import os
import signal
import socket
import subprocess
import sys

import pytest

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.sweeps import workers
from sluicegate.sweeps.run import sweep

pytestmark = pytest.mark.slow

SHORT = sg.Scenario(
    slots=1000,
    replications=1,
    arrivals=sg.GeometricArrivals(rate=0.45),
    service=sg.GeometricService(mu=0.5),
    queue=sg.Queue(limit=20),
    disciplines=[sg.Discipline(aqm="drop_tail")],
)
FILE = """
slots = 1000
replications = 1
arrivals = { kind = "geometric", rate = 0.45 }
service = { kind = "geometric", mu = 0.5 }
disciplines = [{ aqm = "drop_tail" }]
"""
SEEDS = {"seed": "1..40"}


def test_a_cluster_that_does_not_answer_leaves_no_folder(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "_CONNECT_S", 0.2)
    with pytest.raises(sg.SluiceError, match="no scheduler answers there"):
        sweep(SHORT, SEEDS, tmp_path / "out", dask="tcp://127.0.0.1:1")
    assert not (tmp_path / "out").exists()
    # what is asked next may be another sweep
    assert len(sweep(SHORT, {"seed": [7]}, tmp_path / "out", workers=1).frame()) == 1


def test_a_sweep_without_any_result_does_not_block_the_next(tmp_path):
    def watch(*_):
        raise KeyboardInterrupt

    with pytest.raises(sg.SluiceError, match="interrupted"):
        sweep(SHORT, SEEDS, tmp_path, workers=1, watch=watch)
    for part in (tmp_path / "runs").glob("*"):
        part.unlink()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["sweep.json"]
    assert len(sweep(SHORT, {"seed": [7]}, tmp_path, workers=1).frame()) == 1


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_a_scheduler_that_dies_or_freezes_ends_the_sweep_and_loses_nothing(
    end, tmp_path, monkeypatch
):
    pytest.importorskip("distributed")
    address = f"tcp://127.0.0.1:{free_port()}"
    monkeypatch.setattr(workers, "_CONNECT_S", 60)
    monkeypatch.setattr("sluicegate.sweeps.run._JOB_S", 1e-9)
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    python = [sys.executable, "-m"]
    port = address.rpartition(":")[2]
    listen = ["--host", "127.0.0.1", "--port", port, "--no-dashboard"]
    scheduler = subprocess.Popen(
        [*python, "distributed.cli.dask_scheduler", *listen], env=os.environ, **quiet
    )
    alone = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
    worker = subprocess.Popen([*python, "distributed.cli.dask_worker", address, *alone], **quiet)

    def watch(_name, done, _total, _stage=""):
        if done >= 3:
            # before, a busy machine may let it wait
            monkeypatch.setattr(workers, "_ANSWER_S", 3)
            scheduler.send_signal(end)

    told = "the scheduler is gone, or does not answer; what it had returned is kept"
    try:
        with pytest.raises(sg.SluiceError, match=told):
            sweep(SHORT, {"seed": "1..4000"}, tmp_path / "out", dask=address, watch=watch)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    before = sg.Sweep(tmp_path / "out").frame()
    assert 3 <= len(before) < 4000
    # without a cluster the same sweep goes on; one shard of many is enough to see it
    after = sweep(SHORT, {"seed": "1..4000"}, tmp_path / "out", workers=1, shard=(1, 400)).frame()
    assert after["run"].is_unique().all()
    assert set(before["run"]) <= set(after["run"])
    assert len(after) > len(before) - 1


def test_a_sweep_goes_on_after_a_full_disk_and_reads_one_that_is_read_only(
    small_disk, tmp_path, capsys, monkeypatch
):
    folder, remount = small_disk
    monkeypatch.setattr("sluicegate.sweeps.run._WRITE_S", 0.0)
    monkeypatch.setattr("sluicegate.sweeps.run._JOB_S", 1e-9)
    (tmp_path / "short.toml").write_text(FILE)
    line = ["sweep", str(tmp_path / "short.toml"), "--vary", "seed=1..40", "--workers", "1"]
    line += ["--no-report", "--out", str(folder / "out")]
    assert main(line) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"error: {folder}/out/runs/")
    assert told.endswith(".parquet: No space left on device\n")
    # nothing half written fills the disk further
    assert not [path for path in folder.rglob(".*") if path.is_file()]
    remount("size=4m")
    assert main(line) == 0
    assert "40 runs, all finished" in capsys.readouterr().out
    remount("ro,size=4m")
    assert main(["results", str(folder / "out")]) == 0
    assert main(line) == 0
    capsys.readouterr()
    assert main([*line[:-1], str(folder / "new")]) == 1
    assert capsys.readouterr().err == f"error: {folder}/new: Read-only file system\n"


def test_too_little_memory_is_an_error_in_words(tmp_path, monkeypatch, capsys):
    def no_memory(*_, **__):
        raise MemoryError

    (tmp_path / "short.toml").write_text(FILE)
    monkeypatch.setattr("sluicegate.record.pl.DataFrame", no_memory)
    assert main(["simulate", str(tmp_path / "short.toml")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: not enough memory: this machine, or a limit such as `ulimit -v`")
