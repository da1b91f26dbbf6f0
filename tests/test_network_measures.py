"""Records of the network world: times, series, flows, response times."""

from math import exp, factorial
from types import SimpleNamespace

import numpy as np
import pytest
from intervals import assert_covers
from scipy.optimize import brentq

import sluicegate as sg
from sluicegate import network
from sluicegate.counts import QueueCounts, coarsen
from sluicegate.estimate import of_each
from sluicegate.measures import QUEUE
from sluicegate.worlds.network.assemble import completions_since

PACKET_S = 8 * 500 / 1e6


def one_link(*flows, aqm="drop_tail", duration_s=10.0, **fields):
    link = network.Link(source="a", sink="b", rate_bps=1e6, delay_s=0.001, queue=True)
    return network.NetworkScenario(
        topology=network.Graph(links=[link]),
        flows=list(flows),
        disciplines=[sg.Discipline(aqm=aqm)],
        duration_s=duration_s,
        **fields,
    )


def datagrams(load, **fields):
    return network.DatagramFlows(
        source="a", sink="b", rate_bps=load * 1e6, gaps="exponential", **fields
    )


def tcp(**fields):
    return network.TcpFlows(source="a", sink="b", **fields)


# --- sojourn times and delays


def crommelin(load, waited):
    """Return the probability that an M/D/1 customer waits at most `waited` services.

    Crommelin 1932.
    """
    terms = (
        (load * (k - waited)) ** k / factorial(k) * exp(-load * (k - waited))
        for k in range(int(waited) + 1)
    )
    return (1 - load) * sum(terms)


def test_poisson_datagrams_wait_as_crommelin_says():
    load = 0.7
    record = network.simulate(
        one_link(datagrams(load), queue=sg.Queue(limit=10_000), duration_s=1000.0, replications=16)
    )
    # moments of the waiting time: Pollaczek and Khinchine; Takacs
    mean = load / (2 * (1 - load))
    variance = mean**2 + load / (3 * (1 - load))
    wanted = {
        "sojourn_mean": mean,
        "sojourn_variance": variance,
        "delay_mean": 1 + mean,
        "delay_variance": variance,
    }
    for level in (0.5, 0.9, 0.99):
        waited = brentq(lambda at, level=level: crommelin(load, at) - level, 0, 20)
        wanted[f"sojourn_p{100 * level:g}"] = waited
        wanted[f"delay_p{100 * level:g}"] = 1 + waited
    for name, services in wanted.items():
        exact = services * PACKET_S ** (2 if name.endswith("variance") else 1)
        assert_covers(record[name], exact, within=0.03)
    # 30 % find the link idle: their sojourn is 0
    port = record.ports[0]
    assert port.sojourn_distribution[0] == pytest.approx(0.3, abs=0.02)
    first = int(PACKET_S / port.time_bin_s)
    assert port.delay_distribution[: first - 1].sum() == 0
    assert port.delay_distribution[first - 1 : first + 2].sum() == pytest.approx(0.3, abs=0.02)
    assert port.delay_distribution.sum() == pytest.approx(1)
    middles = (np.arange(len(port.delay_distribution)) + 0.5) * port.time_bin_s
    assert port.delay_distribution @ middles == pytest.approx(record["delay_mean"].value, rel=1e-3)


def tally(delays_ns, bin_ns, bins):
    """Return the engine's tally of packets with these delays, each with a service of 1 ns."""

    def times(values, bins):
        return SimpleNamespace(
            bins=np.array(bins, dtype=np.uint64),
            bin=bin_ns,
            sum=sum(values),
            square_sum=sum(value * value for value in values),
        )

    sojourns_ns = [delay - 1 for delay in delays_ns]
    return SimpleNamespace(
        duration=100,
        idle=0,
        queue=np.array([100], dtype=np.uint64),
        arrivals=len(delays_ns) + 4,
        verdicts=[len(delays_ns), 0, 0, 0, 0, 4],
        served=len(delays_ns),
        served_bytes=0,
        sojourn=times(sojourns_ns, np.bincount(np.array(sojourns_ns) // bin_ns)),
        delay=times(delays_ns, bins),
    )


def measured(*tallies):
    """Return the measures of one replication with these tallies, in seconds."""
    rows = of_each(QueueCounts.of([tallies]), QUEUE, 1e9)
    return {name: values[0] for name, values in rows.items()}


def test_tallies_with_bins_of_different_width_are_merged():
    both = [tally([2, 3, 5], 1, [0, 0, 1, 1, 0, 1]), tally([9, 10], 4, [0, 0, 2])]
    counts = QueueCounts.of([both])
    assert (counts.delay.bins.tolist(), counts.delay.bin) == ([[2, 1, 2]], 4)
    assert (counts.sojourn.bins.tolist(), counts.sojourn.bin) == ([[2, 1, 2]], 4)
    found = measured(*both)
    assert found["delay_mean"] == pytest.approx(np.mean([2, 3, 5, 9, 10]) * 1e-9)
    assert found["delay_variance"] == pytest.approx(np.var([2, 3, 5, 9, 10]) * 1e-18)
    assert found["sojourn_mean"] == pytest.approx(np.mean([1, 2, 4, 8, 9]) * 1e-9)
    # the third of five delays is the only one in the bin [4, 8): its place is half-way
    assert found["delay_p50"] == pytest.approx(5e-9)


def test_candidates_of_choke_count_as_lost():
    found = measured(tally([1, 1, 1, 1], 1, [0, 4]))
    assert found["loss_ratio"] == found["forced_loss_ratio"] == 0.5


def test_without_sent_packets_there_are_no_times():
    record = network.simulate(one_link(datagrams(0.1, start_s=9.99), duration_s=5.0))
    assert np.isnan(record["delay_mean"].value)
    assert np.isnan(record["delay_p99"].value)
    assert "completion_mean" not in record.measures
    assert not len(record.ports[0].delay_distribution)


# --- series


def test_series_have_all_columns():
    given = one_link(datagrams(0.9), tcp(count=3), aqm="red", sample_s=0.5, windows=True)
    port = network.simulate(given).ports[0]
    assert port.series.columns == [
        *["replication", "time_s", "queue", "arrivals", "losses", "sent_bytes"],
        *["average", "probability"],
    ]
    assert port.series.null_count().sum_horizontal().item() == 0
    rows = port.series.filter(replication=1)
    assert rows["arrivals"].is_sorted()
    assert (rows["sent_bytes"] <= 125_000 * rows["time_s"] + 500).all()
    assert rows["probability"].is_between(0, 1).all()
    flows = network.simulate(given).series
    assert flows.columns == ["replication", "time_s", "acknowledged", "window"]
    assert flows["window"].min() >= 1


def test_missing_values_are_null():
    record = network.simulate(one_link(tcp(), sample_s=0.5, duration_s=2.0, replications=1))
    series = record.ports[0].series
    assert series["average"].to_list() == series["probability"].to_list() == [None] * 4
    assert record.series["window"].to_list() == [None] * 4


def test_windows_are_null_while_no_flow_is_under_way():
    given = one_link(tcp(packets=5, start_s=1.0), duration_s=3.0, sample_s=0.5, windows=True)
    window = network.simulate(given).series.filter(replication=0)["window"]
    assert window.is_null().to_list() == [True, True, False, True, True, True]


def test_series_too_large_for_memory_are_refused():
    given = one_link(datagrams(0.5), duration_s=1e6, sample_s=1e-3)
    with pytest.raises(sg.SluiceError, match=r"sample_s = 1e-3 must be at least 1.93e0: "):
        network.simulate(given)


# --- flows


def test_flows_have_their_results():
    given = one_link(
        tcp(count=2, packets=50),
        tcp(),
        datagrams(0.5, start_s=1.0),
        datagrams(0.5, start_s=8.0, stop_s=8.000001),
        duration_s=8.0,
        warm_up_s=0.0,
        replications=2,
    )
    record = network.simulate(given)
    flows = record.flows.filter(replication=1)
    assert flows["group"].to_list() == [0, 0, 1, 2, 3]
    assert flows["packets"].to_list()[:2] == [50, 50]
    assert flows["completion_s"].is_null().to_list() == [False, False, True, True, True]
    assert flows["retransmissions"].is_null().to_list() == [False, False, False, True, True]
    assert flows["start_s"].to_list()[:3] == [0, 0, 0]
    assert flows["start_s"][3] > 1.0
    assert flows["start_s"][4] is None
    took = record.flows["completion_s"].drop_nulls().to_numpy().reshape(2, 2)
    assert record["completion_mean"].value == pytest.approx(took.mean())
    # the time that 99 % of two flows do not exceed is the longer one
    wanted = took.max(axis=1).mean()
    assert record["completion_p99"].value == pytest.approx(wanted)


def test_flows_have_source_and_sink_and_are_compared_bit_by_bit():
    large, small = (
        network.DatagramFlows(count=count, rate_bps=1e5, packet_bytes=packet_bytes)
        for count, packet_bytes in ((3, 1000), (1, 100))
    )
    topology = network.Dumbbell(client_delays_s=[0.01, 0.02])
    given = network.NetworkScenario(
        topology=topology,
        flows=[large, small],
        disciplines=[sg.Discipline(aqm="drop_tail")],
        duration_s=20,
        replications=1,
    )
    record = network.simulate(given)
    assert record.flows["source"].to_list() == ["client0", "client0", "client1", "client0"]
    assert record.flows["sink"].to_list() == ["server0", "server0", "server1", "server0"]
    np.testing.assert_allclose(record.flows["goodput_bps"], 1e5, rtol=0.01)
    np.testing.assert_allclose(record.flows["goodput"], [12.5, 12.5, 12.5, 125], rtol=0.01)
    assert record["fairness"].value == pytest.approx(1, abs=1e-4)


def test_completions_in_the_warm_up_are_left_out():
    flows = SimpleNamespace(
        start_s=np.array([0.0, 5.0, 6.0, 7.0]), completion_s=np.array([9.0, 5.0, 10.0, np.nan])
    )
    assert completions_since(flows, 10.0).tolist() == [5.0, 10.0]
    assert not completions_since(flows, 17.0).size


# --- response times


def steps(*parts):
    """Return 100 samples per second, from pairs of seconds and packets."""
    return np.concatenate([np.full(round(100 * seconds), queue) for seconds, queue in parts])


def response(samples, since_s=0.0):
    return network.response_time_s(samples, 0.01, 100, since_s)


def test_response_time_is_when_the_trailing_mean_stays_near():
    # the mean over 5 s reaches half of 100 when half of its window has passed the step
    assert response(steps((10, 0), (30, 100))) == pytest.approx(12.49, abs=0.011)
    assert response(steps((40, 0))) == np.inf
    assert response(steps((5, 100))) == np.inf


def test_response_times_of_millions_of_samples_take_no_minutes():
    """The 10 s of the trailing mean have a million samples."""
    samples = np.concatenate([np.zeros(1_000_000), np.full(2_000_000, 100)])
    found = network.response_time_s(samples, 1e-5, 100)
    assert found == pytest.approx(12.5, abs=1e-4)


def test_response_time_is_counted_from_the_change():
    # near the target up to the change at 50 s, then above, and near again from 60 s on
    samples = steps((50, 100), (10, 500), (40, 100))
    assert response(samples) == 0
    # the mean falls to 150 when 350/400 of its 5 s have passed the second step
    assert response(samples, 50) == pytest.approx(14.37, abs=0.011)
    assert response(samples, 60) == 0
    assert response(samples, 95) == np.inf
    # a change that does not affect the queue
    assert response(steps((100, 100)), 50) == 0
    # samples before the change do not count, however far off
    assert response(steps((50, 5000), (50, 100)), 50) == 0


def test_a_change_between_two_samples():
    samples = steps((10, 0), (30, 100))
    assert response(samples, 5.003) == pytest.approx(response(samples, 5.0) - 0.003)


@pytest.mark.parametrize(
    ("target", "since_s", "reason"),
    [
        (0, 0.0, r"target = 0 must exceed 0 \(packets\)"),
        (100, -1.0, "since_s = -1 must lie between 0 and 9.99, the last sample"),
        (100, 10.0, "since_s = 10 must lie between 0 and 9.99, the last sample"),
    ],
)
def test_changes_outside_the_samples_are_refused(target, since_s, reason):
    with pytest.raises(sg.SluiceError, match=reason):
        network.response_time_s(steps((10, 0)), 0.01, target, since_s)


def test_a_port_gives_the_response_time_of_each_replication():
    given = one_link(tcp(count=2), duration_s=20.0, replications=2)
    port = network.simulate(given).ports[0]
    wanted = [network.response_time_s(row, 0.01, 5, 2.0) for row in port.samples]
    assert port.response_times_s(5, since_s=2.0).tolist() == wanted


def test_bins_far_wider_than_a_distribution_hold_all_of_it():
    # links of 1 bit/s and of 1 Mb/s: filled with zeros to the wide bins, this would take 8 TB
    assert coarsen(np.array([3, 0, 4]), 1 << 40).tolist() == [7]
    assert coarsen(np.array([3, 0, 4]), 2).tolist() == [3, 4]
    assert coarsen(np.array([], dtype=np.uint64), 4).tolist() == []
