"""Bad networks get exact messages; extreme but valid networks run and count correctly."""

import copy
from pathlib import Path

import pytest

import sluicegate as sg
from sluicegate import network
from sluicegate.cli import main

LINK = {"source": "a", "sink": "b", "rate_bps": 1e6, "delay_s": 0.01, "queue": True}
GAPS = {"kind": "exponential", "mean_s": 1.0}
GOOD = {
    "duration_s": 1.0,
    "replications": 1,
    "topology": {"kind": "dumbbell"},
    "flows": [{"kind": "tcp"}],
    "disciplines": [{"aqm": "drop_tail"}],
}
MISSING = object()


def changed(place, value):
    """Return a good scenario with another value at a place such as `flows.0.count`."""
    table = copy.deepcopy(GOOD)
    inner = table
    *path, last = (int(key) if key.isdigit() else key for key in place.split("."))
    for key in path:
        inner = inner[key] if isinstance(key, int) else inner.setdefault(key, {})
    if value is MISSING:
        del inner[last]
    else:
        inner[last] = value
    return table


def graph(*links, **ends):
    flow = {"kind": "tcp", **(ends or {"source": "a", "sink": "b"})}
    return GOOD | {"topology": {"kind": "graph", "links": list(links)}, "flows": [flow]}


def short(**fields):
    short = {"kind": "short-tcp", "gaps": GAPS, "duration": GAPS}
    return changed("flows.0", short | fields)


CASES = [
    # TCP
    (
        changed("flows.0.tcp.variant", "cubic"),
        "flows.0.tcp.variant = 'cubic' must be one of 'tahoe', 'reno', 'newreno', 'sack' or "
        "'rack': it is a congestion control; say congestion_control = 'cubic' beside "
        "variant = 'sack'",
    ),
    (
        changed("flows.0.tcp.variant", "vegas"),
        "flows.0.tcp.variant = 'vegas' must be one of 'tahoe', 'reno', 'newreno', 'sack' or 'rack'",
    ),
    (
        changed("flows.0.tcp.congestion_control", "vegas"),
        "flows.0.tcp.congestion_control = 'vegas' must be one of reno, cubic, dctcp, bbr, bbr3, "
        "prague, prague_2020, prague_2021, prague_2024, ledbat, ledbatpp; sluice testbed "
        "--congestion-control vegas uses the kernel's, where it has it",
    ),
    (
        changed("flows.0.tcp.congestion_control", "dctcp"),
        "flows.0.tcp: congestion_control = 'dctcp' needs ecn = true: it counts marks",
    ),
    # topologies
    (changed("topology", MISSING), "topology is missing"),
    (changed("topology.kind", MISSING), "topology.kind is missing"),
    (
        changed("topology.kind", "ring"),
        "topology.kind = 'ring' must be one of 'dumbbell', 'parking-lot', 'star' or 'graph'",
    ),
    (changed("topology.rate_bps", 0.0), "topology.rate_bps = 0.0 must be at least 1 (bits/s)"),
    (
        changed("topology.rate_bps", 1.5),
        "topology.rate_bps = 1.5 must be whole, as all below 50000 (bits/s)",
    ),
    (
        changed("topology.rate_bps", float("nan")),
        "topology.rate_bps = nan must be a number (bits/s)",
    ),
    (
        changed("topology.rate_bps", float("inf")),
        "topology.rate_bps = inf must be at most 1e+14 (bits/s)",
    ),
    (
        changed("topology.rate_bps", "fast"),
        "topology.rate_bps = 'fast' must be a number (bits/s), or have a unit as '20M'",
    ),
    (
        changed("topology.rate_bps", "20ms"),
        "topology.rate_bps = '20ms' must be a number (bits/s), or have a unit as '20M'",
    ),
    (
        changed("topology.delay_s", "20"),
        "topology.delay_s = '20' must be a number (s), or have a unit as '20ms'",
    ),
    (changed("topology.delay_s", "-1ms"), "topology.delay_s = '-1ms' must be at least 0 (s)"),
    (changed("topology.delay_s", -0.001), "topology.delay_s = -0.001 must be at least 0 (s)"),
    (changed("topology.client_delays_s", []), "topology.client_delays_s = [] must have at least 1"),
    (
        changed("topology.client_delays_s", [0.1, -1.0]),
        "topology.client_delays_s.1 = -1.0 must be at least 0 (s)",
    ),
    (
        changed("topology.client_delays_s", [0.1] * 1001),
        "topology.client_delays_s = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, ...] must have at most 1000",
    ),
    (changed("topology.client_delays_s", 0.1), "topology.client_delays_s = 0.1 must be a list"),
    (
        changed("topology.client_delays", [0.1]),
        "topology.client_delays is not a field (did you mean client_delays_s?); "
        "there are kind, rate_bps, delay_s, client_delays_s, server_delay_s, "
        "access_rate_bps, two_way",
    ),
    # a field of another topology is not suggested
    (
        changed("topology.hops", 4),
        "topology.hops is not a field; there are kind, rate_bps, delay_s, "
        "client_delays_s, server_delay_s, access_rate_bps, two_way",
    ),
    (
        changed("topology", {"kind": "parking-lot", "hops": 0}),
        "topology.hops = 0 must be at least 1",
    ),
    (
        changed("topology", {"kind": "star", "delays_s": [0.1]}),
        "topology.delays_s = [0.1] must have at least 2",
    ),
    (changed("topology", {"kind": "graph"}), "topology.links is missing"),
    (graph(), "topology.links = [] must have at least 1"),
    (
        graph(LINK | {"rate_bps": 0.0}),
        "topology.links.0.rate_bps = 0.0 must be at least 1 (bits/s)",
    ),
    (graph(LINK | {"delay_s": -1.0}), "topology.links.0.delay_s = -1.0 must be at least 0 (s)"),
    (graph(LINK | {"source": ""}), "topology.links.0.source = '' must not be empty"),
    (
        graph(LINK | {"source": "\x1b[31m"}),
        "topology.links.0.source = '\\x1b[31m' must be printable text",
    ),
    (graph(LINK | {"sink": "a"}), "topology: links.0.sink = a must differ from its source"),
    (
        graph(LINK, LINK | {"source": "b", "sink": "a"}),
        "topology: links.1 leads b -> a as links.0 does: "
        "with both_ways = true a link leads back, too",
    ),
    (
        graph(*2 * [LINK | {"both_ways": False}]),
        "topology: links.1 leads a -> b as links.0 does: "
        "with both_ways = true a link leads back, too",
    ),
    (graph(LINK | {"queue": False}), "topology.links: at least one must have queue = true"),
    # routes
    (
        graph(LINK | {"both_ways": False}),
        "no route from b to a, which ACKs of a flow must take",
    ),
    (
        graph(LINK, LINK | {"source": "c", "sink": "d"}, source="a", sink="d"),
        "no route from a to d, which data of a flow must take",
    ),
    (graph(LINK, source="a", sink="a"), "a flow must lead to another node, not from a to a"),
    (graph(LINK, source="a", sink="z"), "flows.0: z is no node of the topology"),
    (graph(LINK, source="a"), "flows.0: source and sink must be given both or neither"),
    (
        graph(LINK, route="forward"),
        "flows.0: source and sink are missing: this topology names no routes",
    ),
    (
        changed("flows.0.route", "sideways"),
        "flows.0: route = sideways must be one of forward, reverse",
    ),
    # flows
    (changed("flows", []), "flows = [] must have at least 1"),
    (changed("flows", MISSING), "flows is missing"),
    (changed("flows.0.count", 0), "flows.0.count = 0 must be at least 1"),
    (
        changed("flows.0.count", 6_000_000),
        "flows: all groups have 6000000 flows together and must have at most 5000000: each takes "
        "about 1 kB of memory; a user of the web has one for each connection",
    ),
    (changed("flows.0.count", 2.5), "flows.0.count = 2.5 must be a whole number"),
    (changed("flows.0.spread_s", -1.0), "flows.0.spread_s = -1.0 must be at least 0 (s)"),
    (changed("flows.0.start_s", -1.0), "flows.0.start_s = -1.0 must be at least 0 (s)"),
    (changed("flows.0.stop_s", 0.0), "flows.0: stop_s = 0 must exceed start_s = 0 (s)"),
    (
        changed("flows.0.tcp", {"packet_bytes": 0}),
        "flows.0.tcp.packet_bytes = 0 must be at least 1 (bytes)",
    ),
    (
        changed("flows.0.tcp", {"min_rto_s": 0.005, "like": "ns2"}),
        "flows.0: tcp.min_rto_s = 0.005 must lie between 0.01 and 60 (s)",
    ),
    (
        changed("flows.0.tcp", {"initial_rto_s": 61.0}),
        "flows.0: tcp.initial_rto_s = 61 must lie between 1e-09 and 60 (s)",
    ),
    (
        changed("flows.0.tcp", {"windows": 3}),
        "flows.0.tcp.windows is not a field; there are variant, "
        "congestion_control, like, receiver_window, ecn, accurate_ecn, classic_fallback, "
        "server_ecn, hystart_plus, pacing, segmentation_offload, packet_bytes, ack_bytes, "
        "initial_window, min_rto_s, initial_rto_s, tick_s, delayed_ack_s, ack_every",
    ),
    (
        changed("flows.0.tcp", {"classic_fallback": True}),
        "flows.0.tcp: classic_fallback = true needs congestion_control = 'prague'",
    ),
    (
        changed("flows.0.tcp", {"like": "linux", "server_ecn": "classic"}),
        "flows.0.tcp: server_ecn needs ecn = true: else nothing asks for marks",
    ),
    (
        changed("flows.0.tcp", {"server_ecn": "classic", "ecn": True}),
        "flows.0.tcp: server_ecn needs like = 'linux': only there is a handshake that finds it out",
    ),
    (changed("flows.0", {"kind": "datagrams"}), "flows.0.rate_bps is missing"),
    (
        changed("flows.0", {"kind": "datagrams", "rate_bps": 0.0}),
        "flows.0.rate_bps = 0.0 must be at least 0.001 (bits/s)",
    ),
    (
        short(gaps={"kind": "exponential", "mean_s": 0.0}),
        "flows.0.gaps.mean_s = 0.0 must be at least 1e-09 (s)",
    ),
    (
        short(gaps={"kind": "weibull", "mean_s": 1.0}),
        "flows.0.gaps.kind = 'weibull' must be one of 'constant', 'uniform', 'exponential' "
        "or 'pareto'",
    ),
    (
        short(gaps={"kind": "uniform", "least_s": 0.5, "greatest_s": 0.1}),
        "flows.0.gaps: least_s = 0.5 must not exceed greatest_s = 0.1 (s)",
    ),
    (changed("flows.0.dscp", 64), "flows.0.dscp = 64 must be at most 63"),
    (
        changed("flows.0.ect1", True),
        "flows.0: ect1 = true needs tcp.ecn = true: without it packets have Not-ECT",
    ),
    # queues, disciplines, times
    (changed("queue.limit", 0), "queue.limit = 0 must be at least 1 (packets)"),
    (changed("queue.limit", 10.5), "queue.limit = 10.5 must be a whole number (packets)"),
    (changed("disciplines", []), "disciplines = [] must have at least 1"),
    (
        changed("disciplines", [{"aqm": "red", "params": {"min_th": 100, "max_th": 50}}]),
        "disciplines.0: red.max_th = 50 must exceed red.min_th = 100 (packets)",
    ),
    (
        changed("disciplines", [{"aqm": "red"}, {"aqm": "red"}]),
        "disciplines: two are called 'red'; give each a label",
    ),
    (
        changed("disciplines", [{"aqm": "red", "scheduler": {"kind": "sfq", "queues": 0}}]),
        "disciplines.0.scheduler.queues = 0 must be at least 1",
    ),
    (
        changed("disciplines.0.scheduler", {"kind": "sfq", "perturbation_s": 1e-10}),
        "disciplines.0.scheduler.perturbation_s = 1e-10 must be 0 or at least 1e-09 (s)",
    ),
    (
        changed("disciplines.0.label", "a\0b"),
        "disciplines.0.label = 'a\\x00b' must be printable text",
    ),
    (changed("title", " "), "title = ' ' must be printable text"),
    (
        changed("disciplines", [{"aqm": "red", "scheduler": "sfq"}]),
        "disciplines.0.scheduler = 'sfq' must be a table: { kind = \"sfq\" }",
    ),
    (
        changed("disciplines", [{"aqm": "FQ-CoDel"}]),
        "disciplines.0: FQ-CoDel is not an AQM but codel with a scheduler: --aqm "
        'codel:victim=front,scheduler=fq, or aqm = "codel", victim = "front", scheduler = '
        f'{{ kind = "fq" }}; there are {", ".join(sg.aqms())}, or give the path of a C header, or '
        "of a Python file",
    ),
    (
        changed("disciplines", [{"aqm": "DualPI2"}]),
        "disciplines.0: DualPI2 is not an AQM (did you mean dualpi2?); there are "
        f"{', '.join(sg.aqms())}, or give the path of a C header, or of a Python file",
    ),
    (
        changed("disciplines", [{"aqm": "bbr"}]),
        "disciplines.0: bbr is not an AQM but a congestion control, which flows have: tcp = "
        f'{{ congestion_control = "bbr" }}; there are {", ".join(sg.aqms())}, or give the path of '
        "a C header, or of a Python file",
    ),
    (
        changed("disciplines", [{"aqm": "vegas"}]),
        "disciplines.0: vegas is not an AQM but a congestion control, of TCP and not of a queue: "
        "sluice testbed --congestion-control vegas uses the kernel's, where it has it; there are "
        f"{', '.join(sg.aqms())}, or give the path of a C header, or of a Python file",
    ),
    (
        changed("disciplines", [{"aqm": "fq_pie"}]),
        "disciplines.0: fq_pie is not an AQM but pie with a scheduler: --aqm pie:scheduler=fq, or "
        f'aqm = "pie", scheduler = {{ kind = "fq" }}; there are {", ".join(sg.aqms())}, or give '
        "the path of a C header, or of a Python file",
    ),
    (changed("duration_s", MISSING), "duration_s is missing"),
    (changed("duration_s", 0.0), "duration_s = 0.0 must be at least 2e-09 (s)"),
    (changed("duration_s", float("inf")), "duration_s = inf must be at most 8.64e+07 (s)"),
    (
        changed("warm_up_s", 1.0),
        "warm_up_s = 1 must be below duration_s = 1 (s), or be left out for half of it",
    ),
    (changed("replications", 0), "replications = 0 must be at least 1"),
    (changed("seed", -1), "seed = -1 must be at least 0"),
    (
        changed("seed", 10**100),
        f"seed = 1{'0' * 37}...{'0' * 39} must be below 1.84467e+19",
    ),
    (changed("seed", 10**5000), "seed = a far too large number must be below 1.84467e+19"),
    (
        changed("flows.0.count", 100_000) | {"replications": 1000},
        "replications = 1000 must be fewer: with all groups of flows they make 100000000 flows, "
        "and at most 50000000 are kept",
    ),
]


@pytest.mark.parametrize(("table", "reason"), CASES, ids=[reason for _, reason in CASES])
def test_each_problem_is_reported_exactly(table, reason):
    with pytest.raises(sg.SluiceError) as told:
        network.simulate(network.NetworkScenario.parse(table))
    assert str(told.value) == reason


def test_only_the_first_of_very_many_problems_are_reported():
    with pytest.raises(sg.SluiceError) as told:
        network.Dumbbell(client_delays_s=[-1.0] * 1000)
    first, *_, last, more = str(told.value).splitlines()
    assert first == "client_delays_s.0 = -1.0 must be at least 0 (s)"
    assert last == "client_delays_s.49 = -1.0 must be at least 0 (s)"
    assert more == "and 950 more problems"


def test_series_that_would_not_fit_are_refused():
    with pytest.raises(sg.SluiceError, match="the samples of all ports and replications"):
        network.simulate(network.NetworkScenario.parse(changed("sample_s", 1e-9)))


def test_errors_of_the_engine_name_the_groups_of_the_scenario():
    """In the engine the second group has number 5, because the first is five pairs of nodes."""
    table = short(gaps={"kind": "constant", "mean_s": 1e-9})
    table["flows"].insert(0, {"kind": "tcp"})
    with pytest.raises(sg.SluiceError) as told:
        network.simulate(network.NetworkScenario.parse(table))
    assert str(told.value).startswith("flows.1: about 1.000e9 flows would arrive")


def test_a_queue_without_limit_does_not_fill_the_memory():
    flood = {"kind": "datagrams", "rate_bps": 1e11}
    table = changed("flows", [flood]) | {"duration_s": 10.0}
    with pytest.raises(sg.SluiceError, match=r"link client0 -> left: millions of packets wait"):
        network.simulate(network.NetworkScenario.parse(table), threads=1)


def test_every_problem_of_a_file_has_its_own_line(tmp_path, capsys):
    path = tmp_path / "bad.toml"
    path.write_text(
        'duration_s = 0.0\nflows = [{ kind = "tcp", count = 0 }]\n'
        'topology = { kind = "star", rate_bps = -1.0 }\ndisciplines = [{ aqm = "red" }]\n'
    )
    assert main(["compare", str(path)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"error: {path}: topology.rate_bps = -1.0 must be at least 1 (bits/s)",
        f"{path}: flows.0.count = 0 must be at least 1",
        f"{path}: duration_s = 0.0 must be at least 2e-09 (s)",
    ]


# --- extreme, but valid


def test_thousands_of_flows_share_a_buffer_of_one_packet():
    table = changed("queue.limit", 1) | {"duration_s": 4.0, "sample_s": 0.1, "warm_up_s": 0.0}
    # packets that open a connection have the size of all others, so bytes count packets
    equal = {"packet_bytes": 500, "ack_bytes": 500}
    table["flows"] = [{"kind": "tcp", "count": 3000, "spread_s": 1.0, "tcp": equal}]
    record = network.simulate(network.NetworkScenario.parse(table))
    series = record.ports[0].series
    assert series["queue"].max() == 1
    assert record["loss_ratio"].value > 0.5
    assert record["goodput"].value > 0
    # each packet that arrived was sent, was lost, or waits
    sent = series["sent_bytes"] // 500
    assert (series["arrivals"] == series["losses"] + sent + series["queue"]).all()


@pytest.mark.parametrize("like", ["rfc", "ns2"])
def test_a_window_of_one_packet_sends_one_a_round_trip(like):
    tcp = {"like": like, "receiver_window": 1, "delayed_ack_s": 0.0}
    table = changed("flows.0.tcp", tcp) | {"duration_s": 10.0}
    table["topology"] = {"kind": "dumbbell", "client_delays_s": [0.01]}
    record = network.simulate(network.NetworkScenario.parse(table))
    # twice 15 ms, and the transmission of a packet and of an ACK on one slow and two fast links
    round_trip_s = 2 * 0.015 + 540 * 8 * (1 / 10e6 + 2 / 100e6)
    assert record["goodput"].value == pytest.approx(1 / round_trip_s, rel=0.01)


def test_flows_that_never_start_change_nothing():
    late = changed("flows", [{"kind": "tcp", "start_s": 5.0}])
    record = network.simulate(network.NetworkScenario.parse(late))
    assert record["utilization"].value == 0
    assert record["goodput"].value == 0
    assert record["queue_mean"].value == 0


# --- the scenario files

FILES = sorted((Path(__file__).parent.parent / "scenarios" / "network").glob("*.toml"))


def test_every_paper_has_its_files():
    names = {path.stem for path in FILES}
    lred = {"lred-1", "lred-2-light", "lred-2-heavy", *(f"lred-{k}" for k in range(3, 7))}
    others = {"applications", "call", "dumbbell", "gate", "lpf-oda", "pages", "red-sfq-rem"}
    assert names == others | lred


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_every_file_runs(path):
    scenario = network.NetworkScenario.load(path)
    assert scenario.title
    short = scenario.replace(duration_s=1.0, warm_up_s=0.0, replications=1)
    for discipline in scenario.disciplines:
        record = network.simulate(short, discipline)
        assert record["utilization"].value > 0.01, discipline
        assert record.discipline == discipline.name
