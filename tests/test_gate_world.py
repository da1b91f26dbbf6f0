"""The gate: real packets through sluiced, in the words and columns of the network world."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from stalls import stalls_s, undisturbed

import sluicegate as sg
from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.report.folder import write_report
from sluicegate.report.tables import comparison_rows
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.check import congestion_controls, missing, needs
from sluicegate.testbed.run import run as run_job
from sluicegate.worlds.gate import measure, refusals
from sluicegate.worlds.gate.daemon import daemon
from sluicegate.worlds.gate.lines import Lines
from sluicegate.worlds.network.band_figure import band_rows, bands_figure
from sluicegate.worlds.real.plan import plan

pytestmark = pytest.mark.slow

LACKING = missing(needs())
needs_gate = pytest.mark.skipif(bool(LACKING), reason=f"no gate here: {LACKING}")


def scenario(*flows, discipline=None, **changes):
    given = {
        "duration_s": 4.0,
        "warm_up_s": 1.0,
        "replications": 1,
        "topology": {
            "kind": "dumbbell",
            "rate_bps": 4e6,
            "delay_s": 0.008,
            "client_delays_s": [0.001, 0.001],
            "server_delay_s": 0.001,
        },
        "flows": list(flows),
        "queue": {"limit": 50},
        "disciplines": [discipline or {"aqm": "drop_tail"}],
    }
    return NetworkScenario.parse({**given, **changes})


TCP = {"kind": "tcp", "count": 4, "spread_s": 0.3, "tcp": {"packet_bytes": 1000}}
POISSON = {"kind": "datagrams", "rate_bps": 1e6, "gaps": "exponential"}
TWO_DELAYS = {"kind": "dumbbell", "client_delays_s": [0.01, 0.04], "rate_bps": 20e6}
# twice what the link carries
FLOOD = {"kind": "datagrams", "rate_bps": 8e6, "packet_bytes": 500}


@needs_gate
def test_prediction_and_measurement_stand_side_by_side(tmp_path):
    given = scenario(TCP, POISSON, windows=True)
    told = []
    compared = undisturbed(
        lambda: sg.compare(given, world=["network", "gate"], watch=lambda *news: told.append(news)),
        lambda compared: stalls_s(compared.records[1]),
    )
    predicted, measured = compared.records
    assert (predicted.world, measured.world) == ("network", "gate")
    # a gate does not count TCP's packets and datagrams apart, nor by class, and says so of these
    apart = ("tcp_", "datagram_loss", "datagram_delay")
    groups = tuple(f"{group}." for group in given.classes())
    of_classes = [name for name in predicted.measures if name.startswith(groups)]
    assert of_classes
    assert [name for name in of_classes if measured.why_unknown(name) is None] == []
    common = [
        name for name in predicted.measures if name not in of_classes and not name.startswith(apart)
    ]
    assert list(measured.measures) == common
    assert len(predicted.measures) == len(common) + 8 + len(of_classes)
    for name in ("flows", "replications", "series"):
        here, there = getattr(measured, name).schema, getattr(predicted, name).schema
        seen = {each: there[each] for each in there if not each.startswith((*apart, *groups))}
        assert here == seen, name
    (there,), (here,) = predicted.ports, measured.ports
    assert here.series.columns == there.series.columns
    assert len(here.series) == len(there.series) == 400
    # the same flows start at the same times, drawn from the same streams
    assert measured.flows["start_s"].to_list() == predicted.flows["start_s"].to_list()
    assert any("of 4 s" in stage for *_, stage in told)
    # in one table and in one picture
    write_report(compared, tmp_path, figures="svg")
    both = ["drop_tail (network)", "drop_tail (gate)"]
    assert [name for name, *_ in comparison_rows(compared)[1]] == both
    picture = (tmp_path / "figures" / "how-long-the-queue-is.svg").read_text()
    assert all(name in picture for name in both)

    # each figure against another that counts the same
    goodput = measured["goodput"].value * 1000 * 8 + measured["datagram_goodput"].value * 4000
    assert goodput <= 1.02 * measured["throughput_bps"].value <= 1.03 * 4e6
    assert measured["utilization"].value > 0.8
    assert 0 <= measured["queue_mean"].value <= 50
    assert here.samples.max() <= 50
    service_s = 0.002
    gap_s = measured["delay_mean"].value - measured["sojourn_mean"].value
    assert service_s / 2 < gap_s <= 1.01 * service_s
    looks = measured.connections
    assert looks["flow"].unique().sort().to_list() == [0, 1, 2, 3]
    assert looks.filter(pl.col("rtt_s") > 0)["rtt_s"].min() > 0.02
    # all bytes that arrived, by looks, are the flows' packets, but for those after the last look
    packets = measured.flows.filter(group=0)["packets"].to_numpy()
    seen = looks.group_by("flow").agg(pl.sum("received")).sort("flow")["received"].to_numpy()
    assert np.all(np.abs(packets - seen) <= 1)
    assert set(measured.lateness["of"]) == {
        "router, forward",
        "router, reverse",
        "datagram",
        "start",
    }
    (machine,) = measured.run["machine"]
    assert machine["receiver_overruns"] == machine["broken_connections"] == 0


@needs_gate
def test_a_flooded_link_sends_what_it_can_and_loses_the_rest():
    given = scenario(FLOOD)
    record = undisturbed(lambda: measure(given, given.disciplines[0]))
    # beside 1 %, one stall of 50 ms in 3 s
    assert record["throughput"].value == pytest.approx(1000, rel=0.027)
    assert record["datagram_goodput"].value == pytest.approx(1000, rel=0.027)
    assert record["loss_ratio"].value == pytest.approx(0.5, abs=0.028)
    assert record["overflow_loss_ratio"].value == record["loss_ratio"].value
    # full but for the moments in which a place is free
    assert 47 < record["queue_mean"].value <= 50
    assert record["sojourn_mean"].value == pytest.approx(0.05, rel=0.047)
    assert record["sojourn_p50"].value == pytest.approx(0.05, rel=0.03)
    assert record.queue_distribution.sum() == pytest.approx(1)
    assert record.delay_distribution.sum() == pytest.approx(1)
    sent = record.flows["packets"][0] + record.ports[0].rows("losses").max()
    assert sent == pytest.approx(8000, rel=0.033)


@needs_gate
def test_lanes_are_counted_as_in_the_network_world():
    """A lane of L4S and one without, beside a queue that has none."""
    flows = [
        {**POISSON, "label": "l4s", "ecn": True, "ect1": True, "packet_bytes": 500},
        {**POISSON, "label": "classic", "rate_bps": 4e6, "packet_bytes": 500},
    ]
    given = scenario(*flows, queue={"limit": 50, "ecn": True})
    given = given.replace(disciplines=[{"aqm": "dualpi2"}, {"aqm": "codel"}])
    compared = undisturbed(
        lambda: sg.compare(given, world=["network", "gate"]),
        lambda compared: stalls_s(*(each for each in compared.records if each.world == "gate")),
    )
    predicted, without, measured, also_without = sorted(
        compared.records,
        key=lambda record: (record.world != "network", record.discipline != "dualpi2"),
    )
    assert measured.ports[0].bands == predicted.ports[0].bands == ["lane C", "lane L"]
    assert without.ports[0].bands == also_without.ports[0].bands == []
    of_lanes = [name for name in predicted.measures if name.startswith("lane ")]
    assert len(of_lanes) > 20
    assert {*of_lanes} <= {*measured.measures}
    assert not any(name.startswith("lane") for name in [*also_without.measures, *measured.unknown])
    for lane in ("lane C", "lane L"):
        for name in ("throughput_bps", "sojourn_mean"):
            here, there = (each[f"{lane}.{name}"].value for each in (measured, predicted))
            assert here == pytest.approx(there, rel=0.2, abs=0.0005), (lane, name)
    sums = [
        sum(measured[f"{lane}.{name}"].value for lane in ("lane C", "lane L"))
        for name in ("queue_mean", "throughput_bps")
    ]
    assert sums == pytest.approx([measured["queue_mean"].value, measured["throughput_bps"].value])
    both = (predicted.ports[0], measured.ports[0])
    assert both[0].band_series.schema == both[1].band_series.schema
    assert both[0].band_distributions.schema == both[1].band_distributions.schema
    assert len(both[0].band_series) == len(both[1].band_series)
    figure = bands_figure(compared.records)
    assert figure is not None
    assert len(figure.axes) == 4
    assert len(band_rows(compared.records)[1]) == 4


@needs_gate
def test_lanes_of_which_the_router_tells_nothing_are_unknown(monkeypatch):
    class Unsplit(Lines):
        def __init__(self, *given, **more):
            super().__init__(*given, **more)
            self._bands = []

    monkeypatch.setitem(measure.__globals__, "Lines", Unsplit)
    given = scenario(POISSON, discipline={"aqm": "dualpi2"}, queue={"limit": 50, "ecn": True})
    given = given.replace(duration_s=0.5, warm_up_s=0.0)
    record = measure(given, given.disciplines[0])
    with pytest.raises(SluiceError, match="this router did not tell of lanes"):
        record["lane L.sojourn_mean"]


@needs_gate
def test_a_rate_that_varies_is_that_of_the_run_and_not_of_the_daemon():
    """Half of 4 Mbit/s until 1 s, then twice of 1 Mbit/s, then nothing goes, then all."""
    rate = steps((1, 1e6), (2, 0), (2.5, 8e6))
    sent = {**POISSON, "rate_bps": 2e6, "gaps": "constant"}
    given = scenario(sent, duration_s=4, warm_up_s=0, links={"left -> right": {"rate": rate}})
    given = given.replace(queue={"limit": 1000})
    record = undisturbed(lambda: measure(given, given.disciplines[0]))
    (port,) = record.ports
    stalled = max(stalls_s(record))
    mbits = 8e-6 * port.rows("sent_bytes")[0].astype(float)

    def between(since_s, until_s):
        return np.diff(np.interp([since_s, until_s], port.times_s, mbits)).item()

    assert between(0.0, 0.9) == pytest.approx(1.8, rel=0.03 + stalled)
    assert between(1.1, 1.9) == pytest.approx(0.8, rel=0.03 + stalled)
    assert between(2.1, 2.4) == pytest.approx(0)
    # what waited then, 2 Mbit, goes with what comes
    assert between(2.4, 3.1) == pytest.approx(3.2, rel=0.05 + stalled)
    # of 4 s it sent half, all, 1/3 and a quarter; a packet stood in transmission for 0.5 s
    ours = sg.network.simulate(given)["utilization"].value
    assert ours == pytest.approx(0.656, abs=0.001)
    assert record["utilization"].value == pytest.approx(ours, abs=0.043)
    assert set(port.rows("rate_bps")[0].tolist()) == {4e6, 1e6, 1, 8e6}


@needs_gate
def test_a_trace_and_wires_are_those_of_the_run(tmp_path):
    """For a second of each two, a packet of 1500 bytes each 2 ms; each way its own wire.

    With random gaps: if they were constant, the time from an arrival to the next chance to send, in
    which the link is busy, would follow from the phase between both, which the gate has by chance.
    """
    trace = tmp_path / "on.trace"
    trace.write_text("".join(f"{ms}\n" for ms in [*range(2, 1001, 2), 2000]))
    sent = {**POISSON, "rate_bps": 3e6, "packet_bytes": 1500}
    lossy = {"loss": {"kind": "bernoulli", "probability": 0.2}}
    late = {"jitter": {"kind": "uniform", "least_s": 0.0, "greatest_s": 0.02}, "reorder": True}
    links = {
        "left -> right": {"rate": {"kind": "file", "path": str(trace)}, "wire": lossy},
        "right -> left": {"wire": late},
    }
    both = [sent, {**sent, "route": "reverse"}]
    given = scenario(*both, duration_s=4, warm_up_s=0, links=links, queue={"limit": 1000})
    found = undisturbed(lambda: measure(given, given.disciplines[0]))
    ours = sg.network.simulate(given)
    series = [each.ports[0].rows("sent_bytes")[0].astype(float) / 1500 for each in (found, ours)]
    # in the first second nothing waits, in the second all, in the third what waited goes, too
    assert np.abs(series[0] - series[1]).max() < 3 + 500 * max(stalls_s(found))
    assert found["utilization"].value == pytest.approx(ours["utilization"].value, abs=0.033)
    wires = [{name: m.value for name, m in each.measures.items()} for each in found.wires]
    # of about 1000 packets; all of the second wire arrive, and overtake each other
    assert wires[0]["wire_loss_ratio"] == pytest.approx(0.2, abs=4.42 * 0.0127)
    assert wires[1]["wire_loss_ratio"] == 0
    assert wires[1]["wire_reordered_ratio"] == pytest.approx(
        ours.wires[1].measures["wire_reordered_ratio"].value, abs=0.1
    )


@needs_gate
def test_what_arrives_in_warm_up_is_not_goodput_and_a_flow_may_end_before_its_stop():
    short = {**TCP, "count": 1, "spread_s": 0, "packets": 5, "stop_s": 0.2}
    given = scenario(TCP, short, duration_s=3.05, warm_up_s=1.7, sample_s=1.0)
    record = measure(given, given.disciplines[0])
    # without headers of IP and TCP; packets that waited at the end of the warm-up are few
    assert record["goodput"].value * 1000 <= 4e6 / 8 * 1.1
    finished = record.flows.filter(group=1)
    assert finished["completion_s"].null_count() == 0
    # each packet that arrived is in one look, that at the end too
    arrived = record.flows["packets"].to_numpy()
    looks = record.connections.group_by("flow").agg(pl.sum("received")).sort("flow")
    assert np.all(np.abs(arrived[looks["flow"].to_numpy()] - looks["received"].to_numpy()) <= 1)


ON_OFF = {"on": {"kind": "exponential", "mean_s": 0.05},
          "off": {"kind": "exponential", "mean_s": 0.05}}  # fmt: skip
KINDS = {
    "constant": {},
    "poisson": {"gaps": "exponential"},
    "on and off": ON_OFF,
    "self-similar": {"self_similar": {"share": 0.5, "a": 4.0}},
    "fgn": {"gaps": "exponential", "fgn": {"hurst": 0.8, "deviation": 0.3, "frame_s": 0.05}},
}


def sent_by(flows, gateway=None):
    if flows == "replay":
        return {"kind": "replay", "capture": str(gateway)}
    return {"kind": "datagrams", "rate_bps": 1e6, "count": 2, **KINDS[flows]}


@needs_gate
@pytest.mark.parametrize("kind", [*KINDS, "replay"])
def test_real_senders_send_what_was_drawn(kind, gateway):
    given = scenario(
        sent_by(kind, gateway), duration_s=2.0, warm_up_s=0.0, queue={"limit": 10_000},
        topology={"kind": "dumbbell", "rate_bps": 100e6, "client_delays_s": [0.001]},
    )  # fmt: skip
    discipline = given.disciplines[0]
    drawn = _engine.offered_traffic(given.handle, discipline.handle, 0)
    job = plan(given, discipline, 0, daemon(given, discipline, 0, False), None, False).job
    # twice as long as what was drawn: a busy machine sends the last of it late
    hosts = [replace(host, duration_ns=2 * host.duration_ns) for host in job.hosts]
    job = replace(job, hosts=tuple(hosts))

    def stalls(outcome):
        late_ms = Lines(outcome.router, "forward").last["lateness_ms"]["max"]
        return late_ms / 1e3, outcome.hosts[0].sent.lateness_ns.max() / 1e9

    outcome = undisturbed(lambda: run_job(job), stalls)
    lines = Lines(outcome.router, "forward")
    assert (count := len(drawn.bytes)) > 50
    assert lines.last["lost"] == 0
    found = lines.last["arrivals"], lines.last["arrived_bytes"]
    assert found == (count, drawn.bytes.sum())
    # none before the time that was drawn, and each as late as
    # its sender or the router says
    late_ns = outcome.hosts[0].sent.lateness_ns
    rows = [json.loads(each) for each in outcome.router.splitlines()]
    of_link = [(each["clock_ns"], each["arrivals"]) for each in rows if each["link"] == "forward"]
    clock_ns, arrivals = np.array(of_link, dtype=np.int64).T
    since_ns = clock_ns - outcome.start_ns
    drawn_ns = drawn.time_ns.astype(np.int64)
    assert np.all(arrivals <= np.searchsorted(drawn_ns, since_ns, side="right"))
    sent = np.searchsorted(np.sort(drawn_ns + late_ns), since_ns, side="right")
    # of 2 s in which they are sent
    assert np.abs(arrivals - sent).mean() < (0.01 + sum(stalls(outcome)) / 2) * count


@needs_gate
def test_tcp_over_ipv6_is_measured_and_marked():
    if lacking := missing(needs(ipv6=True)):
        pytest.skip(lacking)
    marking = {"kind": "tcp", "count": 4, "tcp": {"packet_bytes": 1000, "ecn": True}}
    red = {"aqm": "red", "ecn": True, "params": {"min_th": 5, "max_th": 40}}
    given = scenario(marking, duration_s=2.0, warm_up_s=0.5, discipline=red)
    discipline = given.disciplines[0]
    router = daemon(given, discipline, 0, True)
    outcome = run_job(plan(given, discipline, 0, router, None, True).job)
    for name, ends in (("forward", "[fd00:1::2]:2000"), ("reverse", "[fd00:2::2]:1000")):
        last = Lines(outcome.router, name).last
        flows = [each["flow"] for each in last["flows"]["heaviest"]]
        assert any(flow.startswith(ends) for flow in flows), flows
        assert last["unreadable"] == last["unmarkable"] == 0
        # full packets are as long as the scenario says
        assert last["arrived_bytes"] <= 1000 * last["arrivals"]
        assert name == "reverse" or last["arrived_bytes"] > 900 * last["arrivals"]
    record = measure(given, given.disciplines[0], ipv6=True)
    assert record.run["ipv6"] is True
    assert record["utilization"].value > 0.5
    assert record.connections["delivered_ce"].max() > 0
    assert record["goodput"].value > 0


@needs_gate
def test_each_client_has_its_own_round_trip():
    given = scenario({**TCP, "count": 2}, duration_s=2.0, topology={**TWO_DELAYS, "delay_s": 0.005})
    looks = measure(given, given.disciplines[0]).connections.filter(pl.col("rtt_s") > 0)
    least = looks.group_by("flow").agg(pl.min("rtt_s")).sort("flow")["rtt_s"].to_list()
    # twice the propagation of client, link and server; the smoothed figure is never below it
    for found, propagation_s in zip(least, (0.035, 0.095), strict=True):
        assert propagation_s < found < propagation_s + 0.03


@needs_gate
def test_a_record_of_the_gate_is_written_and_read_and_never_the_same_twice(tmp_path):
    given = scenario(POISSON, duration_s=0.5, warm_up_s=0.0, replications=2)
    first = measure(given, given.disciplines[0])
    second = measure(given.replace(replications=1), given.disciplines[0])
    assert first.identity != second.identity
    assert first["throughput"].half_width is not None
    first.write(tmp_path / "record.zip")
    known = type(first).read(tmp_path / "record.zip")
    assert known.measures == first.measures
    assert known.lateness.equals(first.lateness)
    assert known.connections.schema == first.connections.schema


# loses packets by chance, one in twenty
LOSING = """
#include "aqm.h"
#define LOSING_PARAMS(P) P(one_in, COUNT, 20, 1, 1000, "", "of which one is lost", "here")
AQM_PARAMS(losing, LOSING_PARAMS)
struct losing_config { s64 p; };
struct losing_state { u32 unused; };
static inline u32 losing_configure(const struct losing_params *p, struct losing_config *c)
{
    c->p = (1LL << 32) / p->one_in;
    return 0;
}
static inline enum aqm_verdict losing_arrive(struct losing_state *s, const struct losing_config *c,
                                             const struct aqm_view *view)
{
    return aqm_happens(c->p, view->random) ? AQM_DROP_EARLY : AQM_ADMIT;
}
AQM_CLASS(losing, LOSING_PARAMS, .title = "Losses", .source = "this test", .summary = "By chance.")
"""


@needs_gate
@pytest.mark.parametrize("control", ["reno", "cubic", "bbr"])
def test_the_command_measures_each_control_and_says_how_late_it_was(control, tmp_path):
    if control not in (known := congestion_controls()):
        pytest.skip(f"this kernel has {', '.join(known)}: modprobe tcp_{control} may bring it")
    text = """
        duration_s = 3
        warm_up_s = 1
        topology = { kind = "dumbbell", rate_bps = 8e6, client_delays_s = [0.02] }
        flows = [{ kind = "tcp", tcp = { packet_bytes = 1000 } }]
        disciplines = [{ aqm = "drop_tail" }]
    """
    (tmp_path / "one.toml").write_text(text)
    (tmp_path / "losing.h").write_text(LOSING)
    command = [sys.executable, "-c", "from sluicegate.cli import main; raise SystemExit(main())"]
    words = ["testbed", "one.toml", "--aqm", "losing.h", "--congestion-control", control]
    done = subprocess.run(
        [*command, *words, "--json", "record.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    for words in (
        "losing",
        "queue_mean",
        "measured in 1 run of 3 s",
        "window",
        "lateness, router",
        "load",
    ):
        assert words in said, said
    assert "TCP is the kernel's" in " ".join(done.stderr.split())
    # a window of sqrt(3 / 2p) = 5.5 packets in a round trip of 40 ms is a seventh of the link; BBR
    # takes no loss below a fifth for congestion
    measures = json.loads((tmp_path / "record.json").read_text())["measures"]
    utilization = measures["utilization"]["value"]
    assert utilization > 0.6 if control == "bbr" else utilization < 0.4, utilization


def steps(*given):
    """A rate in steps of time, s, and bits/s."""
    return {
        "kind": "steps",
        "steps": [{"time_s": time_s, "rate_bps": rate_bps} for time_s, rate_bps in given],
    }


REFUSED = [
    (scenario(TCP, topology={"kind": "star"}), "topology.kind = star must be dumbbell"),
    (
        scenario(TCP, links={"client0 -> left": {"rate": steps((0, 1e6))}}),
        'links."client0 -> left".rate must be left out: the gate\'s links are left -> right and',
    ),
    (
        scenario(TCP, topology=TWO_DELAYS, links={"right -> left": {"rate": steps((0, 1e6))}}),
        'links."right -> left".rate must be left out: the gate\'s links are left -> right',
    ),
    (
        scenario(TCP, links={"left -> right": {"wire": {"ecn": "bleach"}}}),
        'links."left -> right".wire.ecn = bleach must be left out: only the network world',
    ),
    (
        scenario({**TCP, "tcp": {"like": "linux", "ecn": True, "server_ecn": "none"}}),
        "flows.0.tcp.server_ecn = none must be left out: both ends are like this kernel",
    ),
    (
        scenario(TCP, {**POISSON, "route": "reverse"}, topology=TWO_DELAYS),
        "2 delays must be one where there are flows from servers to clients",
    ),
    (
        scenario(TCP, topology={**TWO_DELAYS, "two_way": True}),
        "topology.client_delays_s: 2 delays must be one where there are two_way = true",
    ),
    (scenario({**TCP, "tcp": {"packet_bytes": 100}}), "flows.0.tcp.packet_bytes = 100 must lie"),
    (scenario({**POISSON, "packet_bytes": 20}), "flows.0.packet_bytes = 20 must be at least 28"),
    (scenario({**TCP, "count": 6000}), "flows.0.count = 6000 must be at most 5000"),
    (
        scenario({**TCP, "route": None, "source": "client0", "sink": "client1"}),
        "flows.0: client0 to client1 must lead from clients to servers",
    ),
    (
        scenario(TCP, {**TCP, "tcp": {"packet_bytes": 1000, "ecn": True}}),
        "flows: tcp.ecn must be the same for all",
    ),
    (
        scenario(
            {**TCP, "tcp": {"packet_bytes": 1000, "ecn": True, "accurate_ecn": True}},
            {**TCP, "tcp": {"packet_bytes": 1000, "ecn": True}},
        ),
        "and whether it is accurate",
    ),
]


@pytest.mark.parametrize(("given", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_what_cannot_be_run_is_refused_with_its_field(given, told):
    with pytest.raises(SluiceError) as refused:
        sg.compare(given, world="gate")
    assert told in str(refused.value)


def test_a_congestion_control_that_the_kernel_lacks_is_refused(monkeypatch):
    monkeypatch.setattr(refusals, "congestion_controls", lambda: ["reno"])
    told = r"flows.0.tcp.congestion_control = bbr must be one that this kernel has: reno"
    with pytest.raises(SluiceError, match=told):
        measure(given := scenario(TCP), given.disciplines[0], congestion_control="bbr")


def test_a_python_aqm_is_refused():
    class Mine:
        """Admits."""

        def arrive(self, view):
            return sg.ADMIT

    given = scenario(TCP)
    with pytest.raises(SluiceError, match="sluiced runs no Python"):
        refusals.refuse(given, sg.Discipline(aqm=Mine), None, False)


def test_without_the_daemon_the_gate_says_how_to_get_it(monkeypatch):
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setattr("sluicegate.testbed.check.program", lambda: None)
    with pytest.raises(SluiceError, match=r"(?s)the gate lacks .*the daemon sluiced: .*make build"):
        sg.compare(scenario(TCP), world="gate")
