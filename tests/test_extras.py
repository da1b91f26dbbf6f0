"""What is not installed: commands that lack it say so before they run; all others work."""

import json
import re
import subprocess
import sys
import tomllib

import pytest

import sluicegate as sg
from sluicegate.extras import EXTRAS
from sluicegate.report.folder import write_report

pytestmark = pytest.mark.slow

# names of modules, and commands; one process, as each start takes most of a second
WITHOUT = """
import contextlib, io, json, sys
modules, commands = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(modules))
from sluicegate.cli import main
for words in commands:
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(words)
    print(json.dumps([code, out.getvalue(), errors.getvalue()]))
"""
LIGHT = "scenarios/light.toml"
DUMBBELL = "scenarios/network/dumbbell.toml"


def without(modules, commands, folder):
    """Return exit code, output and errors of each command where modules are missing."""
    command = [sys.executable, "-c", WITHOUT, json.dumps([[*modules], commands])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def folder(root, tmp_path):
    (tmp_path / "scenarios").symlink_to(root / "scenarios")
    (tmp_path / "captures").symlink_to(root / "captures")
    return tmp_path


def test_the_extras_are_those_of_the_package(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    bring = {re.match(r"\w+", need)[0]: extra for extra, needs in extras.items() for need in needs}
    assert bring == EXTRAS
    page = (root / "docs" / "guides" / "install.md").read_text()
    assert [extra for extra in extras if f"| `{extra}` |" not in page] == []


def test_the_core_runs_without_any_extra(folder):
    commands = [
        ["aqms"],
        ["aqm", "red"],
        ["simulate", LIGHT, "--aqm", "red", "--slots", "1e4"],
        ["compare", LIGHT, "--slots", "1e4", "--no-report", "--json", "light.json"],
        ["compare", DUMBBELL, "--duration", "2", "--replications", "2", "--no-report"],
        ["compare", LIGHT, "--aqm", "drop_tail", "--world", "chain", "--no-report"],
        ["fit", "captures/gateway.pcap"],
        ["scenarios"],
        ["--cite"],
    ]
    found = without(EXTRAS, commands, folder)
    for words, (code, _, errors) in zip(commands, found, strict=True):
        assert (code, "error" in errors) == (0, False), (words, errors)


LACKING = {
    "matplotlib": [
        ["compare", LIGHT],
        ["chain", LIGHT, "--aqm", "drop_tail"],
        ["sweep", LIGHT, "--vary", "seed=1..2"],
        ["tune", LIGHT, "--vary", "red.max_p=0.1..1", "--aqm", "red"],
        ["advise", "--rate", "1M", "--rtt", "20ms", "--flows", "1"],
        ["stability", DUMBBELL, "--aqm", "pi"],
        ["flent", DUMBBELL],
        ["reproduce", "lpf-oda"],
        ["fit", "captures/gateway.pcap", "--html", "fit.html"],
        ["aqm", "red", "--plot", "red.svg"],
    ],
    "duckdb": [
        ["sweep", LIGHT, "--vary", "seed=1..2", "--no-report"],
    ],
}


@pytest.mark.parametrize("module", LACKING)
def test_what_is_lacking_is_named_before_anything_runs(module, folder):
    found = without([module], LACKING[module], folder)
    expected = rf"error: .* needs {module}: pip install 'sluicegate\[{EXTRAS[module]}\]'\n"
    for words, (code, out, errors) in zip(LACKING[module], found, strict=True):
        assert code == 1, words
        assert re.fullmatch(expected, errors), words
        assert out == "", words
    # nothing was written
    assert {path.name for path in folder.iterdir()} == {"scenarios", "captures"}


def test_in_python_what_is_lacking_is_named(folder, monkeypatch):
    monkeypatch.chdir(folder)
    sweep = sg.sweep(sg.load(LIGHT).replace(slots=1e3), {"seed": "1..2"}, "sweep", workers=1)
    comparison = sg.compare(sg.load(LIGHT).replace(slots=1e3))
    for module, ask in (
        ("duckdb", sweep.frame),
        ("matplotlib", lambda: sweep.figure("sojourn_p99")),
        ("matplotlib", lambda: write_report(comparison, "report")),
    ):
        message = rf"needs {module}: pip install 'sluicegate\[{EXTRAS[module]}\]'"
        with monkeypatch.context() as context:
            context.setitem(sys.modules, module, None)
            with pytest.raises(sg.SluiceError, match=message):
                ask()


def test_a_worker_of_a_sweep_needs_no_extra(folder):
    code = "import sys, sluicegate.sweeps.work; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not re.search(rf"'({'|'.join(EXTRAS)})'", done.stdout)
