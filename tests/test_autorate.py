"""A shaper that follows its link: the law of the loop, and what it gives behind a varying link."""

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.autorate import Loop, Rates, autorate

RATES = Rates(5e6, 20e6, 80e6)
SHAPER, MODEM = "home -> modem", "modem -> net"


PROBE_US = 50_000


def answers(loop, start_us, probes, delay_s):
    """Rates after probes of one delay, from a time on; the load stays as it is."""
    return [loop.answer(start_us + PROBE_US * k, delay_s) for k in range(probes)]


def test_the_loop_is_that_of_cake_autorate():
    loop = Loop(RATES)
    # not in the first 0.3 s
    loop.measured(19e6)
    assert set(answers(loop, PROBE_US, 6, 0.010)) == {20e6}
    # busy and no queue: 4 % more, once for each load that is measured
    assert answers(loop, 350_000, 4, 0.010) == pytest.approx([20.8e6] * 4)
    loop.measured(20e6)
    assert answers(loop, 550_000, 4, 0.010) == pytest.approx([20.8e6 * 1.04] * 4)
    # little is sent: back to the base, 1 % each second, the first a second after the rise
    before = loop.rate_bps
    loop.measured(1e6)
    rates = answers(loop, 750_000, 40, 0.010)
    assert rates[:17] == [before] * 17
    assert rates[17:37] == pytest.approx([before * 0.99] * 20)
    assert rates[-1] == pytest.approx(before * 0.99**2)
    # two long delays are none, three of six are a queue, 100 ms on average over all six: 60 ms and
    # more are 25 % off, once in 0.3 s
    rate = loop.rate_bps
    delays = answers(loop, 3_000_000, 9, 0.210)
    assert delays[:2] == [rate] * 2
    assert delays[2:] == pytest.approx([rate * 0.75] * 7)
    answers(loop, 4_000_000, 200, 0.210)
    assert loop.rate_bps == 5e6


def test_after_a_fall_the_rate_goes_back_a_second_later():
    loop = Loop(RATES)
    loop.measured(1e6)
    answers(loop, PROBE_US, 30, 0.010)
    answers(loop, 31 * PROBE_US, 3, 0.210)
    fallen = loop.rate_bps
    assert fallen == pytest.approx(0.75 * 20e6)
    # three short delays end the queue; the fall was at 1.65 s
    rates = answers(loop, 34 * PROBE_US, 21, 0.010)
    assert rates[:20] == [fallen] * 20
    assert rates[20] == pytest.approx(1.01 * fallen)


class Cake:
    """The rule once more, with the integers of cake-autorate: us, kbit/s, per mille."""

    def __init__(self, least_kbps, base_kbps, most_kbps):
        self.least, self.base, self.most = least_kbps, base_kbps, most_kbps
        self.rate = base_kbps
        self.baselines = [100_000] * 6
        self.delays, self.deltas = [0] * 6, [0] * 6
        self.probe = self.load = self.updated = self.bloat_us = self.decay_us = 0

    def load_is(self, achieved_kbps):
        """Each 200 ms."""
        self.load, self.updated = 100 * achieved_kbps // self.rate, 1

    def response(self, t_us, rtt_us):
        """What happened, and the rate after it."""
        owd, place = rtt_us // 2, self.probe % 6
        self.probe += 1
        base = self.baselines[place]
        alpha = 1_000 if owd >= base else 900_000
        base = self.baselines[place] = (alpha * owd + (1_000_000 - alpha) * base) // 1_000_000
        packet = 1000 * 12_000 // self.rate
        up, bloat, down = 10_000 + packet, 30_000 + packet, 60_000 + packet
        self.delays[place] = int(owd - base > bloat)
        self.deltas[place] = owd - base
        average = int(sum(self.deltas) / 6)
        rested = t_us > self.bloat_us + 300_000
        told = "none"
        if sum(self.delays) >= 3:
            if rested:
                factor = min(1000, 1000 * max(0, average - bloat) // (down - bloat))
                self.rate = self.rate * (1000 * 990 - factor * (990 - 750)) // 1_000_000
                self.bloat_us = self.decay_us = t_us
                told = "down"
        elif self.load > 75:
            if self.updated and rested:
                factor = min(1000, 1000 * max(0, bloat - average) // (bloat - up))
                self.rate = self.rate * (1000 * 1000 + factor * (1040 - 1000)) // 1_000_000
                self.updated, self.decay_us, told = 0, t_us, "up"
        elif t_us > self.decay_us + 1_000_000:
            if self.rate > self.base:
                self.rate = max(self.base, self.rate * 990 // 1000)
            elif self.rate < self.base:
                self.rate = min(self.base, self.rate * 1010 // 1000)
            self.decay_us, told = t_us, "back"
        self.rate = min(max(self.rate, self.least), self.most)
        return told, self.rate


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
    # without the loop CUBIC keeps the modem's queue between 500 packets and what is left of 0.7 of
    # these and the BDP: for the packets of the three rates together 0.13 to 0.21 s
    follows_s, alone_s = (
        record.ports[1].measures["sojourn_mean"].value for record in (found.record, alone)
    )
    assert 0.13 < alone_s < 0.21
    # the loop lets 60 ms grow in the modem before it slows down: half of that on average
    assert follows_s == pytest.approx(0.03, rel=0.25)
    # it follows down and up: until the link's rate is no longer a high load, which is above 75 % in
    # whole per cent, and by one step of 4 % more
    times, rate = found.course["time_s"].to_numpy(), found.course["rate_bps"].to_numpy()
    for since_s, until_s, link_bps in ((20, 25, 12e6), (32, 40, 40e6)):
        part = rate[(times > since_s) & (times < until_s)]
        assert np.median(part) == pytest.approx(link_bps / 0.76, rel=0.06)
    goodput = found.record["goodput"].value / alone["goodput"].value
    # a little is lost after the step up of the link, until the shaper has followed
    assert 0.85 < goodput < 1
    again = autorate(scenario(**steps), RATES, shaper=SHAPER, bottleneck=MODEM)
    assert again.course.equals(found.course)


def test_each_rate_is_that_of_the_rule_in_integers():
    """Row by row from the rate before, so that what integers cut off does not add up."""
    rates = [(0, 30e6), (15, 12e6), (25, 40e6), (32, 25e6)]
    steps = {"kind": "steps", "steps": [{"time_s": t, "rate_bps": r} for t, r in rates]}
    course = autorate(scenario(**steps), RATES, shaper=SHAPER, bottleneck=MODEM).course
    cake, told = Cake(5_000, 20_000, 80_000), []
    before = 20e6
    for number, row in enumerate(course.rows(named=True), 1):
        cake.rate = int(before / 1000)
        if number % 4 == 0:
            cake.load_is(int(row["sent_bps"] / 1000))
        what, rate_kbps = cake.response(number * PROBE_US, round(1e6 * row["delay_s"]))
        told.append(what)
        # a kbit/s, and a per mille of the range of a factor
        assert row["rate_bps"] == pytest.approx(1000 * rate_kbps, rel=4e-4), (row, what)
        before = row["rate_bps"]
    counts = {what: told.count(what) for what in ("up", "down", "back")}
    assert min(counts.values()) > 5, counts


def test_what_makes_no_sense_is_refused():
    with pytest.raises(sg.SluiceError, match="rates must rise and be finite: least_bps = 2e"):
        Rates(2e6, 1e6, 3e6)
    for wrong in ((1e6, np.inf, np.inf), (1e6, 2e6, np.nan), (0, 1e6, 1e6)):
        with pytest.raises(sg.SluiceError, match="rates must rise and be finite"):
            Rates(*wrong)
    with pytest.raises(sg.SluiceError, match="x -> y is no link with a queue; there are home"):
        autorate(scenario(kind="lte"), RATES, shaper=SHAPER, bottleneck="x -> y")
    with pytest.raises(sg.SluiceError, match="shaper and bottleneck are both home -> modem"):
        autorate(scenario(kind="lte"), RATES, shaper=SHAPER, bottleneck=SHAPER)
    several = scenario(kind="lte").replace(replications=3)
    with pytest.raises(sg.SluiceError, match="replications = 3 must be 1: the loop follows one"):
        autorate(several, RATES, shaper=SHAPER, bottleneck=MODEM)
