"""CONTRIBUTING's guides to adding something, followed to the letter on a copy of the sources."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from source_copy import source_copy

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
# what stands before the first line of the list in a file
LISTS = {
    "engine/aqm/tests/main.rs": "file.\n\n",
    "engine/tcp/src/congestion/mod.rs": "\ncontrols! {\n",
}


def section(title: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def steps(title: str) -> list[tuple[str, str, str]]:
    """Each code block with the last thing said before it: (what to do, on which file, block)."""
    found = []
    for before, block in re.findall(r"(.*?)```\w+\n(.*?)```", section(title), re.S):
        said = re.findall(r"\b(Create|Append to|Add to the list in) `([^`]+)`", before)
        action, file = said[-1] if said else ("Run", "")
        found.append((action, file, block))
    return found


def follow(title: str, copy: Path) -> list[str]:
    """Does what the guide says; gives what its commands print."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "CARGO_NET_OFFLINE": "true",
    }
    printed = []
    for action, file, block in steps(title):
        if action == "Create":
            assert not (copy / file).exists()
            (copy / file).write_text(block)
        elif action == "Append to":
            with (copy / file).open("a") as registry:
                registry.write(block)
        elif action == "Add to the list in":
            text, start = (copy / file).read_text(), LISTS[file]
            assert text.count(start) == 1
            (copy / file).write_text(text.replace(start, start + block))
        else:
            command = block.removeprefix("$ ")
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
            assert "warning" not in done.stderr, done.stderr
            printed.append(done.stdout)
    return printed


def test_adding_an_aqm_takes_these_steps_and_no_more() -> None:
    assert [step[:2] for step in steps("How to add an AQM")] == [
        ("Create", "aqm/plateau.h"),
        ("Run", ""),
        ("Append to", "aqm/registry.h"),
        ("Create", "engine/aqm/tests/plateau.rs"),
        ("Add to the list in", "engine/aqm/tests/main.rs"),
        ("Run", ""),
    ]
    with source_copy() as copy:
        described, tested = follow("How to add an AQM", copy)
    assert "threshold" in described
    assert "queue from which packets are dropped by chance" in described
    # its own test, and those with any AQM
    files = [ROOT / f"engine/aqm/tests/{name}.rs" for name in ("parameters", "any_parameters")]
    others = sum(path.read_text().count("#[test]") for path in files)
    assert f"test result: ok. {1 + others} passed" in tested


def test_adding_a_congestion_control_takes_a_file_and_a_line() -> None:
    assert [step[:2] for step in steps("How to add a congestion control")] == [
        ("Create", "engine/tcp/src/congestion/scalable.rs"),
        ("Add to the list in", "engine/tcp/src/congestion/mod.rs"),
        ("Run", ""),
    ]
    assert steps("How to add a congestion control")[1][2].count("\n") == 1
    with source_copy() as copy:
        (tested,) = follow("How to add a congestion control", copy)
    # its own test, and the three of tests/transfers.rs with it among the controls
    assert "test result: ok. 1 passed" in tested
    assert "test result: ok. 3 passed" in tested
