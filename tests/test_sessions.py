"""Runs in parts: their record is that of the whole run, to the bit."""

import gc
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sluicegate as sg
from sluicegate import network
from sluicegate.worlds.network import NetworkSession
from sluicegate.worlds.slotted import SlottedSession

pytestmark = pytest.mark.slow

END_S = 3.0
SLOTS = 20_000


def dumbbell(**fields):
    return network.NetworkScenario(
        topology=network.Dumbbell(rate_bps=2e6, client_delays_s=[0.01, 0.03]),
        flows=[
            network.TcpFlows(count=4, label="downloads"),
            network.DatagramFlows(rate_bps=2e5, gaps="exponential"),
            network.TcpFlows(count=1, source="server1", sink="client1"),
        ],
        queue=sg.Queue(limit=30),
        duration_s=END_S,
        warm_up_s=1.0,
        **{"replications": 1, "disciplines": [sg.Discipline(aqm="red")], **fields},
    )


def queue(**fields):
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=0.5),
        service=sg.GeometricService(mu=0.5),
        slots=SLOTS,
        replications=1,
        **{"disciplines": [sg.Discipline(aqm="red")], **fields},
    )


def equal(one, other):
    """Whether two records say the same, to the bit."""
    assert one.summary() == other.summary()
    frames = one.frames()
    assert frames.keys() == other.frames().keys()
    for name, frame in other.frames().items():
        assert frame.equals(frames[name]), name


@settings(max_examples=8, deadline=None)
@given(st.lists(st.floats(0, END_S), max_size=20), st.sampled_from(["red", "pie", "codel"]))
def test_a_network_in_parts_gives_the_record_of_the_whole_run(times_s, aqm):
    scenario = dumbbell(disciplines=[sg.Discipline(aqm=aqm)])
    session = sg.session(scenario)
    for to_s in sorted(times_s):
        session.advance(to_s=to_s)
        assert session.now_s == pytest.approx(to_s, abs=1e-9)
        assert repr(session.observe()) == repr(session.observe())
    equal(session.record(), network.simulate(scenario, fresh=True))


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(0, SLOTS), max_size=20), st.sampled_from(["red", "pie", "codel"]))
def test_slots_in_parts_give_the_record_of_the_whole_run(times, aqm):
    scenario = queue(disciplines=[sg.Discipline(aqm=aqm)])
    session = sg.session(scenario)
    for to in sorted(times):
        session.advance(to=to)
        assert session.now == to
        assert repr(session.observe()) == repr(session.observe())
    equal(session.record(), sg.simulate(scenario, fresh=True))


def test_it_is_the_first_replication():
    scenario = dumbbell(replications=3)
    record = NetworkSession(scenario).record()
    whole = network.simulate(scenario)
    assert record.values("queue_mean")[0] == whole.values("queue_mean")[0]
    equal(record, network.simulate(scenario.replace(replications=1)))


def test_steps_by_seconds_add_up_to_the_end():
    session = sg.session(dumbbell())
    for _ in range(30):
        session.advance(by_s=0.1)
    assert session.now_s == session.end_s == END_S


def test_what_is_seen_of_a_network():
    session = sg.session(dumbbell())
    start = session.observe()
    assert (start.now_s, start.ports[0].arrivals, start.ports[0].queue.packets) == (0.0, 0, 0)
    session.advance(to_s=2.5)
    seen = session.observe()
    (forward,) = seen.ports
    downloads, datagrams, upload = seen.flows
    verdicts = forward.queue.verdicts
    assert forward.arrivals == forward.sent + forward.queue.packets + verdicts.lost > 0
    assert forward.queue.bytes >= 0
    assert 0 <= forward.queue.average <= 30
    assert forward.rate_bps == 2_000_000
    assert len(forward.queue.lanes.packets) == 1
    assert downloads.flows == 4
    assert len(downloads.windows) == 4
    assert downloads.windows.min() >= 1
    assert downloads.in_flight > 0
    assert downloads.delivered > 0
    assert downloads.delivered_bytes == 500 * downloads.delivered
    assert datagrams.in_flight is None
    assert datagrams.delivered > 0
    assert len(datagrams.windows) == len(datagrams.srtts_s) == 0
    assert len(downloads.srtts_s) == 4
    assert len(upload.windows) == 1
    for part in ("at 2.5 s", forward.name, "downloads: 4 flows, 4 at work", "datagrams: 1 flows"):
        assert part in repr(seen)


@pytest.mark.parametrize(("packets", "rtt_s"), [(1, 0.054), (2, 0.058)])
def test_round_trips_are_those_that_tcp_measures(packets, rtt_s):
    # 50 ms of propagation, and 4 ms for each packet: the ACK of the first one of two waits
    tcp = network.Tcp(like="linux", receiver_window=packets, ack_every=packets)
    topology = network.Dumbbell(rate_bps=1e6, client_delays_s=[0.02])
    flows = [network.TcpFlows(count=1, label="load", tcp=tcp)]
    scenario = dumbbell().replace(topology=topology, flows=flows)
    session = sg.session(scenario)
    assert len(session.observe().flows[0].srtts_s) == 0
    session.advance(to_s=END_S)
    # the clock has ticks of 1 ms
    assert session.observe().flows[0].srtts_s == pytest.approx([rtt_s], abs=1e-3)
    # counted each second, however often queues are sampled
    record = network.simulate(scenario.replace(duration_s=20.0, sample_s=30.0))
    assert record["load.smoothed_round_trip"].value == pytest.approx(rtt_s, abs=1e-3)


def test_what_is_seen_of_lanes():
    fair = sg.Discipline(aqm="codel", scheduler=sg.Fq(queues=16))
    session = sg.session(dumbbell(disciplines=[fair]))
    session.advance(to_s=2.0)
    state = session.observe().ports[0].queue
    assert state.lanes.packets.sum() == state.packets
    assert len(state.lanes.packets) == 16
    assert state.lanes.bytes.sum() == state.bytes
    assert state.average is None
    assert np.isnan(state.lanes.average).all()


def test_what_is_seen_of_slots():
    session = sg.session(queue())
    session.advance(by=5000)
    session.advance(by=5000)
    seen = session.observe()
    inside = seen.queue.packets + seen.in_service
    assert seen.arrivals == seen.served + inside + seen.queue.verdicts.lost
    assert (seen.now, seen.served_bytes) == (10_000, 500 * seen.served)
    assert 0 < seen.idle_slots < 10_000
    assert "after 10,000 slots" in repr(seen)


@pytest.mark.parametrize(
    ("times", "why"),
    [
        ({}, "one of to_s and by_s"),
        ({"to_s": 1.5, "by_s": 0.1}, "one of to_s and by_s"),
        ({"to_s": 0.5}, "0.5 s, must lie between 1 s, the present, and 3 s, the end"),
        ({"to_s": 3.1}, "must lie between 1 s"),
        ({"by_s": 2.1}, "must lie between 1 s"),
        ({"by_s": -0.1}, "by_s = -0.1 must be a number that is not negative"),
        ({"to_s": float("nan")}, "to_s = nan"),
        ({"to_s": float("inf")}, "to_s = inf"),
    ],
)
def test_times_that_make_no_sense_are_refused_and_the_session_goes_on(times, why):
    session = sg.session(dumbbell())
    session.advance(to_s=1.0)
    with pytest.raises(sg.SluiceError, match=why):
        session.advance(**times)
    assert session.now_s == 1.0
    session.advance(to_s=1.1)


@pytest.mark.parametrize("times", [{"to": 0}, {"to": SLOTS + 1}, {"by": 0.5}, {"by": SLOTS}])
def test_slots_that_make_no_sense_are_refused(times):
    session = sg.session(queue())
    session.advance(to=10)
    with pytest.raises(sg.SluiceError, match="whole number between 10, the present, and 20,000"):
        session.advance(**times)


@pytest.mark.parametrize("scenario", [dumbbell, queue])
def test_after_its_record_it_is_over(scenario):
    session = sg.session(scenario())
    session.record()
    go_on = {"by_s": 0.0} if scenario is dumbbell else {"by": 0}
    for call in (session.observe, session.record, lambda: session.advance(**go_on)):
        with pytest.raises(sg.SluiceError, match="the session has ended: its record was taken"):
            call()


def test_one_of_several_disciplines_must_be_named():
    several = [sg.Discipline(aqm="red"), sg.Discipline(aqm="pie")]
    with pytest.raises(sg.SluiceError, match="name one of red, pie"):
        sg.session(dumbbell(disciplines=several))
    session = sg.session(dumbbell(disciplines=several), several[1])
    assert isinstance(session, NetworkSession)
    assert session.discipline.aqm == "pie"


def test_the_file_says_which_world(tmp_path):
    path = tmp_path / "light.toml"
    path.write_text(
        'slots = 1000\narrivals = { kind = "geometric", rate = 0.5 }\n'
        'service = { kind = "geometric", mu = 0.5 }\n[[disciplines]]\naqm = "red"\n'
    )
    session = sg.session(path)
    assert isinstance(session, SlottedSession)
    assert session.end == 1000


class Broken:
    """Admits ten packets, then fails."""

    def __init__(self):
        self.left = 10

    def arrive(self, view):
        self.left -= 1
        if self.left < 0:
            raise ValueError("enough")
        return sg.ADMIT


@pytest.mark.parametrize("scenario", [dumbbell, queue])
def test_a_python_aqm_works_and_its_error_is_raised(scenario):
    class All:
        def arrive(self, view):
            return sg.ADMIT

    admits = sg.session(scenario(disciplines=[sg.Discipline(aqm=All)])).record()
    drop_tail = sg.session(scenario(disciplines=[sg.Discipline(aqm="drop_tail")])).record()
    assert admits["queue_mean"] == drop_tail["queue_mean"]
    session = sg.session(scenario(disciplines=[sg.Discipline(aqm=Broken)]))
    with pytest.raises(ValueError, match="enough"):
        session.record()


def test_a_users_header_is_at_work_beside_this_process(tmp_path):
    header = tmp_path / "shorter.h"
    header.write_text((Path(__file__).parent / "shorter.h").read_text())
    scenario = queue(disciplines=[sg.Discipline(aqm=str(header))])
    session = sg.session(scenario)
    session.advance(to=500)
    assert session.observe().arrivals > 0
    equal(session.record(), sg.simulate(scenario, fresh=True))
    with pytest.raises(sg.SluiceError, match="has ended"):
        session.observe()
    beside = session._kept._beside
    del session
    gc.collect()
    assert not beside.is_alive()


def test_ctrl_c_ends_the_call_and_not_the_session():
    scenario = dumbbell().replace(duration_s=10_000.0, sample_s=10.0)
    session = sg.session(scenario)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.advance(to_s=10_000.0)
    timer.join()
    stopped_s = session.now_s
    assert 0 < stopped_s < 10_000
    seen = session.observe()
    again = sg.session(scenario)
    again.advance(to_s=stopped_s)
    assert repr(again.observe()) == repr(seen)


def test_two_threads_do_not_use_one_session_at_a_time():
    at_work, seen = threading.Event(), threading.Event()

    class Waiting:
        """Stays in its first decision until the other thread has asked."""

        def arrive(self, view):
            at_work.set()
            seen.wait()
            return sg.ADMIT

    session = sg.session(dumbbell(disciplines=[sg.Discipline(aqm=Waiting)]))

    def advance():
        try:
            session.advance(to_s=2.0)
        finally:
            # also where it fails before its first decision: nobody waits for ever
            at_work.set()

    worker = threading.Thread(target=advance)
    worker.start()
    at_work.wait()
    try:
        with pytest.raises(sg.SluiceError, match="at work in another thread"):
            session.observe()
    finally:
        seen.set()
        worker.join()
    assert session.now_s == 2.0


RED = sg.Discipline(aqm="red", params={"min_th": 5, "max_th": 15, "w": 0.02})
LOW = sg.Discipline(aqm="red", params={"min_th": 2, "max_th": 4, "w": 0.02})


def test_the_same_settings_change_nothing():
    scenario = dumbbell(disciplines=[RED])
    session = sg.session(scenario)
    for to_s in (0.5, 1.25, 2.0):
        session.advance(to_s=to_s)
        session.retune(RED, queue=scenario.queue, rate_bps=2e6)
    equal(session.record(), network.simulate(scenario, fresh=True))
    slots = queue(disciplines=[RED])
    session = sg.session(slots)
    for to in (500, 501, 12_345):
        session.advance(to=to)
        session.retune(RED, queue=slots.queue)
    equal(session.record(), sg.simulate(slots, fresh=True))


def test_averages_and_waiting_packets_stay_and_the_record_says_what_changed():
    session = sg.session(dumbbell(disciplines=[RED]))
    session.advance(to_s=1.5)
    before = session.observe().ports[0].queue
    session.retune(LOW)
    after = session.observe().ports[0].queue
    assert after.average == before.average > 2
    assert after.probability > before.probability
    assert (after.packets, after.verdicts) == (before.packets, before.verdicts)
    record = session.record()
    whole = network.simulate(dumbbell(disciplines=[RED]))
    assert record["queue_mean"].value < whole["queue_mean"].value
    assert record.identity != whole.identity
    (change,) = record.run["changes"]
    assert (change["at_s"], change["link"]) == (1.5, "left -> right")
    assert change["aqm"]["params"]["max_th"] == 4


def test_a_limit_below_what_waits_and_another_aqm():
    session = sg.session(dumbbell(disciplines=[sg.Discipline(aqm="drop_tail")]))
    session.advance(to_s=1.0)
    while (before := session.observe().ports[0].queue.packets) <= 10:
        session.advance(by_s=0.01)
    session.retune(queue=sg.Queue(limit=5))
    assert session.observe().ports[0].queue.packets == before
    session.advance(by_s=0.5)
    assert session.observe().ports[0].queue.packets <= 5
    session.retune(sg.Discipline(aqm="pie", scheduler=sg.Drr(queues=8)))
    state = session.observe().ports[0].queue
    assert len(state.lanes.packets) == 8
    assert np.nanmax(state.lanes.probability) == 0
    session.record()


def test_another_rate_holds_from_the_next_packet_on():
    flows = [network.DatagramFlows(rate_bps=3e6)]
    session = sg.session(dumbbell().replace(flows=flows))
    session.advance(to_s=2.0)
    before = session.observe().ports[0].sent_bytes
    session.retune(rate_bps=1e6, link="left -> right")
    session.advance(to_s=3.0)
    port = session.observe().ports[0]
    assert port.rate_bps == 1_000_000
    assert 8 * (port.sent_bytes - before) == pytest.approx(1e6, rel=0.02)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, "retune takes what is to change"),
        ({"rate_bps": 0}, "rate = 0 must lie between 1 and"),
        ({"rate_bps": -1}, "rate_bps = -1 must be a number that is not negative"),
        ({"rate_bps": float("nan")}, "rate_bps = nan must be a number"),
        ({"rate_bps": 1e6, "link": "a -> b"}, "a -> b is no link with a queue; there are left -> "),
    ],
)
def test_changes_that_make_no_sense_are_refused(change, why):
    session = sg.session(dumbbell())
    with pytest.raises(sg.SluiceError, match=why):
        session.retune(**change)
    equal(session.record(), network.simulate(dumbbell()))


def test_a_users_header_is_retuned_only_beside_this_process(tmp_path):
    header = tmp_path / "shorter.h"
    header.write_text((Path(__file__).parent / "shorter.h").read_text())
    own = [sg.Discipline(aqm=str(header), params={"most": most}) for most in (10, 4)]
    with pytest.raises(sg.SluiceError, match="must be among the disciplines at the start"):
        sg.session(queue()).retune(own[0])
    session = sg.session(queue(disciplines=own[:1]))
    session.advance(to=10_000)
    session.retune(own[1])
    session.advance(to=15_000)
    assert session.observe().queue.packets <= 4
    session.retune(sg.Discipline(aqm="red"))
    session.record()
