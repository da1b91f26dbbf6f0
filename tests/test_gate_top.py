"""`sluiced top` in a terminal, fed by a daemon that repeats recorded telemetry."""

import fcntl
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
SLUICED = ROOT / ".venv" / "bin" / "sluiced"
RECORDED = (ROOT / "gate" / "tests" / "recorded" / "top.jsonl").read_text().splitlines()
LEAVE_SCREEN = b"\x1b[?1049l"
SHOW_CURSOR = b"\x1b[?25h"
CTRL_C = b"\x03"


@pytest.fixture
def daemon(tmp_path):
    """Where a daemon answers with the last record of both links."""
    path = tmp_path / "metrics"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    page = "".join(f"{line}\n" for line in RECORDED[-2:])

    def serve():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                assert peer.recv(4096).startswith(b"GET /records ")
                peer.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + page.encode())

    threading.Thread(target=serve, daemon=True).start()
    yield f"unix:{path}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def top(metrics):
    return [SLUICED, "top", "--metrics", metrics]


def read_until(terminal, wanted):
    """What a terminal shows up to some text; 20 s at most."""
    shown, end = b"", time.monotonic() + 20
    while wanted not in shown:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 65536)
    return shown


@pytest.mark.parametrize("end", [b"q", CTRL_C, signal.SIGTERM])
def test_top_draws_and_leaves_the_terminal_as_it_was(daemon, end):
    ours, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    before = termios.tcgetattr(terminal)
    process = subprocess.Popen(top(daemon), stdin=terminal, stdout=terminal, stderr=terminal)
    # it comes after the queue and the sojourn of the second link
    read_until(ours, b"icmp6")
    assert termios.tcgetattr(terminal) != before
    if isinstance(end, bytes):
        os.write(ours, end)
    else:
        process.send_signal(end)
    shown = read_until(ours, SHOW_CURSOR)
    assert LEAVE_SCREEN in shown
    assert process.wait(timeout=10) == 0
    assert termios.tcgetattr(terminal) == before
    os.close(ours)
    os.close(terminal)


def test_top_says_what_to_do_without_a_daemon(tmp_path):
    path = f"unix:{tmp_path}/metrics"
    done = subprocess.run(top(path), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"sluiced: no daemon tells how it stands at {path}: No such file")
    assert f"sluiced run ... --metrics {path}" in done.stderr
    assert done.stdout == ""


def test_top_draws_nothing_into_a_pipe(daemon):
    done = subprocess.run(top(daemon), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "sluiced top draws in a terminal" in done.stderr
    assert done.stdout == ""
