"""What is not installed: commands that lack it say so before they run; all others work."""

import re
import subprocess
import sys
import tomllib

import pytest

import sluicegate as sg
from sluicegate.extras import EXTRAS
from sluicegate.report.folder import write_report

pytestmark = pytest.mark.slow

# names of modules, then the command
WITHOUT = (
    "import sys\n"
    "sys.modules.update(dict.fromkeys(sys.argv.pop(1).split()))\n"
    "from sluicegate.__main__ import main\n"
    "sys.exit(main())\n"
)
LIGHT = "scenarios/light.toml"
DUMBBELL = "scenarios/network/dumbbell.toml"


def without(modules, *words, folder):
    command = [sys.executable, "-c", WITHOUT, " ".join(modules), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


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


@pytest.mark.parametrize(
    "words",
    [
        ["aqms"],
        ["aqm", "red"],
        ["simulate", LIGHT, "--aqm", "red", "--slots", "1e4"],
        ["compare", LIGHT, "--slots", "1e4", "--no-report", "--json", "light.json"],
        ["compare", DUMBBELL, "--duration", "2", "--replications", "2", "--no-report"],
        ["compare", LIGHT, "--aqm", "drop_tail", "--world", "chain", "--no-report"],
        ["fit", "captures/gateway.pcap"],
        ["scenarios"],
        ["--cite"],
    ],
    ids=" ".join,
)
def test_the_core_runs_without_any_extra(words, folder):
    done = without(EXTRAS, *words, folder=folder)
    assert (done.returncode, "error" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("matplotlib", ["compare", LIGHT]),
        ("matplotlib", ["chain", LIGHT, "--aqm", "drop_tail"]),
        ("matplotlib", ["sweep", LIGHT, "--vary", "seed=1..2"]),
        ("matplotlib", ["tune", LIGHT, "--vary", "red.max_p=0.1..1", "--aqm", "red"]),
        ("matplotlib", ["advise", "--rate", "1M", "--rtt", "20ms", "--flows", "1"]),
        ("matplotlib", ["stability", DUMBBELL, "--aqm", "pi"]),
        ("matplotlib", ["flent", DUMBBELL]),
        ("matplotlib", ["reproduce", "lpf-oda"]),
        ("matplotlib", ["fit", "captures/gateway.pcap", "--html", "fit.html"]),
        ("matplotlib", ["aqm", "red", "--plot", "red.svg"]),
        ("duckdb", ["sweep", LIGHT, "--vary", "seed=1..2", "--no-report"]),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_is_lacking_is_named_before_anything_runs(module, words, folder):
    done = without([module], *words, folder=folder)
    assert done.returncode == 1
    expected = rf"error: .* needs {module}: pip install 'sluicegate\[{EXTRAS[module]}\]'\n"
    assert re.fullmatch(expected, done.stderr)
    assert done.stdout == ""
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
