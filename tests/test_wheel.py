"""The wheel works in a separate virtual environment, without the sources.

It is built with the profile of `make build`, so that nothing is compiled again; `make wheel` only
optimises more. Its dependencies come from the environment of the tests.
"""

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from sluicegate.extras import EXTRAS
from sluicegate.page import MODULE

ROOT = Path(__file__).parent.parent
# path at which `make wheel` puts the daemon
DAEMON = ROOT / "wheel" / "scripts" / "sluiced"
SLUICED = ROOT / ".venv" / "bin" / "sluiced"
LICENCES = {"LICENSE-APACHE", "LICENSE-MIT", "aqm/LICENSE-BSD-2-Clause", "aqm/LICENSE-GPL-2.0"}
SCENARIO = """
slots = 2e4
arrivals = { kind = "geometric", rate = 0.5 }
service = { kind = "geometric", mu = 0.5 }
queue = { limit = 30 }
disciplines = [{ aqm = "red" }, { aqm = "shorter.h", params = { most = 4 } }]
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (importlib.util.find_spec("maturin") and shutil.which("cargo")),
        reason="needs maturin and cargo",
    ),
]


def run(*command: str | Path, folder: Path = ROOT) -> str:
    """Return a command's output; the sources are not on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # the same Python as in `make build`: another one would be another build
    environment["VIRTUAL_ENV"] = sys.prefix
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--profile", "dev", "--locked", "--offline", "--out", folder)
    (ROOT / "target").mkdir(exist_ok=True)
    # locked: another process may build the wheel, too, and removes the daemon at its end
    with open(ROOT / "target" / "wheel.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            shutil.copy(SLUICED, DAEMON)
            run(sys.executable, "-m", "maturin", "build", *options)
        finally:
            DAEMON.unlink()
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of commands of an environment with the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder, symlinks=True)
    commands = folder / "bin"
    pip = (sys.executable, "-m", "pip", "--python", commands / "python", "install", "--quiet")
    run(*pip, "--no-index", "--no-deps", wheel)
    (packages,) = folder.glob("lib/python*/site-packages")
    # after its own packages; an editable install there is not followed from a .pth file
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return commands


def test_one_wheel_serves_every_python_from_the_oldest_on(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


def test_the_licences_are_in_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    found = {name.split("/licenses/")[1] for name in names if "/licenses/" in name}
    assert found == LICENCES


def test_it_runs_a_scenario_with_a_users_header(installed: Path, tmp_path: Path) -> None:
    where = "import sluicegate, sluicegate._engine as e; print(sluicegate.__file__, e.__file__)"
    for file in run(installed / "python", "-c", where, folder=tmp_path).split():
        assert Path(file).is_relative_to(installed.parent)
    shutil.copy(ROOT / "tests" / "shorter.h", tmp_path)
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    sluice = installed / "sluice"
    assert version("sluicegate") in run(sluice, "--version", folder=tmp_path)
    assert "packets that may wait" in run(sluice, "aqm", "shorter.h", folder=tmp_path)
    shown = run(sluice, "compare", "scenario.toml", folder=tmp_path)
    assert "shorter" in shown
    assert (tmp_path / "sluice-report" / "report.html").is_file()


def test_the_examples_of_the_documentation_are_in_it(installed: Path, tmp_path: Path) -> None:
    sluice = installed / "sluice"
    run(sluice, "scenarios", "--out", ".", folder=tmp_path)
    for path in [*ROOT.glob("scenarios/**/*.toml"), ROOT / "captures" / "gateway.pcap"]:
        assert (tmp_path / path.relative_to(ROOT)).read_bytes() == path.read_bytes()
    options = ("--slots", "1e4", "--aqm", "red:w=0.5", "--aqm", "red:w=0.02")
    shown = run(sluice, "compare", "scenarios/overload.toml", *options, folder=tmp_path)
    assert "Overload" in shown


@pytest.mark.skipif(not MODULE.exists(), reason="needs the engine for pages: make page")
def test_it_makes_pages(installed: Path, tmp_path: Path) -> None:
    scenario = ROOT / "scenarios" / "network" / "gate.toml"
    assert "queue.html" in run(installed / "sluice", "page", scenario, folder=tmp_path)
    assert (tmp_path / "queue.html").stat().st_size > MODULE.stat().st_size / 4


def test_its_core_is_without_plots_and_databases(wheel: Path) -> None:
    (name,) = (each for each in zipfile.ZipFile(wheel).namelist() if each.endswith("/METADATA"))
    told = zipfile.ZipFile(wheel).read(name).decode()
    assert set(re.findall(r"^Provides-Extra: (.*)$", told, re.MULTILINE)) == {*EXTRAS.values()}
    core = re.findall(r"^Requires-Dist: (\w+)(?!.*extra ==)", told, re.MULTILINE)
    assert "polars" in core
    assert not {*core} & {*EXTRAS}


def test_the_daemon_is_in_it(wheel: Path, installed: Path, tmp_path: Path, gateway: Path) -> None:
    shutil.copy(ROOT / "tests" / "shorter.h", tmp_path)
    sluiced = installed / "sluiced"
    assert run(sluiced, "--version", folder=tmp_path).split() == ["sluiced", version("sluicegate")]
    options = ("--rate", "2e6", "--aqm", "shorter.h:most=4")
    told = run(sluiced, "replay", gateway.resolve(), *options, folder=tmp_path)
    assert "arrivals   12500 packets" in told
    # the testbed finds it
    look = "from sluicegate.daemon import program; print(program())"
    assert run(installed / "python", "-c", look, folder=tmp_path).strip() == str(sluiced)
    # it needs no newer C library than the wheel says
    symbols = re.findall(rb"GLIBC_2\.(\d+)", sluiced.read_bytes())
    if tag := re.search(r"manylinux_2_(\d+)", wheel.name):
        assert max(map(int, symbols)) <= int(tag[1])
