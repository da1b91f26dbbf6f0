"""Video calls that adapt their rate: their authors' traces, and the test cases of RFC 8867."""

import pytest

from sluicegate import network
from sluicegate.errors import SluiceError

CALL = {"kind": "call", "label": "call", "source": "a", "sink": "b"}
L4S = {"ecn": True, "ect1": True}
DUALPI2 = {"aqm": "dualpi2", "ecn": True}


def run(*flows, rate_bps, delay_s, aqm=None, limit=10_000, steps=(), until_s, from_s):
    link = {"source": "a", "sink": "b", "rate_bps": rate_bps, "delay_s": delay_s, "queue": True}
    rates = [{"time_s": time_s, "rate_bps": rate_bps} for time_s, rate_bps in steps]
    return network.simulate(
        network.NetworkScenario.parse(
            {
                "topology": {"kind": "graph", "links": [link]},
                "links": {"a -> b": {"rate": {"kind": "steps", "steps": rates}}} if steps else {},
                "flows": list(flows),
                "disciplines": [aqm or {"aqm": "drop_tail"}],
                "queue": {"limit": limit},
                "duration_s": until_s,
                "warm_up_s": from_s,
                "replications": 2,
            }
        )
    )


@pytest.mark.parametrize(
    ("ecn", "rate_bps", "queue_s", "p99_s"),
    [(L4S, 38.5e6, 0.0010, 0.0022), ({}, 44.0e6, 0.0062, 0.0186)],
)
def test_it_is_near_the_traces_of_its_authors(ecn, rate_bps, queue_s, p99_s):
    # github.com/EricssonResearch/scream, examples/trace-dualpi-50Mbps-25ms-{l4s,nol4s}.txt, 10 to
    # 20 s: mean transmitted rate, and the queueing delay at feedback
    fast = {"min_rate_bps": 1e6, "max_rate_bps": 100e6, "frames_per_s": 50.0}
    record = run(
        CALL | fast | ecn, rate_bps=50e6, delay_s=0.0125, aqm=DUALPI2, from_s=10.0, until_s=20.0
    )
    # the program divides the rate by 1.1 where the draft has 1.2
    assert 1.1 / 1.2 * 0.95 < record["call.goodput_bps"].value / rate_bps < 1.05
    # its frames are those of a test tool, nearly alike; ours differ by 15 %
    assert 0.4 * queue_s < record["call.delay_mean"].value < 1.2 * queue_s
    assert 0.4 * p99_s < record["call.delay_p99"].value < 1.2 * p99_s
    assert record["call.stall_ratio"].value == 0


def test_l4s_gives_a_part_of_the_rate_for_most_of_the_queue():
    greedy = CALL | {"max_rate_bps": 50e6}
    path = {"rate_bps": 10e6, "delay_s": 0.01, "from_s": 20.0, "until_s": 60.0}
    with_l4s = run(greedy | L4S, aqm=DUALPI2, **path)
    without = run(greedy, **path)
    assert with_l4s["delay_mean"].value < 0.2 * without["delay_mean"].value
    assert with_l4s["call.frame_p99"].value < 0.6 * without["call.frame_p99"].value
    assert 0.6 * 10e6 < with_l4s["call.quality"].value < without["call.quality"].value
    assert without["call.quality"].value > 0.85 * 10e6
    assert with_l4s["loss_ratio"].value == 0


def test_a_capacity_that_varies():
    # RFC 8867, section 5.1: 1 Mbit/s, times 2.5 at 40 s, 0.6 at 60 s, 1 at 80 s; 50 ms one way; a
    # queue of 300 ms; video of 150 kbit/s to 1.5 Mbit/s. Each is judged in its second half
    steps = [(40.0, 2.5e6), (60.0, 0.6e6), (80.0, 1e6)]
    for from_s, until_s, rate_bps in [
        (20.0, 40.0, 1e6),
        (50.0, 60.0, 2.5e6),
        (70.0, 80.0, 0.6e6),
        (90.0, 100.0, 1e6),
    ]:
        record = run(
            CALL,
            rate_bps=1e6,
            delay_s=0.05,
            limit=31,
            steps=steps,
            from_s=from_s,
            until_s=until_s,
        )
        quality = record["call.quality"].value
        assert 0.75 * min(rate_bps, 1.5e6) < quality < 1.04 * min(rate_bps, 1.5e6), from_s
        assert record["delay_mean"].value < 0.06
        assert record["call.missing_ratio"].value == 0
        assert record["call.stall_ratio"].value == 0
    # the fall to 0.6 Mbit/s itself: frames come late, and the picture does not freeze
    fall = run(CALL, rate_bps=1e6, delay_s=0.05, limit=31, steps=steps, from_s=60.0, until_s=70.0)
    assert 0.2 < fall["call.frame_p99"].value < 0.8
    assert fall["call.stall_ratio"].value < 0.02


def test_calls_share_and_beside_greedy_tcp_they_get_their_part_from_an_aqm_alone():
    # RFC 8867, section 5.4: three calls on 3.5 Mbit/s, which start 20 s apart
    calls = [CALL | {"label": f"call{each}", "start_s": 20.0 * each} for each in range(3)]
    record = run(*calls, rate_bps=3.5e6, delay_s=0.05, limit=110, from_s=60.0, until_s=120.0)
    shares = [record[f"call{each}.quality"].value for each in range(3)]
    assert min(shares) > 0.9 * max(shares)
    assert sum(shares) > 0.8 * 3.5e6

    # section 5.6: a long TCP flow on 2 Mbit/s with a queue of 300 ms: it fills the queue, and what
    # avoids queues is left with its least rate
    tcp = {"kind": "tcp", "label": "tcp", "source": "a", "sink": "b", "start_s": 5.0}
    tcp["tcp"] = {"packet_bytes": 1500}
    path = {"rate_bps": 2e6, "delay_s": 0.05, "limit": 50, "from_s": 20.0, "until_s": 120.0}
    starved = run(CALL, tcp, **path)
    assert starved["call.quality"].value < 0.2 * 2e6
    assert starved["call.frame_mean"].value > 0.15
    fed = run(CALL, tcp, aqm={"aqm": "codel", "scheduler": {"kind": "fq"}}, **path)
    assert fed["call.quality"].value > 3 * starved["call.quality"].value
    assert fed["call.frame_mean"].value < 0.1


def test_the_same_on_one_thread_or_two_and_its_measures_are_a_calls():
    scenario = network.NetworkScenario.parse(
        {
            "topology": {"kind": "dumbbell", "rate_bps": 2e6, "client_delays_s": [0.02]},
            "flows": [{"kind": "call", "label": "call", "count": 3, "spread_s": 1.0}],
            "disciplines": [{"aqm": "pie"}],
            "duration_s": 20.0,
            "replications": 3,
        }
    )
    one, two = (network.simulate(scenario, threads=threads, fresh=True) for threads in (1, 2))
    assert repr(one.measures) == repr(two.measures)
    assert {"call.frame_p99", "call.quality", "call.stall_ratio"} <= set(one.measures)
    assert not {"call.switch_rate", "call.page_mean", "call.completion_mean"} & set(one.measures)


def test_a_call_of_which_nothing_is_seen_has_no_measures_of_its_picture():
    dark = run(CALL | {"start_s": 4.9}, rate_bps=1e6, delay_s=0.3, from_s=1.0, until_s=5.0)
    assert "call.loss_ratio" in dark.measures
    names = {"call.frame_mean", "call.quality", "call.stall_ratio", "call.stall_rate"}
    assert not names & set(dark.measures)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"min_rate_bps": 2e6}, "min_rate_bps = 2e\\+06 must be at most max_rate_bps = 1.5e\\+06"),
        ({"packet_bytes": 40}, "packet_bytes = 40 must"),
        (
            {"max_rate_bps": 1e9, "frames_per_s": 1.0},
            "frames of 104167 packets of packet_bytes = 1200; a frame must have 10000 at most",
        ),
        ({"ect1": True}, "ect1 = true needs ecn = true"),
    ],
)
def test_what_no_call_does_is_refused(fields, reason):
    with pytest.raises(SluiceError, match=reason):
        run(CALL | fields, rate_bps=1e6, delay_s=0.01, from_s=1.0, until_s=2.0)
