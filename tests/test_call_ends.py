"""Both ends of video calls, over the loopback, with a clock that waits for no busy machine."""

import resource
import select
import socket
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.testbed import calls as calls_module
from sluicegate.testbed import host, loop
from sluicegate.testbed.calls import Calls
from sluicegate.testbed.job import CallEnds, Drawn
from sluicegate.testbed.outcome import FRAME, LEARNT, SENT, SHOWN
from sluicegate.worlds.real.alone import alone

HERE = "127.0.0.1"
MS = 1_000_000
# the loopback delivers at once, or a moment later on a busy machine
DELIVERY_S = 0.005


class Clock:
    """Jumps to the end of each wait in which nothing comes."""

    def __init__(self):
        self.now_ns = 1000 * MS

    def monotonic_ns(self):
        return self.now_ns

    def select(self, readable, writable, broken, wait_s):
        found = select.select(readable, writable, broken, min(wait_s, DELIVERY_S))
        if not any(found):
            self.now_ns += round(wait_s * 1e9)
        return found


@pytest.fixture
def clock(monkeypatch):
    """The time of calls and of their loop."""
    made = Clock()
    for module in (calls_module, loop):
        monkeypatch.setattr(module, "time", made)
    others = {name: getattr(select, name) for name in ("epoll", "EPOLLIN", "EPOLLOUT")}
    monkeypatch.setattr(loop, "select", SimpleNamespace(select=made.select, **others))
    return made


@pytest.fixture
def ends(monkeypatch, clock):
    """Makes both ends of so many calls, of which the first and the last send; closes them all.

    Their `go` is a run that begins now, or as if the process had been held up since then.
    """
    made = []

    def make(count=2, first_port=10000, duration_ms=300):
        monkeypatch.setattr(calls_module, "address", lambda *_: HERE)
        monkeypatch.setattr(calls_module, "FIRST_CALL_PORT", first_port)
        monkeypatch.setattr(calls_module, "CALL_PORT", first_port - 1)
        given = NetworkScenario.parse(
            {
                "duration_s": 1.0,
                "topology": {"kind": "dumbbell", "rate_bps": 10e6, "client_delays_s": [0.05]},
                "flows": [{"kind": "call", "count": count, "max_rate_bps": 2e6}],
                "disciplines": [{"aqm": "drop_tail"}],
            }
        )
        each = [
            CallEnds(number, number, 0, 0, 0 if number in (0, count - 1) else None, 0, 0)
            for number in range(count)
        ]
        made.append(
            Calls(
                SimpleNamespace(
                    side="clients",
                    ipv6=False,
                    calls=each,
                    arriving_calls=each,
                    duration_ns=duration_ms * MS,
                    drawn=Drawn(alone(given, Discipline(aqm="drop_tail")), 0),
                )
            )
        )
        made[-1].go = lambda late_ns=0, calls=made[-1]: calls.run(clock.now_ns - late_ns)
        return made[-1]

    yield make
    for each in made:
        for own in [each._listener, *(own for own, _ in each._sending.values())]:
            own.close()


def of(outcome, what, call):
    rows = outcome.events
    return rows[(rows[:, 2] == what) & (rows[:, 1] == call)]


def assert_all_is_heard(outcome, call):
    """All that left came, except for what was on its way at the end; feedback came, too."""
    sent = int(of(outcome, SENT, call)[:, 3].sum())
    shown = of(outcome, SHOWN, call)[:, 3].tolist()
    assert 3 < len(of(outcome, FRAME, call)) < 15
    assert sent > 2
    assert shown == list(range(len(shown)))
    assert 0 <= sent - len(shown) <= 5
    assert len(of(outcome, LEARNT, call)) > 2


def test_more_calls_than_select_has_numbers_for(ends):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2048:
        pytest.skip("this machine allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    try:
        calls = ends(1100, first_port=12000)
        assert calls._sending[1099][0].fileno() > 1024
        outcome = calls.go()
    finally:
        for own, _ in calls._sending.values():
            own.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    for call in (0, 1099):
        assert_all_is_heard(outcome, call)


class Full:
    """A socket whose buffer is full each second time."""

    def __init__(self, own):
        self._own = own
        self.refused = 0
        self._count = 0

    def sendmsg(self, *given):
        self._count += 1
        if self._count % 2:
            self.refused += 1
            raise BlockingIOError
        return self._own.sendmsg(*given)

    def __getattr__(self, name):
        return getattr(self._own, name)


def test_a_packet_that_the_kernel_does_not_take_is_counted_and_the_rest_goes_on(ends):
    calls = ends(first_port=14000)
    own, call = calls._sending[0]
    full = Full(own)
    calls._sending[0] = full, call
    calls._loop.on_readable(own, partial(calls._hear, 0, full))
    calls._listener = Full(calls._listener)
    calls._loop.on_readable(calls._listener, calls._take)
    outcome = calls.go()
    assert outcome.unsent == full.refused + calls._listener.refused
    assert full.refused > 2
    assert calls._listener.refused > 2
    sent = int(of(outcome, SENT, 0)[:, 3].sum())
    # each of those that the engine counts as sent was tried
    assert sent == full._count
    shown = of(outcome, SHOWN, 0)[:, 3]
    assert (np.diff(shown) == 2).all()
    assert sent // 2 - 3 <= len(shown) <= sent // 2
    assert 3 < len(of(outcome, FRAME, 0)) < 15
    # half of its feedback is lost, too
    assert len(of(outcome, SHOWN, 1)) > 2


def test_stray_packets_are_ignored(ends):
    calls = ends(first_port=16000)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as known:
        # from a port that no call has
        known.bind((HERE, 0))
        to_video, to_feedback = (
            each.getsockname() for each in (calls._listener, calls._sending[0][0])
        )
        known.sendto(bytes(100), to_video)
        known.sendto(b"short", to_feedback)
        # feedback of packets that were never sent
        known.sendto(calls_module._REPORT.pack(2**32 - 1, 2**63 - 1, 1, 0), to_feedback)
    # from that of a call, and short
    calls._sending[1][0].sendto(b"", to_video)
    outcome = calls.go()
    for call in (0, 1):
        assert_all_is_heard(outcome, call)
    assert outcome.unsent == 0


def test_it_is_noted_how_late_frames_are(ends):
    calls = ends(first_port=18000)
    late_ns = calls.go(late_ns=50 * MS).lateness_ns.tolist()
    # two frames of each call were due by then: at 0 and at 33 ms
    assert sorted(late_ns)[-4:] == [50 * MS - 33_333_333] * 2 + [50 * MS] * 2
    assert set(late_ns[4:]) == {0}
    assert len(late_ns) > 10


def test_a_process_of_calls_that_ends_early_is_named():
    ours, its = host.multiprocessing.Pipe()
    its.close()
    with pytest.raises(SluiceError, match="the process of the video calls ended"):
        host._heard(ours)
    ours.close()
