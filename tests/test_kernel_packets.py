"""The packets of the worlds `kernel` and `twin` in a file; the command with several worlds."""

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from kernel_needs import needs_qdiscs
from test_kernel_world import scenario

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.errors import SluiceError
from sluicegate.testbed.outcome import Outcome, Seen, StreamOutcome
from sluicegate.testbed.packets import WITH_HEADERS
from sluicegate.trace import Trace
from sluicegate.traffic import Capture
from sluicegate.worlds import Kernel, Twin
from sluicegate.worlds.kernel import world as kernel_world
from sluicegate.worlds.kernel.packets import write_packets
from sluicegate.worlds.kernel.plan import Layer, lab_plan
from sluicegate.worlds.kernel.record import KernelRecord
from sluicegate.worlds.network import simulate
from sluicegate.worlds.twin.qdisc import own_rate_bps

pytestmark = pytest.mark.slow

START_NS = 10**9
SYN, ACK, ECE, CWR = 0x02, 0x10, 0x40, 0x80
STREAM, DATAGRAM = 1000, 1001
MIXED = [
    {"kind": "tcp", "count": 2, "tcp": {"packet_bytes": 1500, "ack_bytes": 52, "like": "linux"}},
    {"kind": "datagrams", "rate_bps": 4e5, "packet_bytes": 500},
    {"kind": "tcp", "source": "server0", "sink": "client0", "tcp": {"packet_bytes": 1500}},
]


def packet(time_ms, number, ports, tcp=None, tos=0, size=1500):
    """A row of the log; `tcp` is sequence number, number acknowledged and flags."""
    row = np.zeros(1, dtype=WITH_HEADERS)
    row["time_ns"] = START_NS + round(time_ms * 1e6)
    row["number"], row["tos"], row["bytes"] = number, tos, size
    row["ports"] = (ports[0] << 16) + ports[1]
    row["protocol"] = 17 if tcp is None else 6
    row["source"], row["sink"] = 0x0A010002, 0x0A020002
    headers = bytearray(40)
    headers[0], headers[1], headers[9] = 0x45, tos, int(row["protocol"][0])
    headers[2:4] = size.to_bytes(2, "big")
    headers[12:20] = bytes([10, 1, 0, 2, 10, 2, 0, 2])
    headers[20:24] = (ports[0] << 16 | ports[1]).to_bytes(4, "big")
    if tcp is not None:
        sent, acknowledged, headers[33] = tcp
        headers[24:32] = (sent << 32 | acknowledged).to_bytes(8, "big")
        headers[32] = 5 << 4
    row["headers"] = np.frombuffer(headers, dtype=np.uint8)
    return row


def seen(*came, left):
    """A link that packets came to; `left` has pairs of place and time."""
    gone = [came[place].copy() for place, _ in left]
    for row, (_, time_ms) in zip(gone, left, strict=True):
        row["time_ns"] = START_NS + round(time_ms * 1e6)
    return Seen(np.concatenate(came), np.concatenate(gone), np.zeros(0, dtype=np.int64), "")


def written(path, link):
    asked = scenario(flows=MIXED)
    planned = lab_plan(asked, asked.disciplines[0], 0, Layer("pfifo", False), None, headers=True)
    stream = StreamOutcome(payload=1448, completion_ns=None, error="")
    host = SimpleNamespace(sent=SimpleNamespace(streams=[stream, stream]))
    outcome = Outcome(START_NS, (host, host), "", [link], (0.0, 0.0))
    write_packets(path, asked, planned, outcome)
    return path


# the SYN's number is just below the last that there is
BEGUN = 2**32 - 100
LINK = seen(
    packet(0, 1, (2000, STREAM), (BEGUN, 0, SYN | ECE | CWR), size=60),
    packet(1, 2, (2000, STREAM), (BEGUN + 1, 1, ACK), tos=2),
    packet(2, 3, (2000, STREAM), (1448 - 99, 1, ACK | CWR), tos=2),
    packet(3, 4, (2000, STREAM), (2 * 1448 - 99, 1, ACK), tos=3),
    packet(4, 5, (2000, DATAGRAM), size=500),
    packet(5, 6, (2000, DATAGRAM), size=500),
    # of the flow from the server: an answer to its SYN, and two packets acknowledged, then marks
    packet(6, 7, (STREAM, 2000), (7, 5001, SYN | ACK), size=60),
    packet(7, 8, (STREAM, 2000), (8, 5001 + 2 * 1448, ACK | ECE), size=52),
    # waits as the log ends, and comes after the end
    packet(8, 9, (2001, STREAM), (77, 0, SYN), size=60),
    packet(2000, 10, (2000, DATAGRAM), size=500),
    left=[(0, 0.5), (1, 3), (3, 4.5), (4, 5), (5, 5.5), (6, 6.5), (7, 7.5), (9, 2001)],
)
TRACE = """\
+ 0.000000000 0 1 tcp 60 C--A--- 0 2.2000 3.1000 0 0
- 0.000500000 0 1 tcp 60 C--A--- 0 2.2000 3.1000 0 0
+ 0.001000000 0 1 tcp 1500 ------N 0 2.2000 3.1000 1 1
+ 0.002000000 0 1 tcp 1500 ---A--N 0 2.2000 3.1000 2 2
d 0.002000000 0 1 tcp 1500 ---A--N 0 2.2000 3.1000 2 2
+ 0.003000000 0 1 tcp 1500 ----E-N 0 2.2000 3.1000 3 3
- 0.003000000 0 1 tcp 1500 ------N 0 2.2000 3.1000 1 1
+ 0.004000000 0 1 udp 500 ------- 3 2.2000 3.1001 0 4
- 0.004500000 0 1 tcp 1500 ----E-N 0 2.2000 3.1000 3 3
+ 0.005000000 0 1 udp 500 ------- 3 2.2000 3.1001 1 5
- 0.005000000 0 1 udp 500 ------- 3 2.2000 3.1001 0 4
- 0.005500000 0 1 udp 500 ------- 3 2.2000 3.1001 1 5
+ 0.006000000 0 1 ack 60 ------- 2 2.1000 3.2000 0 6
- 0.006500000 0 1 ack 60 ------- 2 2.1000 3.2000 0 6
+ 0.007000000 0 1 ack 52 C------ 2 2.1000 3.2000 2 7
- 0.007500000 0 1 ack 52 C------ 2 2.1000 3.2000 2 7
+ 0.008000000 0 1 tcp 60 ------- 1 2.2001 3.1000 0 8
"""


def test_a_trace_has_what_the_log_tells(tmp_path):
    path = written(tmp_path / "run.tr", LINK)
    assert path.read_text() == TRACE
    link = Trace.read(path).links.row(0, named=True)
    assert (link["arrivals"], link["departures"], link["drops"]) == (9, 7, 1)


def test_a_capture_has_what_left(tmp_path):
    capture = Capture.read(written(tmp_path / "run.pcapng", LINK))
    assert capture.bytes.tolist() == [60, 1500, 1500, 500, 500, 60, 52]
    times_ns = capture.time_ns - capture.time_ns[0]
    assert times_ns.tolist() == [
        0,
        2_500_000,
        4_000_000,
        4_500_000,
        5_000_000,
        6_000_000,
        7_000_000,
    ]
    # a packet with a mark passes as one that can be marked
    assert capture.ecn_capable.tolist() == [False, True, True, *[False] * 4]
    assert len(set(capture.flow.tolist())) == 3


@pytest.mark.parametrize(
    ("changes", "name", "told"),
    [
        ({}, "run.txt", "run.txt must end with .tr"),
        ({"disciplines": [{"aqm": "pie"}, {"aqm": "red"}]}, "run.tr", "has one discipline, but"),
    ],
)
@pytest.mark.parametrize("world", [Kernel, Twin])
def test_a_file_that_cannot_be_is_refused_before_anything_boots(
    tmp_path, world, changes, name, told
):
    with pytest.raises(SluiceError, match=told):
        sg.compare(scenario(**changes), world=world(packets=tmp_path / name))


def test_a_qdisc_stands_for_one_discipline():
    several = scenario(disciplines=[{"aqm": "pie"}, {"aqm": "red"}])
    told = list(Twin(qdisc="cake").against(several, several.disciplines[0]))
    assert told == ["--qdisc cake takes one discipline, but there are 2"]


def in_place(words, monkeypatch, tmp_path, capsys):
    """What the command shows and writes of a qdisc; it is simulated, not measured."""

    def measure(chosen, discipline, layer, *, world, name, **_options):
        found = simulate(chosen, discipline)
        run = found.run | {"world": world, "kernel": "7.3.4", "qdisc": layer(1).words}
        fields = vars(found) | {"discipline": name, "run": run}
        return KernelRecord(**fields, connections=pl.DataFrame())

    monkeypatch.setattr(kernel_world, "measure", measure)
    monkeypatch.setattr(kernel_world, "refuse", lambda *_words, **_options: None)
    office, told = tmp_path / "office.toml", tmp_path / "told.json"
    office.write_text(OFFICE)
    command = ["compare", str(office), "--world", "network", "--world", "twin", "--qdisc", words]
    assert main([*command, "--out", str(tmp_path / "out"), "--json", str(told)]) == 0
    shown = capsys.readouterr()
    return shown.out, " ".join(shown.err.split()), json.loads(told.read_text())["records"]


def test_a_qdisc_in_place_of_a_twin_goes_by_its_own_name(tmp_path, monkeypatch, capsys):
    words = "cake bandwidth 5mbit"
    shown, notes, records = in_place(words, monkeypatch, tmp_path, capsys)
    assert "drop_tail (network)" in shown
    assert f"{words} (twin)" in shown
    assert "drop_tail (twin)" not in shown
    # what a record is told apart by is its own, beside what was asked for
    assert [(each["discipline"], each["world"]) for each in records] == [
        ("drop_tail", "network"),
        (words, "twin"),
    ]
    page = (tmp_path / "out" / "report.html").read_text()
    assert words in page
    assert f"{words} ran below the shaper tbf, in place of drop_tail." in notes
    assert (
        f"{words} has a rate of its own, 5 Mbit/s; that of the shaper, topology.rate_bps, is 10"
        in notes
    )
    measures = pl.read_parquet(tmp_path / "out" / "measures.parquet")
    assert measures.filter(world="twin")["discipline"].unique().to_list() == [words]


@pytest.mark.parametrize("words", ["cake unlimited", "cake bandwidth 10Mbit", "fq_pie limit 200"])
def test_a_qdisc_without_another_rate_has_no_note_of_it(tmp_path, monkeypatch, capsys, words):
    *_, notes, _ = in_place(words, monkeypatch, tmp_path, capsys)
    assert f"{words} ran below the shaper tbf" in notes
    assert "rate of its own" not in notes


@pytest.mark.parametrize(
    ("words", "rate_bps"),
    [
        ("cake bandwidth 1mbit besteffort", 1e6),
        ("cake besteffort bandwidth 1.5Gbit", 1.5e9),
        ("cake bandwidth 800", 800),
        ("tbf rate 100KiBps burst 1600 limit 9000", 100 * 1024 * 8),
        ("netem delay 1ms rate 64kbit", 64e3),
        ("cake bandwidth unlimited", None),
        ("cake bandwidth", None),
        # no shaper: what RED counts as the time of a packet while it is idle
        ("red limit 9000 min 1000 max 3000 avpkt 1000 bandwidth 1mbit", None),
        ("fq_codel", None),
    ],
)
def test_a_qdiscs_own_rate_is_read_as_tc_does(words, rate_bps):
    assert own_rate_bps(words) == rate_bps


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--here"], "--here is for these worlds only: kernel, twin"),
        (["--qdisc", "cake"], "--qdisc is for these worlds only: twin"),
        (
            ["--world", "network", "--world", "kernel", "--packets", "run.tr"],
            "--packets takes one world, but 2 are given",
        ),
    ],
)
def test_an_option_for_other_worlds_is_refused(root, capsys, words, told):
    path = str(root / "scenarios" / "network" / "dumbbell.toml")
    assert main(["compare", path, "--no-report", *words]) in (1, 2)
    assert told in capsys.readouterr().err


OFFICE = """
duration_s = 1.5
warm_up_s = 0.5
replications = 1
queue = { limit = 60 }
[topology]
kind = "dumbbell"
rate_bps = 10e6
delay_s = 0.018
client_delays_s = [0.001]
server_delay_s = 0.001
[[flows]]
kind = "tcp"
count = 2
tcp = { packet_bytes = 1500, ack_bytes = 52, like = "linux" }
[[disciplines]]
aqm = "drop_tail"
"""


@needs_qdiscs
def test_one_table_has_network_and_kernel_and_the_packets_are_those_of_the_run(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("SLUICE_RUNS", str(tmp_path / "runs"))
    office, told, packets = (tmp_path / name for name in ("o.toml", "told.json", "run.pcapng"))
    office.write_text(OFFICE)
    command = ["compare", str(office), "--no-report", "--json", str(told)]
    assert main([*command, "--world", "network", "--world", "kernel"]) == 0
    shown = capsys.readouterr().out
    assert "drop_tail (network)" in shown
    assert "drop_tail (kernel)" in shown
    records = json.loads(told.read_text())["records"]
    assert [each["run"]["world"] for each in records] == ["network", "kernel"]
    # the same run once more, with its packets
    assert main([*command, "--world", "kernel", "--packets", str(packets)]) == 0
    (again,) = json.loads(told.read_text())["records"]
    assert again == records[1]
    capture = Capture.read(packets)
    sent = again["whole"]["throughput"]["value"] * 1.5
    assert len(capture.bytes) == pytest.approx(sent, abs=2)
    assert capture.time_ns.max() < 1.5e9
