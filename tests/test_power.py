"""A sweep whose machine loses its power again and again: every run is there once in the end."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import power_cut
import pytest

import sluicegate as sg
from sluicegate import store
from sluicegate.sweeps.run import sweep

pytestmark = pytest.mark.slow

# power cuts, and runs of the sweep
CUTS, RUNS = (10, 600) if "SLUICE_FUZZ" in os.environ else (3, 40)
# about how many acts a run takes: two files are written, renamed and synced
ACTS = 6
SCENARIO = sg.Scenario(
    slots=1000,
    replications=1,
    arrivals=sg.GeometricArrivals(rate=0.45),
    service=sg.GeometricService(mu=0.5),
    queue=sg.Queue(limit=20),
    disciplines=[sg.Discipline(aqm="drop_tail")],
)
PROGRAM = """
import sys
from pathlib import Path
import power_cut
from sluicegate import store
from sluicegate.sweeps import run
from test_power import RUNS, SCENARIO
# a file of results after each run, so that there is much to lose
run._JOB_S = 1e-9
run._WRITE_S = 0.0
out, journal, acts, is_lying = sys.argv[1:]
roots = [Path(out).parent, store.folder()]
power_cut.record(roots, Path(journal), int(acts), is_lying == "True")
run.sweep(SCENARIO, {"seed": f"1..{RUNS}"}, out, workers=1)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc with open files")
@pytest.mark.parametrize("is_lying", [False, True])
def test_a_sweep_goes_on_by_itself_after_power_cuts(is_lying, tmp_path):
    """Also on a disk that lies: it says that it has synced a file's bytes, and has not."""
    out = tmp_path / "sweeps" / "out"
    out.parent.mkdir()
    roots, journal = [out.parent, store.folder()], tmp_path / "journal"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    # the acts of a life are such that all together would not make all runs
    most = ACTS * RUNS // CUTS
    found = []
    for life in range(CUTS):
        durable = {path.stat().st_ino for path in power_cut.inside(roots)}
        acts = str(most // 3 + 97 * (life + 1) % (2 * most // 3))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, out, journal, acts, str(is_lying)],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        power_cut.cut(roots, journal, durable, seed=life)
        found.append(len(list(out.rglob("*.parquet"))))
    vary = {"seed": f"1..{RUNS}"}
    with warnings.catch_warnings(action="ignore"):
        frame = sweep(SCENARIO, vary, out, workers=1).frame()
    # what an honest disk has synced is not damaged
    assert bool(list(out.rglob("*.damaged"))) is is_lying
    assert frame["run"].to_list() == list(range(RUNS))
    with store.unused():
        whole = sweep(SCENARIO, vary, tmp_path / "whole", workers=1)
    assert frame.equals(whole.frame())
    print(f"{CUTS} power cuts in {RUNS} runs; files of results after each: {found}")
