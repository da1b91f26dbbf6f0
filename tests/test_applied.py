"""Applications over real TCP: users of the web, players of video, senders of a limited rate."""

import heapq
from types import SimpleNamespace

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.testbed.applications import applications
from sluicegate.testbed.check import missing, needs
from sluicegate.testbed.job import ARRIVED, SUPPLIED, Drawn
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


def test_what_hosts_note_gives_the_pages_that_their_users_saw():
    given = scenario(WEB)
    drawn = Drawn(alone(given, Discipline(aqm="drop_tail")), 2)
    events, pages = played(drawn, given, 3 * MS)
    assert len(pages) > 10
    host = SimpleNamespace(sent=SimpleNamespace(events=events))
    other = SimpleNamespace(sent=SimpleNamespace(events=np.empty((0, 3), dtype=np.int64)))
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
    host = SimpleNamespace(sent=SimpleNamespace(events=events))
    ((counts,),) = felt(drawn, SimpleNamespace(hosts=[host]), [5000 * MS])
    assert sum(counts.pages.bins) > 10
    assert all(sum(each.times.bins) == each.unfinished == 0 for each in counts.completions)
    with pytest.raises(SluiceError, match="flow 6 has no application"):
        applications(drawn).supply(6, 0)


@pytest.mark.slow
@pytest.mark.skipif(bool(LACKING), reason=f"no gate here: {LACKING}")
def test_pages_segments_and_limited_rates_are_those_of_the_network_world():
    """On a link that is idle most of the time; each object's end is told at once in both worlds."""
    at_once = {**TCP, "ack_every": 1}
    given = scenario(WEB | {"tcp": at_once}, VIDEO | {"tcp": at_once}, LIMITED)
    ours = sg.network.simulate(given)
    # a run that the machine held up for 50 ms is made again
    for _ in range(3):
        found = measure(given, given.disciplines[0])
        if found.lateness["max_s"].max() < 0.05:
            break
    stalled = found.lateness["max_s"].max()
    for name in ("web.page_mean", "web.completion_mean", "web.completion_p50"):
        value = found[name].value
        assert value == pytest.approx(ours[name].value, rel=0.1 + stalled), name
        # a page of 8 objects over 2 connections takes four round trips at least
        assert value > (0.4 if "page" in name else 0.1)
    assert found["video.quality"].value == pytest.approx(ours["video.quality"].value, rel=0.15)
    assert found["video.stall_ratio"].value == ours["video.stall_ratio"].value == 0
    objects = found["web.finished"].value
    assert objects == pytest.approx(ours["web.finished"].value, rel=0.1 + stalled)
    # 1 Mbit/s in packets of 1500 bytes for 5 s
    limited = found.flows.filter(group=2)["packets"].item()
    assert limited == pytest.approx(417, abs=5 + 100 * stalled)
    (machine,) = found.run["machine"]
    assert machine["broken_connections"] == 0
    # of the packets of a class nothing is known, nor of classes without applications
    for name in ("web.queue_mean", "web.goodput_bps", "limited.goodput_bps"):
        with pytest.raises(SluiceError, match="a router does not count packets by class"):
            found[name]
