"""Two queues in a row in the worlds of real packets: where links are, what is refused, and runs."""

from multiprocessing import Pipe

import numpy as np
import pytest
from evaluations import BRIEF
from kernel_needs import needs_qdiscs

import sluicegate as sg
from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.evaluate.case import FIRST_HOP, SECOND_HOP, Fitted
from sluicegate.evaluate.plan import Plan
from sluicegate.evaluate.profile import profile
from sluicegate.evaluate.suite import RFC7928, case_named
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.testbed import row_bed
from sluicegate.testbed.check import missing, needs
from sluicegate.testbed.row import RowJob
from sluicegate.worlds import Kernel, Twin
from sluicegate.worlds.gate.daemon import daemon, first_daemon
from sluicegate.worlds.gate.refusals import refuse
from sluicegate.worlds.kernel.links import each_before
from sluicegate.worlds.kernel.plan import first_router, lab_plan
from sluicegate.worlds.kernel.refusals import _of_layout
from sluicegate.worlds.real.layout import Layout, layout
from sluicegate.worlds.real.plan import in_a_row
from sluicegate.worlds.real.refusals import of_topology

needs_gate = pytest.mark.skipif(bool(missing(needs())), reason="no gate here")
FIRST, SECOND, BACK = "r0 -> r1", "r1 -> r2", "r1 -> r0"
# it marks what has waited for more than a millisecond
STEP = {"aqm": "step", "ecn": True, "label": "first"}


def link(source, sink, rate_bps=1e9, delay_s=0.004, **more):
    return {"source": source, "sink": sink, "rate_bps": rate_bps, "delay_s": delay_s, **more}


def graph(*more, first=4e6, second=3e6):
    hosts = [link("a", "r0"), link("c", "r1"), link("r2", "b")]
    row = [link("r0", "r1", first, queue=True), link("r1", "r2", second, queue=True)]
    return {"kind": "graph", "links": [*hosts, *row, *more]}


def udp(source, rate_bps, sink="b", **more):
    ends = {"source": source, "sink": sink}
    return {"kind": "datagrams", "rate_bps": rate_bps, "packet_bytes": 1000, **ends, **more}


def scenario(*flows, **changes):
    given = {
        "duration_s": 3.0,
        "warm_up_s": 1.0,
        "replications": 1,
        "seed": 1,
        "topology": graph(),
        "flows": list(flows) or [udp("a", 6e6), udp("c", 1e6)],
        "queue": {"limit": 20},
        "disciplines": [{"aqm": "drop_tail"}],
    }
    return NetworkScenario.parse(given | changes)


def test_hosts_of_a_row_are_clients_and_servers_and_its_rates_stay():
    given = scenario(links={FIRST: {"discipline": STEP, "queue": {"limit": 7}}})
    laid = layout(given, given.disciplines[0])
    assert laid.names == {"second": FIRST, "servers": SECOND}
    assert laid.around == [1]
    assert laid.scenario.topology.rate_bps == 3e6
    # half of the way there and back
    assert laid.scenario.topology.client_delays_s == pytest.approx((0.016, 0.012))
    first, stands = laid.first
    assert (first.topology.rate_bps, stands.name) == (4e6, "first")
    before = each_before(given, given.disciplines[0])
    assert {name: each.topology.rate_bps for name, each, *_ in before} == {FIRST: 4e6, SECOND: 3e6}
    assert first.links["left -> right"].queue.limit == 7
    # they draw the same as in the network world
    drawn = [
        _engine.offered_traffic(each.handle, each.disciplines[0].handle, 0)
        for each in (given, laid.scenario)
    ]
    assert np.array_equal(drawn[0].time_ns, drawn[1].time_ns)


def test_the_rfcs_two_hops_are_a_row():
    case = case_named("10-2-another")
    codel = Discipline(aqm="codel")
    given = case.scenario(profile("default"), case.fitted(codel), 0, 1)
    laid = layout(given, codel)
    assert laid.names == {"second": FIRST_HOP, "servers": SECOND_HOP}
    assert (laid.first[1].aqm, laid.discipline.aqm) == ("codel", "pie")
    # a rate that begins with the run is the link's rate
    assert [each.topology.rate_bps for each in laid.dumbbells] == [10e6, 5e6]
    assert all(not each.links["left -> right"].rate for each in laid.dumbbells)


def test_a_home_of_two_directions_is_a_dumbbell():
    links = [
        link("pc", "router"),
        link("router", "isp", 5e6, queue=True, both_ways=False),
        link("isp", "router", 20e6, queue=True, both_ways=False),
    ]
    given = scenario(
        udp("isp", 1e6, "pc"),
        udp("pc", 1e6, "isp"),
        topology={"kind": "graph", "links": links},
        links={"router -> isp": {"discipline": STEP}},
    )
    laid = layout(given, given.disciplines[0])
    # the first group goes there
    assert laid.names == {"servers": "isp -> router", "clients": "router -> isp"}
    assert laid.first is None
    assert laid.scenario.links["right -> left"].discipline.name == "first"
    assert laid.scenario.links["right -> left"].rate.steps[0].rate_bps == 5e6


@pytest.mark.parametrize(
    ("by_z", "by_c"),
    [
        # as floats, 0.1 + 0.2 > 0.15 + 0.15
        ((0.1, 0.2), (0.15, 0.15)),
        # z is named first
        ((0.1, 0.1), (0.1, 0.1)),
    ],
)
def test_routes_are_those_of_the_network_world(by_z, by_c):
    links = [
        link("a", "z", delay_s=by_z[0]),
        link("z", "b", 3e6, by_z[1], queue=True),
        link("a", "c", delay_s=by_c[0]),
        link("c", "b", delay_s=by_c[1]),
    ]
    given = scenario(udp("a", 1e6), topology={"kind": "graph", "links": links})
    assert layout(given, given.disciplines[0]).names == {"servers": "z -> b"}


def test_names_of_links_may_be_those_of_a_dumbbell():
    given = scenario()
    names = {"servers": "right -> left", "clients": "left -> right"}
    laid = Layout(given, given.disciplines[0], names=names)
    assert laid.told('links."left -> right", "right -> left"') == (
        'links."right -> left", "left -> right"'
    )


def test_a_first_router_that_fails_says_so(monkeypatch, capsys):
    """Its end alone would not be heard, and the run would never end."""

    def fail(*_):
        raise FileNotFoundError("servers")

    monkeypatch.setattr(row_bed, "_do", fail)
    monkeypatch.setattr(row_bed, "enter_namespace", lambda: None)
    bed, its = Pipe()
    bed.send("job")
    row_bed._route(its, None)
    assert bed.recv() == row_bed.READY
    assert str(bed.recv()) == "the first router: FileNotFoundError('servers')"
    assert "Traceback" in capsys.readouterr().err


THREE = graph(link("r2", "r3", 2e6, queue=True), link("r3", "d"))


def one_way(*ends, **more):
    return link(*ends, both_ways=False, **more)


# acknowledgements to c do not wait
AROUND_BACK = {
    "kind": "graph",
    "links": [
        *[link("a", "r0"), link("r1", "b")],
        *[one_way("r0", "r1", queue=True), one_way("r1", "r0", queue=True)],
        *[one_way("c", "r0"), one_way("r1", "c")],
    ],
}
TWO_BOTH_WAYS = {
    "kind": "graph",
    "links": [
        *[link("a", "r0"), link("r2", "b")],
        *[one_way("r0", "r1", queue=True), one_way("r1", "r2", queue=True)],
        *[one_way("r2", "r1", queue=True), one_way("r1", "r0", queue=True)],
    ],
}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            scenario(udp("a", 1e6, "d"), topology=THREE),
            "topology: 3 queues in a row must be at most two: r0 -> r1, r1 -> r2, r2 -> r3",
        ),
        (
            scenario(udp("a", 1e6), udp("a", 1e6, "r1")),
            "flows.1: they cross r0 -> r1 and no queue on their way back, which must be r0 -> r1, "
            "r1 -> r2, or the last of these, and no queue",
        ),
        (scenario(udp("a", 1e6), udp("b", 1e6, "c")), "flows.1: they must cross a link with a"),
        (scenario(udp("c", 1e6)), "topology: no flow crosses r0 -> r1, which must have no queue"),
        (
            scenario(links={BACK: {"rate": {"kind": "lte"}}}),
            'links."r1 -> r0".rate must be left out: in a testbed only links with a queue have',
        ),
        (
            scenario(topology=AROUND_BACK),
            "flows.1: they cross r0 -> r1 and no queue on their way back, which must be r0 -> r1, "
            "or the last of these, and r1 -> r0",
        ),
        (
            scenario(udp("a", 1e6), topology=TWO_BOTH_WAYS),
            "topology: two queues in a row must be in one direction: r0 -> r1, r1 -> r2, and "
            "r2 -> r1, r1 -> r0 back",
        ),
        (
            scenario({"kind": "tcp"}, topology={"kind": "star"}),
            "flows.0: 3 pairs of hosts must be one, given by source and sink",
        ),
    ],
)
def test_what_is_no_row_is_told(given, told):
    with pytest.raises(SluiceError) as refused:
        layout(given, given.disciplines[0])
    assert str(refused.value).startswith(told)
    (first, *_) = of_topology(given, "the gate")
    assert "must be dumbbell, or one or two queues in a row: the gate is one router" in first


def test_links_of_a_row_are_told_by_their_own_names():
    wire = {"loss": {"kind": "bernoulli", "probability": 0.1}}
    given = scenario(links={FIRST: {"rate": {"kind": "lte"}, "wire": wire}})
    laid = layout(given, given.disciplines[0])
    rate, between = _of_layout(laid, "the laboratory", True)
    assert rate.startswith('links."r0 -> r1".rate.kind = lte must be steps, ramp')
    assert between.startswith('links."r0 -> r1".wire must be left out: it is between two routers')
    given = scenario(links={FIRST: {"discipline": {"aqm": "gentle_red", "label": "mine"}}})
    told = list(Twin()._against_each(given, given.disciplines[0]))
    assert told
    assert all(each.startswith('links."r0 -> r1".discipline: ') for each in told)


def test_the_gate_tells_of_a_row_what_it_cannot_have():
    wire = {"ecn": "bleach"}
    given = scenario(links={FIRST: {"wire": wire}})
    with pytest.raises(SluiceError) as refused:
        refuse(given, given.disciplines[0], None, False)
    assert str(refused.value).startswith('links."r0 -> r1".wire.ecn = bleach must be left out')
    # where there are no sides, nothing is said of them
    given = scenario({"kind": "tcp"}, topology={"kind": "star"})
    with pytest.raises(SluiceError) as refused:
        refuse(given, given.disciplines[0], None, False)
    assert str(refused.value).splitlines() == list(of_topology(given, "the gate"))


def test_a_slow_way_back_is_no_change_of_a_rate():
    # of 0.3 Mbit, a packet at a change would be 3 %
    slow = [link("a", "r0", 0.1e6), link("r2", "b")]
    row = [link("r0", "r1", 4e6, queue=True), link("r1", "r2", 3e6, queue=True)]
    given = scenario(topology={"kind": "graph", "links": [*slow, link("c", "r1"), *row]})
    laid = layout(given, given.disciplines[0])
    assert list(_of_layout(laid, "the laboratory", False)) == []
    # clients differ in delay: each has a way back of its own, as slow
    made = daemon(laid.scenario, laid.discipline, 0, False)
    assert len({*made.reverse_delays_s}) == 2
    assert made.rate_bps == 0.1e6


def test_each_router_has_its_own_qdisc_and_one_router_none_before_it():
    given = scenario(links={FIRST: {"queue": {"limit": 7}}})
    laid = layout(given, given.disciplines[0])
    twin = Twin()
    layers = [twin.layer(*each)(1) for each in ((laid.scenario, laid.discipline), laid.first)]
    planned = lab_plan(laid.scenario, laid.discipline, 0, layers[0], None)
    job = in_a_row(planned, first_router(planned, laid, layers[1])).job
    routers = [" ".join(map(" ".join, each.before)) for each in (job.first.router, job.router)]
    assert "dev servers root handle 1: stab" in routers[0]
    assert ("rate 4000000bit" in routers[0], "pfifo limit 7" in routers[0]) == (True, True)
    assert ("rate 3000000bit" in routers[1], "pfifo limit 20" in routers[1]) == (True, True)
    assert job.first.around == [1]
    assert not isinstance(in_a_row(planned, None).job, RowJob)
    # unlike random streams
    second = daemon(laid.scenario, laid.discipline, 0, False)
    assert first_daemon(laid, second).router.seed != second.seed


def check_the_second_gets_what_the_first_lets_through_and_the_others(record):
    """Also where the machine is busy, and senders and daemons stop for a while."""
    first, second = (port.series for port in record.ports)
    assert first["losses"].max() > 100
    assert second["losses"].max() > 100
    # 125 packets a second go around; the two daemons tell how they stand at times of their own
    around = second["arrivals"].max() - first["sent_bytes"].max() / 1000
    assert around == pytest.approx(3 * 125, abs=40)


def check_each_queue_loses_what_is_too_much(record):
    """6 Mbit/s before 4 Mbit/s; what is left, and 1 Mbit/s, before 3 Mbit/s."""
    first, second = ({n: p.measures[n].value for n in p.measures} for p in record.ports)
    assert first["throughput_bps"] == pytest.approx(4e6, rel=0.05)
    assert second["throughput_bps"] == pytest.approx(3e6, rel=0.05)
    assert first["loss_ratio"] == pytest.approx(1 / 3, abs=0.04)
    assert second["loss_ratio"] == pytest.approx(2 / 5, abs=0.04)
    # full queues, but for the packet that has just left
    assert first["queue_mean"] == pytest.approx(19.5, abs=1)
    assert second["queue_mean"] == pytest.approx(19.5, abs=1)


TCP = {"kind": "tcp", "count": 2, "source": "a", "sink": "b", "tcp": {"ecn": True}}


@pytest.mark.slow
@needs_gate
def test_the_gate_takes_the_rfcs_two_hops():
    plan = Plan.of(RFC7928, BRIEF, [Discipline(aqm="codel")], ["10.2"], 2, 1, "gate")
    found = [each["codel"] for each in plan.fitted.values()]
    assert len(found) == 3
    assert all(isinstance(each, Fitted) for each in found), found


@pytest.mark.slow
@needs_gate
def test_two_daemons_in_a_row():
    record = sg.compare(scenario(), world="gate").records[0]
    assert [port.name for port in record.ports] == [FIRST, SECOND]
    check_the_second_gets_what_the_first_lets_through_and_the_others(record)
    # marks of the first go through the second, which has no queue
    marked = scenario(
        TCP,
        topology=graph(second=20e6),
        links={FIRST: {"discipline": STEP, "queue": {"limit": 99}}},
    )
    record = sg.compare(marked, world="gate").records[0]
    first, second = (port.measures["mark_ratio"].value for port in record.ports)
    assert (first > 0.01, second) == (True, 0)
    assert record.connections["delivered_ce"].max() > 10


@pytest.mark.slow
@needs_qdiscs
def test_two_qdiscs_in_a_row_in_the_laboratory():
    given = scenario(udp("a", 6e6, ecn=True), udp("c", 1e6), links={FIRST: {"discipline": STEP}})
    record = Kernel().run(
        given, given.disciplines[0], threads=1, on_progress=lambda *_: None, fresh=True
    )
    check_the_second_gets_what_the_first_lets_through_and_the_others(record)
    check_each_queue_loses_what_is_too_much(record)
    # all that is let through has waited, and is marked; the second one marks nothing
    first, second = (port.measures["mark_ratio"].value for port in record.ports)
    assert first == pytest.approx(2 / 3, abs=0.04)
    assert second == 0
