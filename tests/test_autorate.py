"""A shaper that follows its link: the law of the loop, and what it gives behind a varying link."""

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.autorate import Loop, Rates, autorate

RATES = Rates(5e6, 20e6, 80e6)
SHAPER, MODEM = "home -> modem", "modem -> net"


def test_the_loop_is_that_of_cake_autorate():
    loop = Loop(RATES)
    # busy and no queue: 4 % more with each probe, up to the greatest
    assert loop.answer(0.05, 0.010, 19e6) == pytest.approx(20.8e6)
    assert loop.answer(0.10, 0.010, 20e6) == pytest.approx(20.8e6 * 1.04)
    # little is sent: back to the base, 1 % each second
    before = loop.rate_bps
    rates = [loop.answer(0.15 + 0.05 * k, 0.010, 1e6) for k in range(30)]
    assert rates[0] == pytest.approx(before * 0.99)
    assert rates[-1] == pytest.approx(before * 0.99**2)
    # one long delay is none, three of six are a queue: 60 ms and more are 25 % off, once in 0.3 s
    rate = loop.rate_bps
    delays = [loop.answer(3 + 0.05 * k, 0.210, 1e6) for k in range(3)]
    assert delays[1] >= rate * 0.98
    assert delays[2] == pytest.approx(delays[1] * 0.75, rel=0.01)
    assert loop.answer(3.15, 0.210, 1e6) == delays[2]
    for k in range(200):
        loop.answer(4 + 0.05 * k, 0.210, 1e6)
    assert loop.rate_bps == 5e6


def scenario(**rate):
    """A shaper, and a modem with a FIFO of 500 packets before a link that varies."""
    return sg.network.NetworkScenario.parse(
        {
            "duration_s": 40,
            "warm_up_s": 5,
            "replications": 1,
            "topology": {
                "kind": "graph",
                "links": [
                    {"source": source, "sink": sink, "both_ways": False, **link}
                    for source, sink, link in (
                        ("home", "modem", {"rate_bps": 100e6, "delay_s": 0, "queue": True}),
                        ("modem", "net", {"rate_bps": 30e6, "delay_s": 0, "queue": True}),
                        ("net", "home", {"rate_bps": 1e9, "delay_s": 0.04}),
                    )
                ],
            },
            "flows": [
                {
                    "kind": "tcp",
                    "source": "home",
                    "sink": "net",
                    "count": 2,
                    "tcp": {"like": "linux", "packet_bytes": 1500, "congestion_control": "cubic"},
                }
            ],
            "links": {
                MODEM: {"discipline": {"aqm": "drop_tail"}, "queue": {"limit": 500}, "rate": rate},
            },
            "queue": {"limit": 1000},
            "disciplines": [{"aqm": "codel"}],
        }
    )


def test_the_queue_is_where_the_aqm_is():
    rates = [(0, 30e6), (15, 12e6), (25, 40e6)]
    steps = {"kind": "steps", "steps": [{"time_s": t, "rate_bps": r} for t, r in rates]}
    found = autorate(scenario(**steps), RATES, shaper=SHAPER, bottleneck=MODEM)
    alone = sg.network.simulate(scenario(**steps))
    # without the loop the modem's 500 packets are full: at 12 Mb/s half a second
    follows_s, alone_s = (
        record.ports[1].measures["sojourn_mean"].value for record in (found.record, alone)
    )
    assert alone_s > 0.15
    assert follows_s < alone_s / 4
    # it follows down and up, and stays near the link
    times, rate = found.course["time_s"].to_numpy(), found.course["rate_bps"].to_numpy()
    for since_s, until_s, link_bps in ((20, 25, 12e6), (32, 40, 40e6)):
        part = rate[(times > since_s) & (times < until_s)]
        assert 0.6 * link_bps < np.median(part) < 1.4 * link_bps
    goodput = found.record["goodput"].value / alone["goodput"].value
    assert goodput > 0.75
    again = autorate(scenario(**steps), RATES, shaper=SHAPER, bottleneck=MODEM)
    assert again.course.equals(found.course)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(sg.SluiceError, match="rates must rise: least_bps = 2e"):
        Rates(2e6, 1e6, 3e6)
    with pytest.raises(sg.SluiceError, match="x -> y is no link with a queue; there are home"):
        autorate(scenario(kind="lte"), RATES, shaper=SHAPER, bottleneck="x -> y")
