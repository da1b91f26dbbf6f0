"""The command `sluice sweep`, and the table `[sweep]` of a scenario's file."""

from pathlib import Path

import polars as pl
import pytest
from test_sweep import FILE, SHORT

import sluicegate as sg
from sluicegate.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture
def scenario(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenario.toml").write_text(FILE)
    return "scenario.toml"


def test_the_command_takes_the_table_and_shows_the_results(scenario, capsys):
    assert main(["sweep", scenario, "--workers", "1", "--figure", "p99.pdf"]) == 0
    printed = capsys.readouterr().out
    assert "8 runs, all finished" in printed
    assert "report: sluice-sweep/report.html" in printed
    assert Path("p99.pdf").read_bytes().startswith(b"%PDF")
    page = Path("sluice-sweep/report.html").read_text()
    assert "8 runs, all finished" in page
    assert "p99 sojourn against link busy" in page
    assert main(["results", "sluice-sweep", "--csv", "means.csv", "--where", "discipline=RED"]) == 0
    assert pl.read_csv("means.csv")["runs"].to_list() == [2, 2]
    capsys.readouterr()
    query = "SELECT discipline, count(*) AS n FROM runs GROUP BY ALL ORDER BY n"
    assert main(["results", "sluice-sweep", "--sql", query]) == 0
    assert capsys.readouterr().out.split() == ["discipline", "n", "drop_tail", "4", "RED", "4"]


def test_options_replace_the_table(scenario):
    words = "--vary queue.victim=tail,front --vary red.max_p,seed=[0.1,1],[0.2,2] --no-report"
    assert main(["sweep", scenario, *words.split(), "--workers", "1", "--out", "out"]) == 0
    frame = sg.Sweep("out").frame()
    assert set(frame["queue.victim"]) == {"tail", "front"}
    assert set(zip(frame["red.max_p"], frame["seed"], strict=True)) == {(0.1, 1), (0.2, 2)}


def test_the_table_is_no_field_of_the_scenario(scenario):
    assert sg.load(scenario) == SHORT


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[sweep]\nvari = 1", "sweep has no field vari; it has method, points, vary"),
        ("sweep = 5", "sweep must be a table"),
        ("[sweep]\nvary = 5", "sweep.vary = 5 must be a table"),
        ("[sweep]\npoints = true", "sweep.points = True must be a whole number"),
        ("", "nothing varies"),
    ],
)
def test_bad_tables(scenario, table, message, capsys):
    head = FILE.partition("[sweep.vary]")[0]
    Path(scenario).write_text(f"{table}\n{head}" if "=" in table[:7] else f"{head}\n{table}")
    assert main(["sweep", scenario]) == 1
    assert message in capsys.readouterr().err


def test_rows_that_are_not_shown_are_said_with_the_command_that_has_them(scenario, capsys):
    words = ["--vary", "seed=1", "--vary", "queue.limit=1..45", "--slots", "1e3", "--no-report"]
    assert main(["sweep", scenario, *words, "--workers", "1", "--out", "many"]) == 0
    told = "and 50 more rows: sluice results many --csv FILE\n"
    assert told in capsys.readouterr().out
    for words, told in (
        ([], "and 50 more rows: add --csv FILE\n"),
        (["--sql", "SELECT * FROM runs"], "and 50 more rows: add --csv FILE\n"),
        (["--across", "discipline"], "and 5 more rows: add --latex FILE\n"),
    ):
        assert main(["results", "many", *words]) == 0
        assert told in capsys.readouterr().out
    for words in (["--csv", "all.csv"], ["--sql", "SELECT * FROM runs", "--latex", "all.tex"]):
        assert main(["results", "many", *words]) == 0
        assert "more rows" not in capsys.readouterr().out


def test_bad_words(scenario, capsys):
    assert main(["sweep", scenario, "--vary", "seed"]) == 2
    assert main(["sweep", scenario, "--shard", "1of2"]) == 2
    assert main(["results", "sluice-sweep", "--sql", "SELECT 1", "--where", "seed=1"]) == 2
    assert capsys.readouterr().err.count("error: ") == 3


VOICE = """
duration_s = 0.5
warm_up_s = 0.1
replications = 1
topology = { kind = "dumbbell", rate_bps = "1M", client_delays_s = ["5ms"] }
flows = [
  { kind = "datagrams", label = "voice", dscp = 46, rate_bps = "80k", packet_bytes = 200 },
  { kind = "tcp", label = "rest" },
]
queue = { limit = 100, victim = "front", ecn = true }
"""
TINS = 'disciplines = [{ aqm = "cake", params = { diffserv = "besteffort" } }]\n'
CLASSES = """
[[disciplines]]
aqm = "drop_tail"
scheduler = { kind = "prio" }
classes = [{ dscp = [46] }, {}]
[sweep.vary]
"disciplines.0.classes" = [[{ dscp = [46] }, {}], [{ dscp = [46] }, { dscp = [10] }, {}]]
"""
WORDS = TINS + '[sweep.vary]\n"cake.diffserv" = ["besteffort", "diffserv3"]'


@pytest.mark.parametrize(
    ("more", "band", "others"),
    [
        (WORDS, "tin voice", "tin best effort, tin bulk, tin voice"),
        (CLASSES, "class 3", "class 1, class 2, class 3"),
    ],
    ids=["words", "lists"],
)
def test_measures_of_bands_that_only_some_points_have(
    tmp_path, monkeypatch, capsys, more, band, others
):
    monkeypatch.chdir(tmp_path)
    Path("bands.toml").write_text(VOICE + more)
    words = ["sweep", "bands.toml", "--no-report", "--workers", "1", "--measures"]
    assert main([*words, f"{band}.sojourn_mean", "--out", "one"]) == 0
    assert band in capsys.readouterr().out
    without, having = sg.Sweep("one").frame().sort("run")[f"{band}.sojourn_mean"]
    assert without is None
    assert 0 <= having < 0.5
    assert main([*words, "class 7.sojourn_mean", "--out", "none"]) == 2
    assert f"there are voice, rest, {others}" in capsys.readouterr().err
