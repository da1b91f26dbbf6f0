"""The command itself: Ctrl-C while it starts, completion, files as a whole."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sluicegate.__main__ import main
from sluicegate.files import write_whole


@pytest.mark.parametrize("module", ["typer", "sluicegate.errors", "sluicegate.cli.aqms", "numpy"])
def test_ctrl_c_during_the_start_ends_it_without_a_traceback(module):
    strike = (
        "import os, signal, sys\n"
        "class Strike:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Strike())\n"
        "from sluicegate.__main__ import main\n"
        "sys.argv = ['sluice', 'aqms']\n"
        "print('not interrupted', main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", strike], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


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
    assert completed("sluice compare x.toml --aqm pi") == ["pi", "pie"]
    assert completed("sluice compare x.toml --thr") == ["--threads"]
    assert completed("sluice reproduce lr") == ["lred"]


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    write_whole(path, "old, ümläut")
    assert path.read_text(encoding="utf-8") == "old, ümläut"
    write = Path.write_bytes

    def full(part, data):
        write(part, data[:3])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space left on device") as told:
            write_whole(path, b"new and longer")
    assert told.value.filename == str(path)
    assert path.read_text(encoding="utf-8") == "old, ümläut"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_link_stays_one_and_a_pipe_is_written_to(tmp_path):
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
