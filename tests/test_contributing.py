"""CONTRIBUTING's "How to add an AQM", followed to the letter on a copy of the sources."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COPIED = ["Cargo.toml", "Cargo.lock", ".cargo", "aqm", "engine"]


def section(title: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def steps() -> list[tuple[str, str, str]]:
    """Each code block with the last thing said before it: (what to do, on which file, block)."""
    found = []
    for before, block in re.findall(r"(.*?)```\w+\n(.*?)```", section("How to add an AQM"), re.S):
        said = re.findall(r"\b(Create|Append to) `([^`]+)`", before)
        action, file = said[-1] if said else ("Run", "")
        found.append((action, file, block))
    return found


@pytest.fixture
def copy() -> Path:
    """The sources, always in one place of the build folder, so that cargo builds only the copy."""
    copy = ROOT / "target" / "contributing"
    shutil.rmtree(copy, ignore_errors=True)
    for name in COPIED:
        take = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        take(ROOT / name, copy / name)
    return copy


def test_adding_an_aqm_takes_these_steps_and_no_more(copy: Path) -> None:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "CARGO_NET_OFFLINE": "true",
    }
    assert [step[:2] for step in steps()] == [
        ("Create", "aqm/step.h"),
        ("Run", ""),
        ("Append to", "aqm/registry.h"),
        ("Create", "engine/aqm/tests/step.rs"),
        ("Run", ""),
    ]
    printed = []
    for action, file, block in steps():
        if action == "Create":
            assert not (copy / file).exists()
            (copy / file).write_text(block)
        elif action == "Append to":
            with (copy / file).open("a") as registry:
                registry.write(block)
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
    described, tested = printed
    assert "threshold" in described
    assert "queue from which packets are dropped by chance" in described
    assert "test result: ok. 1 passed" in tested
