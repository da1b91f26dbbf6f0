"""Applications in the worlds `kernel` and `twin`: calls, users of the web, beside a replay."""

from types import SimpleNamespace

import pytest
from kernel_needs import needs_lab, needs_qdiscs
from test_kernel_packets import START_NS, packet, seen
from test_kernel_world import scenario

import sluicegate as sg
from sluicegate.testbed.applications import applications
from sluicegate.testbed.outcome import Outcome
from sluicegate.trace import Trace
from sluicegate.worlds.kernel.packets import write_packets
from sluicegate.worlds.kernel.plan import Layer, lab_plan
from sluicegate.worlds.network import simulate

pytestmark = pytest.mark.slow

CALL = {"kind": "call", "label": "call", "max_rate_bps": 2e6, "ecn": True, "ect1": True}
BACK = {"kind": "call", "label": "back", "route": "reverse", "max_rate_bps": 0.3e6}
WEB = {
    "kind": "web",
    "label": "web",
    "objects": {"kind": "constant", "mean_packets": 2},
    "page_objects": 2,
    "connections": 1,
    "think": {"kind": "exponential", "mean_s": 0.1},
    "tcp": {"packet_bytes": 500, "ack_bytes": 52},
}
TOPOLOGY = {
    "kind": "dumbbell",
    "rate_bps": 1e6,
    "delay_s": 0.018,
    "client_delays_s": [0.001],
    "server_delay_s": 0.001,
}


def planned(given):
    return lab_plan(given, given.disciplines[0], 0, Layer("pfifo", False), None)


def delays(given):
    """What `tc` adds at clients and at servers."""
    return [
        [line.removeprefix("qdisc add dev eth0 ") for line in host.qdiscs]
        for host in planned(given).job.hosts
    ]


def test_propagation_is_on_both_ways_where_there_is_a_call():
    whole, half = (f"root netem delay {us}us limit 1000000" for us in (40000, 20000))
    assert delays(scenario(topology=TOPOLOGY)) == [[], [whole]]
    assert delays(scenario(topology=TOPOLOGY, flows=[CALL])) == [[half], [half]]


def test_each_client_has_its_propagation_on_both_ways():
    several = TOPOLOGY | {"client_delays_s": [0.001, 0.031]}
    for lines, end in zip(
        delays(scenario(topology=several, flows=[CALL])), ("src", "dst"), strict=True
    ):
        assert [line.partition("netem ")[2] for line in lines[1:3]] == [
            "delay 20000us limit 1000000",
            "delay 50000us limit 1000000",
        ]
        assert [line.partition("match ip ")[2] for line in lines[3:]] == [
            f"{end} 10.1.0.2/32 flowid 1:1",
            f"{end} 10.1.0.3/32 flowid 1:2",
        ]


def test_the_packet_logs_have_room_for_calls_at_their_greatest_rate():
    def places(**changes):
        given = scenario(flows=[CALL | {"packet_bytes": 100} | changes], duration_s=60.0)
        return planned(given).job.router.places

    # 2 Mbit/s in packets of 100 bytes for 60 s
    assert places() > 2e6 / 800 * 60
    assert places(count=3) - places(count=2) == places(count=2) - places() > 2e6 / 800 * 60


def test_what_a_side_draws_needs_no_capture(tmp_path, write_pcap):
    capture = tmp_path / "some.pcap"
    write_pcap(capture, [(0, 500), (10, 500, 1)])
    replay = {"kind": "replay", "label": "replay", "capture": str(capture)}
    drawn = planned(scenario(flows=[replay, WEB])).job.hosts[0].drawn
    capture.unlink()

    def thinks(drawn):
        user = applications(drawn)
        # one object after the other
        first, _, _ = user.arrived(0, 10**9)
        user.supply(0, first)
        return user.arrived(0, 2 * 10**9)

    # the second group still draws from a random stream of its own
    assert thinks(drawn) == thinks(planned(scenario(flows=[BACK, WEB])).job.hosts[0].drawn)
    assert thinks(drawn) != thinks(planned(scenario(flows=[WEB])).job.hosts[0].drawn)


def test_a_trace_names_the_packets_of_calls(tmp_path):
    given = scenario(flows=[CALL, BACK, CALL])
    plan = planned(given)
    video, feedback = (10001, 1003), (1003, 10000)
    link = seen(
        packet(10, 1, video, size=1200),
        packet(11, 2, feedback, size=112),
        packet(12, 3, video, size=300),
        left=[(0, 10), (1, 11), (2, 12)],
    )
    outcome = Outcome(START_NS, (SimpleNamespace(), SimpleNamespace()), "", [link], (0.0, 0.0))
    write_packets(tmp_path / "run.tr", given, plan, outcome)
    lines = [line.split() for line in (tmp_path / "run.tr").read_text().splitlines()]
    came = [line for line in lines if line[0] == "+"]
    # kind, bytes, flow, number; of the second call only feedback comes to this link
    assert [(line[4], line[5], line[7], line[10]) for line in came] == [
        ("udp", "1200", "2", "0"),
        ("udp", "112", "1", "0"),
        ("udp", "300", "2", "1"),
    ]
    assert [line[8:10] for line in came[:2]] == [["2.10001", "3.1003"], ["2.1003", "3.10000"]]
    assert Trace.read(tmp_path / "run.tr").lines == len(lines) == 6


@needs_qdiscs
def test_calls_and_pages_are_those_of_the_network_world(tmp_path, write_pcap):
    """Beside a replay, whose file the laboratory does not have."""
    capture = tmp_path / "some.pcap"
    write_pcap(capture, [(500 + 10 * place, 500) for place in range(20)])
    replay = {"kind": "replay", "label": "replay", "capture": str(capture)}
    given = scenario(
        topology=TOPOLOGY,
        flows=[CALL, BACK, replay, WEB | {"route": "reverse"}],
        disciplines=[{"aqm": "dualpi2", "ecn": True}],
        duration_s=2.0,
        warm_up_s=0.5,
    )
    ours = simulate(given)
    (found,) = sg.compare(given, world="kernel").records
    # the shaper lets a packet go when its transmission of 9.6 ms at most begins
    for name in ("call.frame_p50", "back.frame_p50"):
        assert ours[name].value - 0.011 < found[name].value < ours[name].value + 0.001, name
        # one way, and no frame is there at once
        assert found[name].value > 0.02
    for name in ("call.quality", "back.quality"):
        assert found[name].value == pytest.approx(ours[name].value, rel=0.06), name
    # the call would send 2 Mbit/s, and the link carries half of it: marks and feedback come through
    assert found["call.quality"].value < 0.9e6
    assert found["mark_ratio"].value > 0.1
    of_group = [dict(record.flows.select("group", "packets").rows()) for record in (found, ours)]
    for group in (0, 1):
        assert of_group[0][group] == pytest.approx(of_group[1][group], rel=0.06)
    # packets of the replay cannot be marked, and some are lost
    assert found.flows.filter(group=2)["sent"].item() == 20
    assert 0 < of_group[0][2] <= 20
    # two round trips at least, and the network world's end of an object is a last ACK
    assert 0.08 < found["web.page_p50"].value < ours["web.page_p50"].value + 0.01
    assert found["web.finished"].value > 5
    with pytest.raises(sg.SluiceError, match="does not count packets by class"):
        found["web.goodput_bps"]


@needs_lab
def test_a_call_and_pages_in_the_twin_are_those_of_the_network_world():
    """On a link that both do not fill."""
    given = scenario(
        topology=TOPOLOGY,
        flows=[BACK | {"route": "forward"}, WEB],
        disciplines=[{"aqm": "drop_tail"}],
        duration_s=1.5,
        warm_up_s=0.3,
    )
    ours = simulate(given)
    (found,) = sg.compare(given, world="twin").records
    assert ours["back.frame_p50"].value - 0.011 < found["back.frame_p50"].value
    assert 0.02 < found["back.frame_p50"].value < ours["back.frame_p50"].value + 0.001
    assert found["back.quality"].value == pytest.approx(ours["back.quality"].value, rel=0.06)
    # two round trips at least, and no last ACK at the end of an object
    assert 0.08 < found["web.page_p50"].value < 0.095
    assert found["web.finished"].value > 3
