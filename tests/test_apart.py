"""A run with a user's header: in a process of its own, which Ctrl-C and faults end."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sluicegate as sg
from sluicegate import apart, cli
from sluicegate.beside import _GRACE_S as GRACE_S

pytestmark = pytest.mark.slow

HEADER = (Path(__file__).parent / "shorter.h").read_text()
SCENARIO = """
slots = {slots}
replications = 2
seed = {seed}
arrivals = {{ kind = "geometric", rate = 0.5 }}
service = {{ kind = "geometric", mu = 0.5 }}
queue = {{ limit = 777 }}
disciplines = [{{ aqm = "shorter.h" }}]
"""
NETWORK = """
duration_s = 2
replications = 2
topology = { kind = "dumbbell", rate_bps = 1e6 }
flows = [{ kind = "tcp", count = 3 }]
queue = { limit = 777 }
disciplines = [{ aqm = "shorter.h" }]
"""
# the trial has other limits
LATE = "if (view->limit_packets == 777) {{ {} }}"


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Return a function that writes a header with some code in `arrive`, and its scenario."""
    monkeypatch.chdir(tmp_path)
    start = re.search(r"shorter_arrive\([^{]*\{\n", HEADER).end()

    def write(code, slots=20_000, seed=1):
        (tmp_path / "shorter.h").write_text(f"{HEADER[:start]}{code}\n{HEADER[start:]}")
        (tmp_path / "scenario.toml").write_text(SCENARIO.format(slots=slots, seed=seed))
        (tmp_path / "network.toml").write_text(NETWORK)
        return "scenario.toml"

    return write


def test_a_run_beside_is_the_run_here(given, monkeypatch):
    given("")
    for simulate, file in ((sg.simulate, "scenario.toml"), (sg.network.simulate, "network.toml")):
        there = simulate(file, fresh=True, watch=print)
        monkeypatch.setattr("sluicegate.beside.is_here", True)
        here = simulate(file, fresh=True)
        monkeypatch.setattr("sluicegate.beside.is_here", False)
        assert there.measures == here.measures
        assert there.identity == here.identity
        for name, frame in there.frames().items():
            assert frame.equals(here.frames()[name]), name
    assert apart._idle


@pytest.mark.parametrize("file", ["scenario.toml", "network.toml"])
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "*(volatile u32 *)(u64)view->full = 1;",
            "shorter_arrive reads or writes memory that is not its own: a null pointer, an index "
            "out of range, or a recursion without end",
        ),
        (
            "*(volatile u32 *)(u64)c = 1;",
            "shorter_arrive writes to memory that it may only read, such as its struct "
            "shorter_config, which all its queues share",
        ),
        ("__builtin_trap();", "shorter_arrive gives up (a trap, or code that must not be reached)"),
    ],
)
def test_a_fault_after_the_trial_is_told(given, file, code, words):
    given(LATE.format(code))
    simulate = sg.simulate if file == "scenario.toml" else sg.network.simulate
    with pytest.raises(sg.SluiceError) as told:
        simulate(file)
    assert str(told.value) == f"shorter.h: {words} (in a run of shorter, which was ended)"
    # this process goes on, with another process beside it
    given("")
    assert simulate(file)["queue_mean"].value > 0


def test_a_header_of_another_link_runs_beside_too(given):
    given(LATE.format("__builtin_trap();"))
    text = Path("network.toml").read_text().replace('"shorter.h"', '"drop_tail"')
    text = text.replace("rate_bps = 1e6", "rate_bps = 1e6, two_way = true")
    text += '[links."right -> left"]\ndiscipline = { aqm = "shorter.h" }\n'
    Path("network.toml").write_text(text)
    with pytest.raises(sg.SluiceError) as told:
        sg.network.simulate("network.toml")
    assert "shorter.h: shorter_arrive gives up" in str(told.value)
    given("")
    Path("network.toml").write_text(text)
    assert sg.network.simulate("network.toml")["queue_mean"].value > 0


def test_a_view_that_is_changed_after_the_trial_is_told(given):
    file = given(LATE.format("((struct aqm_view *)(u64)view)->queue_packets = 9;"))
    words = "shorter.h: shorter_arrive changes the view, which is not its own; it only reads it"
    with pytest.raises(sg.SluiceError) as told:
        sg.simulate(file)
    assert str(told.value) == words
    with pytest.raises(sg.SluiceError) as told:
        sg.network.simulate("network.toml")
    assert words in str(told.value)


def start(folder, *words, grace_s=GRACE_S):
    """Start a command; after Ctrl-C its run has some seconds to end."""
    command = [
        sys.executable,
        "-c",
        "import sys; from sluicegate import beside, cli; "
        f"beside._GRACE_S = {grace_s}; sys.exit(cli.main())",
    ]
    return subprocess.Popen(
        [*command, *words], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def beside(parent):
    """Return the runs whose parent is the given process, by number.

    A compiler that the parent has just started has the parent's arguments for an instant.
    """
    text = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(parent)],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    return [int(line.split()[0]) for line in text.splitlines() if "sluicegate.beside" in line]


def wait_for(what):
    for _ in range(1200):
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError("it never came")


def wait_for_loop(process):
    """Wait until a process is in a loop: it has a header, and does not come to rest."""
    wait_for(lambda: "/user.so" in Path(f"/proc/{process}/maps").read_text())
    before = ticks(process)
    wait_for(lambda: ticks(process) > before + 50)


def ticks(process):
    """Return the processor time of a process, in 10 ms."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_ctrl_c_ends_a_loop_without_end_and_says_where(given, tmp_path):
    given(LATE.format('for (;;) __asm__ volatile("");'))
    command = start(tmp_path, "compare", "scenario.toml", "--no-report")
    (child,) = wait_for(lambda: beside(command.pid))
    wait_for_loop(child)
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=60)
    assert command.returncode == 130
    assert said.endswith(
        "error: interrupted: shorter: shorter_arrive did not come to an end; its process was "
        "ended\n"
    )
    assert not Path(f"/proc/{child}").exists()


# at once: the process beside has hardly started, and the run has not begun there
@pytest.mark.parametrize("after_s", [0, 3])
def test_ctrl_c_keeps_what_is_finished(given, tmp_path, after_s):
    given("", slots=10**12)
    command = start(tmp_path, "simulate", "scenario.toml")
    wait_for(lambda: beside(command.pid))
    time.sleep(after_s)
    command.send_signal(signal.SIGINT)
    out, said = command.communicate(timeout=60)
    assert command.returncode == 130, said
    assert "interrupted" in said
    assert out or "before anything was finished" in said


def test_ctrl_c_does_not_wait_for_a_process_that_takes_long_to_start(given, tmp_path, monkeypatch):
    given("", slots=10**12)
    (tmp_path / "sitecustomize.py").write_text(
        'import sys, time\nif "beside" in sys.orig_argv[-1]:\n    time.sleep(1000)\n'
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    command = start(tmp_path, "simulate", "scenario.toml")
    (child,) = wait_for(lambda: beside(command.pid))
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=60)
    assert command.returncode == 130
    assert said == "error: interrupted before anything was finished\n"
    assert not Path(f"/proc/{child}").exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_nobody_is_left_behind_when_the_command_is_killed(given, tmp_path):
    given(LATE.format('for (;;) __asm__ volatile("");'))
    command = start(tmp_path, "simulate", "scenario.toml")
    (child,) = wait_for(lambda: beside(command.pid))
    command.kill()
    command.communicate()
    wait_for(lambda: not Path(f"/proc/{child}").exists())


def test_ctrl_c_ends_a_compiler_that_waits(given, tmp_path):
    given("")
    os.mkfifo(tmp_path / "more.h")
    text = (tmp_path / "shorter.h").read_text()
    (tmp_path / "shorter.h").write_text(f'#include "{tmp_path}/more.h"\n{text}')
    command = start(tmp_path, "compare", "scenario.toml", "--no-report")
    # opening for writing waits for the compiler
    pipe = os.open(tmp_path / "more.h", os.O_WRONLY)
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=30)
    assert command.returncode == 130
    # nobody reads any more
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def gone():
        try:
            os.write(pipe, b"\n")
        except BrokenPipeError:
            return True
        return False

    wait_for(gone)
    os.close(pipe)


def test_a_header_that_is_a_pipe_is_refused(given, tmp_path):
    given("")
    (tmp_path / "shorter.h").unlink()
    os.mkfifo(tmp_path / "shorter.h")
    with pytest.raises(sg.SluiceError, match="is a pipe or a device and must be a file"):
        sg.load("scenario.toml")


# --- the exact chain, and what explains an AQM: they ask for the drop function only

CHAIN = """
slots = 1000
arrivals = { kind = "geometric", rate = 0.4 }
service = { kind = "geometric", mu = 0.5 }
queue = { limit = 30 }
[[disciplines]]
aqm = "red.h"
label = "red"
params = { min_th = 7, max_th = 20, max_p = 0.1, spacing = "independent", idle_decay = false }
"""
# the trial has other thresholds
ONLY_HERE = "if (config->drop_function.min_th == fixed_from_u32(7)) {{ {} }}"
LOOP = 'for (;;) __asm__ volatile("");'
ASKING = {
    "chain": ["chain", "chain.toml"],
    "compare": ["compare", "chain.toml", "--world", "chain", "--no-report"],
    "aqm": ["aqm", "red.h", "--set", "min_th=7", "--set", "max_th=20"],
    "plot": ["aqm", "red.h", "--set", "min_th=7", "--set", "max_th=20", "--plot", "red.svg"],
}


@pytest.fixture
def given_red(tmp_path, monkeypatch, root):
    """Return a function that writes a RED of one's own with some code in its drop function."""
    monkeypatch.chdir(tmp_path)
    text = (root / "aqm" / "red.h").read_text()
    start = re.search(r"red_drop_probability\([^{]*\{\n", text).end()

    def write(code):
        (tmp_path / "red.h").write_text(text[:start] + ONLY_HERE.format(code) + text[start:])
        (tmp_path / "chain.toml").write_text(CHAIN)

    return write


def test_the_chain_of_a_header_and_its_drop_function_are_those_of_the_package(given_red):
    given_red("")
    own = sg.load("chain.toml")
    package = own.replace({"disciplines.0.aqm": "red"})
    assert sg.chain.solve(own).record.measures == sg.chain.solve(package).record.measures
    for mine, known in [(each.disciplines[0].configured for each in (own, package))]:
        averages = [0, 6.9, 12.3, 19.9, 40]
        assert (mine.drop_probability(averages) == known.drop_probability(averages)).all()
        assert (mine.open_loop([3, 50, 9]) == known.open_loop([3, 50, 9])).all()


@pytest.mark.parametrize("command", ASKING)
def test_a_fault_in_a_drop_function_ends_only_its_process(given_red, command, capsys):
    given_red("__builtin_trap();")
    assert cli.main([*ASKING[command], *(["--out", "out"] if command == "chain" else [])]) == 1
    assert capsys.readouterr().err == (
        "error: red.h: red_drop_probability gives up (a trap, or code that must not be reached) "
        "(in a run of red, which was ended)\n"
    )


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("command", ASKING)
def test_ctrl_c_ends_a_drop_function_without_end(given_red, command, tmp_path):
    given_red(LOOP)
    # the loop takes a processor until its end
    started = start(tmp_path, *ASKING[command], grace_s=0.5)
    (child,) = wait_for(lambda: beside(started.pid))
    wait_for_loop(child)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 130
    assert said.endswith(
        "error: interrupted: red: red_drop_probability did not come to an end; its process was "
        "ended\n"
    )
