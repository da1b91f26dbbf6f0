"""What people feel of applications: measures of calls, pages and videos."""

import pytest

from sluicegate import network
from sluicegate.errors import SluiceError
from sluicegate.measures.voice import BPL_CONCEALED, mean_opinion_score

LINK = {"source": "a", "sink": "b", "rate_bps": 1e6, "delay_s": 0.01, "queue": True}
ENDS = {"source": "a", "sink": "b"}
VOICE = ENDS | {"kind": "datagrams", "label": "voice", "rate_bps": 80e3, "packet_bytes": 200}
AT_ONCE = {"initial_window": 1000, "delayed_ack_s": 0.0}
PAGES = ENDS | {
    "kind": "web",
    "label": "web",
    "objects": {"kind": "constant", "mean_packets": 3},
    "page_objects": 6,
    "connections": 2,
    "think": {"kind": "exponential", "mean_s": 0.2},
    "tcp": AT_ONCE,
}
VIDEO = ENDS | {
    "kind": "video",
    "label": "video",
    "rates_bps": [1.5e6],
    "segment_s": 1.0,
    "tcp": AT_ONCE,
}


def one_link(*flows, **fields):
    return network.NetworkScenario.parse(
        {
            "topology": {"kind": "graph", "links": [LINK]},
            "flows": list(flows),
            "disciplines": [{"aqm": "drop_tail"}],
            "queue": {"limit": 1000},
            "duration_s": 60.0,
            "replications": 2,
            **fields,
        }
    )


def test_on_an_idle_link_each_has_its_closed_form():
    # alone: 200 bytes in 1.6 ms, and 10 ms on the way
    voice = network.simulate(one_link(VOICE))
    assert voice["voice.one_way_delay_mean"].value == pytest.approx(0.0116)
    score = mean_opinion_score(voice["voice.one_way_delay_p99"].value + 0.02, 0.01, BPL_CONCEALED)
    assert voice["voice.mos"].value == pytest.approx(score)
    assert not {"voice.page_mean", "voice.quality", "voice.stall_ratio"} & set(voice.measures)

    # three rounds of two objects of 12 ms; the way back of 10 ms, and an ACK of 0.32 ms
    pages = network.simulate(one_link(PAGES))
    assert pages["web.page_mean"].value == pytest.approx(3 * (0.012 + 0.02032) + 0.012, rel=1e-6)
    assert pages["web.page_p99"].value >= pages["web.page_p50"].value
    assert "web.mos" not in pages.measures

    # 375 packets of 4 ms, for a second of video
    video = network.simulate(one_link(VIDEO))
    takes_s = 375 * 0.004 + 0.02032
    # the warm-up and the end may cut a segment in two
    assert video["video.stall_ratio"].value == pytest.approx(1 - 1 / takes_s, abs=0.02)
    assert video["video.stall_rate"].value == pytest.approx(60 / takes_s, rel=0.06)
    assert video["video.quality"].value == 1.5e6
    assert video["video.switch_rate"].value == 0


def test_a_tcp_flow_of_limited_rate_gets_it_and_is_no_unfair_one():
    limited = ENDS | {"kind": "tcp", "label": "limited", "rate_bps": 200e3}
    greedy = ENDS | {"kind": "tcp", "label": "greedy"}
    record = network.simulate(one_link(limited, greedy, queue={"limit": 20}))
    assert record["limited.goodput_bps"].value == pytest.approx(200e3, rel=0.02)
    assert record["greedy.goodput_bps"].value == pytest.approx(800e3, rel=0.03)
    assert record["fairness"].value > 0.99


def test_a_tcp_flow_of_limited_rate_that_would_start_after_its_end_sends_nothing():
    late = {"kind": "tcp", "label": "late", "count": 50, "spread_s": 10.0, "stop_s": 0.001}
    for limit in ({}, {"rate_bps": 100e3}):
        record = network.simulate(one_link(ENDS | late | limit))
        assert record.ports[0].series["arrivals"].max() == 0


@pytest.mark.parametrize(
    ("flows", "reason"),
    [
        (PAGES | {"connections": 7}, "connections = 7 must be at most page_objects = 6"),
        (VIDEO | {"rates_bps": [2e6, 1e6]}, "each of rates_bps must exceed the one before"),
        (VIDEO | {"rates_bps": []}, "rates_bps"),
        (VIDEO | {"buffer_s": 1.5}, "buffer_s = 1.5 must be at least two segments"),
        (VIDEO | {"spread_s": 10.0, "stop_s": 1.0}, "start_s \\+ spread_s = 10 must not exceed"),
        (ENDS | {"kind": "tcp", "rate_bps": 1e14}, "a packet a nanosecond"),
    ],
)
def test_what_no_application_does_is_refused(flows, reason):
    with pytest.raises(SluiceError, match=reason):
        one_link(flows)
