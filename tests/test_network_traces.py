"""Traces that network runs write: compared with records and ns-2's trace; read by tshark."""

import shutil
import struct
import subprocess
from itertools import pairwise

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.trace import Trace
from sluicegate.traffic import Capture
from sluicegate.worlds.network import (
    DatagramFlows,
    Dumbbell,
    Graph,
    Link,
    NetworkScenario,
    Tcp,
    TcpFlows,
    simulate,
)

pytestmark = pytest.mark.slow

DURATION_S = 6


def scenario(discipline=None, tcp=None, **changes):
    """Four TCP flows and a Poisson stream of datagrams through one queue of 20 packets."""
    return NetworkScenario(
        **{
            "topology": Dumbbell(rate_bps=2e6, client_delays_s=[0.01, 0.02]),
            "flows": [
                TcpFlows(count=4, spread_s=0.5, tcp=tcp or Tcp(like="ns2", packet_bytes=1040)),
                DatagramFlows(packet_bytes=210, rate_bps=2e5, gaps="exponential"),
            ],
            "queue": sg.Queue(limit=20),
            "disciplines": [discipline or sg.Discipline(aqm="drop_tail")],
            "duration_s": DURATION_S,
            "warm_up_s": 0,
            "replications": 1,
            **changes,
        }
    )


def lines(path):
    return [line.split() for line in path.read_text().splitlines()]


DISCIPLINES = [
    sg.Discipline(aqm="drop_tail"),
    sg.Discipline(aqm="drop_tail", victim="front"),
    sg.Discipline(aqm="red", params={"min_th": 3, "max_th": 12, "w": 0.02}),
    sg.Discipline(aqm="codel"),
    sg.Discipline(aqm="drop_tail", scheduler=sg.Sfq(queues=8), label="SFQ"),
]


@pytest.mark.parametrize("discipline", DISCIPLINES, ids=lambda each: each.name)
def test_a_trace_gives_the_measures_of_the_record(tmp_path, discipline):
    asked = scenario(discipline)
    record = simulate(asked, packets=tmp_path / "run.tr")
    assert record.measures == simulate(asked, fresh=True).measures
    trace = Trace.read(tmp_path / "run.tr")
    (link,) = [row for row in trace.links.iter_rows(named=True) if bottleneck(asked, row)]
    port = {name: measure.value for name, measure in record.ports[0].measures.items()}
    assert link["drops"] / link["arrivals"] == port["loss_ratio"] > 0
    assert link["departures"] == round(port["throughput"] * DURATION_S)
    span_s = trace.end_s - trace.start_s
    sent_bits = link["throughput_bps"] * span_s
    assert sent_bits == pytest.approx(port["throughput_bps"] * DURATION_S, rel=1e-12)
    # the trace ends with its last event
    left = link["arrivals"] - link["departures"] - link["drops"]
    held = link["queue_mean"] * span_s + left * (DURATION_S - trace.end_s)
    assert held / DURATION_S == pytest.approx(port["queue_mean"], rel=1e-9)
    (datagrams,) = [row for row in trace.flows.iter_rows(named=True) if row["type"] == "udp"]
    assert datagrams["received"] == record.flows.filter(group=1)["packets"].sum()


def bottleneck(asked, link):
    """Return True if a row or a line of a trace is of the link with the discipline."""
    names = [asked.topology.nodes[int(link[place])] for place in ("from", "to")]
    return names == ["left", "right"]


@pytest.mark.parametrize("discipline", DISCIPLINES[:4], ids=lambda each: each.name)
def test_measures_after_the_warm_up_are_those_of_the_traces_end(tmp_path, discipline):
    start_s, end_s = 2.5, DURATION_S
    asked = scenario(discipline, warm_up_s=start_s)
    record = simulate(asked, packets=tmp_path / "run.tr")
    queue, since_s, came_s, delays_s, sojourns_s = 0, start_s, {}, [], []
    steps = dict.fromkeys("+-d", 0)
    held_s = np.zeros(50)
    for fields in lines(tmp_path / "run.tr"):
        step, time_s, packet = fields[0], float(fields[1]), fields[-1]
        if step == "r" or not bottleneck(asked, {"from": fields[2], "to": fields[3]}):
            continue
        if time_s >= start_s:
            held_s[queue] += time_s - since_s
            since_s = time_s
            steps[step] += 1
        if step == "+":
            came_s[packet] = time_s
        elif step == "-" and time_s >= start_s:
            sojourns_s.append(time_s - came_s[packet])
            delays_s.append(sojourns_s[-1] + 8 * int(fields[5]) / 2e6)
        queue += 1 if step == "+" else -1
    held_s[queue] += end_s - since_s
    share, lengths = held_s / (end_s - start_s), np.arange(50)
    mean = share @ lengths
    wanted = {
        "queue_mean": mean,
        "queue_variance": share @ (lengths - mean) ** 2,
        "queue_deviation": share @ abs(lengths - mean),
        "sojourn_mean": np.mean(sojourns_s),
        "sojourn_variance": np.var(sojourns_s),
        "delay_mean": np.mean(delays_s),
        "delay_variance": np.var(delays_s),
        "loss_ratio": steps["d"] / steps["+"],
        "throughput": steps["-"] / (end_s - start_s),
    }
    found = {name: record[name].value for name in wanted}
    assert found == pytest.approx(wanted, rel=1e-9)
    for level in (0.5, 0.9, 0.99):
        for name, times_s in (("sojourn", sojourns_s), ("delay", delays_s)):
            exact = np.quantile(times_s, level, method="inverted_cdf")
            assert record[f"{name}_p{100 * level:g}"].value == pytest.approx(exact, rel=1e-3)


def test_every_packet_has_a_number_and_all_its_events(tmp_path):
    simulate(scenario(), packets=tmp_path / "run.tr")
    stories = {}
    for step, time, source, sink, *_, packet in lines(tmp_path / "run.tr"):
        stories.setdefault(int(packet), []).append((step, float(time), source, sink))
    assert sorted(stories) == list(range(len(stories)))
    for story in stories.values():
        steps = "".join(step for step, *_ in story)
        # from link to link, until the packet arrives, is dropped, or the run ends
        assert set(steps.replace("+-r", "")) in (set(), {"+"}, {"+", "-"}, {"+", "d"})
        assert story == sorted(story, key=lambda event: event[1])
        hops = [event[2:] for event in story if event[0] == "+"]
        assert all(one[1] == other[0] for one, other in pairwise(hops))


def test_a_trace_is_as_ns2_writes_it(root, tmp_path):
    """The first second of tests/data/ns2.tr, in which nothing but the clocks' phases is random."""
    links = [
        Link(source="a", sink="r", rate_bps=10e6, delay_s=0.005),
        Link(source="r", sink="b", rate_bps=2e6, delay_s=0.02, queue=True),
        Link(source="c", sink="r", rate_bps=10e6, delay_s=0.005),
    ]
    tcp = Tcp(variant="newreno", like="ns2", packet_bytes=1040, receiver_window=20)
    asked = scenario(
        topology=Graph(links=links),
        flows=[
            TcpFlows(source=source, sink="b", start_s=start_s, tcp=tcp)
            for source, start_s in (("c", 0.0), ("a", 0.1), ("c", 0.2))
        ],
        # ns-2's limit of 20 holds 19
        queue=sg.Queue(limit=19),
        duration_s=1,
        # hosts' clocks tick every 10 ms from a random time on, as in ns-2: with this seed, and with
        # most others, the only time-out is at the same time as in ns-2
        seed=2,
    )
    simulate(asked, packets=tmp_path / "run.tr")

    def comparable(fields):
        step, time, source, sink, kind, size, flags, flow, *ends, number, packet = fields
        nodes = [end.split(".")[0] for end in ends]
        # ns-2 reports a reduced window (A) even without ECN, and rounds times to 1 us
        plain = flags.replace("A", "-")
        return (
            step,
            round(float(time), 6),
            source,
            sink,
            kind,
            size,
            plain,
            flow,
            nodes,
            number,
            packet,
        )

    ours = [comparable(fields) for fields in lines(tmp_path / "run.tr")]
    theirs = [comparable(f) for f in lines(root / "tests" / "data" / "ns2.tr") if float(f[1]) < 1]
    assert len(theirs) > 2500
    assert sum(fields[0] == "d" for fields in theirs) > 0
    assert ours == theirs


ECN = {"min_th": 3, "max_th": 12, "w": 0.02}
CAPTURED = {
    "ns2": (
        sg.Discipline(aqm="red", params=ECN, ecn=True),
        Tcp(variant="sack", like="ns2", packet_bytes=1040, ecn=True),
    ),
    "rfc": (sg.Discipline(aqm="drop_tail"), Tcp(variant="sack", packet_bytes=576)),
}


@pytest.fixture(params=CAPTURED)
def captured(request, tmp_path):
    """Return a run in both directions: its capture, its trace, its measures."""
    discipline, tcp = CAPTURED[request.param]
    topology = Dumbbell(rate_bps=2e6, client_delays_s=[0.01, 0.02], two_way=True)
    asked = scenario(discipline, tcp, topology=topology)
    for suffix in ("tr", "pcapng"):
        record = simulate(asked, packets=tmp_path / f"run.{suffix}")
    return asked, tmp_path, record


def blocks(path):
    """Yield types and bodies of a pcapng file's blocks."""
    content, at = path.read_bytes(), 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        assert struct.unpack_from("<I", content, at + length - 4) == (length,)
        yield kind, content[at + 8 : at + length - 4]
        at += length
    assert at == len(content)


def packets(path):
    """Yield interface, time (ns) and bytes of each packet; bytes that were not kept are 0."""
    for kind, body in blocks(path):
        if kind == 6:
            interface, high, low, kept, length = struct.unpack_from("<5I", body)
            frame = body[20 : 20 + kept]
            yield interface, high << 32 | low, frame + bytes(length - kept)


def internet_sum(content):
    """Return the checksum of RFC 1071: 0 if the packet's is right."""
    words = np.frombuffer(content + bytes(len(content) % 2), dtype=">u2")
    total = int(words.sum(dtype=np.uint64))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def test_a_capture_has_what_the_links_sent(captured):
    asked, folder, record = captured
    links = {"left right": 0, "right left": 1}
    sent = [
        fields
        for fields in lines(folder / "run.tr")
        if fields[0] == "-"
        and " ".join(asked.topology.nodes[int(node)] for node in fields[2:4]) in links
    ]
    found = list(packets(folder / "run.pcapng"))
    assert len(found) == len(sent) > 1000
    kinds = set()
    for (interface, time_ns, frame), fields in zip(found, sent, strict=True):
        _, time, source, sink, kind, size, flags, *ends, _, packet = fields
        ends_of_link = (asked.topology.nodes[int(node)] for node in (source, sink))
        assert interface == links[" ".join(ends_of_link)]
        assert time_ns == round(float(time) * 1e9)
        ip = struct.unpack(">BBHHHBBHII", frame[:20])
        assert ip[0] == 0x45
        assert ip[1] == {"------N": 2, "----E-N": 3, "---A--N": 2, "---AE-N": 3}.get(flags, 0)
        # headers can be longer than the simulated packet
        assert ip[2] == len(frame) >= int(size)
        assert ip[3] == int(packet) % 2**16
        assert ip[6] == (17 if kind == "udp" else 6)
        assert [address - 0x0A000001 for address in ip[8:]] == [
            int(end.split(".")[0]) for end in ends[1:]
        ]
        assert internet_sum(frame[:20]) == 0
        pseudo = frame[12:20] + struct.pack(">HH", ip[6], len(frame) - 20)
        assert internet_sum(pseudo + frame[20:]) == 0
        kinds.add((kind, flags))
        if kind != "udp":
            check_tcp(asked.flows[0].tcp, fields, frame)
    assert ("ack", "-------") in kinds
    if asked.flows[0].tcp.ecn:
        assert {("tcp", "----E-N"), ("ack", "C------"), ("tcp", "---A--N")} <= kinds
    read = Capture.read(folder / "run.pcapng")
    assert read.bytes.sum() == sum(len(frame) for *_, frame in found)
    assert record.ports[0].measures["throughput"].value * DURATION_S == pytest.approx(
        sum(interface == 0 for interface, *_ in found)
    )


def check_tcp(tcp, fields, frame):
    _, _, _, _, kind, size, flags, *_, number, _ = fields
    _, _, sequence, answer, offset, bits, window, _, _ = struct.unpack_from(">HHIIBBHHH", frame, 20)
    payload = tcp.packet_bytes - 40
    # with ns-2's TCP packet 0 is the SYN
    first = 1 if tcp.like == "ns2" else 0

    def byte(packet):
        return 0 if packet < first else 1 + (packet - first) * payload

    syn, ack = bool(bits & 2), bool(bits & 16)
    assert bits & ~0b1101_0010 == 0
    if kind == "tcp":
        assert sequence == byte(int(number))
        assert syn == (int(number) < first)
        assert (ack, answer) == ((False, 0) if syn else (True, 1))
        assert len(frame) == max(int(size), 20 + 4 * (offset >> 4))
        assert bool(bits & 128) == (flags[3] == "A" or (syn and tcp.ecn))
    else:
        assert ack
        assert answer == byte(int(number) + 1)
        assert sequence == (0 if syn else 1)
        assert len(frame) == 20 + 4 * (offset >> 4)
        assert bool(bits & 64) == (flags[0] == "C" or (syn and tcp.ecn))
    assert window > 0


def test_acks_have_no_data_in_a_capture_with_counters_of_marks(tmp_path):
    tcp = Tcp(like="linux", congestion_control="prague", ecn=True, packet_bytes=1000, ack_bytes=52)
    flows = [TcpFlows(count=2, ect1=True, tcp=tcp)]
    topology = Dumbbell(rate_bps=2e6, client_delays_s=[0.01], two_way=True)
    asked = scenario(sg.Discipline(aqm="codel", ecn=True), flows=flows, topology=topology)
    simulate(asked, packets=tmp_path / "run.pcapng")
    acks = [frame for interface, _, frame in packets(tmp_path / "run.pcapng") if interface == 1]
    # 12 bytes in place of time stamps; 12 of counters, or 8 beside two blocks; 12 or 20 of SACK
    assert {len(frame) for frame in acks} == {64, 76, 80}
    assert all(len(frame) == 20 + 4 * (frame[32] >> 4) for frame in acks)


def test_tshark_finds_nothing_wrong(captured):
    if (tshark := shutil.which("tshark")) is None:
        pytest.skip("tshark is missing")
    _, folder, _ = captured
    fields = ["ip.checksum.status", "tcp.checksum.status", "udp.checksum.status"]
    fields += ["_ws.malformed", "tcp.options.sack.count", "frame.interface_name", "frame.len"]
    checked = [f"-o{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp", "udp")]

    def dissected(path):
        options = [option for field in fields for option in ("-e", field)]
        command = [tshark, "-r", path, *checked, "-T", "fields", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [line.split("\t") for line in done.stdout.splitlines()]

    found = list(packets(folder / "run.pcapng"))
    rows = dissected(folder / "run.pcapng")
    assert [int(row[6]) for row in rows] == [len(frame) for *_, frame in found]
    assert {row[5] for row in rows} == {"left -> right", "right -> left"}
    # tshark can check checksums only of whole packets
    whole = folder / "whole.pcap"
    with whole.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))
        for _, time_ns, frame in found:
            seconds, rest = divmod(time_ns, 10**9)
            out.write(struct.pack("<IIII", seconds, rest, len(frame), len(frame)) + frame)
    rows = dissected(whole)
    assert len(rows) == len(found)
    assert {row[0] for row in rows} == {"1"}
    assert {row[1] or row[2] for row in rows} == {"1"}
    assert not any(row[3] for row in rows)
    assert max(int(row[4] or 0) for row in rows) == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run.txt", "run.txt must end with .tr (ns-2's trace) or .pcapng"),
        ("missing/run.tr", "missing/run.tr: No such file"),
    ],
)
def test_files_that_cannot_be_written_are_refused(tmp_path, name, message):
    with pytest.raises(sg.SluiceError) as caught:
        simulate(scenario(), packets=tmp_path / name)
    assert message in str(caught.value)


@pytest.mark.parametrize("suffix", ["tr", "pcapng"])
def test_a_full_disk_ends_the_run(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    try:
        path.symlink_to("/dev/full")
        path.write_bytes(b"full?")
    except OSError as error:
        if error.strerror != "No space left on device":
            pytest.skip("there is no /dev/full")
    told = []
    with pytest.raises(sg.SluiceError, match="No space left on device"):
        simulate(
            scenario(duration_s=2e4), packets=path, watch=lambda done, total: told.append(done)
        )
    assert not any(done > 1e3 for done in told)


def test_a_trace_is_of_one_replication_and_one_discipline(tmp_path):
    path = tmp_path / "run.tr"
    with pytest.raises(sg.SluiceError, match="replications = 3 must be 1: a packet file has one"):
        simulate(scenario(replications=3), packets=path)
    several = scenario(disciplines=[sg.Discipline(aqm="drop_tail"), sg.Discipline(aqm="red")])
    with pytest.raises(sg.SluiceError, match="a packet file has one discipline, but there are 2"):
        sg.compare(several, world=sg.worlds.Network(packets=path))
    assert not path.exists()


def test_the_command(root, tmp_path, capsys):
    network = str(root / "scenarios" / "network" / "dumbbell.toml")
    path = tmp_path / "run.tr"
    arguments = ["simulate", network, "--aqm", "drop_tail", "--duration", "2"]
    assert main([*arguments, "--packets", str(path)]) == 0
    assert f"packets: {path}" in capsys.readouterr().out
    assert Trace.read(path).lines > 1000
    assert main([*arguments, "--replications", "2", "--packets", str(path)]) == 1
    assert "replications = 2 must be 1" in capsys.readouterr().err
    slotted = str(root / "scenarios" / "light.toml")
    assert main(["simulate", slotted, "--aqm", "drop_tail", "--packets", str(path)]) == 1
    assert "--packets is for these worlds only: network, kernel, twin" in capsys.readouterr().err
