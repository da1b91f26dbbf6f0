"""`--measures`: the columns of every table of measures, chosen by name."""

import pytest
from pages import comparison

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.measures import DEFINITIONS, OF_CLASS
from sluicegate.report.comparison import comparison_page
from sluicegate.report.folder import write_report

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]

SCENARIO = """
slots = 2e4
replications = 3
arrivals = { kind = "geometric", rate = 0.5 }
service = { kind = "geometric", mu = 0.5 }
queue = { limit = 30 }

[[disciplines]]
aqm = "red"
params = { min_th = 5, max_th = 15, w = 0.01, spacing = "independent", idle_decay = false }
"""
CHOSEN = ["--measures", "sojourn_p90, queue_variance"]
COMMANDS = {
    "compare": ["compare", "small.toml", "--no-report"],
    "chain": ["chain", "small.toml"],
    "simulate": ["simulate", "small.toml"],
    "tune": ["tune", "small.toml", "--vary", "red.max_p=0.05..0.5", "--evaluations", "3"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a working folder with a scenario."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SCENARIO)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_the_table_shows_the_measures_that_were_chosen(command, folder, capsys):
    assert main([*COMMANDS[command], *CHOSEN]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    if command == "simulate":  # a row for each
        assert "sojourn_p90" in printed
        assert "queue_variance" in printed
        assert "loss_ratio" not in printed
    else:
        assert "p90 sojourn" in printed
        assert "queue variance" in printed
        assert "lost" not in printed


@pytest.mark.parametrize("command", [*COMMANDS, "testbed"])
def test_what_is_no_measure_is_refused_before_anything_is_run(command, folder, capsys):
    words = COMMANDS.get(command, ["testbed", "small.toml"])
    assert main([*words, "--measures", "sojourn_p90,goodputt"]) == 2
    told = capsys.readouterr().err
    assert "--measures: goodputt is no measure; did you mean goodput? there are " in told
    assert all(name in told for name in DEFINITIONS)
    assert not (folder / "sluice-report").exists()


def test_the_page_has_the_same_columns_and_is_another_page(tmp_path):
    usual = comparison({"aqm": "drop_tail"})
    chosen = usual.showing("sojourn_p50", "completion_mean")
    html = comparison_page(chosen).html()
    assert "p50 sojourn\n(slots)" in html
    assert "p99 sojourn\n(slots)" not in html
    # what no run here knows is said, not left out
    assert repr(chosen).splitlines()[-1].split()[-1] == "n/a"
    path = write_report(usual, tmp_path)
    assert "p50 sojourn\n(slots)" not in path.read_text()
    write_report(chosen, tmp_path)
    assert "p50 sojourn\n(slots)" in path.read_text()


def test_python_refuses_what_is_no_measure():
    meant = r"measures: p99 is no measure; did you mean sojourn_p99\? there are queue_m"
    with pytest.raises(sg.SluiceError, match=meant):
        comparison({"aqm": "drop_tail"}).showing("p99")


def test_every_measure_is_listed_with_its_unit_and_meaning(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["measures"]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line]
    listed = dict(line for line in lines if len(line) == 2)
    assert {*DEFINITIONS, *OF_CLASS} <= set(listed)
    assert listed["sojourn_p99"].split() == [
        *["slots", "or", "s"],
        *DEFINITIONS["sojourn_p99"].meaning.split(),
    ]
