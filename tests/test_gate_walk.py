"""The page "A first gate": an ordinary user types its commands, in order, into a terminal."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "guides" / "first-gate.md").read_text()
SLUICED = ROOT / ".venv" / "bin" / "sluiced"
NOBODY = 65534
PROGRAMS = ("bash", "curl", "ip", "iperf3", "sed", "setpriv", "ss", "unshare")
PROMPT = "walk> "
PATIENCE_S = 30

# what is shown after commands, in the page's order; of the build, others tell
TOLD = [
    ("sluiced check", r"missing  near: there is none, and without CAP_NET_ADMIN none can be made"),
    ("sluiced check", r"ok       near: sluiced run makes it"),
    ("sluiced run", r"ready"),
    ("sluiced top", r"forward: 10 Mbit/s(?s:.*)10\.9\.0\.1:\d+(?s:.*)10\.9\.0\.2:5201"),
    ("kill -HUP", r"reloaded: forward: 5 Mbit/s, 10 ms, limit 100 packets, red"),
    ("curl", r'sluiced_queue_packets\{link="forward"\} \d'),
    ("kill %1", r"arrivals +\d{3,} packets"),
]
# a person types no faster
LISTENS = "until ip netns exec far ss -ltn | grep -q 5201; do sleep 0.1; done"


def user():
    """Options of `setpriv` that make an ordinary user of root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def lacking():
    """Why the walk cannot be done here; empty if it can."""
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        return f"there is no {missing[0]} here"
    tried = [*user(), "unshare", "-Urnm", "test", "-w", "/dev/net/tun"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    return f"no TUN in a user's own namespaces: {done.stderr.strip()}" if done.returncode else ""


def of_session(leader):
    """The processes of a terminal."""
    listed = subprocess.run(["ps", "-s", str(leader), "-o", "pid="], capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]


class Terminal:
    """A shell of an ordinary user, with nothing but `sluiced` and the system's programs."""

    def __init__(self, folder):
        for name, text in (
            (".bashrc", f"PS1='{PROMPT}'\nbind 'set enable-bracketed-paste off'\n"),
            ("walk.toml", re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]),
        ):
            (folder / name).write_text(text)
        shutil.copy(SLUICED, folder / "sluiced")
        if os.geteuid() == 0:
            for path in (folder, *folder.iterdir()):
                os.chown(path, NOBODY, NOBODY)
        self.shown = ""
        self.leader, self.file = pty.fork()
        if self.leader == 0:
            os.chdir(folder)
            path = f"{folder}:{os.environ['PATH']}"
            environment = {"PATH": path, "HOME": str(folder), "SHELL": "/bin/bash", "TERM": "xterm"}
            command = [*user(), "bash"]
            os.execvpe(command[0], command, environment)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
        self.until(PROMPT)

    def until(self, pattern):
        """What is shown up to a text, with it."""
        end_s = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.shown)):
            assert time.monotonic() < end_s, f"no {pattern!r} in {self.shown!r}"
            if select.select([self.file], [], [], 0.1)[0]:
                self.shown += os.read(self.file, 65536).decode(errors="replace")
        seen, self.shown = self.shown[: found.end()], self.shown[found.end() :]
        return seen

    def type(self, text):
        os.write(self.file, text.encode())

    def give(self, command):
        self.type(f"{command}\n")
        self.until(re.escape(command))

    def end(self):
        """Nothing that was started is left."""
        while left := of_session(self.leader):
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if self.leader in left:
                os.waitpid(self.leader, 0)
        os.close(self.file)


@contextmanager
def terminal():
    if why := lacking():
        pytest.skip(why)
    with tempfile.TemporaryDirectory() as folder:
        opened = Terminal(Path(folder))
        try:
            yield opened
        finally:
            opened.end()


def commands():
    """Those of the page, without the build."""
    _, *blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def test_the_page_is_walked_by_an_ordinary_user():
    told = list(TOLD)
    with terminal() as shell:
        for command in commands():
            shell.give(command)
            wanted = told.pop(0)[1] if told and command.startswith(told[0][0]) else ""
            if command == "sluiced top":
                shell.until(wanted)
                shell.type("q")
                wanted = ""
            # what goes on in the background may tell it later
            if not re.search(wanted, shell.until(PROMPT)):
                shell.until(wanted)
            if "iperf3 -s" in command:
                shell.give(LISTENS)
                shell.until(PROMPT)
        end_s = time.monotonic() + PATIENCE_S
        while (left := of_session(shell.leader)) != [shell.leader]:
            assert time.monotonic() < end_s, f"processes {left} outlive the walk"
            time.sleep(0.1)
    assert told == []


def fail():
    """A walk that ends in its middle; gives its terminal."""
    with terminal() as shell:
        shell.give("unshare -Urnm bash")
        shell.until(PROMPT)
        shell.give("sleep 1000 & sleep 1000")
        # the shell tells of what it has begun
        shell.until(r"\[1\] \d+")
        assert len(of_session(shell.leader)) > 2
        return shell.leader


def test_a_walk_that_fails_leaves_no_process():
    assert of_session(fail()) == []
