"""Cost of a run in a sweep beyond its simulation; equal results in all ways, also after kill -9.

`python bench/sweep.py [RUNS]` makes RUNS short runs (default 1000) by a bare loop of `simulate`, by
a sweep in one process, by one on all cores, by two shards at a time, by a Dask cluster with a
process for each core, and by a sweep that is killed ten times together with its workers. All sweeps
must give the same results. The figures are added as a line to `bench/sweep.jsonl`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import sluicegate as sg
from sluicegate import store

KEPT = Path(__file__).with_name("sweep.jsonl")
RUNS = 1000
KILLS = 10
SCENARIO = """
slots = 2000
replications = 1
arrivals = { kind = "geometric", rate = 0.45 }
service = { kind = "geometric", mu = 0.5 }
queue = { limit = 20 }
disciplines = [{ aqm = "drop_tail" }, { aqm = "red", label = "RED" }]
"""
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@contextmanager
def own_store(folder: Path, name: str) -> Iterator[None]:
    """Use an empty store."""
    os.environ["SLUICE_RUNS"] = str(folder / f"runs-{name}")
    yield


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """Call `act`; return its wall time and this process's CPU time, s."""
    start_s, cpu_s = time.monotonic(), time.process_time()
    act()
    return time.monotonic() - start_s, time.process_time() - cpu_s


def kept() -> dict[str, int]:
    """Return the runs of the store with the time when each was written, ns."""
    there = store.folder().glob("*.zip")
    return {path.stem: path.stat().st_mtime_ns for path in there}


def command(scenario: Path, out: Path, seeds: int, *more: str) -> list[str]:
    vary = ["--vary", f"seed=1..{seeds}", "--no-report", "--out", str(out), *more]
    return [sys.executable, "-m", "sluicegate", "sweep", str(scenario), *vary]


def bare_loop(scenario: sg.Scenario, seeds: int) -> None:
    for seed in range(1, seeds + 1):
        of_seed = scenario.replace(seed=seed)
        for discipline in of_seed.disciplines:
            sg.simulate(of_seed, discipline, threads=1)


def killed(scenario: Path, out: Path, seeds: int, whole_s: float) -> list[int]:
    """Kill a sweep ten times at random moments, then let it finish; no run is made twice.

    Returns:
        Number of finished runs after each kill.
    """
    before: dict[str, int] = {}
    finished = []
    for _ in range(KILLS):
        with subprocess.Popen(
            command(scenario, out, seeds), start_new_session=True, **QUIET
        ) as process:
            while len(kept()) <= len(before) and process.poll() is None:
                time.sleep(0.01)
            time.sleep(random.uniform(0, whole_s / KILLS))
            os.killpg(process.pid, signal.SIGKILL)
        now = kept()
        assert before.items() <= now.items(), "a finished run was made again"
        before = now
        finished.append(len(now))
    subprocess.run(command(scenario, out, seeds), check=True, **QUIET)
    assert before.items() <= kept().items(), "a finished run was made again"
    return finished


def shards(scenario: Path, out: Path, seeds: int) -> None:
    """Run two shards at the same time, one process each."""
    parts = [
        subprocess.Popen(
            command(scenario, out, seeds, "--shard", f"{k}/2", "--workers", "1"), **QUIET
        )
        for k in (1, 2)
    ]
    assert [process.wait() for process in parts] == [0, 0]


def by_dask(scenario: sg.Scenario, vary: dict[str, object], out: Path) -> tuple[float, float]:
    """Time a sweep on a Dask cluster with a process for each core, without the cluster's start."""
    from distributed import LocalCluster

    with LocalCluster(threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        return timed(lambda: sg.sweep(scenario, vary, out, dask=address))


def measured(folder: Path, runs: int) -> dict[str, object]:
    """Make all sweeps, compare their results, return their times."""
    seeds, path = runs // 2, folder / "short.toml"
    vary: dict[str, object] = {"seed": f"1..{seeds}"}
    path.write_text(SCENARIO)
    scenario = sg.Scenario.load(path)
    # a first run, so that modules that are loaded on first use are not counted
    with own_store(folder, "first"):
        bare_loop(scenario, 2)
        sg.sweep(scenario, {"seed": [1, 2]}, folder / "first", workers=1)
    with own_store(folder, "loop"):
        loop = timed(lambda: bare_loop(scenario, seeds))
    with own_store(folder, "one"):
        one = timed(lambda: sg.sweep(scenario, vary, folder / "one", workers=1))
    expected = sg.Sweep(folder / "one").frame()
    assert expected["run"].to_list() == list(range(runs))
    with own_store(folder, "cores"):
        cores = timed(lambda: sg.sweep(scenario, vary, folder / "cores"))
    with own_store(folder, "shards"):
        halves = timed(lambda: shards(path, folder / "shards", seeds))
    with own_store(folder, "dask"):
        dask = by_dask(scenario, vary, folder / "dask")
    with own_store(folder, "killed"):
        finished = killed(path, folder / "killed", seeds, cores[0])
        assert len(kept()) == runs, "a run was lost, or made under two names"
    for other in ("cores", "shards", "dask", "killed"):
        assert sg.Sweep(folder / other).frame().equals(expected), other
    return {
        "runs": runs,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[2], 1),
        "loop_cpu_ms": 1e3 * loop[1] / runs,
        "sweep_cpu_ms": 1e3 * one[1] / runs,
        "loop_ms": 1e3 * loop[0] / runs,
        "sweep_ms": 1e3 * one[0] / runs,
        "cores_ms": 1e3 * cores[0] / runs,
        "shards_ms": 1e3 * halves[0] / runs,
        "dask_ms": 1e3 * dask[0] / runs,
        "finished_after_each_kill": finished,
    }


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory() as name:
        found = measured(Path(name), runs)
    with KEPT.open("a") as file:
        print(json.dumps(found), file=file)
    print(f"{runs:,} short runs, ms each; load {found['load']}, {found['cores']} cores")
    for name in ("loop", "sweep"):
        print(f"{name}, one process: {found[f'{name}_cpu_ms']:.2f} CPU, {found[f'{name}_ms']:.2f}")
    for name in ("cores", "shards", "dask"):
        print(f"{name}: {found[f'{name}_ms']:.2f} by the clock")
    print(f"finished after each kill: {found['finished_after_each_kill']}")
    print("all cores, two shards, Dask and the killed one: the same results, bit for bit")


if __name__ == "__main__":
    main()
