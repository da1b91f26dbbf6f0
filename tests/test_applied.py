"""Applications over real TCP: users of the web, players of video, senders of a limited rate."""

import heapq
from types import SimpleNamespace

import numpy as np
import pytest
from stalls import stalls_s, undisturbed

import sluicegate as sg
from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.testbed.applications import applications
from sluicegate.testbed.check import ipv6_need, missing, needs
from sluicegate.testbed.job import Drawn
from sluicegate.testbed.outcome import ARRIVED, FRAME, LEARNT, SENT, SHOWN, SUPPLIED
from sluicegate.worlds.gate import measure
from sluicegate.worlds.real.alone import alone
from sluicegate.worlds.real.applied import felt

LACKING = missing(needs())
MS = 1_000_000
TCP = {"congestion_control": "cubic", "like": "linux", "packet_bytes": 1500}
WEB = {
    "kind": "web",
    "label": "web",
    "count": 3,
    "objects": {"kind": "geometric", "mean_packets": 4},
    "page_objects": 8,
    "connections": 2,
    "think": {"kind": "exponential", "mean_s": 0.2},
    "tcp": TCP,
}
VIDEO = {
    "kind": "video",
    "label": "video",
    "rates_bps": [0.5e6, 1e6],
    "segment_s": 0.5,
    "buffer_s": 1.5,
    "tcp": TCP,
}
CALL = {"kind": "call", "label": "call", "max_rate_bps": 2e6, "ecn": True, "ect1": True}
LIMITED = {"kind": "tcp", "label": "limited", "rate_bps": 1e6, "route": "reverse", "tcp": TCP}


def scenario(*flows, **changes):
    given = {
        "duration_s": 5.0,
        "warm_up_s": 1.0,
        "replications": 1,
        "topology": {"kind": "dumbbell", "rate_bps": 10e6, "client_delays_s": [0.05]},
        "flows": list(flows),
        "queue": {"limit": 200},
        "disciplines": [{"aqm": "drop_tail"}],
    }
    return NetworkScenario.parse({**given, **changes})


def played(drawn, given, packet_ns):
    """The users of `given` in a world in which an object takes so long for each of its packets.

    Returns what happened, as the hosts note it, and the times of pages, both until the end.
    """
    engine, end_ns = applications(drawn), round(given.duration_s * 1e9)
    (discipline,) = given.disciplines
    offered = sg._engine.offered_traffic(given.handle, discipline.handle, drawn.replication)
    due = [
        (flow.start_ns + flow.packets * packet_ns, number, ARRIVED)
        for number, flow in enumerate(offered.tcp)
    ]
    heapq.heapify(due)
    user = WEB["connections"]
    begun = {number // user: offered.tcp[number].start_ns for number in range(len(offered.tcp))}
    left = dict.fromkeys(begun, WEB["page_objects"])
    events, pages = [], []
    while due and due[0][0] < end_ns:
        now_ns, flow, what = heapq.heappop(due)
        events.append((now_ns, flow, what))
        if what == SUPPLIED:
            packets, again_ns = engine.supply(flow, now_ns)
            assert again_ns is None
            heapq.heappush(due, (now_ns + packets * packet_ns, flow, ARRIVED))
            continue
        left[flow // user] -= 1
        following = engine.arrived(flow, now_ns)
        if not left[flow // user]:
            pages.append((now_ns, now_ns - begun[flow // user]))
            left[flow // user], begun[flow // user] = WEB["page_objects"], following[0]
            assert following[0] > now_ns
        for each in range(*following[1:]) if following else ():
            heapq.heappush(due, (following[0], each, SUPPLIED))
    return np.array(events), pages


def of_host(events=(), calls=()):
    """The outcome of a host, as far as it is of applications."""
    return SimpleNamespace(
        sent=SimpleNamespace(events=np.array(events, dtype=np.int64).reshape(-1, 3)),
        calls=np.array(calls, dtype=np.int64).reshape(-1, 7),
    )


def test_what_hosts_note_gives_the_pages_that_their_users_saw():
    given = scenario(WEB)
    drawn = Drawn(alone(given, Discipline(aqm="drop_tail")), 2)
    events, pages = played(drawn, given, 3 * MS)
    assert len(pages) > 10
    host, other = of_host(events), of_host()
    cuts = [1000 * MS, 5000 * MS]
    (first,), (second,) = felt(drawn, SimpleNamespace(hosts=[other, host]), cuts)
    for counts, since_ns, until_ns in ((first, 0, cuts[0]), (second, *cuts)):
        took = [took_ns for at_ns, took_ns in pages if since_ns <= at_ns < until_ns]
        assert sum(counts.pages.bins) == len(took)
        assert counts.pages.sum == sum(took)
        objects = np.count_nonzero(
            (events[:, 2] == ARRIVED) & (events[:, 0] >= since_ns) & (events[:, 0] < until_ns)
        )
        assert sum(sum(each.times.bins) for each in counts.completions) == objects
        # nothing is said of packets that nobody counted
        assert counts.ports == []
    begun = WEB["count"] * WEB["connections"]
    begun += np.count_nonzero(events[:, 2] == SUPPLIED) - np.count_nonzero(events[:, 2] == ARRIVED)
    assert sum(each.unfinished for each in second.completions) == begun
    # another replication draws others
    others, _ = played(Drawn(drawn.scenario, 3), given, 3 * MS)
    assert len(others) != len(events) or (others != events).any()


def test_a_class_with_other_flows_has_no_completions_that_are_not_all():
    given = scenario(WEB, {"kind": "tcp", "label": "web", "packets": 5, "tcp": TCP})
    drawn = Drawn(alone(given, Discipline(aqm="drop_tail")), 0)
    events, _ = played(Drawn(drawn.scenario, 0), scenario(WEB), 3 * MS)
    host = of_host(events)
    ((counts,),) = felt(drawn, SimpleNamespace(hosts=[host]), [5000 * MS])
    assert sum(counts.pages.bins) > 10
    assert all(sum(each.times.bins) == each.unfinished == 0 for each in counts.completions)
    with pytest.raises(SluiceError, match="flow 6 has no application"):
        applications(drawn).supply(6, 0)


def test_frames_are_counted_from_what_both_ends_of_a_call_note():
    """A path of 10 ms that loses the video's third packet; feedback takes 10 ms, too."""
    given = scenario(CALL, duration_s=2.0)
    drawn = Drawn(alone(given, Discipline(aqm="drop_tail")), 0)
    sender, receiver = applications(drawn), applications(drawn)
    (call,) = sg._engine.offered_traffic(given.handle, given.disciplines[0].handle, 0).calls
    assert call.traffic_classes[0] & 3 == 1
    there, here, due = [], [], [(call.start_ns, 0, "frame", ())]
    made, whole = [], {}
    while due and (now_ns := due[0][0]) < 2000 * MS:
        _, _, what, given_by = heapq.heappop(due)
        if what == "frame":
            there.append((now_ns, 0, FRAME, 0, 0, 0, 0))
            next_ns = sender.make_frame(0, now_ns)
            heapq.heappush(due, (next_ns, len(there), "frame", ()))
            made.append(now_ns)
        elif what == "video":
            seq, is_last = given_by
            here.append((now_ns, 0, SHOWN, seq, 0, 0, 0))
            report = receiver.take_video(0, now_ns, seq, False, is_last)
            if is_last:
                whole[seq] = now_ns
            if report:
                heapq.heappush(due, (now_ns + 10 * MS, seq, "report", report))
            continue
        elif what == "report":
            there.append((now_ns, 0, LEARNT, *given_by))
            sender.learn(0, now_ns, given_by)
        units, next_ns = sender.send_video(0, now_ns)
        if units:
            there.append((now_ns, 0, SENT, len(units), 0, 0, 0))
        for seq, size, is_last in units:
            assert 40 <= size <= 1200
            if seq != 2:
                heapq.heappush(due, (now_ns + 10 * MS, seq, "video", (seq, is_last)))
        if next_ns is not None:
            heapq.heappush(due, (max(next_ns, now_ns + 1), -1, "release", ()))
    cuts = [1000 * MS, 2000 * MS]
    hosts = SimpleNamespace(hosts=[of_host(calls=here), of_host(calls=there)])
    (first,), (second,) = felt(drawn, hosts, cuts)
    frames = sum(first.frames.bins) + sum(second.frames.bins)
    # all frames but one came, and the last may be on its way
    assert len(made) == 61
    assert len(whole) - 1 <= frames <= len(whole) <= len(made)
    # from when they are made: the path, and the pace
    assert first.frames.sum + second.frames.sum > 10 * MS * frames
    assert second.played + second.stalled > 900 * MS
    with pytest.raises(SluiceError, match="there is no call 1"):
        sender.make_frame(1, 0)


@pytest.mark.slow
@pytest.mark.skipif(bool(LACKING), reason=f"no gate here: {LACKING}")
@pytest.mark.parametrize("ipv6", [False, True], ids=["IPv4", "IPv6"])
def test_calls_adapt_to_the_link_as_in_the_network_world(ipv6):
    if ipv6 and (lacking := missing([ipv6_need()])):
        pytest.skip(lacking)
    step = {"kind": "steps", "steps": [{"time_s": 0.0, "rate_bps": 1e6}]}
    back = {**CALL, "label": "back", "route": "reverse", "max_rate_bps": 0.5e6}
    given = scenario(
        CALL,
        back,
        warm_up_s=3.0,
        duration_s=8.0,
        links={"left -> right": {"rate": step}},
        disciplines=[{"aqm": "step", "ecn": True}],
    )
    ours = sg.network.simulate(given)
    found = undisturbed(lambda: measure(given, given.disciplines[0], ipv6=ipv6))
    # two calls of 30 frames a second
    (frames,) = found.lateness.filter(of="call")["count"]
    assert frames == pytest.approx(2 * 30 * 8, abs=5)
    (machine,) = found.run["machine"]
    assert machine["unsent_call_packets"] == 0
    # the call would send 2 Mbit/s, and the link carries half of it: marks and feedback come through
    assert found["call.quality"].value < 1.1e6
    for name in ("call.quality", "back.quality"):
        assert found[name].value == pytest.approx(ours[name].value, rel=0.2), name
    for name in ("call.frame_p50", "back.frame_p50"):
        least_s = 0.05
        assert least_s < found[name].value < ours[name].value + 0.03, name
    # of 5 s that count
    assert found["back.stall_ratio"].value <= max(stalls_s(found)) / 5
    assert found["mark_ratio"].value > 0
    for one, other in zip(found.flows["packets"], ours.flows["packets"], strict=True):
        assert one == pytest.approx(other, rel=0.2)


@pytest.mark.slow
@pytest.mark.skipif(bool(LACKING), reason=f"no gate here: {LACKING}")
def test_pages_segments_and_limited_rates_are_those_of_the_network_world():
    """On a link that is idle most of the time; each object's end is told at once in both worlds."""
    at_once = {**TCP, "ack_every": 1}
    # all is given before the handshake ends: a round trip takes 100 ms
    early = {**LIMITED, "label": "early", "packets": 3, "route": "forward"}
    given = scenario(WEB | {"tcp": at_once}, VIDEO | {"tcp": at_once}, LIMITED, early)
    ours = sg.network.simulate(given)
    found = undisturbed(lambda: measure(given, given.disciplines[0]))
    for name in ("web.page_mean", "web.completion_mean", "web.completion_p50"):
        value = found[name].value
        assert value == pytest.approx(ours[name].value, rel=0.1), name
        # a page of 8 objects over 2 connections takes four round trips at least
        assert value > (0.4 if "page" in name else 0.1)
    assert found["video.quality"].value == pytest.approx(ours["video.quality"].value, rel=0.15)
    assert found["video.stall_ratio"].value == ours["video.stall_ratio"].value == 0
    objects = found["web.finished"].value
    assert objects == pytest.approx(ours["web.finished"].value, rel=0.1)
    # 1 Mbit/s in packets of 1500 bytes for 5 s; four of them in 50 ms
    limited = found.flows.filter(group=2)["packets"].item()
    assert limited == pytest.approx(417, abs=9)
    for record in (found, ours):
        assert record.flows.filter(group=3)["packets"].item() == 3
    (machine,) = found.run["machine"]
    assert machine["broken_connections"] == 0
    # of the packets of a class nothing is known, nor of classes without applications
    for name in ("web.queue_mean", "web.goodput_bps", "limited.goodput_bps"):
        with pytest.raises(SluiceError, match="a router does not count packets by class"):
            found[name]
