"""The network world in the package: closed forms, repeatability, scenarios, bad input."""

from pathlib import Path

import numpy as np
import pytest
from intervals import assert_covers

import sluicegate as sg
from sluicegate import network
from sluicegate.measures import fair_shares, fairness

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "network"
DROP_TAIL = [sg.Discipline(aqm="drop_tail")]


def one_link(*flows, limit=250, rate_bps=1e6, duration_s=10.0, **fields):
    link = network.Link(source="a", sink="b", rate_bps=rate_bps, delay_s=0.001, queue=True)
    return network.NetworkScenario(
        topology=network.Graph(links=[link]),
        flows=list(flows),
        queue=sg.Queue(limit=limit),
        duration_s=duration_s,
        **{"disciplines": DROP_TAIL, **fields},
    )


def datagrams(**fields):
    return network.DatagramFlows(**{"source": "a", "sink": "b", "rate_bps": 5e5, **fields})


def test_poisson_datagrams_wait_as_pollaczek_and_khinchine_say():
    scenario = one_link(
        datagrams(rate_bps=0.7e6, gaps="exponential"),
        limit=10_000,
        duration_s=1000.0,
        warm_up_s=50.0,
        replications=16,
    )
    record = network.simulate(scenario)
    load = 0.7
    waiting = load**2 / (2 * (1 - load))
    assert_covers(record["queue_mean"], waiting, within=0.01)
    assert_covers(record["utilization"], load, within=0.003)
    assert record["loss_ratio"].value == 0


def test_on_off_datagrams_send_their_share_of_the_time():
    half = network.Exponential(mean_s=0.5)
    scenario = one_link(
        datagrams(count=20, rate_bps=4e4, on=half, off=network.Exponential(mean_s=1.5)),
        duration_s=500.0,
        replications=4,
    )
    record = network.simulate(scenario)
    wanted = 20 * 4e4 / 8 / 500 / 4
    assert_covers(record["datagram_goodput"], wanted, within=0.05)


def test_two_equal_flows_share_fairly_and_fill_the_link():
    """Poisson datagrams at 2 % of the link's rate break the phase effect of the two flows."""
    noise = datagrams(rate_bps=2e4, gaps="exponential")
    scenario = one_link(
        network.TcpFlows(source="a", sink="b", count=2, spread_s=1.0),
        noise,
        limit=20,
        duration_s=400.0,
        replications=4,
    )
    record = network.simulate(scenario)
    assert record["utilization"].value > 0.99
    tcp = record.flows.filter(record.flows["group"] == 0)
    shares = tcp["goodput"].to_numpy().reshape(4, 2)
    assert (shares.max(axis=1) < 1.2 * shares.min(axis=1)).all(), shares
    assert record["goodput"].value == pytest.approx(0.98 * 250, rel=0.01)


def test_fairness_is_jains_index_of_what_was_got_over_the_fair_share():
    """A link with room for all is fair to all; one without it favours who sends more."""
    enough = [datagrams(rate_bps=rate_bps) for rate_bps in (2e5, 1e5, 1e3)]
    record = network.simulate(one_link(*enough, duration_s=100.0, replications=1))
    assert record["fairness"].value == pytest.approx(1, abs=1e-3)
    # a FIFO of 1 Mbit/s shares its loss: 1.6 and 0.4 Mbit/s get 0.8 and 0.2, where 0.6 and 0.4 are
    # fair: 4 / 3 and 1 / 2 of that
    greedy = [
        datagrams(rate_bps=rate_bps, gaps="exponential", packet_bytes=250)
        for rate_bps in (1.6e6, 0.4e6)
    ]
    record = network.simulate(one_link(*greedy, duration_s=200.0, replications=1))
    over = np.array([4 / 3, 1 / 2])
    assert record["fairness"].value == pytest.approx(
        over.sum() ** 2 / (over**2).sum() / 2, abs=0.01
    )


def test_max_min_fair_shares():
    cases = [
        (9.0, [np.inf, np.inf, np.inf], [3.0, 3.0, 3.0]),
        (10.0, [0.1, np.inf, np.inf], [0.1, 4.95, 4.95]),
        (10.0, [8.0, 2.0, 1.0], [7.0, 2.0, 1.0]),
        (10.0, [3.0, 2.0, 1.0], [3.0, 2.0, 1.0]),
        (6.0, [np.inf, 3.0, 1.0], [2.5, 2.5, 1.0]),
        (0.0, [1.0, 2.0], [0.0, 0.0]),
        (1.0, [], []),
    ]
    for total, demands, shares in cases:
        assert fair_shares(total, np.array(demands)) == pytest.approx(np.array(shares)), demands


def test_a_call_does_not_make_a_fair_scheduler_unfair():
    """Of 10 Mbit/s a call takes 0.1 and three greedy flows the rest: Jain's plain index is 0.75."""
    flows = [
        network.TcpFlows(count=3),
        network.DatagramFlows(rate_bps=1e5, packet_bytes=200),
    ]
    scenario = network.NetworkScenario(
        topology=network.Dumbbell(client_delays_s=[0.01]),
        flows=flows,
        duration_s=30.0,
        replications=1,
        disciplines=[sg.Discipline(aqm="codel", victim="front", scheduler=sg.Fq())],
    )
    record = network.simulate(scenario)
    rates = record.flows["goodput_bps"].to_numpy()
    assert fairness(rates) < 0.8
    assert record["fairness"].value > 0.99


def test_delay_and_loss_of_datagrams_and_of_tcp_are_told_apart():
    """Before a fair scheduler a call waits for a packet or two, the greedy flows for CoDel."""
    call = network.DatagramFlows(rate_bps=1e5, packet_bytes=200)
    topology = network.Dumbbell(client_delays_s=[0.01], rate_bps=2e6)
    scenario = network.NetworkScenario(
        topology=topology,
        flows=[network.TcpFlows(count=3, spread_s=1.0), call],
        duration_s=30.0,
        replications=2,
        disciplines=[sg.Discipline(aqm="codel", victim="front", scheduler=sg.Fq())],
    )
    both = network.simulate(scenario)
    assert both["datagram_loss_ratio"].value == 0
    assert both["tcp_loss_ratio"].value > 0.001
    # at most the rest of a packet of 500 bytes, a quantum of 1514 and a packet of each greedy flow,
    # and the datagram itself
    longest = 8 * (500 + 3 * (1514 + 500) + 200) / 2e6
    assert both["datagram_delay_p99"].value < longest
    assert 2 * both["datagram_delay_p50"].value < both["tcp_delay_p50"].value
    assert both["tcp_delay_p50"].value < both["tcp_delay_p95"].value < both["tcp_delay_p99"].value
    assert both["tcp_delay_p95"].half_width > 0
    assert both["tcp_delay_p95"].unit == "s"
    # alone, a kind has the figures of the queue
    for flows, kind, other in (
        ([network.TcpFlows(count=3, spread_s=1.0)], "tcp", "datagram"),
        ([call.replace(count=30)], "datagram", "tcp"),
    ):
        record = network.simulate(scenario.replace(flows=flows))
        assert record[f"{kind}_delay_p99"] == record["delay_p99"]
        assert record[f"{kind}_loss_ratio"].value == record["loss_ratio"].value > 0
        assert f"{other}_delay_p50" not in record.measures
        assert f"{other}_loss_ratio" not in record.measures


def test_short_flows_come_and_go():
    short = network.ShortTcpFlows(
        source="a",
        sink="b",
        gaps=network.Exponential(mean_s=0.1),
        duration=network.Uniform(least_s=0.1, greatest_s=0.3),
        start_s=2.0,
        stop_s=6.0,
    )
    record = network.simulate(one_link(short, warm_up_s=0.0, replications=1))
    queue = record.ports[0].samples[0]
    assert queue[:200].max() == 0
    assert queue[200:600].max() > 0
    # 40 are expected; Poisson's standard deviation is 6
    assert 16 < record.flows.height < 64


def test_threads_change_nothing():
    scenario = network.NetworkScenario.load(SCENARIOS / "dumbbell.toml")
    short = scenario.replace(duration_s=5.0, warm_up_s=1.0, replications=3)
    alone, many = (network.simulate(short, short.disciplines[1], threads=n) for n in (1, 3))
    assert alone.measures == many.measures
    assert np.array_equal(alone.ports[0].samples, many.ports[0].samples)
    assert alone.flows.equals(many.flows)


@pytest.mark.parametrize("threads", [0, -1, 257])
def test_threads_are_1_to_256(threads):
    setting = one_link(datagrams())
    with pytest.raises(sg.SluiceError, match=f"threads = {threads} must be between 1 and 256"):
        network.simulate(setting, threads=threads)


def test_ecn_marks_instead_of_dropping():
    tcp = network.Tcp(ecn=True)
    red = sg.Discipline(aqm="red", params={"min_th": 5, "max_th": 60, "w": 0.02}, ecn=True)
    scenario = one_link(
        network.TcpFlows(source="a", sink="b", count=5, tcp=tcp),
        disciplines=[red],
        duration_s=30.0,
        replications=2,
    )
    record = network.simulate(scenario)
    assert record["mark_ratio"].value > 0
    assert record["early_loss_ratio"].value == 0


# for each route of a ready-made topology, for each of its pairs: propagation delay, ms, number of
# links of 100 Mb/s, and number of links of 10 Mb/s
ROUTES = [
    (
        network.Dumbbell(two_way=True),
        {
            "forward": [(delay_ms + 5, 2, 1) for delay_ms in (10, 50, 100, 150, 200)],
            "reverse": [(delay_ms + 5, 2, 1) for delay_ms in (10, 50, 100, 150, 200)],
        },
        # SYN and packet of each connection, or the answers to them
        {"left -> right": 20, "right -> left": 20},
    ),
    (
        network.ParkingLot(),
        {"long": [(32, 2, 3)], "cross": 3 * [(12, 2, 1)]},
        {f"router{hop} -> router{hop + 1}": 4 for hop in range(3)},
    ),
    (
        network.Star(delays_s=[0.01, 0.02, 0.03, 0.04]),
        {
            "inward": [(30, 1, 1), (40, 1, 1), (50, 1, 1)],
            "outward": [(30, 1, 1), (40, 1, 1), (50, 1, 1)],
        },
        {"hub -> host0": 12},
    ),
]


@pytest.mark.parametrize(("topology", "routes", "arrivals"), ROUTES)
def test_ready_made_topologies_lead_each_route_over_its_links(topology, routes, arrivals):
    """One packet between each pair: its completion time and what the ports see are exact."""
    tcp = network.Tcp(like="ns2")
    flows = [
        network.TcpFlows(route=route, count=len(pairs), packets=1, spread_s=1.0, tcp=tcp)
        for route, pairs in routes.items()
    ]
    scenario = network.NetworkScenario(
        topology=topology, flows=flows, disciplines=DROP_TAIL, duration_s=5.0, replications=1
    )
    record = network.simulate(scenario)
    seen = {port.name: port.series["arrivals"][-1] for port in record.ports}
    assert seen == arrivals
    wanted = []
    for delay_ms, fast, slow in (pair for pairs in routes.values() for pair in pairs):
        bit_s = fast / 100e6 + slow / 10e6
        # there and back twice: SYN, SYN-ACK and ACK have 40 bytes, the packet 500
        wanted.append(4 * delay_ms / 1000 + 8 * (3 * 40 + 500) * bit_s)
    assert record.flows["completion_s"].to_list() == pytest.approx(wanted, abs=1e-8)


BAD = [
    ({"rate_bps": 0.0}, "rate_bps = 0.0 must be at least 1"),
    ({"delay_s": -1.0}, "delay_s = -1.0 must be at least 0"),
    ({"sink": "a"}, "links.0.sink = a must differ from its source"),
    ({"queue": False}, "topology.links: at least one must have queue = true"),
]


@pytest.mark.parametrize(("fields", "reason"), BAD)
def test_impossible_links_are_refused(fields, reason):
    link = {"source": "a", "sink": "b", "rate_bps": 1e6, "delay_s": 0.01, "queue": True}
    table = {
        "topology": {"kind": "graph", "links": [link | fields]},
        "flows": [{"kind": "tcp", "source": "a", "sink": "b"}],
        "disciplines": [{"aqm": "drop_tail"}],
        "duration_s": 1.0,
    }
    with pytest.raises(sg.SluiceError) as told:
        network.NetworkScenario.parse(table)
    assert reason in str(told.value)


def test_tables_that_are_no_scenarios_are_refused():
    tcp = network.TcpFlows(source="a", sink="b")
    cases = [
        (lambda: one_link(tcp, warm_up_s=10.0), "warm_up_s = 10 must be below duration_s = 10"),
        (lambda: one_link(datagrams(source="c")), "c is no node of the topology"),
        (lambda: one_link(datagrams(source=None, sink=None)), "this topology names no routes"),
        (lambda: datagrams(sink=None), "source and sink must be given both or neither"),
        (lambda: datagrams(route="x"), "route = x and source = a exclude each other"),
        (lambda: datagrams(stop_s=1.0, start_s=2.0), "stop_s = 1 must exceed start_s = 2"),
        (lambda: datagrams(on=network.Constant(mean_s=1.0)), "on and off must be given both"),
        (lambda: network.Pareto(mean_s=1.0, shape=1.0), "shape = 1.0 must be above 1"),
        (lambda: network.Tcp(variant="vegas"), "must be one of"),
    ]
    for make, reason in cases:
        with pytest.raises(sg.SluiceError) as told:
            make()
        assert reason in str(told.value)


def test_flows_without_a_route_are_refused():
    link = network.Link(
        source="a", sink="b", rate_bps=1e6, delay_s=0.0, queue=True, both_ways=False
    )
    scenario = network.NetworkScenario(
        topology=network.Graph(links=[link]),
        flows=[network.TcpFlows(source="a", sink="b")],
        disciplines=DROP_TAIL,
        duration_s=1.0,
    )
    with pytest.raises(sg.SluiceError, match="no route from b to a"):
        network.simulate(scenario)
