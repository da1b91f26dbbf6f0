"""Flows of the network world: what they send, how they are parsed, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from intervals import assert_covers, assert_mean

import sluicegate as sg
from sluicegate import network

pytestmark = pytest.mark.slow

CAPTURE = Path(__file__).parent.parent / "captures" / "gateway.pcap"
FLOWS = len(np.unique(sg.traffic.Capture.read(CAPTURE).flow))
DROP_TAIL = [sg.Discipline(aqm="drop_tail")]
ENDS = {"source": "a", "sink": "b"}
SHORT = {**ENDS, "gaps": network.Exponential(mean_s=0.1)}
POISSON = {**ENDS, "rate_bps": 1e6, "gaps": "exponential"}
NOISE = network.Fgn(hurst=0.8, deviation=0.2, frame_s=0.1)


def one_link(*flows, rate_bps=1e6, limit=250, duration_s=10.0, **fields):
    link = network.Link(source="a", sink="b", rate_bps=rate_bps, delay_s=0.001, queue=True)
    return network.NetworkScenario(
        topology=network.Graph(links=[link]),
        flows=list(flows),
        queue=sg.Queue(limit=limit),
        duration_s=duration_s,
        **{"disciplines": DROP_TAIL, "replications": 1, "warm_up_s": 0.0, **fields},
    )


def test_cubic_comes_back_sooner_than_reno_on_a_long_fat_link():
    """Both recover by selective acknowledgements; only the window's growth differs."""
    link = network.Link(source="a", sink="b", rate_bps=50e6, delay_s=0.1, queue=True)

    def goodput(control):
        tcp = network.Tcp(variant="sack", congestion_control=control, packet_bytes=1000)
        scenario = network.NetworkScenario(
            topology=network.Graph(links=[link]),
            flows=[network.TcpFlows(**ENDS, tcp=tcp)],
            queue=sg.Queue(limit=60),
            disciplines=DROP_TAIL,
            duration_s=60,
            replications=1,
        )
        return network.simulate(scenario)["goodput"].value

    assert goodput("cubic") > 1.2 * goodput("reno")


def test_flows_of_random_sizes_send_all_their_packets():
    sizes = network.Sizes(kind="pareto", mean_packets=8, shape=2.5)
    flows = network.ShortTcpFlows(**SHORT, packets=sizes, stop_s=180.0)
    record = network.simulate(one_link(flows, duration_s=200.0, rate_bps=1e7, replications=8))
    packets = record.flows["packets"].to_numpy()
    # Poisson arrivals: 1800 a replication; Pareto sizes: variance mean^2 / (shape (shape - 2))
    assert abs(len(packets) - 8 * 1800) < 4 * np.sqrt(8 * 1800)
    error = 8 / np.sqrt(2.5 * 0.5 * len(packets))
    assert abs(packets.mean() - 8) < 4 * error
    assert packets.min() >= 8 * 1.5 // 2.5


def test_short_flows_without_a_stop_arrive_until_the_end():
    flows = network.ShortTcpFlows(**SHORT, duration=network.Constant(mean_s=0.05))
    assert 60 < network.simulate(one_link(flows)).flows.height < 140


@pytest.mark.parametrize(
    ("fields", "rate"),
    [
        ({"fgn": network.Fgn(hurst=0.7, deviation=0.2, frame_s=0.5)}, 1.0),
        ({"gaps": "constant", "self_similar": network.SelfSimilar(share=0.3, a=6.0)}, 0.3),
    ],
)
def test_bursty_datagrams_have_their_mean_rate(fields, rate):
    flows = network.DatagramFlows(**{**POISSON, "rate_bps": 1e5, "count": 20, **fields})
    scenario = one_link(flows, rate_bps=1e8, duration_s=200.0, replications=8)
    found = network.simulate(scenario)["datagram_goodput"]
    assert_covers(found, rate * 20 * 1e5 / 8 / 500, within=0.05)


@pytest.mark.parametrize("gaps", ["constant", "exponential"])
def test_datagrams_have_their_mean_rate_if_gaps_are_no_whole_nanoseconds(gaps):
    # 3.2 ns per packet, 312,500 packets; standard deviation 560 if they are random
    fast = {"packet_bytes": 40, "rate_bps": 1e11, "gaps": gaps}
    flows = network.DatagramFlows(**ENDS, **fast)
    scenario = one_link(flows, rate_bps=1e12, duration_s=1e-3, sample_s=1e-4, warm_up_s=0.0)
    found = network.simulate(scenario).ports[0].series["arrivals"][-1]
    assert found == pytest.approx(0.9 * 312_500, rel=1e-5 if gaps == "constant" else 0.01)


@pytest.mark.parametrize("hurst", [0.6, 0.85])
def test_arrivals_have_the_hurst_parameter_of_their_noise(hurst):
    frame_s, frames, runs = 0.01, 1024, 32
    noise = network.Fgn(hurst=hurst, deviation=0.3, frame_s=frame_s)
    # 100 of each in a frame, so that the variance of the noise is nine times Poisson's
    datagrams = network.DatagramFlows(**{**POISSON, "rate_bps": 4e7}, fgn=noise)
    flows = network.ShortTcpFlows(
        **{**SHORT, "gaps": network.Exponential(mean_s=frame_s / 100)},
        fgn=noise,
        packets=network.Sizes(kind="constant", mean_packets=1),
    )
    end_s = frames * frame_s
    fast = {"rate_bps": 1e10, "duration_s": end_s, "sample_s": frame_s, "replications": runs}
    sent = network.simulate(one_link(datagrams, **fast)).ports[0].series
    started = network.simulate(one_link(flows, **fast)).flows
    for counts in (
        [np.diff(run["arrivals"].cast(float)) for run in sent.partition_by("replication")],
        [
            np.histogram(run["start_s"], frames, (0.0, end_s))[0]
            for run in started.partition_by("replication")
        ],
    ):
        found = np.array([sg.traffic.wavelet(run).hurst for run in counts])
        assert len(found) == runs
        assert_mean(found, hurst, within=0.025)


def test_self_similar_datagrams_have_the_modulators_mean_and_variance():
    bursts = network.SelfSimilar(share=0.3, a=6.0)
    slot_s, slots, runs, count = 0.004, 500, 300, 20
    # the last sample is half a slot before the end: before the slot that follows the last one
    # counted
    scenario = one_link(
        network.DatagramFlows(**ENDS, count=count, rate_bps=1e6, self_similar=bursts),
        rate_bps=1e9,
        sample_s=(slots - 0.5) * slot_s,
        duration_s=slots * slot_s,
        replications=runs,
    )
    series = network.simulate(scenario).ports[0].series
    counts = series.filter(series["time_s"] > 0)["arrivals"].to_numpy().astype(float)
    assert len(counts) == runs
    assert_mean(counts, 0.3 * count * slots, within=0.01)
    squares = (counts - counts.mean()) ** 2
    assert_mean(squares, count * float(bursts.modulator().variance(slots)), within=0.1)


def test_web_users_fetch_once_per_round_trip_and_think_time():
    tcp = network.Tcp(delayed_ack_s=0)
    web = network.WebFlows(
        **ENDS,
        count=50,
        tcp=tcp,
        objects=network.Sizes(kind="geometric", mean_packets=5),
        think=network.Exponential(mean_s=1.0),
    )
    scenario = one_link(web, rate_bps=1e9, limit=1000, duration_s=200.0, replications=8)
    record = network.simulate(scenario)
    # 1 ms in each direction; transmissions take microseconds; an object fits into the window
    cycle_s = 1.0 + 0.002
    assert_covers(record["goodput"], 50 * 5 / cycle_s, within=0.02)
    assert record.flows["completion_s"].null_count() == record.flows.height


@pytest.mark.parametrize(("like", "more"), [("ns2", 0), ("rfc", 4)])
def test_acks_grow_with_their_blocks(like, more):
    """An ACK has 40 bytes and up to three blocks of 8; with `like` RFCs 4 more if it has any."""
    link = network.Link(source="a", sink="b", rate_bps=1e6, delay_s=0.01, queue=True)
    back = link.replace(source="b", sink="a")
    links = [one.replace(both_ways=False) for one in (link, back)]
    tcp = network.Tcp(variant="sack", like=like, delayed_ack_s=0)
    scenario = network.NetworkScenario(
        topology=network.Graph(links=links),
        flows=[network.TcpFlows(**ENDS, tcp=tcp)],
        queue=sg.Queue(limit=10),
        disciplines=DROP_TAIL,
        duration_s=20.0,
        # a packet's transmission takes 4 ms, so a sample has at most one ACK
        sample_s=1e-3,
        warm_up_s=0.0,
        replications=1,
    )
    series = network.simulate(scenario).ports[1].series
    sizes, counts = np.unique(np.diff(series["sent_bytes"].cast(int)), return_counts=True)
    assert np.diff(series["arrivals"].cast(int)).max() == 1
    assert sizes.tolist() == [0, 40, *(40 + more + 8 * blocks for blocks in (1, 2, 3))]
    # most ACKs have no block, some hundred have one
    assert counts[1] > 2000
    assert counts[2] > 100


def test_a_replay_sends_the_packets_of_each_flow_of_the_capture():
    capture = sg.traffic.Capture.read(CAPTURE)
    replay = network.ReplayFlows(**ENDS, capture=str(CAPTURE), start_s=0.5)
    fast = {"rate_bps": 1e10, "limit": 10_000, "duration_s": capture.duration_s + 1}
    scenario = one_link(replay, **fast, sample_s=0.01 + 1e-9)
    record = network.simulate(scenario)
    samples = record.ports[0].series
    # no packet arrives at the exact time of a sample
    sample_ns = np.arange(len(samples)) * 10_000_001
    come = np.searchsorted(capture.time_ns.astype(np.int64) + 500_000_000, sample_ns)
    assert samples["arrivals"].to_list() == come.tolist()
    _, counts = np.unique(capture.flow, return_counts=True)
    assert record.flows["packets"].to_list() == counts.tolist()
    assert record.flows["goodput_bps"].is_null().all()
    bits = 8.0 * float(capture.bytes.sum(dtype=np.uint64))
    sent = record["throughput_bps"].value * scenario.duration_s
    assert sent == pytest.approx(bits, rel=1e-12)


def test_threads_change_nothing():
    flows = [
        network.ShortTcpFlows(
            **SHORT, fgn=NOISE, packets=network.Sizes(kind="geometric", mean_packets=20)
        ),
        network.DatagramFlows(**POISSON, count=3, fgn=NOISE),
        network.DatagramFlows(
            **ENDS, rate_bps=1e6, self_similar=network.SelfSimilar(share=0.2, a=5)
        ),
        network.ReplayFlows(**ENDS, capture=str(CAPTURE), count=2, spread_s=1.0),
        network.WebFlows(
            **ENDS,
            objects=network.Sizes(kind="pareto", mean_packets=12, shape=1.3),
            think=network.Pareto(mean_s=0.5),
            spread_s=0.1,
            count=5,
        ),
    ]
    scenario = one_link(*flows, rate_bps=3e6, limit=50, replications=3)
    alone, many = (network.simulate(scenario, threads=n, fresh=True) for n in (1, 3))
    assert alone.measures == many.measures
    assert alone.flows.equals(many.flows)


def test_toml_gives_the_same_scenario(tmp_path):
    (tmp_path / "here.pcap").write_bytes(CAPTURE.read_bytes())
    (tmp_path / "flows.toml").write_text("""
duration_s = 1
[topology]
kind = "dumbbell"
[[flows]]
kind = "short-tcp"
gaps = { kind = "exponential", mean_s = 0.05 }
fgn = { hurst = 0.8, deviation = 0.3, frame_s = 0.1 }
packets = { kind = "pareto", mean_packets = 12, shape = 1.5 }
tcp = { congestion_control = "cubic" }
[[flows]]
kind = "datagrams"
rate_bps = 1e6
self_similar = { share = 0.2, a = 5 }
[[flows]]
kind = "web"
count = 3
objects = { kind = "geometric", mean_packets = 6 }
think = { kind = "exponential", mean_s = 0.2 }
[[flows]]
kind = "replay"
capture = "here.pcap"
[[disciplines]]
aqm = "drop_tail"
""")
    scenario = network.NetworkScenario.load(tmp_path / "flows.toml")
    short, bursty, web, replay = scenario.flows
    assert short.packets == network.Sizes(kind="pareto", mean_packets=12, shape=1.5)
    assert short.fgn == network.Fgn(hurst=0.8, deviation=0.3, frame_s=0.1)
    assert bursty.self_similar.modulator().mean == pytest.approx(0.2)
    assert web.think == network.Exponential(mean_s=0.2)
    assert replay.packets.packets == sg.traffic.Capture.read(CAPTURE).packets
    assert network.simulate(scenario)["utilization"].value > 0


def test_a_replay_is_identified_by_the_content_of_the_capture(tmp_path):
    (tmp_path / "copy.pcap").write_bytes(CAPTURE.read_bytes())
    scenarios = [
        one_link(network.ReplayFlows(**ENDS, capture=str(path)))
        for path in (CAPTURE, tmp_path / "copy.pcap")
    ]
    one, other = (each.described(each.disciplines[0]) for each in scenarios)
    assert one == other
    assert one["flows"][0]["capture"] == sg.traffic.Capture.read(CAPTURE).fingerprint


def refusal(make):
    with pytest.raises(sg.SluiceError) as told:
        make()
    return str(told.value)


REFUSED = [
    (
        lambda: network.ShortTcpFlows(**SHORT),
        "one of duration and packets must be given, not both",
    ),
    (
        lambda: network.ShortTcpFlows(
            **{**SHORT, "gaps": network.Pareto(mean_s=1.0)},
            fgn=NOISE,
            duration=network.Constant(mean_s=1.0),
        ),
        "gaps = pareto must be exponential with fgn: only its rate varies",
    ),
    (
        lambda: network.Sizes(kind="pareto", mean_packets=2, shape=1.5),
        "mean_packets = 2 must be at least shape / (shape - 1) = 3 (packets): "
        "nothing is smaller than a packet",
    ),
    (
        lambda: network.Sizes(kind="pareto", mean_packets=2),
        "shape must be given with kind = 'pareto', and only then",
    ),
    (
        lambda: network.Sizes(kind="constant", mean_packets=2.5),
        "mean_packets = 2.5 must be whole if constant (packets)",
    ),
    (
        lambda: network.Sizes(kind="geometric", mean_packets=0.5),
        "mean_packets = 0.5 must be at least 1 (packets)",
    ),
    (
        lambda: network.DatagramFlows(**{**POISSON, "gaps": "constant"}, fgn=NOISE),
        "gaps = constant must be exponential with fgn: only its rate varies",
    ),
    (
        lambda: network.DatagramFlows(**POISSON, self_similar=network.SelfSimilar(share=0.5, a=8)),
        "gaps = exponential must be constant with self_similar",
    ),
    (
        lambda: network.DatagramFlows(
            **ENDS,
            rate_bps=1e6,
            on=network.Constant(mean_s=1),
            off=network.Constant(mean_s=1),
            self_similar=network.SelfSimilar(share=0.5, a=8),
        ),
        "on and off exclude self_similar",
    ),
    (
        lambda: network.DatagramFlows(**POISSON, fgn={"hurst": 1.0, "deviation": 0, "frame_s": 1}),
        "fgn.hurst = 1.0 must be below 1",
    ),
    (
        lambda: network.SelfSimilar(share=0.1, a=1.2),
        "a = 1.2 is too small for 5 states: "
        "the probabilities a^-j of leaving state 0 add up to 2.5887, over 1",
    ),
    (
        lambda: network.simulate(one_link(network.ReplayFlows(**ENDS, capture="none.pcap"))),
        "cannot read none.pcap: No such file or directory (os error 2)",
    ),
    (
        lambda: network.simulate(
            one_link(
                network.ShortTcpFlows(
                    **{**SHORT, "gaps": network.Constant(mean_s=1e-9)},
                    duration=network.Constant(mean_s=1),
                )
            )
        ),
        "flows.0: about 1.000e10 flows would arrive; at most 5e6 can",
    ),
    (
        lambda: network.simulate(
            one_link(
                network.DatagramFlows(
                    **ENDS,
                    rate_bps=1e6,
                    on=network.Constant(mean_s=1e-9),
                    off=network.Constant(mean_s=1e-9),
                )
            )
        ),
        "flows.0: on: half of the times last less than 1.000e-9 s; they must last a hundredth of "
        "the gap between two packets, 4.000e-3 s",
    ),
    (
        lambda: network.simulate(
            one_link(network.ReplayFlows(**ENDS, capture=str(CAPTURE), count=1_000_000))
        ),
        f"flows: all groups have {1_000_000 * FLOWS} flows together and must have at most 5000000: "
        "each takes about 1 kB of memory; a user of the web has one for each connection",
    ),
]


@pytest.mark.parametrize(("make", "reason"), REFUSED)
def test_impossible_flows_are_refused(make, reason):
    assert refusal(make) == reason


def test_a_million_users_of_the_web_share_a_link():
    """They ask for a thousand times what it carries: it is full, and the others wait or lose."""
    users = network.WebFlows(
        count=10**6,
        objects=network.Sizes(kind="constant", mean_packets=5),
        think=network.Exponential(mean_s=100.0),
        spread_s=100.0,
        **ENDS,
    )
    record = network.simulate(one_link(users, rate_bps=10e6, duration_s=1.0))
    assert len(record.flows) == 10**6
    assert record["utilization"].value > 0.95
    assert record["loss_ratio"].value > 0.5
