"""Sweeps of short runs: what each costs beyond its simulation, who makes them, and kill -9.

`python bench/sweep.py [RUNS]`: RUNS short runs (1000 unless given) by a bare loop of `simulate`, by
a sweep in one process, by one on all cores, by two shards at a time, by a Dask cluster with a
process for each core, and by a sweep that is killed ten times.
"""

from __future__ import annotations

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


@contextmanager
def own_store(folder: Path, name: str) -> Iterator[None]:
    """A store with nothing in it."""
    os.environ["SLUICE_RUNS"] = str(folder / f"runs-{name}")
    yield


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of the processors in this process."""
    start_s, cpu_s = time.monotonic(), time.process_time()
    act()
    return time.monotonic() - start_s, time.process_time() - cpu_s


def kept() -> dict[str, int]:
    """The runs of the store, and when each was written."""
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


def killed(scenario: Path, out: Path, seeds: int, whole_s: float) -> None:
    """Kill -9 ten times at random moments, then go on to the end; nothing is computed twice."""
    before: dict[str, int] = {}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for _ in range(KILLS):
        with subprocess.Popen(
            command(scenario, out, seeds), start_new_session=True, **quiet
        ) as process:
            while len(kept()) <= len(before) and process.poll() is None:
                time.sleep(0.01)
            time.sleep(random.uniform(0, whole_s / KILLS))
            os.killpg(process.pid, signal.SIGKILL)
        now = kept()
        assert before.items() <= now.items(), "a finished run was made again"
        before = now
    subprocess.run(command(scenario, out, seeds), check=True, **quiet)
    assert before.items() <= kept().items(), "a finished run was made again"
    print(f"killed {KILLS} times: {len(before):,} runs were finished before the last start")


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    seeds = runs // 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "short.toml"
        path.write_text(SCENARIO)
        scenario = sg.Scenario.load(path)
        # what is loaded when it is first needed counts for neither
        with own_store(folder, "first"):
            bare_loop(scenario, 2)
            sg.sweep(scenario, {"seed": [1, 2]}, folder / "first", workers=1)
        vary = {"seed": f"1..{seeds}"}
        with own_store(folder, "loop"):
            loop = timed(lambda: bare_loop(scenario, seeds))
        print(f"a bare loop of {runs:,} short runs: {1e3 * loop[1] / runs:.2f} ms of CPU each")
        with own_store(folder, "one"):
            one = timed(lambda: sg.sweep(scenario, vary, folder / "one", workers=1))
        more_ms = 1e3 * (one[1] - loop[1]) / runs
        print(
            f"a sweep in one process: {more_ms:+.2f} ms each, {one[1] / loop[1]:.2f} times the loop"
        )
        expected = sg.Sweep(folder / "one").frame()
        assert expected["run"].to_list() == list(range(runs))
        with own_store(folder, "cores"):
            cores = timed(lambda: sg.sweep(scenario, vary, folder / "cores"))
        print(
            f"on {os.cpu_count()} cores: {1e3 * cores[0] / runs:.2f} ms each by the clock, "
            f"{one[0] / cores[0]:.2f} times as fast as one"
        )
        with own_store(folder, "shards"):
            shards = [
                subprocess.Popen(
                    command(path, folder / "shards", seeds, "--shard", f"{k}/2", "--workers", "1"),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                for k in (1, 2)
            ]
            assert [process.wait() for process in shards] == [0, 0]
        from distributed import LocalCluster

        with (
            own_store(folder, "dask"),
            LocalCluster(threads_per_worker=1, dashboard_address=None) as cluster,
        ):
            address = cluster.scheduler_address
            dask = timed(lambda: sg.sweep(scenario, vary, folder / "dask", dask=address))
        print(
            f"a Dask cluster of as many processes: {1e3 * dask[0] / runs:.2f} ms each by the clock"
        )
        with own_store(folder, "killed"):
            killed(path, folder / "killed", seeds, cores[0])
        for other in ("cores", "shards", "dask", "killed"):
            assert sg.Sweep(folder / other).frame().equals(expected), other
        print("all cores, two shards, Dask and the killed one: the same results, bit for bit")


if __name__ == "__main__":
    main()
