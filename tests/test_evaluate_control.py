"""Sections 11 and 12 of RFC 7928 on the page of an evaluation: what an AQM costs, who sets what."""

import importlib.util
import json
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest
from evaluations import BRIEF

import sluicegate as sg
from sluicegate.evaluate import evaluate
from sluicegate.evaluate.control import COST_HEADER, TUNED, control_rows, cost_rows

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_costs_and_control(tmp_path):
    given = ["pie", "codel", "ared", sg.Discipline(aqm="dualpi2", label="dualpi2", ecn=True)]
    found = evaluate(given, tmp_path, profile=BRIEF, sections=["5.3"], replications=2, workers=1)
    cost = {row[0]: dict(zip(COST_HEADER, row, strict=True)) for row in cost_rows(found)}
    assert cost["codel"]["timer"] == "none"
    assert cost["codel"]["instructions per tick"] == "none"
    assert cost["pie"]["timer"] == "yes"
    # a coupled discipline was not counted
    assert cost["dualpi2"]["instructions per packet"] == "n/a"
    assert (
        int(cost["drop_tail"]["instructions per packet"])
        < int(cost["codel"]["instructions per packet"])
        < int(cost["ared"]["instructions per packet"])
        < 1000
    )
    control = {(row[0], row[1]): row[2:] for row in control_rows(found)}
    value, range_, _, who = control["ared", "max_p"]
    assert (value, range_, who) == ("0.1", "1e-06 to 1", "itself")
    assert control["pie", "target"][0] == "0.015 s"
    assert control["pie", "target"][3] == "operator"
    # a parameter without an effect is not there
    assert ("pie", "dq_threshold") in control
    assert ("codel", "mtu_bytes") not in control


def test_costs_are_those_of_the_headers_as_they_are():
    # what tunes itself is a parameter of its AQM; each AQM without queues of its own is counted
    table = sg.aqms()
    for name, params in TUNED.items():
        assert set(params) <= {each.name for each in table[name].params}
    single = {name for name, each in table.items() if not each.coupled}
    folder = resources.files("sluicegate.evaluate")
    counted = json.loads((folder / "costs.json").read_text())
    # else bench/costs.py counts again
    spec = importlib.util.spec_from_file_location("costs", ROOT / "bench" / "costs.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    assert {name: each["header"] for name, each in counted.items()} == {
        name: bench.version(name) for name in single
    }


@pytest.mark.slow
def test_the_scoreboard_refuses_a_folder_of_something_else(tmp_path):
    (tmp_path / "default").mkdir()
    (tmp_path / "default" / "mine.txt").write_text("mine")
    words = [sys.executable, str(ROOT / "bench" / "scoreboard.py"), str(tmp_path)]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (made.returncode, made.stdout) == (2, "")
    assert made.stderr == (
        f"error: {tmp_path}/default has other files: choose another folder with --out "
        "(in Python: out)\n"
    )
