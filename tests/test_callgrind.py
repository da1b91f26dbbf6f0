"""What bench/callgrind.py counts of a file of callgrind's: the engine, and the C library for it."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench"
FILE = """\
# callgrind format
version: 1
positions: line
events: Ir
summary: 9999

ob=(1) /usr/lib/libpython3.11.so.1.0
fl=(1) ???
fn=(1) wait_for_threads
0 1000
cob=(2) /site-packages/sluicegate/_engine.abi3.so
cfn=(2) simulate
calls=1 0
* 500

ob=(2)
fl=(2) slotted.rs
fn=(2)
10 20
+1 3
fi=(3) packet.rs
-2 4
fe=(2)
cfn=(3) arrive
calls=7 40
* 100
cob=(3) /usr/lib/x86_64-linux-gnu/libm.so.6
cfn=(4) log
calls=2 5
* 60
cob=(1)
cfn=(1)
calls=1 0
* 800
cfi=(2)
cfn=(3)
calls=1 40
* 15

fn=(3)
40 100
+1 15

ob=(3)
fn=(4)
5 70
"""


def load(name):
    """Return a module of bench/."""
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_counts_the_engine_and_what_of_the_c_library_it_calls():
    # simulate 27, arrive 115, log for simulate 60: neither Python's threads, nor what they call
    assert load("callgrind").instructions_of("/_engine.", FILE.splitlines()) == 202


@pytest.mark.parametrize(
    ("by_perf", "events", "said"),
    [
        (True, 2, "of the whole process, Python too (perf)"),
        (False, 1, "without Python (callgrind)"),
    ],
)
def test_the_table_says_what_is_counted(by_perf, events, said, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "argv", ["instructions.py"])
    instructions = load("instructions")
    monkeypatch.setattr(instructions, "counters", lambda: by_perf)
    monkeypatch.setattr(instructions.shutil, "which", lambda name: name)
    # 7 a slot, and a start of 1000
    monkeypatch.setattr(
        instructions, "count", lambda _folder, _code, size, _by: ([1000 + 7 * size] * events, size)
    )
    instructions.main()
    # the title is as wide as the table, which has the folder's name
    printed = " ".join(capsys.readouterr().out.split())
    assert said in printed
    assert "7.00" in printed
