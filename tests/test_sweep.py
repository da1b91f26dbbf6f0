"""Sweeps: designs, the same results by all ways, and no lost results however they end."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sluicegate as sg
from sluicegate import seal, store
from sluicegate.cli import main
from sluicegate.estimate import student
from sluicegate.sweeps import folder as folders
from sluicegate.sweeps import workers
from sluicegate.sweeps.design import points, variables
from sluicegate.sweeps.run import sweep
from sluicegate.worlds.slotted import simulate

pytestmark = pytest.mark.slow

SHORT = sg.Scenario(
    title="short",
    slots=1000,
    replications=2,
    arrivals=sg.GeometricArrivals(rate=0.45),
    service=sg.GeometricService(mu=0.5),
    queue=sg.Queue(limit=20),
    disciplines=[
        sg.Discipline(aqm="drop_tail"),
        sg.Discipline(aqm="red", label="RED", params={"min_th": 2, "max_th": 8}),
    ],
)
FILE = """
title = "short"
slots = 1000
replications = 2
arrivals = { kind = "geometric", rate = 0.45 }
service = { kind = "geometric", mu = 0.5 }
queue = { limit = 20 }
disciplines = [
  { aqm = "drop_tail" },
  { aqm = "red", label = "RED", params = { min_th = 2, max_th = 8 } },
]

[sweep.vary]
"arrivals.rate" = [0.3, 0.45]
seed = "1..2"
"""
SEEDS = {"arrivals.rate": [0.3, 0.45], "seed": "1..2"}


def design(vary, method="grid", count=None):
    return points(variables(vary), method, count, seed=1)


# --- designs


def test_a_grid_takes_every_value_with_every_other_and_pairs_together():
    pairs = {"queue.limit, slots": [[10, 1000], [20, 2000]], "seed": "1..3"}
    assert design(pairs) == [
        {"queue.limit": limit, "slots": slots, "seed": seed}
        for limit, slots in ((10, 1000), (20, 2000))
        for seed in (1, 2, 3)
    ]


def test_a_list_takes_the_values_of_one_place_together():
    assert design({"a": [1, 2], "b": "5..6"}, "list") == [{"a": 1, "b": 5}, {"a": 2, "b": 6}]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1..4", [1, 2, 3, 4]),
        ("0..1:3", [0, 1]),  # if both ends are whole numbers, all values are
        ("5..200:4", [5, 70, 135, 200]),
        ("0.0..1:3", [0, 0.5, 1]),
        ("1e6..1e9:4:log", [1e6, 1e7, 1e8, 1e9]),
        ("1..1000:4:log", [1, 10, 100, 1000]),
        ("-1..1:3", [-1, 0, 1]),
    ],
)
def test_ranges(text, values):
    found = [point["a"] for point in design({"a": text})]
    assert found == pytest.approx(values)
    ends = text.partition(":")[0].split("..")
    assert all(
        type(value) is (int if all(e.lstrip("-").isdigit() for e in ends) else float)
        for value in found
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1..1e999:3", "a = 0.1..1e999:3 must lie between two finite numbers"),
        (f"1..1{'0' * 400}:5", "must lie between two finite numbers"),
        ("1..5:99999999999", "99,999,999,999 points are more than 1,000,000"),
    ],
)
def test_ranges_without_end_are_refused(text, message):
    with pytest.raises(sg.SluiceError, match=message):
        design({"a": text})


def test_a_latin_hypercube_fills_every_range_evenly():
    vary = {"a": "0.0..1.0", "b": "1e2..1e6:log", "c, d": [[k, -k] for k in range(10)]}
    found = design(vary, "latin-hypercube", 40)
    assert found == design(vary, "latin-hypercube", 40)
    strata = np.sort([int(40 * point["a"]) for point in found])
    assert (strata == np.arange(40)).all()
    strata = np.sort([int(10 * (np.log10(point["b"]) - 2)) for point in found])
    assert (strata == np.arange(40)).all()
    assert all(point["d"] == -point["c"] for point in found)
    counts = np.bincount([point["c"] for point in found])
    assert (counts == 4).all()


# --- results


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a sweep over rates and seeds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_RUNS", str(tmp_path_factory.mktemp("runs")))
        out = tmp_path_factory.mktemp("made") / "out"
        return sweep(SHORT, {**SEEDS, "red.max_p": [0.1, 0.5]}, out, workers=1)


def test_every_run_is_that_of_simulate(made):
    frame = made.frame()
    assert frame["run"].to_list() == list(range(16))
    row = frame.row(by_predicate=pl.col("run") == 15, named=True)
    assert (row["discipline"], row["arrivals.rate"], row["seed"]) == ("RED", 0.45, 2)
    params = {"min_th": 2, "max_th": 8, "max_p": 0.5}
    record = simulate(SHORT.replace(seed=2), sg.Discipline(aqm="red", params=params))
    assert row["identity"] == record.identity
    for name, measure in record.measures.items():
        assert row[name] == measure.value or (row[name] is None and np.isnan(measure.value))
        assert row[f"{name}_half_width"] == measure.half_width


def test_a_parameter_of_one_aqm_leaves_the_others_one_run(made):
    frame = made.frame()
    drop_tail = frame.filter(discipline="drop_tail")
    assert len(drop_tail) == 8
    assert drop_tail["identity"].n_unique() == 4
    assert frame.filter(discipline="RED")["identity"].n_unique() == 8


def test_means_are_over_the_seeds_with_students_interval(made):
    where = {"discipline": "RED", "red.max_p": 0.5, "arrivals.rate": 0.3}
    values = made.selected(where)["sojourn_mean"].to_list()
    (row,) = made.means(where).to_dicts()
    expected = student(values)
    assert row["runs"] == 2
    assert row["sojourn_mean"] == pytest.approx(expected.value)
    assert row["sojourn_mean_half_width"] == pytest.approx(expected.half_width)
    # with a single run the run's own interval
    (row,) = made.means({**where, "seed": 2}, ["sojourn_mean"]).to_dicts()
    (own,) = made.selected({**where, "seed": 2}).to_dicts()
    assert row["sojourn_mean_half_width"] == own["sojourn_mean_half_width"]


def test_queries_are_duckdb_sql(made):
    found = made.query("SELECT seed, count(*) AS n FROM runs GROUP BY seed ORDER BY seed")
    assert found.rows() == [(1, 8), (2, 8)]
    with pytest.raises(sg.SluiceError, match="sed"):
        made.query("SELECT sed FROM runs")


def test_pictures(made, tmp_path):
    for name, options in {
        "lines.pdf": {"y": "sojourn_mean"},
        "trade.svg": {"y": "sojourn_p99", "x": "utilization", "where": {"red.max_p": 0.1}},
        "map.png": {"y": "red.max_p", "x": "arrivals.rate", "colour": "loss_ratio"},
    }.items():
        from sluicegate.report.figure_file import save

        figure = made.figure(**options)
        assert figure.get_size_inches()[0] == 3.5
        save(figure, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    # a line for each discipline and each other value
    assert len(made.figure("loss_ratio").axes[0].containers) == 4
    one = made.figure("loss_ratio", where={"red.max_p": 0.5}).axes[0]
    assert len(one.containers) == 2
    for (line, *_), name in zip(one.containers, ("drop_tail", "RED"), strict=True):
        rows = made.means({"red.max_p": 0.5, "discipline": name})
        assert list(line.get_xdata()) == [0.3, 0.45]
        assert list(line.get_ydata()) == [100 * value for value in rows["loss_ratio"]]


@pytest.mark.parametrize(("measure", "most"), [("sojourn_p99", np.inf), ("utilization", 100)])
def test_error_bars_end_where_the_measure_does(made, measure, most):
    """Of two seeds, intervals are wider than that: 27 ± 116 slots, 0.91 ± 0.28."""
    ends = [
        y
        for container in made.figure(measure).axes[0].containers
        for bar in container.lines[2][0].get_segments()
        for y in bar[:, 1]
    ]
    assert min(ends) >= 0
    assert max(ends) <= most
    rows = made.means(measures=measure)
    assert (rows[measure] + rows[f"{measure}_half_width"]).max() > rows[measure].max() + 0.2


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s.figure("sojourn_men"), "did you mean sojourn_mean"),
        (lambda s: s.figure("loss_ratio", "rate"), "rate is no measure here"),
        (
            lambda s: s.figure("loss_ratio", "Red.max_p"),
            r"here; did you mean red.max_p, which varies",
        ),
        (lambda s: s.means("loss_ratio"), "where = 'loss_ratio' must be values by name, such as"),
        (lambda s: s.means(["loss_ratio"]), r"columns are chosen with measures=\[...\]"),
        (lambda s: s.means(measures="loss_rati"), "loss_rati is no measure here; did you mean"),
        (lambda s: s.figure("seed"), "must be a measure"),
        (lambda s: s.selected({"red.max_p": 0.2}), r"max_p = 0.2; there are 0.1, 0.5"),
        (lambda s: s.selected({"red.maxp": 0.1}), "red.maxp does not vary; did you mean red.max_p"),
        (
            lambda s: s.figure("queue.limit", "seed", colour="loss_ratio"),
            "seed does not vary|queue",
        ),
        (lambda s: s.figure("red.max_p", "red.max_p", colour="loss_ratio"), "not red.max_p twice"),
    ],
)
def test_bad_questions(made, ask, message):
    with pytest.raises(sg.SluiceError, match=message):
        ask(made)


def test_results_can_be_anywhere_that_fsspec_knows(made):
    vary = {**SEEDS, "red.max_p": [0.1, 0.5]}
    there = sweep(SHORT, vary, "memory://bucket/out", workers=1)
    assert there.frame().equals(made.frame())


# --- the same results by all ways


def test_shards_together_give_the_same_results(made, tmp_path):
    vary = {**SEEDS, "red.max_p": [0.1, 0.5]}
    counts = [
        len(sweep(SHORT, vary, tmp_path / "out", workers=1, shard=(k, 3)).frame())
        for k in (2, 1, 3)
    ]
    assert counts[0] < counts[1] < counts[2] == 16
    assert sg.Sweep(tmp_path / "out").frame().equals(made.frame())


def test_killed_workers_lose_nothing(made, tmp_path, monkeypatch):
    """Two processes make the runs, and one of them is killed as soon as there are results."""
    monkeypatch.setattr("sluicegate.sweeps.run._JOB_S", 1e-9)
    killed = []
    succeeded = workers.Processes.succeeded

    def kill_one(self):
        succeeded(self)
        if not killed:
            killed.append(next(iter(self._pool._processes)))
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(workers.Processes, "succeeded", kill_one)
    vary = {**SEEDS, "red.max_p": [0.1, 0.5]}
    found = sweep(SHORT, vary, tmp_path / "out", workers=2)
    assert killed
    assert found.frame().equals(made.frame())


def test_workers_that_always_end_are_reported(monkeypatch):
    pool = workers.Processes.__new__(workers.Processes)
    pool._breaks = 0
    monkeypatch.setattr(workers.Processes, "_start", lambda self: None)
    monkeypatch.setattr(workers.Processes, "close", lambda self: None)
    error = workers.BrokenExecutor("gone")
    for _ in range(3):
        pool.recover(error)
    with pytest.raises(sg.SluiceError, match="4 times in a row"):
        pool.recover(error)


def test_a_killed_shell_loses_at_most_the_runs_in_flight(made, tmp_path):
    """kill -9 at a random time, twice; in the end every finished run was computed once."""
    scenario, out = tmp_path / "scenario.toml", tmp_path / "out"
    scenario.write_text(FILE.replace("slots = 1000", "slots = 3e5").replace('"1..2"', '"1..10"'))
    command = [sys.executable, "-m", "sluicegate", "sweep", str(scenario), "--no-report"]
    kept = {}
    for _ in range(2):
        before = len(_kept())
        with subprocess.Popen([*command, "--workers", "1", "--out", str(out)]) as process:
            deadline = time.monotonic() + 60
            while len(_kept()) <= before and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(random.uniform(0, 0.3))
            process.kill()
        assert process.returncode == -signal.SIGKILL
        now = _kept()
        assert kept.items() <= now.items()  # no run was written again
        kept = now
    assert main(["sweep", str(scenario), "--no-report", "--workers", "1", "--out", str(out)]) == 0
    assert kept.items() <= _kept().items()
    frame = sg.Sweep(out).frame()
    assert frame["run"].to_list() == list(range(40))
    assert set(frame["identity"]) == set(_kept())


def _kept():
    """Return the finished runs of the store with their inodes: a run written again has another."""
    there = store.folder().glob("*.zip")
    return {path.stem: path.stat().st_ino for path in there}


def test_results_in_the_folder_are_not_run_again(made, tmp_path, monkeypatch):
    out = tmp_path / "out"
    sweep(SHORT, SEEDS, out, workers=1)
    monkeypatch.setattr(sg.worlds.Slotted, "run", None)
    sweep(SHORT, SEEDS, out, workers=1)


def test_many_files_become_few(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_MOST_PARTS", 4)
    monkeypatch.setattr("sluicegate.sweeps.run._JOB_S", 1e-9)
    monkeypatch.setattr("sluicegate.sweeps.run._WRITE_S", 0.0)
    found = sweep(SHORT, {"seed": "1..11"}, tmp_path / "out", workers=1)
    assert len(found.frame()) == 22
    # few files, although each of the 22 runs was first written to a separate file
    assert len(list((tmp_path / "out" / "runs").iterdir())) < 8


def test_a_dask_cluster_makes_the_same(made, tmp_path):
    distributed = pytest.importorskip("distributed")
    vary = {**SEEDS, "red.max_p": [0.1, 0.5]}
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        found = sweep(SHORT, vary, tmp_path / "out", dask=cluster.scheduler_address)
    assert found.frame().equals(made.frame())


# --- bad input; nothing is overwritten


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({}, "nothing varies"),
        ({"seed": []}, r"seed = \[\] must have a value"),
        ({"seed": "5..5"}, "empty range: 5 must exceed 5"),
        ({"seed": "5..1"}, "empty range: 1 must exceed 5"),
        ({"arrivals.rate": "0.1..0.5"}, "must say how many: 0.1..0.5:5"),
        ({"arrivals.rate": "0..1:5:log"}, "must start above 0"),
        ({"seed": "1..9:1"}, "must have 2 values"),
        ({"seed": "many"}, "must be a list, or a range"),
        ({"seed": 5}, "must be a list or a range"),
        ({"seed": "1..9999999"}, "points are more than 1,000,000"),
        ({"seed, slots": [[1, 2, 3]]}, r"seed, slots: \[1, 2, 3\] must have 2 values"),
        ({"seed, slots": [[1, 1000]], "slots": [1]}, "slots varies twice"),
        ({"queue.limt": [5]}, "there is no limt; did you mean limit"),
        ({"red.max_q": [0.5]}, "RED at red.max_q = 0.5: .*max_q"),
        ({"red.max_p": [0.5, 2.0]}, "RED at red.max_p = 2.0: .*max_p"),
        ({"red.min_th": [3, 9]}, "RED at red.min_th = 9: .*min_th"),
        ({"disciplines.2.label": ["a"]}, "there are 2 disciplines, counted from 0"),
        ({"disciplines.0": [1]}, "disciplines.0 must be a field of one discipline, such as"),
        ({"disciplines.x.label": ["a"]}, "disciplines.x.label must be a field of one discipline"),
        ({"pie.target_s": [0.5]}, "pie.target_s: there is no pie$"),
        ({"Red.max_p": [0.5]}, r"Red.max_p: there is no Red; did you mean red\?"),
        ({"RTT": ["20ms"]}, r"RTT: there is no RTT; did you mean rtt\?"),
        ({"Rate": [0.5]}, "Rate: there is no Rate"),
    ],
)
def test_bad_variables(vary, message, tmp_path):
    with pytest.raises(sg.SluiceError, match=message):
        sweep(SHORT, vary, tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "random"}, "method = random must be one of grid"),
        ({"points": 5}, "points has no meaning with method = grid"),
        ({"method": "latin-hypercube"}, "points must be given"),
        ({"shard": (3, 2)}, "shard = 3/2 must be k/n"),
        ({"workers": 0}, "threads = 0"),
        ({"out": "nowhere://x"}, "nowhere://x: Protocol not known"),
        ({"dask": "tcp://127.0.0.1:1"}, "--dask tcp://127.0.0.1:1: no scheduler answers there"),
    ],
)
def test_bad_options(options, message, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_CONNECT_S", 0.2)
    if "dask" in options:
        pytest.importorskip("distributed")
    with pytest.raises(sg.SluiceError, match=message):
        sweep(SHORT, {"seed": [1, 2]}, options.pop("out", tmp_path / "out"), **options)


def test_real_time_runs_are_not_swept_in_parallel():
    scenario = sg.load(Path(__file__).parent.parent / "scenarios" / "network" / "gate.toml")
    for asked in ({"workers": 2}, {"dask": "tcp://127.0.0.1:1"}):
        with pytest.raises(sg.SluiceError, match="world = gate, which measures in real time"):
            sweep(scenario, {"seed": [1, 2]}, "unused", world="gate", **asked)


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("change", "vary", "message"),
    [
        (
            lambda about: None,
            {"seed": [1, 2, 3]},
            r"another sweep: seed = 1..2, here 1..3 \(runs of both that the store has are "
            r"not made again\); choose another folder with --out \(in Python: out\)",
        ),
        (lambda about: None, {"seed": [1, 3]}, "another sweep: seed = 1..2, here 1, 3 "),
        (
            lambda about: about.update(disciplines=["RED"]),
            {"seed": [1, 2, 3]},
            r"sweep: disciplines = \['RED'\], here \['drop_tail', 'RED'\]",
        ),
        (lambda about: about.update(worlds={}), {"seed": [1, 2]}, "sweep, with other worlds; "),
        (lambda about: None, {"slots": [1000, 2000]}, r"another sweep: paths = \['seed'\]"),
        (
            lambda about: about.update(format=0),
            {"seed": [1, 2]},
            "version of the format of results: 0",
        ),
        (lambda about: about.update(sluicegate="0.0.9"), {"seed": [1, 2]}, "of sluicegate: 0.0.9"),
        (lambda about: about.update(build={}), {"seed": [1, 2]}, "another build of sluicegate"),
        (lambda about: about.update(scenario=[]), {"seed": [1, 2]}, "with another scenario"),
    ],
)
def test_the_results_of_another_sweep_are_kept(change, vary, message, tmp_path):
    out = tmp_path / "out"
    sweep(SHORT, {"seed": [1, 2]}, out, workers=1)
    about = json.loads((out / "sweep.json").read_text())
    change(about)
    text = json.dumps({**about, "seal": seal.SLOT}).encode()
    (out / "sweep.json").write_bytes(seal.sealed(text, "sweep.json"))
    before = content(out)
    with pytest.raises(sg.SluiceError, match=message):
        sweep(SHORT, vary, out, workers=1)
    assert content(out) == before


def test_runs_that_are_missing_are_no_other_values(tmp_path):
    out = tmp_path / "out"
    sweep(SHORT, {"seed": [1, 2, 3, 4]}, out, workers=1)
    folder = folders.Folder(out)
    folder.about()
    (part,) = folder.parts()
    rows = pl.DataFrame(list(folder.rows()))
    folder.write_part(f"runs/{Path(part).name}", rows.filter(pl.col("seed").is_in([1, 3])))
    with pytest.raises(sg.SluiceError, match="another sweep: points = 4, here 3; "):
        sweep(SHORT, {"seed": [1, 2, 3]}, out, workers=1)
    with pytest.raises(sg.SluiceError, match=r"another sweep: seed = 1, 3, here 1\.\.2 "):
        sweep(SHORT, {"seed": [1, 2]}, out, workers=1)


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("of years")
    with pytest.raises(sg.SluiceError, match="has other files"):
        sweep(SHORT, {"seed": [1, 2]}, tmp_path, workers=1)
    with pytest.raises(sg.SluiceError, match="is no results folder"):
        sg.Sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_results_in_another_format_are_not_read(tmp_path):
    (tmp_path / "sweep.json").write_text('{"format": 99, "paths": [], "runs": 1}')
    with pytest.raises(sg.SluiceError, match=r"format 99 .* this version reads format 2"):
        sg.Sweep(tmp_path)


def test_a_figure_may_be_in_the_folder_that_the_sweep_makes(root, tmp_path, capsys):
    scenario = str(root / "scenarios" / "light.toml")
    words = ["sweep", scenario, "--vary", "arrivals.rate=0.1,0.2", "--slots", "1e4"]
    for figure in ("made/lines.pdf", "made/further/lines.PDF"):
        out = str(tmp_path / "made")
        assert main([*words, "--out", out, "--figure", str(tmp_path / figure)]) == 0
        assert (tmp_path / figure).stat().st_size > 1000
    (tmp_path / "file").touch()
    below = str(tmp_path / "file" / "lines.pdf")
    assert main([*words, "--out", str(tmp_path / "none"), "--figure", below]) != 0
    assert "cannot be a folder" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
