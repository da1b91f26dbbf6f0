"""The command itself: Ctrl-C while it starts, completion, files written as a whole."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sluicegate.__main__ import main
from sluicegate.files import write_whole

pytestmark = pytest.mark.slow


# polars replaces the signal handler when it is imported
@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("typer", "aqms"),
        ("sluicegate.errors", "aqms"),
        ("sluicegate.cli.aqms", "aqms"),
        ("numpy", "aqms"),
        ("sluicegate.cli.progress", "compare"),
    ],
)
def test_ctrl_c_during_the_start_ends_it_without_a_traceback(module, command):
    strike = (
        "import os, signal, sys\n"
        "class Strike:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        f"            assert 'polars' in sys.modules or {command!r} != 'compare'\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Strike())\n"
        "from sluicegate.__main__ import main\n"
        f"sys.argv = ['sluice', {command!r}]\n"
        "print('not interrupted', main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", strike], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_ctrl_c_works_from_the_first_import_on():
    """From the first line of the package on, before `signal` itself is imported."""
    strike = (
        "import os, sys\n"
        "class Strike:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name in ('enum', 'signal', 'lazy_loader'):\n"
        "            os.kill(os.getpid(), 2)\n"
        "for name in ('enum', 'signal'):\n"
        "    sys.modules.pop(name, None)\n"
        "sys.meta_path.insert(0, Strike())\n"
        "sys.argv = ['/usr/bin/sluice-python']\n"
        "import sluicegate\n"
        "print('not interrupted')\n"
    )
    # without `site`, which imports many modules
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-S", "-c", strike],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.fixture
def sluice():
    return Path(sys.executable).with_name("sluice")


def test_ctrl_c_during_pythons_own_start_is_delayed(sluice, tmp_path):
    """Before our first line `sluice` blocks the signal, so that it is delivered later."""
    strike = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    (tmp_path / "sitecustomize.py").write_text(strike)
    done = subprocess.run(
        [sluice, "aqms"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_ctrl_c_at_any_time_ends_a_comparison_without_a_traceback(sluice, root):
    scenario = root / "scenarios" / "network" / "lred-1.toml"
    command = [sluice, "compare", scenario, "--fresh", "--no-report", "--threads", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    times_s = [0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5]
    started_s = time.monotonic()
    processes = [subprocess.Popen(command, **pipes) for _ in times_s]
    for process, after_s in zip(processes, times_s, strict=True):
        time.sleep(max(0, started_s + after_s - time.monotonic()))
        process.send_signal(signal.SIGINT)
    for process in processes:
        _, told = process.communicate(timeout=60)
        assert "Traceback" not in told
        assert process.returncode in (-signal.SIGINT, 130)


def completed(line: str) -> list[str]:
    words = line.split(" ")
    asked = {"_SLUICE_COMPLETE": "complete_bash", "COMP_WORDS": line}
    asked["COMP_CWORD"] = str(len(words) - 1)
    command = [sys.executable, "-m", "sluicegate"]
    done = subprocess.run(
        command, env=os.environ | asked, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_a_shell_completes_commands_options_and_names():
    assert completed("sluice comp") == ["compare"]
    assert completed("sluice aqm re") == ["red", "redwm", "rem"]
    assert completed("sluice compare x.toml --aqm pi") == ["pi", "pie", "pi2"]
    assert completed("sluice compare x.toml --thr") == ["--threads"]
    assert completed("sluice reproduce lr") == ["lred"]
    worlds = ["network", "gate", "kernel", "twin"]
    assert completed("sluice evaluate codel --world ") == worlds


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    write_whole(path, "old, ümläut")
    assert path.read_text(encoding="utf-8") == "old, ümläut"

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left on device") as told:
            write_whole(path, b"new and longer")
    assert told.value.filename == str(path)
    assert path.read_text(encoding="utf-8") == "old, ümläut"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_symbolic_link_is_kept_and_a_pipe_is_written_to(tmp_path):
    (tmp_path / "behind").write_text("old")
    (tmp_path / "link").symlink_to("behind")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "behind").read_text() == "new"
    if not Path("/dev/null").exists():
        pytest.skip("there is no /dev/null")
    write_whole(Path("/dev/null"), "gone")
    assert Path("/dev/null").is_char_device()


def test_the_command_is_the_module(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["sluice", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("sluice ")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
