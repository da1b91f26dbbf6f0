"""The testbed with the kernel as its router: real packets; nothing is left after it."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.errors import SluiceError
from sluicegate.testbed import run as bed
from sluicegate.testbed.check import congestion_controls, ipv6_need, missing, namespace_needs
from sluicegate.testbed.job import Datagrams, HostJob, Job, Stream
from sluicegate.testbed.run import run
from sluicegate.testbed.tcp_info import COLUMNS, UNKNOWN, tcp_info
from sluicegate.toml import toml

pytestmark = pytest.mark.slow

LACKING = missing(namespace_needs())
needs_namespaces = pytest.mark.skipif(bool(LACKING), reason=f"no testbed here: {LACKING}")

MS = 1_000_000


def datagrams(count=0, every_ns=MS, size=500):
    flows = [0] * bool(count)
    return Datagrams(
        sources=flows,
        sinks=flows,
        time_ns=np.arange(count, dtype=np.uint64) * every_ns,
        flow=np.zeros(count, dtype=np.int64),
        bytes=np.full(count, size, dtype=np.uint32),
        traffic_class=np.zeros(count, dtype=np.uint8),
    )


def job(streams=(), sent=None, back=(), duration_ns=1000 * MS, ipv6=False):
    """Return a job: streams and datagrams of the clients, and streams of the servers."""
    sent = sent or datagrams()

    def host(side, own, given, arriving_streams, arriving_datagrams):
        return HostJob(
            side=side,
            hosts=2,
            streams=own,
            datagrams=given,
            arriving_streams=arriving_streams,
            arriving_dctcp=False,
            arriving_datagrams=arriving_datagrams,
            mtu=1500,
            duration_ns=duration_ns,
            sample_ns=10 * MS,
            info_ns=100 * MS,
            ecn=0,
            ipv6=ipv6,
        )

    clients = host("clients", streams, sent, len(back), 0)
    servers = host("servers", back, datagrams(), len(streams), len(sent.sources))
    return Job((clients, servers), None)


def stream(**changes):
    given = {
        "source": 0,
        "sink": 0,
        "start_ns": 0,
        "stop_ns": None,
        "packets": None,
        "packet_bytes": 500,
        "congestion_control": "reno",
        "ect1": False,
        "dscp": 0,
        "flow": 0,
        "supplied": "at_once",
    }
    return Stream(**{**given, **changes})


@needs_namespaces
@pytest.mark.parametrize(("ipv6", "payload"), [(False, 448), (True, 428)], ids=["IPv4", "IPv6"])
def test_every_byte_and_datagram_crosses_the_router(ipv6, payload):
    if ipv6 and (lacking := missing([ipv6_need()])):
        pytest.skip(lacking)
    streams = [stream(packets=100, source=1, sink=1), stream(packets=3, start_ns=300 * MS)]
    sent = datagrams(count=400, size=700)
    clients, servers = run(job(streams, sent, back=[stream(packets=50)], ipv6=ipv6)).hosts
    # 500 bytes less 20 or 40 of IP, 20 of TCP and 12 of time stamps
    assert [each.payload for each in clients.sent.streams] == [payload, payload]
    assert servers.received.stream_bytes.sum(axis=1).tolist() == [100 * payload, 3 * payload]
    assert servers.received.stream_bytes[1, :3].sum() == 0
    assert servers.received.sampled_bytes.sum() == 103 * payload
    assert clients.received.stream_bytes.sum() == 50 * payload
    assert servers.received.datagrams.tolist() == [400]
    assert servers.received.overruns == 0
    for each in (*clients.sent.streams, *servers.sent.streams):
        assert not each.error
        assert each.completion_ns > 0
    # no datagram leaves before its time
    assert len(clients.sent.lateness_ns) == 400
    assert clients.sent.lateness_ns.min() >= 0
    assert clients.sent.start_lateness_ns.min() >= 0


@needs_namespaces
def test_a_stream_ends_with_its_application_and_is_sampled_until_then():
    stopped = stream(stop_ns=400 * MS)
    clients, servers = run(job([stopped], duration_ns=2000 * MS)).hosts
    (outcome,) = clients.sent.streams
    # it starts at 0 or later, and its application ends at 400 ms or later
    end_ns = outcome.completion_ns + clients.sent.start_lateness_ns[0]
    assert end_ns >= 400 * MS
    assert servers.received.stream_bytes[0, : end_ns // (100 * MS) + 1].sum() > 0
    assert servers.received.stream_bytes[0, end_ns // (100 * MS) + 1 :].sum() == 0
    info = clients.sent.info
    assert info.shape[1] == len(COLUMNS)
    assert info[:, COLUMNS.index("cwnd")].min() >= 1
    assert info[-1, 1] <= end_ns + 200 * MS


@needs_namespaces
def test_it_works_for_an_ordinary_user(monkeypatch):
    words = ["unshare", *bed._AS_ROOT_IN_THERE, *bed._SPACES]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no user namespaces: {tried.stderr}")
    monkeypatch.setattr(bed, "entrance", lambda: words)
    _, servers = run(job([stream(packets=20)], duration_ns=300 * MS)).hosts
    assert servers.received.stream_bytes.sum() == 20 * 448


@needs_namespaces
def test_an_error_in_a_host_is_reported():
    wrong = stream(congestion_control="nonsense")
    with pytest.raises(SluiceError, match=r"(?s)clients ended.*No such file"):
        run(job([wrong]))


def processes_with(mark):
    """Return the processes that have `mark` in their environment, which children inherit."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes():
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


def networks(processes):
    """Return the network namespaces of processes, as far as they can be read."""
    found = set()
    for process in processes:
        try:
            found.add(os.readlink(f"/proc/{process}/ns/net"))
        except OSError:
            continue
    return found


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()


def as_owner(process):
    """Return what lets nsenter enter the other namespaces of an ordinary user's process."""
    try:
        users = {os.readlink(f"/proc/{each}/ns/user") for each in (process, "self")}
    except OSError:
        return []
    return ["-U", "--preserve-credentials"] if len(users) == 2 else []


@needs_namespaces
def test_hosts_keep_the_hash_of_a_flow_after_a_time_out(monkeypatch):
    if not Path("/proc/sys/net/core/txrehash").exists():
        pytest.skip("this kernel cannot be told: Linux 5.18 or newer can")
    mark = f"hashes-{os.getpid()}"
    monkeypatch.setenv("SLUICE_MARK", mark)
    found = {}

    def look(_):
        for process in processes_with(mark.encode()) - {os.getpid()}:
            words = ["nsenter", "-t", str(process), *as_owner(process), "-n"]
            words += ["cat", "/proc/sys/net/core/txrehash"]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.stdout and networks([process]) - networks([os.getpid()]):
                found[min(networks([process]))] = done.stdout.strip()

    run(job([stream(packets=20)], duration_ns=600 * MS), look)
    # the two hosts, and the router between them, which has no TCP
    assert sorted(found.values()) == ["0", "0", "1"]


CALLER = """
import pickle, sys
from sluicegate.testbed.run import run
run(pickle.load(open(sys.argv[1], "rb")), lambda since_s: print("runs", flush=True))
"""


@needs_namespaces
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_after(number, tmp_path):
    (tmp_path / "job").write_bytes(pickle.dumps(job([stream()], duration_ns=60_000 * MS)))
    # processes are found by their environment: the kernel reuses the numbers of namespaces
    mark = f"SLUICE_TEST={tmp_path}"
    links = set(os.listdir("/sys/class/net"))
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER, tmp_path / "job"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict([*os.environ.items(), mark.split("=")]),
        text=True,
    )
    assert "runs" in caller.stdout.readline()
    below = processes_with(mark.encode()) - {caller.pid}
    # the processes are unshare, the bed and two hosts, in three network namespaces
    assert len(below) >= 4
    assert len(networks(below) - networks([os.getpid()])) == 3
    caller.send_signal(number)
    caller.communicate()
    # no process is left, and therefore no namespace
    wait_for(lambda: not processes_with(mark.encode()))
    assert set(os.listdir("/sys/class/net")) == links


@pytest.mark.parametrize("control", ["reno", "bbr"])
def test_tcp_info_is_read_at_the_right_offsets(control):
    if control not in congestion_controls():
        pytest.skip(f"this kernel has no {control}: modprobe tcp_{control}")
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 460)
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    sender.connect(listener.getsockname())
    receiver, _ = listener.accept()
    sender.sendall(bytes(4480))
    wait_for(lambda: dict(zip(COLUMNS[2:], tcp_info(sender)[0], strict=True))["delivered"] > 10)
    row, payload = tcp_info(sender)
    found = dict(zip(COLUMNS[2:], row, strict=True))
    assert payload == 448
    # the SYN, and ten packets
    assert found["delivered"] == 11
    assert found["cwnd"] >= 10
    assert 0 < found["rtt_us"] < 1_000_000
    assert found["retransmissions"] == found["lost"] == found["unacknowledged"] == 0
    assert found["timeouts"] in (0, UNKNOWN)
    assert 0 < found["min_rtt_us"] <= found["rtt_us"]
    # ten packets in a round trip, at most
    assert 0 < found["delivery_rate"] <= 4480 * 1e6 / found["min_rtt_us"]
    if control == "bbr":
        # of STARTUP (tcp_bbr.c: bbr_high_gain), and its estimate of the rate, less 1 %
        assert found["pacing_gain"] == found["window_gain"] == 739
        assert found["pacing_rate"] >= 0.98 * 739 / 256 * found["rate_estimate"] > 0
    else:
        assert found["pacing_gain"] == found["rate_estimate"] == UNKNOWN
    for each in (receiver, sender, listener):
        each.close()


@pytest.mark.parametrize("path", sorted(Path("scenarios/network").glob("*.toml")), ids=str)
def test_a_scenario_comes_back_from_the_toml_that_the_daemon_reads(path, root):
    scenario = sg.load(root / path)
    assert type(scenario).parse(tomllib.loads(toml(scenario.table()))) == scenario
