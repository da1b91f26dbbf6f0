"""The command `sluice`, as a user sees it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest

import sluicegate as sg
from sluicegate import _engine, store
from sluicegate.cli import main, syntax
from sluicegate.cli.progress import progress
from sluicegate.comparison import compare
from sluicegate.errors import InterruptError
from sluicegate.papers import REPRODUCTIONS, world_of

pytestmark = pytest.mark.slow

SCENARIO = """
title = "Three of a kind"
slots = 2e4
replications = 2
arrivals = { kind = "geometric", rate = 0.5 }
service = { kind = "geometric", mu = 0.5 }
queue = { limit = 30 }
disciplines = [{ aqm = "drop_tail" }, { aqm = "red" }, { aqm = "red", victim = "front" }]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a working folder with a scenario."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    return tmp_path


def run(capsys, *arguments):
    """Return a command's output; it must succeed and print nothing to standard error."""
    assert main(list(arguments)) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


# --- help


@pytest.mark.parametrize("command", ["", "aqms", "aqm", "simulate", "compare", "fit", "reproduce"])
def test_every_command_explains_itself_with_examples(command, capsys):
    shown = run(capsys, *command.split(), "--help")
    assert f"Usage: sluice {command}".strip() in shown
    assert re.search(r"Examples\s+sluice ", shown)


def test_without_a_command_the_help_is_shown(capsys):
    assert run(capsys).strip() == run(capsys, "--help").strip()


def test_the_version_is_shown(capsys):
    assert re.fullmatch(r"sluice \d+\.\d+\.\d+\n", run(capsys, "--version"))


# --- values of options


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("1e7", 1e7),
        ("-0.5", -0.5),
        ("true", True),
        ("double_slope", "double_slope"),
        ('"quoted, text"', "quoted, text"),
        ("a/b.pcap", "a/b.pcap"),
        ("2024-01-01", "2024-01-01"),
        ("[1]", "[1]"),
        ("1\nb = 2", "1\nb = 2"),
    ],
)
def test_values_are_toml_or_text(text, value):
    found = syntax.value(text)
    assert (found, type(found)) == (value, type(value))


def test_a_discipline_is_read_with_fields_of_the_queue():
    assert syntax.discipline("red:w=0.07,victim=front,ecn=true,label=mine") == {
        "aqm": "red",
        "params": {"w": 0.07},
        "victim": "front",
        "ecn": True,
        "label": "mine",
    }


# --- the AQMs


def test_aqms_lists_all(capsys):
    shown = run(capsys, "aqms")
    for each in sg.aqms().values():
        assert each.name in shown
        assert each.title in shown


def test_the_headers_of_an_own_aqm_are_in_a_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = Path(run(capsys, "aqms", "--headers").strip())
    assert folder.is_relative_to(tmp_path)
    aqm = Path(sg.__file__).parents[1] / "aqm"
    names = {path.name for path in aqm.glob("*.h")}
    assert {path.name for path in folder.iterdir()} == names >= {"aqm.h", "fixed.h"}
    for path in folder.iterdir():
        assert path.read_bytes() == (aqm / path.name).read_bytes()
    # what somebody has changed or removed is there again
    (folder / "aqm.h").write_text("")
    (folder / "fixed.h").unlink()
    own = Path(__file__).parent / "shorter.h"
    check = ["cc", "-std=gnu11", "-DAQM_HOSTED", "-fsyntax-only", "-I", folder, "-x", "c", own]
    assert subprocess.run(check, check=False, capture_output=True).returncode != 0
    assert run(capsys, "aqms", "--headers").strip() == str(folder)
    subprocess.run(check, check=True)


@pytest.mark.parametrize("name", sg.aqms())
def test_aqm_shows_every_parameter(name, capsys):
    shown = run(capsys, "aqm", name)
    assert sg.aqms()[name].title in shown
    for param in sg.aqms()[name].params:
        assert re.search(rf"^{param.name} ", shown, re.MULTILINE), param.name


def test_aqm_lists_parameters_that_apply_first(capsys):
    shown = run(capsys, "aqm", "red", "--set", "drop_function=double_slope")
    applying, _, rest = shown.partition("only with")
    assert re.search(r"^gamma ", applying, re.MULTILINE)
    assert re.search(r"^drop_function +double_slope", applying, re.MULTILINE)
    assert "(default" in applying
    assert re.search(r"^max_p ", rest, re.MULTILINE)


def test_aqm_shows_the_drop_function(capsys):
    shown = run(capsys, "aqm", "red", "--set", "min_th=10", "--set", "max_th=30")
    assert re.search(r"^ +20 +0\.01$", shown.partition("drop function")[2], re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "start"), [("red.svg", b"<?xml"), ("red.png", b"\x89PNG"), ("red.pdf", b"%PDF")]
)
def test_aqm_draws_the_drop_function(name, start, folder, capsys):
    assert run(capsys, "aqm", "red", "--plot", name).endswith(f"plot: {name}\n")
    assert (folder / name).read_bytes().startswith(start)


def test_aqm_explains_a_users_header(root, capsys):
    shown = run(capsys, "aqm", str(root / "tests" / "shorter.h"), "--set", "most=3")
    assert "Shorter buffer" in shown
    assert re.search(r"^most +3 \(default 10\) +0 to 1,000 +packets that may wait", shown, re.M)


# --- simulate


def test_simulate_prints_every_measure_and_writes_json(folder, capsys):
    shown = run(capsys, "simulate", "scenario.toml", "--aqm", "red:w=0.07", "--json", "out.json")
    record = json.loads((folder / "out.json").read_text())
    assert record["discipline"] == "red w=0.07"
    for name, measure in record["measures"].items():
        line = re.search(rf"^{re.escape(name)} .*$", shown, re.MULTILINE)
        assert line is not None, name
        assert line.group().rstrip().endswith(measure["unit"])


def test_simulate_needs_no_file(folder, capsys):
    options = "--arrivals geometric:rate=0.5 --service geometric:mu=0.5 --slots 2e4 --aqm red"
    run(capsys, "simulate", *options.split(), "--replications", "2", "--json", "out.json")
    record = json.loads((folder / "out.json").read_text())
    assert record["slots"] == 40_000
    assert record["run"]["service"] == {"kind": "geometric", "mu": 0.5}


def test_values_that_are_no_numbers_are_null_in_json(folder, capsys):
    options = "--arrivals geometric:rate=0 --service geometric:mu=0.5 --slots 2e4 --aqm red"
    run(capsys, "simulate", *options.split(), "--json", "out.json")
    text = (folder / "out.json").read_text()
    assert json.loads(text)["measures"]["delay_mean"]["value"] is None
    assert "NaN" not in text


# --- compare


def test_compare_prints_a_table_and_writes_the_report(folder, capsys):
    shown = run(capsys, "compare", "scenario.toml", "--json", "out.json")
    lines = shown.splitlines()
    assert lines[0] == "Three of a kind"
    assert lines[-1] == "report: sluice-report/report.html"
    for name in ("drop_tail", "red", "red drop from front"):
        assert re.search(rf"^{name} +\d", shown, re.MULTILINE)
    written = {path.name for path in (folder / "sluice-report").iterdir()}
    data = {f"{name}.parquet" for name in ("measures", "differences", "distributions")}
    assert written == {
        "report.html",
        "files.json",
        *(f"{name}.{kind}" for name in ("measures", "differences") for kind in ("csv", "tex")),
        *data,
    }
    summary = json.loads((folder / "out.json").read_text())
    assert [record["discipline"] for record in summary["records"]] == [
        "drop_tail",
        "red",
        "red drop from front",
    ]


def test_the_option_no_report_writes_no_report(folder, capsys):
    shown = run(capsys, "compare", "scenario.toml", "--no-report")
    assert "report:" not in shown
    assert not (folder / "sluice-report").exists()


def test_without_a_terminal_each_run_prints_a_line_and_long_ones_more(monkeypatch, capsys):
    clock = iter([100.0, 101.0, 106.0, 108.0, 112.0, 113.0, 128.0, 133.0])
    monkeypatch.setattr("sluicegate.cli.progress.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("sluicegate.cli.progress._BRIEF_S", 5.0)
    monkeypatch.setattr("sluicegate.cli.progress._QUIET_S", 15.0)
    with progress(2) as watch:
        watch("red", 0, 4)
        watch("red", 1, 4)
        watch("pie", 0, 4)
        watch("pie", 2, 4, "2 of 4 s")
        watch("pie", 3, 4, "3 of 4 s")
        watch("pie", 3, 4, "3 of 4 s")
        watch("pie", 4, 4, "a second run: begins")
    assert capsys.readouterr().err.splitlines() == [
        " 12% red (1 of 2)",
        " 75% pie (2 of 2): 2 of 4 s",
        " 88% pie (2 of 2): 3 of 4 s",
        "100% pie (2 of 2): a second run: begins",
    ]


def test_options_override_the_file(folder, capsys):
    options = "--aqm red --aqm nlred:w=0.01 --slots 1e4 --replications 3 --seed 5 --out here"
    run(capsys, "compare", "scenario.toml", *options.split(), "--json", "out.json")
    records = json.loads((folder / "out.json").read_text())["records"]
    assert [record["discipline"] for record in records] == ["red", "nlred w=0.01"]
    assert {(record["run"]["slots"], record["run"]["seed"]) for record in records} == {(10**4, 5)}
    assert records[0]["slots"] == 30_000
    assert (folder / "here" / "report.html").exists()


def test_a_users_header_is_found_from_the_working_folder(folder, root, capsys):
    (folder / "shorter.h").write_text((root / "tests" / "shorter.h").read_text())
    (folder / "elsewhere").mkdir()
    (folder / "scenario.toml").rename(folder / "elsewhere" / "scenario.toml")
    shown = run(capsys, "compare", "elsewhere/scenario.toml", "--aqm", "shorter.h:most=3")
    assert re.search(r"^shorter most=3 +\d", shown, re.MULTILINE)


# --- fit and reproduce


def test_fit_ends_with_what_a_scenario_needs(folder, gateway, capsys):
    options = ["--html", "traffic.html", "--json", "traffic.json"]
    shown = run(capsys, "fit", str(gateway), *options)
    written = json.loads((folder / "traffic.json").read_text())
    rows = {row["name"]: row["value"] for row in written["figures"]}
    (hurst,) = (row for row in written["figures"] if row["name"] == "hurst_wavelet")
    assert hurst["low"] < hurst["value"] < hurst["high"]
    assert written["sluicegate"] == version("sluicegate")
    assert rows["packets"] == 12_500
    assert (folder / "traffic.html").read_text().count("<svg") == 10
    table = tomllib.loads(shown.partition("For a scenario:\n")[2])
    table |= {"slots": 1e5, "service": {"kind": "geometric", "mu": 0.5}}
    scenario = sg.Scenario.parse(table | {"disciplines": [{"aqm": "red"}]})
    assert scenario.arrivals.rate == pytest.approx(rows["source_mean"], rel=1e-5)
    assert scenario.slot_s == pytest.approx(rows["source_slot"], rel=1e-5)


def test_reproduce_shows_ours_beside_the_published(folder, capsys):
    where = ("--world", "slotted", "--json", "rows.json", "--out", "here")
    shown = run(capsys, "reproduce", "lpf-oda", *where)
    assert shown.splitlines()[-1] == "report: here/lpf-oda-slotted.html"
    assert (folder / "here" / "lpf-oda-slotted.html").exists()
    keys = {"row", "quantity", "published", "measured", "half_width", "difference"}
    rows = json.loads((folder / "rows.json").read_text())["rows"]
    assert all(set(row) == keys for row in rows)


def test_reproduce_lists_the_papers(capsys):
    assert main(["reproduce", "blue"]) == 1
    names = ", ".join(REPRODUCTIONS)
    assert "drop-from-front" in names
    message = f"error: blue is not a reproduction; there are {names}\n"
    assert capsys.readouterr().err == message


def test_a_reproduction_has_a_usual_world_and_refuses_others(capsys):
    assert main(["reproduce", "redwm", "--world", "chain"]) == 1
    message = "error: world = chain: redwm is reproduced only in slotted, network, gate\n"
    assert capsys.readouterr().err == message
    assert world_of("drop-from-front", None) == "slotted"
    assert world_of("lred", None) == "network"


# --- Ctrl-C

SLUICE = [sys.executable, "-m", "sluicegate"]
LONG = ["compare", "scenario.toml", "--slots", "2e7", "--replications", "4", "--json", "out.json"]


def start(folder, store, *arguments):
    environment = os.environ | {"SLUICE_RUNS": str(store)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*SLUICE, *arguments], cwd=folder, env=environment, **pipes)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Switch progress lines off: on a busy machine short runs could last long enough for them."""
    monkeypatch.setattr("sluicegate.cli.progress._BRIEF_S", 600.0)
    monkeypatch.setattr("sluicegate.cli.progress._QUIET_S", 600.0)


def records(folder):
    return json.loads((folder / "out.json").read_text())["records"]


def wait_for_a_record(process, store):
    """Wait for the first record; the second discipline runs then."""
    while process.poll() is None and not any(store.glob("*.zip")):
        time.sleep(0.01)
    time.sleep(0.1)


def test_a_comparison_continues_after_ctrl_c(folder, tmp_path, monkeypatch, capsys):
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    process = start(folder, stopped, *LONG)
    wait_for_a_record(process, stopped)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert "Interrupted.\n" in err
    assert "Not finished: " in err
    kept = "Finished and kept: drop_tail; the same command runs the others."
    assert " ".join(err.split()).endswith(kept)
    assert "report: sluice-report/report.html" in out
    assert "drop_tail" in (folder / "sluice-report" / "report.html").read_text()
    finished = records(folder)[0]
    assert (finished["discipline"], finished["done"]) == ("drop_tail", 1)
    kept = {path: path.stat().st_ino for path in stopped.iterdir()}

    monkeypatch.setenv("SLUICE_RUNS", str(stopped))
    run(capsys, *LONG)
    assert {path: path.stat().st_ino for path in kept} == kept
    resumed = records(folder)
    assert len(resumed) == 3

    run(capsys, *LONG, "--fresh")
    assert resumed == records(folder)


def test_ctrl_c_between_disciplines_keeps_the_finished_ones(folder, monkeypatch, capsys):
    keep, kept = store.keep, []

    def interrupted_keep(record):
        if kept:
            raise KeyboardInterrupt
        kept.append(record)
        keep(record)

    monkeypatch.setattr(store, "keep", interrupted_keep)
    assert main(["compare", "scenario.toml"]) == 130
    printed = capsys.readouterr()
    assert re.search(r"^drop_tail +\d", printed.out, re.MULTILINE)
    assert " ".join(printed.err.split()) == (
        "Interrupted. Not finished: red, red drop from front. "
        "Finished and kept: drop_tail; the same command runs the others."
    )
    # a program, or the next cell of a notebook, does not go on with a part
    with pytest.raises(InterruptError) as error:
        compare("scenario.toml")
    assert str(error.value) == (
        "interrupted. Finished and kept: drop_tail; the same call runs the others."
    )


def test_ctrl_c_in_a_later_discipline_does_not_say_that_nothing_is_finished(
    folder, monkeypatch, capsys
):
    simulate, calls = _engine.simulate, []

    def ended_in_the_second(*arguments):
        calls.append(arguments)
        nothing = SimpleNamespace(units=[], warm_up_slots=0, slots=0, interrupted=True)
        return simulate(*arguments) if len(calls) == 1 else nothing

    monkeypatch.setattr(_engine, "simulate", ended_in_the_second)
    assert main(["compare", "scenario.toml", "--no-report"]) == 130
    assert " ".join(capsys.readouterr().err.split()) == (
        "Interrupted. Not finished: red, red drop from front. "
        "Finished and kept: drop_tail; the same command runs the others."
    )


@pytest.mark.parametrize("command", ["compare scenario.toml", "simulate scenario.toml --aqm red"])
def test_ctrl_c_before_anything_is_finished_says_so(command, folder, monkeypatch, capsys):
    nothing = SimpleNamespace(units=[], warm_up_slots=0, slots=0, interrupted=True)
    monkeypatch.setattr(_engine, "simulate", lambda *_: nothing)
    assert main(command.split()) == 130
    printed = capsys.readouterr()
    assert printed == ("", "error: interrupted before anything was finished\n")


def test_ctrl_c_keeps_the_measures_of_the_finished_part(folder, monkeypatch, capsys):
    simulate = _engine.simulate

    def interrupted_run(scenario, discipline, threads, watch, decisions):
        def ctrl_c(done):
            if done > 1e8:  # some batches of the replications under way
                os.kill(os.getpid(), signal.SIGINT)
            watch(done)

        return simulate(scenario, discipline, threads, ctrl_c, decisions)

    monkeypatch.setattr(_engine, "simulate", interrupted_run)
    command = "simulate scenario.toml --aqm red --slots 1e9 --json out.json"
    assert main(command.split()) == 130
    printed = capsys.readouterr()
    record = json.loads((folder / "out.json").read_text())
    assert record["done"] == record["slots"] / 2e9
    assert record["method"].endswith("the warm-up was judged on what was finished")
    assert 0 < record["slots"] < 2e9
    assert re.search(r"^queue_mean +\d", printed.out, re.MULTILINE)
    assert printed.err == "interrupted: these are the measures of what was finished\n"
    assert not list(store.folder().glob("*"))


@pytest.mark.parametrize("command", ["tune", "testbed"])
def test_measures_of_lanes_are_taken_and_of_others_refused(command, tmp_path, capsys):
    file = tmp_path / "lanes.toml"
    file.write_text(
        "duration_s = 1\n"
        'topology = { kind = "dumbbell", rate_bps = "1M", client_delays_s = ["5ms"] }\n'
        'flows = [{ kind = "tcp", label = "load" }]\n'
        'disciplines = [{ aqm = "dualpi2", ecn = true }]\n'
    )
    names = "load.goodput_bps,lane L.sojourn_mean,lane X.sojourn_mean"
    assert main([command, str(file), "--measures", names]) == 2
    told = capsys.readouterr().err
    assert "lane X.sojourn_mean: no class is called lane X" in told
    assert "there are load, lane C, lane L" in told
