"""The guides to adding something, followed to the letter on copies of package and sources."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from source_copy import source_copy

import sluicegate as sg

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PACKAGE = Path(sg.__file__).parent


def steps(guide):
    """What to do, on which file, with which block; within which list, if it is appended to one."""
    text = (ROOT / "docs" / "guides" / guide).read_text()
    for before, block in re.findall(r"(.*?)```(?:py|rust|sh|text)\n(.*?)```", text, re.DOTALL):
        said = re.findall(r"\b(Create|Append\s+to) `([^`]+)`(?: in `([^`]+)`)?", before)
        yield (*said[-1], block) if said else ("Run", "", "", block)


@pytest.fixture
def copy(tmp_path):
    """A copy of the package, with links to what was compiled, and of the scenarios."""
    folder = tmp_path / "sluicegate"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for compiled in PACKAGE.glob("*.so"):
        (folder / compiled.name).symlink_to(compiled)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    (tmp_path / "tests").mkdir()
    return tmp_path


def append(path, name, block):
    """Put a block at the end of the brackets that open at the end of the line with `name`."""
    lines = path.read_text().splitlines(keepends=True)
    opens = re.compile(rf"( *).*(?<!\w){re.escape(name)}\b.*[\[({{]$")
    ((start, found),) = ((n, found) for n, line in enumerate(lines) if (found := opens.match(line)))
    closes = tuple(found[1] + bracket for bracket in "])}")
    end = next(n for n in range(start + 1, len(lines)) if lines[n].startswith(closes))
    path.write_text("".join([*lines[:end], block, *lines[end:]]))


def follow(guide, copy):
    """Do all that a guide says; returns the files touched and what the commands printed."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(copy),
        "COLUMNS": "120",
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "CARGO_NET_OFFLINE": "true",
    }
    touched, printed = [], []
    for action, first, second, block in steps(guide):
        if action == "Create":
            path = copy / first
            path.parent.mkdir(exist_ok=True)
            assert not path.exists()
            path.write_text(block)
            touched.append(first)
        elif action.startswith("Append") and second:
            append(copy / second, first, block)
            touched.append(second)
        elif action.startswith("Append"):
            with (copy / first).open("a") as file:
                file.write(block)
            touched.append(first)
        else:
            for command in re.findall(r"^\$ (.*)", block, re.MULTILINE):
                done = subprocess.run(
                    command,
                    shell=True,
                    cwd=copy,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, done.stdout + done.stderr
                printed.append(done.stdout)
    return touched, printed


def test_adding_a_measure_touches_two_files(copy):
    touched, (tested, _) = follow("add-measure.md", copy)
    assert touched == ["sluicegate/measures/queue.py", "tests/test_power_measure.py"]
    assert "1 passed" in tested
    (record,) = json.loads((copy / "power.json").read_text())["records"]
    measures = record["measures"]
    power = measures["throughput"]["value"] / measures["delay_mean"]["value"]
    assert measures["power"]["value"] == pytest.approx(power)
    assert measures["power"]["half_width"] > 0
    assert measures["power"]["unit"] == "packets/slot^2"
    assert "power" in (copy / "sluice-report" / "report.html").read_text()


def test_adding_a_world_is_a_folder_and_a_line(copy):
    touched, (overload, light) = follow("add-world.md", copy)
    folder = {name for name in touched if name.startswith("sluicegate/worlds/fluid/")}
    assert set(touched) - folder == {"sluicegate/worlds/__init__.py"}
    lines = (copy / "sluicegate/worlds/__init__.py").read_text().splitlines()
    assert len(lines) == len((PACKAGE / "worlds/__init__.py").read_text().splitlines()) + 1
    assert re.search(r"^drop_tail \(fluid\) .* 50 +100 +n/a$", overload, re.MULTILINE), overload
    assert re.search(r"^drop_tail \(slotted\) ", overload, re.MULTILINE)
    assert re.search(r"^drop_tail +0 +0 +0 +\d", light, re.MULTILINE), light
    page = (copy / "fluid" / "report.html").read_text()
    assert "each computed from its mean rates" in page
    assert "Figures of the fluid leave all chance out." in page


def test_adding_a_traffic_source_touches_four_files():
    with source_copy() as copy:
        touched, (_, tested) = follow("add-traffic-source.md", copy)
        assert len(set(touched)) == 4
        assert "test result: ok. 1 passed" in tested
        for name in ("docs/reference/scenario.schema.json", "sluicegate/scenario/slotted.py"):
            assert "PeriodicArrivals" in (copy / name).read_text()
            assert "PeriodicArrivals" not in (ROOT / name).read_text()
