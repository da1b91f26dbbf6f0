"""Both ends of the testbed's TCP flows, over the loopback."""

import socket
import time
from functools import partial
from types import SimpleNamespace

import pytest

import sluicegate as sg
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed import sender as sender_module
from sluicegate.testbed import streams as streams_module
from sluicegate.testbed.applications import PacketSender
from sluicegate.testbed.job import END, Stream
from sluicegate.testbed.loop import Loop
from sluicegate.testbed.sender import Sender
from sluicegate.testbed.streams import Receivers, Senders
from sluicegate.worlds.real.plan import plan

HERE = "127.0.0.1"
MS = 1_000_000


class AnyPort(int):
    """The number from which ports are counted, where the kernel is to choose each."""

    def __add__(self, place):
        return 0


@pytest.fixture
def listener(monkeypatch):
    """A listening socket, to which all senders connect, from ports that the kernel chooses."""
    with socket.create_server((HERE, 0)) as made:
        monkeypatch.setattr(sender_module, "stream_port", lambda _: made.getsockname()[1])
        monkeypatch.setattr(sender_module, "FIRST_PORT", AnyPort())
        yield made


def made(kind, loop, packets, supplied):
    """A sender of 1000 bytes in each packet."""
    tcp = {"packet_bytes": 1040, "congestion_control": "reno", "ect1": False, "dscp": 0, "flow": 0}
    given = {"start_ns": 0, "stop_ns": None, "packets": packets, "supplied": supplied}
    return kind(loop, 0, Stream(0, 0, **tcp, **given), (HERE, HERE), False)


def limited(loop):
    """A sender of a limited rate."""
    return made(PacketSender, loop, 0, "packets")


def greedy(loop):
    """A sender without an end."""
    return made(Sender, loop, None, "at_once")


def run(loop, ms=100):
    loop.run(time.monotonic_ns() + ms * MS)


def arrived(connection):
    """How many bytes come until the other end closes, which then hears that all is taken."""
    count = 0
    while taken := len(connection.recv(1 << 16)):
        count += taken
    connection.close()
    return count


def ended(sender):
    """Whether it ended as it should; its socket is closed."""
    outcome = sender.outcome()
    if outcome.completion_ns or outcome.error:
        sender.info()
    return not outcome.error and outcome.completion_ns > 0


def end_by_application(sender, packets):
    for left in reversed(range(packets)):
        sender.give(1, is_last=not left)


def end_by_stop(sender, packets):
    for _ in range(packets):
        sender.give(1, is_last=False)
    sender.stop()


@pytest.mark.parametrize("packets", [1, 3])
@pytest.mark.parametrize("end", [end_by_application, end_by_stop])
def test_what_is_given_before_the_handshake_ends_is_sent_after_it(listener, packets, end):
    loop = Loop()
    sender = limited(loop)
    sender.start()
    # the loop has not yet seen that the connection is there, as in a long round trip
    end(sender, packets)
    run(loop, 20)
    payload = sender.outcome().payload
    assert payload > 900
    connection, _ = listener.accept()
    connection.settimeout(5)
    assert arrived(connection) == packets * payload
    run(loop, 20)
    assert ended(sender)


def test_a_stop_takes_back_nothing_that_was_given(listener):
    loop = Loop()
    sender = limited(loop)
    sender.start()
    run(loop, 20)
    connection, _ = listener.accept()
    connection.settimeout(5)
    # far more than the sockets take at once
    packets = 20_000
    sender.give(packets, is_last=False)
    sender.stop()
    count = 0
    payload = sender.outcome().payload
    connection.setblocking(False)
    while count < packets * payload:
        run(loop, 5)
        count_before = count
        try:
            while taken := len(connection.recv(1 << 20)):
                count += taken
        except BlockingIOError:
            pass
        assert count > count_before
    run(loop, 5)
    assert connection.recv(1) == b""
    connection.close()
    run(loop, 20)
    assert ended(sender)


def test_a_stop_in_the_handshake_ends_the_flow_after_it(monkeypatch):
    """The listener has room for one connection, so that the second waits to be tried again."""
    loop = Loop()
    with socket.create_server((HERE, 0), backlog=0) as full, socket.socket() as first:
        monkeypatch.setattr(sender_module, "stream_port", lambda _: full.getsockname()[1])
        monkeypatch.setattr(sender_module, "FIRST_PORT", AnyPort())
        first.connect(full.getsockname())
        sender = greedy(loop)
        sender.start()
        run(loop, 5)
        assert sender.outcome().payload == 0
        sender.stop()
        full.accept()[0].close()
        full.settimeout(10)
        while not sender.outcome().payload:
            run(loop)
        connection, _ = full.accept()
        connection.settimeout(5)
        assert arrived(connection) == 0
        run(loop, 20)
        outcome = sender.outcome()
        assert outcome.payload > 900
        assert (outcome.completion_ns, outcome.error) == (None, "")
        # it stays open until the end of the run
        sender._socket.close()


@pytest.mark.parametrize("kind", [{"rate_bps": 1e6}, {}, {"packets": 5}], ids=str)
def test_a_flow_that_would_start_once_it_has_ended_sends_nothing(listener, monkeypatch, kind):
    monkeypatch.setattr(streams_module, "address", lambda *_: HERE)
    given = NetworkScenario.parse(
        {
            "duration_s": 0.5,
            "warm_up_s": 0.0,
            "replications": 1,
            "topology": {"kind": "dumbbell", "rate_bps": 10e6, "client_delays_s": [0.01]},
            "flows": [{"kind": "tcp", "count": 8, "stop_s": 0.1, "spread_s": 0.3, **kind}],
            "disciplines": [{"aqm": "drop_tail"}],
        }
    )
    job = plan(given, given.disciplines[0], 0, None, None, False).job.hosts[0]
    begins = [stream.start_ns < stream.stop_ns for stream in job.streams]
    assert 0 < sum(begins) < 8
    packets = sg.network.simulate(given).flows["packets"].to_list()
    assert [count > 0 for count in packets] == begins
    loop = Loop()
    senders = Senders(loop, job)
    senders.begin(time.monotonic_ns())
    run(loop, 400)
    listener.setblocking(False)
    counts = []
    for _ in range(sum(begins)):
        connection, _ = listener.accept()
        connection.settimeout(5)
        counts.append(arrived(connection))
    # a flow without a limit of its rate may come to its stop in the handshake on a busy machine
    assert (min if "rate_bps" in kind else max)(counts) > 0
    with pytest.raises(BlockingIOError):
        listener.accept()
    run(loop, 20)
    finished = [bool(each.completion_ns) for each in senders.outcomes()]
    # a busy machine may let some come to their stop in the handshake
    assert any(finished)
    assert all(begun for begun, is_done in zip(begins, finished, strict=True) if is_done)
    assert not any(each.error for each in senders.outcomes())
    senders.sample(0)
    # those stay open until the end of a run
    for sender in senders._senders:
        if sender._socket is not None:
            sender._socket.close()


class Narrow:
    """A socket that first takes nothing, and then one byte at a time."""

    def __init__(self, own):
        self._own = own
        self.is_full = True

    def send(self, content):
        if self.is_full:
            self.is_full = False
            raise BlockingIOError
        return self._own.send(content[:1])

    def __getattr__(self, name):
        return getattr(self._own, name)


def test_answers_that_find_no_room_are_sent_later(monkeypatch):
    loop = Loop()
    monkeypatch.setattr(Receivers, "_listen", lambda *_: None)
    job = SimpleNamespace(
        info_ns=100 * MS,
        sample_ns=10 * MS,
        duration_ns=1000 * MS,
        arriving_streams=1,
        arriving_answered=[0],
        arriving_dctcp=False,
        ipv6=False,
    )
    receivers = Receivers(loop, job)
    receivers.begin(time.monotonic_ns())
    user, own = socket.socketpair()
    narrow = Narrow(own)
    with user, own:
        user.settimeout(5)
        loop.on_readable(narrow, partial(receivers._take, narrow, 0))
        for objects in (3, 1):
            narrow.is_full = True
            user.sendall((bytes(9) + END) * objects)
            run(loop, 20)
            assert user.recv(100) == bytes(objects)
        assert receivers.bytes().sum() == receivers.sampled().sum() == 40
        # one whose user has gone away is closed
        user.close()
        run(loop, 20)
        assert own.fileno() == -1
