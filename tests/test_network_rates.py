"""Links whose rate varies: closed forms, an oracle for opportunities, files, refusals."""

import math
from typing import ClassVar

import numpy as np
import pytest

import sluicegate as sg
from sluicegate import network
from sluicegate.worlds.network.frames import network_frames
from sluicegate.worlds.real.varying import rates

LINK = "a -> b"


def steps(*rows):
    return network.Steps(steps=[network.RateStep(time_s=t, rate_bps=r) for t, r in rows])


def one_link(rate, *, offered_bps=4e6, limit=10_000, aqm="drop_tail", flows=None, **fields):
    """Datagrams of 1000 bytes over a link of 8 Mb/s whose rate varies."""
    link = network.Link(source="a", sink="b", rate_bps=8e6, delay_s=0.01, queue=True)
    datagrams = network.DatagramFlows(source="a", sink="b", rate_bps=offered_bps, packet_bytes=1000)
    return network.NetworkScenario(
        topology=network.Graph(links=[link]),
        flows=flows or [datagrams],
        queue=sg.Queue(limit=limit),
        links={} if rate is None else {LINK: network.LinkSettings(rate=rate)},
        disciplines=[sg.Discipline(aqm=aqm)],
        **{"duration_s": 10.0, "replications": 1, "warm_up_s": 0, "sample_s": 0.01, **fields},
    )


def test_a_stream_over_two_rates_queues_as_a_fluid_does():
    # 4 Mb/s offered: 2 Mb/s from 2 to 5 s, an outage to 6 s, then 8 Mb/s
    scenario = one_link(steps((2, 2e6), (5, 0), (6, 8e6)))
    port = network.simulate(scenario).ports[0]
    times_s = port.times_s
    grows = 250 * np.clip(times_s - 2, 0, 3) + 500 * np.clip(times_s - 5, 0, 1)
    drains = 500 * np.clip(times_s - 6, 0, None)
    fluid = np.maximum(grows - drains, 0)
    # a packet is a whole: one in transmission does not wait, and one has just come
    assert np.abs(port.samples[0] - fluid).max() <= 2
    served_bits = 8 * port.rows("sent_bytes")[0]
    # all that is offered, but for what waits
    assert np.abs(served_bits - (4e6 * times_s - 8000 * fluid)).max() <= 2 * 8000
    rates = port.rows("rate_bps")[0]
    assert rates[np.searchsorted(times_s, [1.9, 2.1, 5.5, 6.5])].tolist() == [8e6, 2e6, 0, 8e6]
    assert port.rate_varies


def test_one_step_at_the_start_is_the_constant_rate_to_the_bit():
    flows = [network.TcpFlows(source="a", sink="b", count=5, spread_s=0.5)]
    records = [
        network.simulate(one_link(rate, flows=flows, aqm=aqm, limit=60))
        for aqm in ("red", "pie")
        for rate in (None, steps((0, 8e6)))
    ]
    for constant, stepped in (records[:2], records[2:]):
        assert constant.flows.equals(stepped.flows)
        assert constant.measures == stepped.measures
        assert constant.identity != stepped.identity


def test_the_throughput_of_busy_steps_is_the_mean_of_their_rates():
    rows = [(2 * k, 1e6 * (1 + k * 7 % 5)) for k in range(5)]
    record = network.simulate(one_link(steps(*rows), offered_bps=2e7, limit=20))
    mean_bps = np.mean([rate for _, rate in rows])
    assert record["utilization"].value > 0.99
    # a packet more or less, of 8000 bits in 10 s
    assert abs(record["throughput_bps"].value - mean_bps) < 2 * 800


class Seen:
    """Notes the rates that an AQM is shown."""

    rates: ClassVar[list[tuple[int, int]]] = []

    def arrive(self, view):
        if not self.rates or self.rates[-1][1] != view.rate_bps:
            self.rates.append((view.now_ns, view.rate_bps))
        return sg.ADMIT


def test_an_aqm_sees_the_rate_as_it_is():
    Seen.rates = []
    network.simulate(one_link(steps((2, 2e6), (5, 0), (6, 8e6)), aqm=Seen))
    # an outage is shown as 1 bit/s: an AQM may divide by the rate
    assert [rate for _, rate in Seen.rates] == [8_000_000, 2_000_000, 1, 8_000_000]
    times_s = [time_ns / 1e9 for time_ns, _ in Seen.rates]
    # datagrams come every 2 ms
    assert np.allclose(times_s[1:], [2, 5, 6], atol=0.0021)


def mahimahi(times_ms, arrivals, limit):
    """When packets leave a link of opportunities, ms, and how many find its buffer full.

    As `LinkQueue::rationalize`: at each opportunity 1504 bytes may cross, of packets with 4 bytes
    more than their own; what is left of it is lost where no packet waits. The packet that waits
    for its opportunity is on the link, not in the buffer.
    """
    left, waiting, remaining, lost, place, k = [], [], 0, 0, 0, 0
    while len(left) + lost < len(arrivals):
        now_ms = times_ms[k % len(times_ms)] + k // len(times_ms) * times_ms[-1]
        k += 1
        while place < len(arrivals) and arrivals[place][0] < now_ms:
            if len(waiting) > limit:
                lost += 1
            else:
                waiting.append(arrivals[place][1])
            place += 1
        budget = 1504
        while budget and waiting:
            remaining = remaining or waiting[0] + 4
            crossed = min(budget, remaining)
            budget -= crossed
            remaining -= crossed
            if not remaining:
                waiting.pop(0)
                left.append(now_ms)
    return left, lost


def own_trace(path, seed, seconds=3):
    """A trace of our own: bursts of opportunities at times, with a gap of half a second."""
    random = np.random.default_rng(seed)
    times = np.flatnonzero(random.random(1000 * seconds) < 0.4)
    times = times[(times < 1200) | (times > 1700)]
    burst = random.integers(1, 4, len(times))
    path.write_text("".join(f"{time}\n" for time in np.repeat(times + 1, burst)))
    return np.repeat(times + 1, burst).tolist()


@pytest.mark.parametrize(("packet_bytes", "limit"), [(1500, 40), (600, 300), (1504, 10)])
def test_opportunities_are_those_of_mahimahi(tmp_path, packet_bytes, limit):
    trace = own_trace(tmp_path / "own.trace", seed=packet_bytes)
    gap_s = 8 * packet_bytes / 6e6
    flows = [
        # never at a whole millisecond, so that the order of equal times does not matter
        network.DatagramFlows(
            source="a", sink="b", rate_bps=6e6, packet_bytes=packet_bytes, start_s=0.0003217
        )
    ]
    rate = network.RateFile(path=str(tmp_path / "own.trace"))
    packets = tmp_path / "run.tr"
    scenario = one_link(rate, flows=flows, limit=limit, duration_s=8.0)
    record = network.simulate(scenario, packets=packets)
    sent = int(record.flows["sent"][0])
    arrivals = [(1000 * (0.0003217 + k * gap_s), packet_bytes) for k in range(sent)]
    left, lost = mahimahi(trace, arrivals, limit)
    left = [time for time in left if time < 7990]
    # received 10 ms later, after the propagation delay
    rows = [line.split() for line in packets.read_text().splitlines()]
    received = [1000 * float(row[1]) - 10 for row in rows if row[0] == "r"]
    assert np.allclose(received[: len(left)], left, atol=1e-3)
    assert abs(record["loss_ratio"].value * sent - lost) <= 1


def test_a_table_in_a_file_is_as_its_steps(tmp_path):
    (tmp_path / "rates.csv").write_text("time_s,rate_bps\n2,2e6\n5,0\n6,8e6\n")
    path = str(tmp_path / "rates.csv")
    of_file = network.simulate(one_link(network.RateFile(path=path)))
    inline = network.simulate(one_link(steps((2, 2e6), (5, 0), (6, 8e6))))
    assert of_file.measures == inline.measures
    # the identity is that of the contents, wherever the file is
    (tmp_path / "same.csv").write_text("time_s, rate_bps\n2.0,2000000\n5,0.0\n6,8e6\n")
    again = network.simulate(one_link(network.RateFile(path=str(tmp_path / "same.csv"))))
    assert again.identity == of_file.identity


def test_series_of_links_with_and_without_it_are_one_table():
    scenario = one_link(steps((2, 2e6), (6, 8e6))).replace(
        topology=network.Graph(
            links=[
                network.Link(source="a", sink="b", rate_bps=8e6, delay_s=0.01, queue=True),
                network.Link(source="b", sink="c", rate_bps=9e6, delay_s=0.01, queue=True),
            ]
        )
    )
    comparison = sg.compare(scenario)
    varying, constant = comparison.records[0].ports
    assert "rate_bps" in varying.series.columns
    assert "rate_bps" not in constant.series.columns
    series = network_frames(comparison.records)["series"]
    rates = series.group_by("queue_name", maintain_order=True).agg("rate_bps")["rate_bps"].to_list()
    assert set(rates[0]) == {8_000_000, 2_000_000}
    assert set(rates[1]) == {None}


def test_the_figure_of_the_queue_has_a_strip_of_the_rate():
    from sluicegate.worlds.network.series import queue_series_figure

    varying = network.simulate(one_link(steps((2, 2e6), (5, 0), (6, 8e6))))
    axes = queue_series_figure([varying]).axes
    assert [ax.get_title(loc="left") for ax in axes] == ["drop_tail", "the link's rate (Mb/s)"]
    line = axes[1].lines[0]
    assert set(line.get_ydata()) == {8, 2, 0}
    assert len(queue_series_figure([network.simulate(one_link(None))]).axes) == 1


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "links.*rate.steps = \\[\\] must have at least 1"),
        ([(0, 1e6), (3, 0)], "steps: the last rate, from 3 s on, must be above 0: it stays for"),
        ([(3, 1e6), (2, 2e6)], "steps: times must rise, and 2 s does not come after 3 s"),
        ([(0, -1)], "rate_bps = -1 must be at least 0"),
        ([(math.nan, 1e6)], "time_s = nan must"),
    ],
)
def test_steps_that_cannot_be_are_refused(rows, told):
    table = {
        "kind": "steps",
        "steps": [{"time_s": time_s, "rate_bps": rate_bps} for time_s, rate_bps in rows],
    }
    with pytest.raises(sg.SluiceError, match=told):
        one_link(None).replace(links={LINK: {"rate": table}})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is empty"),
        ("time_s,rate_bps\n0,1e6\n5,0\n", "the last rate, from 5 s on, must be above 0"),
        ("time_s,rate_bps\n5,1e6\n0,1e6\n", "times must rise, and 0 s does not come after 5 s"),
        ("0\n0\n", "the last opportunity must be after 0"),
        ("7\n3\n", "times must not fall, and 0.003 s comes after 0.007 s"),
        ("seconds,rate\n0,1\n", "line 1 must be time_s,rate_bps, or a whole number of ms"),
    ],
)
def test_files_that_cannot_be_are_refused(tmp_path, text, told):
    path = tmp_path / "wrong.csv"
    path.write_text(text)
    scenario = one_link(network.RateFile(path=str(path)))
    with pytest.raises(sg.SluiceError, match=f"wrong.csv: {told}"):
        network.simulate(scenario)
    missing = one_link(network.RateFile(path=str(tmp_path / "none.csv")))
    with pytest.raises(sg.SluiceError, match=r"none.csv: No such file"):
        network.simulate(missing)


# ------------------------------------------------------------ media


def mean_bps(record):
    (port,) = record.ports
    bits = 8 * port.rows("sent_bytes")[0]
    return (bits[-1] - bits[0]) / (port.times_s[-1] - port.times_s[0])


def test_a_ramp_carries_the_area_under_it():
    points = [network.RateStep(time_s=t, rate_bps=r) for t, r in ((2, 2e6), (6, 10e6), (8, 1e6))]
    record = network.simulate(one_link(network.Ramp(points=points), offered_bps=12e6))
    area = 2 * 8e6 + 4 * 6e6 + 2 * 5.5e6 + 2 * 1e6
    assert mean_bps(record) == pytest.approx(area / 10, rel=0.005)


def test_media_send_what_their_models_say():
    # Wi-Fi: 62 packets of 1000 bytes, 1044 with their headers, in each turn of two stations
    turn_s = 150.5e-6 + 62 * 8 * 1044 / 144.4e6 + 48e-6
    full_s = 150.5e-6 + 42 * 8 * 1544 / 144.4e6 + 48e-6
    wifi = one_link(network.WifiLink(others=1), offered_bps=200e6, duration_s=2)
    found = mean_bps(network.simulate(wifi))
    assert found == pytest.approx(62 * 8000 / (turn_s + full_s), rel=0.005)
    docsis = one_link(network.DocsisLink(rate_bps=5e6), offered_bps=9e6)
    assert mean_bps(network.simulate(docsis)) == pytest.approx(5e6, rel=0.005)
    # datagrams that come alone wait for an interval, 0 to 2 ms, for the grant, and for the channel
    flows = [
        network.DatagramFlows(
            source="a", sink="b", rate_bps=80e3, gaps="exponential", packet_bytes=1000, label="all"
        )
    ]
    alone = one_link(network.DocsisLink(), flows=flows, duration_s=100)
    delay_s = network.simulate(alone)["all.one_way_delay_mean"].value
    # some find others under way, and are sent with them
    assert delay_s == pytest.approx(0.001 + 0.004 + 8000 / 30.72e6 + 0.01, abs=0.0003)


def test_the_trace_of_a_phone_is_its_seeds():
    def sent(seed):
        flows = [network.TcpFlows(source="a", sink="b", count=2)]
        record = network.simulate(one_link(network.Lte(seed=seed), flows=flows, limit=200))
        return mean_bps(record), record.ports[0].rows("rate_bps")[0].mean()

    assert sent(1) == sent(1)
    assert sent(1)[0] != sent(2)[0]
    # three phones without a long outage: greedy flows with a buffer of 200 packets take each
    # opportunity; the rate is the mean of the last second, so it comes half a second late
    for seed in (1, 2, 8):
        found_bps, mean_rate_bps = sent(seed)
        assert found_bps == pytest.approx(mean_rate_bps, rel=0.02)
        assert mean_rate_bps < 12e6


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ({"kind": "docsis", "rate_bps": 40e6}, "channel_bps = 30720000 must not be below rate_bps"),
        ({"kind": "ramp", "points": [{"time_s": 0, "rate_bps": 1e6}]}, "points"),
        ({"kind": "wifi", "others": -1}, "others = -1"),
    ],
)
def test_media_that_make_no_sense_are_refused(rate, message):
    with pytest.raises(sg.SluiceError, match=message):
        one_link(None).replace({"links": {LINK: {"rate": rate}}})


# ------------------------------------------------------------ real links


def test_what_a_real_link_can_send_is_the_area_under_its_rate(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text("time_s,rate_bps\n1,2e6\n1.5,0\n3,8e6\n")
    link = network.LinkSettings(rate=network.RateFile(path=str(path)))
    given = network.NetworkScenario(
        topology=network.Dumbbell(rate_bps=4e6, client_delays_s=[0.01]),
        flows=[network.TcpFlows()],
        links={"left -> right": link},
        disciplines=[sg.Discipline(aqm="drop_tail")],
        duration_s=4.0,
    )
    found = rates(given)
    times_s = np.array([0.0, 0.5, 1.0, 1.25, 1.5, 2.5, 3.0, 3.5])
    times_ns = (times_s * 1e9).astype(np.int64)
    assert found.at(times_ns).tolist() == [4e6, 4e6, 2e6, 2e6, 1, 1, 8e6, 8e6]
    bits = found.bits_until(times_ns)
    assert bits == pytest.approx([0, 2e6, 4e6, 4.5e6, 5e6, 5e6, 5e6, 9e6])
    # any part of them, from within a step on
    assert found.bits_until(times_ns[3:]) == pytest.approx(bits[3:] - bits[3])
    assert found.bits_until(times_ns[5:6]) == pytest.approx([0])
    # a packet of 4 Mbit that begins at each time ends when the rates have carried it
    took = found.taking_ns(times_ns, np.full(len(times_ns), 500_000))
    assert took / 1e9 == pytest.approx([1.0, 2.625, 2.375, 2.1875, 2.0, 1.0, 0.5, 0.5])
    # what is known of a packet that has ended: not when in an outage it began
    begun = [0, 1, 2, 3, 6, 7]
    ended_ns = (times_ns + took)[begun]
    again = found.took_ns(ended_ns, np.full(len(begun), 500_000))
    assert again == pytest.approx(took[begun], abs=1)
    # before the run the rate was that of its start
    assert found.took_ns(times_ns[:1], np.array([500_000])).tolist() == [10**9]
