"""Tuning: the same results by all ways and after kills; bad input; the command."""

import json
import signal
import subprocess
import sys

import polars as pl
import pytest
from tune_cases import GEO, RED, ROOM, SCORE

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.errors import InterruptError, SluiceError
from sluicegate.tuning.axes import axes
from sluicegate.tuning.methods import method_class
from sluicegate.tuning.score import Constraint, Score

pytestmark = pytest.mark.slow

# the same results by all ways and after kills

SHORT = GEO.replace(slots=2000)
SEARCH = {"precision": 0.1, "replications": 4, "evaluations": 8}
FILE = """
slots = 2000
title = "room for packets"
arrivals = { kind = "geometric", rate = 0.45 }
service = { kind = "geometric", mu = 0.5 }
queue = { limit = 30 }
disciplines = [{ aqm = "drop_tail" }]
"""
# results are written after each run, not only once a second
ALWAYS = "import sluicegate.tuning.kept as kept; kept._WRITE_S = 0.0\n"
KILLED = """
import os, signal, sys
import sluicegate as sg
def watch(name, done, total, stage=""):
    if int(stage.split(" candidates, ")[1].split()[0]) >= 12:
        os.kill(os.getpid(), signal.SIGKILL)
file, out, score = sys.argv[1:]
sg.tune(file, {"queue.limit": "1..60:3"}, score, precision=0.1, replications=4, evaluations=8,
        workers=1, out=out, watch=watch)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tune") / "short.toml"
    path.write_text(FILE)
    return path


@pytest.fixture(scope="module")
def whole(file, tmp_path_factory):
    return sg.tune(file, {"queue.limit": "1..60:3"}, SCORE, **SEARCH, workers=1)


def same(one, other):
    assert one.trials.equals(other.trials)
    assert one.settings == other.settings
    assert one.front.equals(other.front)
    assert one.sensitivity.equals(other.sensitivity)


def test_two_processes_find_what_one_finds(file, whole, tmp_path):
    vary = {"queue.limit": "1..60:3"}
    same(sg.tune(file, vary, SCORE, **SEARCH, workers=2, out=tmp_path / "out"), whole)


def test_a_killed_tuning_can_be_continued(file, whole, tmp_path):
    out = tmp_path / "out"
    line = [sys.executable, "-c", ALWAYS + KILLED, str(file), str(out), SCORE]
    ended = subprocess.run(line, timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL
    before = sum(pl.read_parquet(path).height for path in (out / "runs").glob("*.parquet"))
    assert 0 < before < whole.runs
    resumed = sg.tune(file, {"queue.limit": "1..60:3"}, SCORE, **SEARCH, workers=1, out=out)
    same(resumed, whole)
    # no run was made twice, and none was lost
    kept = pl.concat(pl.read_parquet(path) for path in (out / "runs").glob("*.parquet"))
    assert kept.height == whole.runs + whole.fresh_runs
    assert kept.select("queue.limit", "stream", "number").is_unique().all()


def test_an_interrupted_tuning_says_how_to_continue(tmp_path):
    def watch(*_):
        raise KeyboardInterrupt

    with pytest.raises(InterruptError, match="the same command goes on from there"):
        sg.tune(SHORT, ROOM, SCORE, **SEARCH, workers=1, out=tmp_path / "out", watch=watch)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": "loss_ratio"}, "another tuning: score = delay_mean.*, here loss_ratio"),
        ({"vary": {"queue.limit": "1..40"}}, "another tuning: axes ="),
        ({"constraints": ["loss_ratio <= 0.1"]}, "another tuning: constraints = "),
        ({"scenario": SHORT.replace(seed=5)}, "another tuning"),
        # in another world, whose results come from other code
        ({"world": "chain"}, r"another tuning: world = Slotted.*, here Chain\("),
    ],
)
def test_a_folder_of_another_tuning_is_left_alone(tmp_path, change, message):
    given = {
        "scenario": SHORT,
        "vary": ROOM,
        "score": SCORE,
        "workers": 1,
        **SEARCH,
        "evaluations": 2,
    }
    out = tmp_path / "out"
    sg.tune(**given, out=out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(SluiceError, match=message):
        sg.tune(**{**given, **change}, out=out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("keep me")
    with pytest.raises(SluiceError, match="has other files"):
        sg.tune(SHORT, ROOM, workers=1, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    (tmp_path / "tuning.json").write_text('{"format": 0, "axes": {}, "score": ""}')
    with pytest.raises(SluiceError, match="another version of the format of results: 0, here 2"):
        sg.tune(SHORT, ROOM, workers=1, out=tmp_path)


# bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vary": {"red.max_q": "0..1"}}, "red has no parameter max_q; did you mean max_p?"),
        ({"vary": {"red.max_p": "0.5..0.1"}}, "is an empty range: 0.1 must exceed 0.5"),
        ({"vary": {"red.max_p": "0.5..2"}}, "red.max_p = 0.5..2 must lie within 0 to 1"),
        ({"vary": {"red.max_p": "a lot"}}, "must be a list, or a range"),
        ({"vary": {"red.max_p": [0.1, 0.2]}}, "must be a range such as"),
        ({"vary": {"red.spacing": "all"}}, "red.spacing is no number"),
        ({"vary": {"red.gamma": "all"}}, "has no effect: it needs drop_function=double_slope"),
        ({"vary": {"queue.room": "1..5"}}, "queue.room is no parameter of red and no path"),
        ({"vary": {"queue.limit": "all"}}, "must be a range: only an AQM's parameters"),
        ({"vary": []}, "nothing to tune"),
        ({"score": "delay"}, "delay is no measure; did you mean"),
        ({"score": "2*3*delay_mean"}, "must be a sum of measures"),
        ({"score": "delay_mean + delay_mean"}, "has delay_mean twice"),
        ({"score": {"delay_mean": 0}}, "must be finite and not 0"),
        ({"score": "goodput"}, "score: goodput is not known here; there are"),
        ({"constraints": ["loss_ratio < 0.1"]}, "must be MEASURE <= NUMBER"),
        ({"constraints": ["lost <= 0.1"]}, "lost is no measure"),
        ({"method": "annealing"}, "method = annealing must be one of pattern"),
        ({"method": "gradient", "world": "slotted"}, "world = chain has them"),
        (
            {"method": "gradient", "world": "chain", "vary": {"queue.limit": "5..9"}},
            "must be a range of real numbers",
        ),
        ({"method": "bayesian", "vary": {"red.max_p": "0.1..0.9:3"}}, "must have no count"),
        ({"discipline": "blue"}, "discipline = blue must be one of red"),
        ({"precision": 0.0}, "precision = 0.0 must be between 0 and 1"),
        ({"evaluations": 0}, "evaluations = 0 must be at least 1"),
        ({"world": "attic"}, "world = attic must be one of"),
        ({"vary": {"red.min_th": "13..19"}}, "no candidate can be run"),
    ],
)
def test_meaningless_problems_are_refused(change, message):
    pytest.importorskip("optuna")
    given = {"scenario": RED.replace(slots=1000), "vary": {"red.max_p": "0.1..0.9"}, "workers": 1}
    with pytest.raises(SluiceError) as told:
        sg.tune(**{**given, **change})
    assert message in str(told.value)


@pytest.mark.parametrize("method", ["bayesian", "multi-objective"])
def test_methods_say_what_must_be_installed(monkeypatch, method):
    monkeypatch.setitem(sys.modules, "optuna", None)
    for name in ("studies", "bayesian", "multi_objective"):
        monkeypatch.delitem(sys.modules, f"sluicegate.tuning.methods.{name}", raising=False)
    with pytest.raises(SluiceError, match=r"needs optuna: pip install 'sluicegate\[tune\]'"):
        method_class(method)


def test_progress_never_goes_back_and_ends(tmp_path):
    told = []
    watch = lambda name, done, total, stage: told.append(done / total)  # noqa: E731
    sg.tune(GEO, ROOM, SCORE, world="chain", workers=1, watch=watch)
    assert told == sorted(told)
    assert 0.1 < told[len(told) // 2] <= 0.9


def test_one_of_several_disciplines_must_be_named():
    red, tail = (sg.Discipline(aqm=aqm, label=aqm) for aqm in ("red", "drop_tail"))
    both = RED.replace(disciplines=[red, tail])
    with pytest.raises(SluiceError, match="one discipline is tuned: give one of red, drop_tail"):
        sg.tune(both, {"queue.limit": "1..5"})


def test_without_ranges_every_number_of_the_aqm_is_tuned_within_its_descriptor():
    found = {axis.name: axis for axis in axes(None, RED, RED.disciplines[0])}
    assert list(found) == ["red.min_th", "red.max_th", "red.max_p", "red.w"]
    assert found["red.min_th"].text == "1..20"
    assert found["red.max_p"].text == "0.0002..1:log"
    for axis in found.values():
        assert axis.param.least <= axis.at(0) < axis.at(1) <= axis.param.greatest
        for share in (0.0, 0.25, 1.0):
            assert axis.share(axis.at(share)) == pytest.approx(share, abs=0.03)


def test_scores_and_constraints_read_back_as_written():
    for text in ("delay_mean", "delay_mean + 2000*loss_ratio", "-utilization + 0.5*sojourn_p99.9"):
        assert str(Score.read(text)) == text
    assert str(Constraint.read("utilization>=0.9")) == "utilization >= 0.9"
    assert Score.read("2*queue_mean - loss_ratio").of({"queue_mean": 3.0, "loss_ratio": 1.0}) == 5


# the command

RED_FILE = """
title = "room for packets"
slots = 2000
arrivals = { kind = "geometric", rate = 0.45 }
service = { kind = "geometric", mu = 0.5 }
queue = { limit = 30 }

[[disciplines]]
aqm = "drop_tail"

[[disciplines]]
aqm = "red"
label = "RED, tuned"
params = { min_th = 2, max_th = 8 }

[tune]
vary = { "red.max_th" = "4..25", "red.max_p" = "0.01..1:log" }
score = { delay_mean = 1, loss_ratio = 100 }
constraints = ["loss_ratio <= 0.2"]
precision = 0.2
evaluations = 4
"""


def test_the_command_writes_page_scenario_and_json(tmp_path, capsys):
    file, out = tmp_path / "red.toml", tmp_path / "out"
    file.write_text(RED_FILE)
    line = ["tune", str(file), "--workers", "1", "--replications", "3", "--out", str(out), "--json"]
    assert main([*line, str(tmp_path / "tuned.json")]) == 0
    shown = capsys.readouterr().out
    assert "tuned" in shown
    assert "scenario:" in shown
    found = json.loads((tmp_path / "tuned.json").read_text())
    (best, *_) = found["settings"]
    tuned = sg.load(out / "tuned.toml")
    params = tuned.disciplines[1].params
    assert {f"red.{name}": params[name] for name in ("max_th", "max_p")} == best["values"]
    assert tuned.disciplines[0].name == "drop_tail"
    page = (out / "report.html").read_text()
    for title in ("What to set", "Delay against loss", "The score over pairs of parameters"):
        assert title in page


ONE = ("--workers", "1", "--replications", "3")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--vary", "red.max_p"], 2, "must be NAME=RANGE"),
        (["--method", "annealing"], 1, "method = annealing must be one of"),
        (["--constraint", "loss_ratio<=1e-9"], 1, "none keeps loss_ratio <= 1e-09"),
    ],
)
def test_the_command_refuses_bad_options_with_a_message(tmp_path, capsys, options, code, message):
    file = tmp_path / "red.toml"
    file.write_text(RED_FILE)
    assert main(["tune", str(file), *options, *ONE, "--out", str(tmp_path / "o")]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("precison = 0.1", "tune has no field precison"),
        ("vary = 3", "tune.vary = 3 must be a table or a list"),
        ("vary = [3]", "vary: 3 must be in a list of names"),
        ('evaluations = "x"', "tune.evaluations = 'x' must be a whole number"),
        ("evaluations = 2.5", "tune.evaluations = 2.5 must be a whole number"),
        ("precision = true", "tune.precision = True must be a number or a whole number"),
        ('constraints = "loss_ratio<=1"', "tune.constraints = 'loss_ratio<=1' must be a list"),
        ('discipline = "RED, tuned"\nconstraints = [4]', "constraint 4 must be MEASURE <= NUMBER"),
        (
            'discipline = "RED, tuned"\nvary = { seed = "1..20" }',
            "seed cannot be tuned: all candidates must be measured in the same",
        ),
    ],
)
def test_bad_tables(tmp_path, capsys, table, message):
    file = tmp_path / "red.toml"
    file.write_text(f"{RED_FILE.partition('[tune]')[0]}\n[tune]\n{table}\n")
    assert main(["tune", str(file), "--out", str(tmp_path / "o")]) == 1
    assert message in capsys.readouterr().err


def test_a_single_name_instead_of_a_list_is_refused():
    with pytest.raises(SluiceError, match=r"vary: 'red.max_p' must be in a list of names"):
        sg.tune(GEO, "red.max_p")
