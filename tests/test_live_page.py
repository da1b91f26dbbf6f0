"""The live page of `sluiced` in a real browser, before a gate with real packets; and refusals."""

import json
import socket
import socketserver
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import browser
import devtools
import pytest
from gate_run import ENTER, SLUICED, lacking

pytestmark = pytest.mark.slow
LAB = Path(__file__).with_name("gate_live_lab.py")
# that of the lab
TOKEN = "0123456789abcdef"


class Forward(socketserver.BaseRequestHandler):
    """Brings a connection from a port of this machine to the daemon's socket in the file system."""

    def handle(self):
        with socket.socket(socket.AF_UNIX) as daemon:
            daemon.connect(self.server.metrics)
            threading.Thread(target=carry, args=(self.request, daemon), daemon=True).start()
            carry(daemon, self.request)


def carry(of, to):
    with suppress(OSError):
        while data := of.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)


@contextmanager
def forwarded(metrics):
    """A port that leads to the daemon."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Forward) as server:
        server.daemon_threads, server.metrics = True, metrics
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module")
def daemon():
    """A gate at work: its socket, and a function that ends it and returns what it counted."""
    if why := lacking():
        pytest.skip(why)
    command = [*ENTER, sys.executable, LAB, SLUICED, "looked_at"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as lab:
        first = lab.stdout.readline()
        assert first, lab.stderr.read()

        def end():
            told, wrong = lab.communicate(timeout=60)
            assert lab.returncode == 0, wrong
            return json.loads(told)

        yield json.loads(first)["metrics"], end
        if lab.poll() is None:
            lab.stdin.close()
            lab.wait(60)


@pytest.fixture
def shown(daemon, tmp_path):
    """The live page in a browser, and its address."""
    if devtools.MISSING:
        pytest.skip(devtools.MISSING)
    with forwarded(daemon[0]) as port, devtools.browser(tmp_path) as running:
        url = f"http://127.0.0.1:{port}/"
        running.open(url)
        running.wait("rows.forward.length > 5 && rows.forward.some(row => row.shadow)")
        yield running, url


def focus(running, name):
    """Go to an element by the Tab key alone."""
    for _ in range(60):
        running.press("Tab")
        if running.js("document.activeElement.id") == name:
            return
    raise AssertionError(f"Tab never comes to {name}")


def test_it_shows_the_queue_by_keyboard_alone_and_asks_nobody_else(shown):
    running, url = shown
    running.wait("$('figures').textContent.includes('L4S')")
    row = running.js("rows.forward.findLast(row => row.shadow)")
    assert row["discipline"].startswith("red")
    assert row["shadow"]["discipline"] == "drop_tail"
    assert {name for name, *_ in row["classes"]} == {"best effort", "L4S", "priority"}
    assert 4e6 < row["sent_bps"] < 6e6
    assert row["lateness_ms"]["max"] > 0
    # RED keeps the queue below its greatest threshold, and drop-tail fills the same buffer
    running.wait("rows.forward.some(row => row.shadow?.queue_mean > 90 && row.queue_mean < 50)")
    assert "did not" in running.js("$('shadow').textContent")
    drawn = "[...document.querySelectorAll('canvas')].every(each => each.getContext('2d')"
    drawn += ".getImageData(0, 0, each.width, each.height).data.some(Boolean))"
    assert running.js(drawn)
    labels = running.js("[...document.querySelectorAll('.plot')].map(each => each.ariaLabel)")
    assert len(labels) == 10
    assert all("in the last interval: " in label for label in labels)
    # every strip says how it is read
    assert running.js("[...document.querySelectorAll('figure')].every("
                      "each => each.lastChild.textContent.length > 20)")  # fmt: skip

    running.js("document.activeElement.blur()")
    focus(running, "pause")
    running.press("Enter", "\r")
    running.wait("$('state').textContent == 'paused'")
    # less than five minutes are there: the axis goes to the first record, and 30 s at least
    first_s = running.js("strips[0].uplot.data[0][0]")
    assert running.js("strips[0].uplot.scales.x.min") == -max(30, -first_s)
    running.press("Enter", "\r")
    running.wait("$('state').textContent == 'live'")
    running.js("$('span').focus()")
    running.js("$('span').value = '60'; $('span').onchange()")
    focus(running, "aqm")
    running.js("$('aqm').value = 'pie'; $('aqm').onchange()")
    focus(running, "param-target")
    running.js("document.activeElement.select()")
    for digit in "0.01":
        running.press(digit, digit)
    assert running.js("$('text').textContent") == "--aqm pie:target=0.01"
    focus(running, "token")
    for letter in TOKEN:
        running.press(letter, letter)
    running.press("Enter", "\r")
    running.wait("$('switched').textContent.includes('pie')")
    running.wait("rows.forward.at(-1).discipline == 'pie target=0.01'")

    # a reload keeps what was chosen, and what was seen, but not the token
    running.reload()
    running.wait("rows.forward.length > 5 && $('aqm').value == 'pie'")
    assert running.js("[$('span').value, $('param-target').value, $('token').value]") == [
        *("60", "0.01", ""),
    ]
    assert running.js("rows.forward.some(row => row.discipline.startsWith('red'))")
    assert running.js("location.href.includes('0123')") is False
    assert {each.rpartition("#")[0] or each for each in running.requests} <= {
        *(url, f"{url}events", f"{url}discipline", f"{url}disciplines", "data:,"),
    }
    assert running.errors == []


def test_it_has_room_and_axe_finds_nothing(shown):
    running, _ = shown
    for width in (390, 1300):
        running.resize(width, 900)
        running.wait(f"document.documentElement.scrollWidth <= {width}")
        wide = "[...document.querySelectorAll('button, input, select, canvas, td, p')].filter("
        wide += "each => each.getBoundingClientRect().right > innerWidth + 1).length"
        running.wait(f"{wide} == 0")
    if browser.MISSING:
        pytest.skip(browser.MISSING)
    running.js(browser.axe())
    for scheme in ("light", "dark"):
        running.prefer(prefers_color_scheme=scheme)
        rules, violations = running.js(
            "axe.run().then(told => [told.passes.length, told.violations.flatMap("
            "rule => rule.nodes.map(node => [rule.id, node.html.slice(0, 200)]))])"
        )
        assert violations == []
        assert rules > 20


def asked(metrics, request, patience_s=60):
    """The status of an answer; 0 if the daemon closed without one."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(patience_s)
        peer.connect(metrics)
        with suppress(BrokenPipeError, ConnectionResetError):
            peer.sendall(request.encode())
        answer = b""
        with suppress(ConnectionResetError):
            answer = peer.recv(4096)
        return int(answer.split()[1]) if answer else 0


def test_who_must_not_ask_is_refused_and_the_packets_do_not_notice(daemon):
    metrics, end = daemon
    here = "Host: 127.0.0.1:8417\r\n"
    body = json.dumps({"link": "forward", "discipline": "codel"})
    post = f"POST /discipline HTTP/1.1\r\n{here}Content-Length: {len(body)}\r\n"
    post += "Content-Type: application/json\r\n"
    for request, status in (
        (f"GET / HTTP/1.1\r\n{here}\r\n", 200),
        ("GET /records HTTP/1.0\r\n\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: rebound.example:8417\r\n\r\n", 421),
        ("GET /metrics HTTP/1.1\r\nHost: rebound.example\r\n\r\n", 421),
        (f"GET /events HTTP/1.1\r\n{here}Origin: http://evil.example\r\n\r\n", 403),
        (f"GET /events HTTP/1.1\r\n{here}Sec-Fetch-Site: cross-site\r\n\r\n", 403),
        (f"{post}Origin: http://evil.example\r\nAuthorization: Bearer {TOKEN}\r\n\r\n{body}", 403),
        (f"{post}Authorization: Bearer wrong\r\n\r\n{body}", 401),
        (f"GET / HTTP/1.1\r\n{here}Cookie: {'x' * 9000}\r\n\r\n", 431),
        (f"POST /discipline HTTP/1.1\r\n{here}Content-Length: 1000000\r\n\r\n", 431),
    ):
        assert asked(metrics, request) == status, request[:200]
    # a request that never ends is closed
    assert asked(metrics, "GET / HTTP/1.1\r\nHost") == 0
    found = end()
    assert "codel" not in found["switches"]
    assert found["discipline"] != "codel"
    # nothing is lost on the way, whoever asks
    assert found["id_gaps"] == found["overruns"] == found["refused_verdicts"] == 0
    assert found["arrivals"] == found["released"] + found["lost"] + found["left_at_end"]
