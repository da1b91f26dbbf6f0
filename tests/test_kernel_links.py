"""Links of the worlds `kernel` and `twin`: rates that vary, wires, and each direction's own."""

import errno
import math
import os
import time
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from kernel_needs import needs_compiler, needs_qdiscs
from test_kernel_world import TABLE, scenario

import sluicegate as sg
from sluicegate.errors import SluiceError
from sluicegate.testbed import changes as testbed_changes
from sluicegate.testbed import wire as testbed_wire
from sluicegate.testbed.changes import Changes
from sluicegate.testbed.job import Change
from sluicegate.testbed.loop import Loop
from sluicegate.worlds import Kernel, Twin
from sluicegate.worlds.kernel.plan import Layer, lab_plan
from sluicegate.worlds.kernel.refusals import _of_links
from sluicegate.worlds.kernel.seen import WireSeen
from sluicegate.worlds.kernel.wire import wire_to
from sluicegate.worlds.network import simulate
from sluicegate.worlds.real.varying import LINKS, rates

pytestmark = pytest.mark.slow


class Refusing:
    """In place of a socket: the kernel refuses what is sent, for a reason."""

    def __init__(self, reason):
        self.reason = reason

    def send(self, frame):
        raise OSError(self.reason, "refused")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_change_that_was_due_and_not_made_is_told(tmp_path, monkeypatch):
    stand_in = tmp_path / "tc"
    stand_in.write_text("#!/bin/sh\nwhile read line; do echo; done\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def follow(reason):
        monkeypatch.setattr(testbed_changes, "_raw", lambda link: Refusing(reason))
        # the last is for after the end
        changes = Changes([Change(at_ns, "servers", [], 9) for at_ns in (0, 1, 10**6, 10**12)])
        changes.begin(time.monotonic_ns())
        time.sleep(0.05)
        changes.end()

    # a frame that no shaper takes
    follow(errno.ENOBUFS)
    with pytest.raises(SluiceError, match="of 3 changes of links that were due, 0 were made"):
        follow(errno.ENETDOWN)


@pytest.mark.parametrize(
    ("came", "row"),
    [
        ([7, 7], (7, 1, 0)),
        # packets come during the first look, and during the second
        ([7, 8, 9, 9], (9, 3, 0)),
        # packets always come
        (range(7, 20), (12, 5, 0)),
    ],
)
def test_a_look_at_a_wire_is_of_one_instant(came, row, tmp_path, monkeypatch):
    stand_in = tmp_path / "tc"
    stand_in.write_text(
        "#!/bin/sh\nk=0\nwhile read line; do k=$((k + 1)); "
        """echo "[{\\"packets\\": $k, \\"qlen\\": 0}]"; done\n"""
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    counts = iter(came)
    monkeypatch.setattr(testbed_wire, "_came", lambda: next(counts))
    looks = testbed_wire.WireLooks(Loop(), 1, 0)
    assert looks.rows().tolist() == [list(row)]


def test_no_wire_loses_less_than_nothing():
    looks = np.array([[10, 7, 1], [20, 18, 1], [40, 36, 1]])
    host = SimpleNamespace(received=SimpleNamespace(wire=looks))
    seen = WireSeen(SimpleNamespace(hosts=[host], start_ns=0), 0, 10)
    assert seen.wire(0, 10) == (10, 0, 0)
    assert seen.wire(10, 20) == (20, 2, 0)


def test_the_logs_have_room_for_the_busier_of_both_ways():
    def places(**links):
        given = scenario(topology=TABLE["topology"] | {"two_way": True}, links=links)
        layer = Layer("pfifo limit 60", False)
        return lab_plan(given, given.disciplines[0], 0, layer, None).job.router.places

    # 2 s at 10 Mbit/s, in packets of 1500 bytes; three places for each, and more
    assert places() == 3 * 1667 + 10_000
    fast, slow = (
        {"rate": {"kind": "steps", "steps": [{"time_s": 1.0, "rate_bps": rate_bps}]}}
        for rate_bps in (100e6, 1e6)
    )
    both = [places(**{"left -> right": fast}), places(**{"right -> left": fast})]
    assert both == [3 * 9167 + 10_000] * 2
    # the other link stays at its rate
    assert places(**{"left -> right": slow}) == places(**{"right -> left": slow}) == places()


# half a second at 10 Mb/s, at 2 Mb/s, nothing for 0.1 s, and the rest at 6 Mb/s
RATES = "time_s,rate_bps\n0.5,2e6\n1,0\n1.1,6e6\n"


@needs_qdiscs
def test_a_qdisc_follows_the_rates_of_a_file_as_the_network_world_does(tmp_path):
    file = tmp_path / "rates.csv"
    file.write_text(RATES)
    flows = [{"kind": "datagrams", "rate_bps": 4e6, "packet_bytes": 1500}]
    rate = {"kind": "file", "path": str(file)}
    link = {"links": {"left -> right": {"rate": rate}}}
    given = scenario(flows=flows, queue={"limit": 100}, warm_up_s=0, **link)
    ours, found = simulate(given), sg.compare(given, world="kernel").records[0]
    for measure in ("queue_mean", "throughput_bps", "sojourn_mean"):
        assert found[measure].value == pytest.approx(ours[measure].value, rel=0.02), measure
    # of 667 packets; each change is seen up to 1 ms late
    assert found["loss_ratio"].value == pytest.approx(ours["loss_ratio"].value, abs=3 / 667)
    series = [each.ports[0].series.filter(pl.col("time_s") > 0.05) for each in (ours, found)]
    queues = [each["queue"].to_numpy().astype(int) for each in series]
    # a packet more or less at each change of the rate
    assert np.abs(queues[0] - queues[1]).max() <= 2
    # what the logs of all packets say is exact: what came and has not left, while the link is busy
    busy = [each.filter(pl.col("time_s").is_between(0.5, 1.5)) for each in series]
    held = [(each["arrivals"] - each["sent_bytes"] / 1500).to_numpy() for each in busy]
    assert np.abs(held[0] - held[1]).max() <= 2
    # nothing else waits, and tc told it in time: a packet may come or go between two instants
    looked = (busy[1]["losses"] + busy[1]["queue"]).to_numpy()
    assert np.abs(held[1] - looked).max() <= 1
    # an outage is 1 bit/s to an AQM
    rates = [np.maximum(each["rate_bps"].to_numpy(), 1) for each in series]
    assert (rates[0] == rates[1]).mean() > 0.98


def test_rates_are_those_of_their_times_and_what_is_no_table_is_refused(tmp_path):
    file = tmp_path / "rates.csv"
    file.write_text(RATES)
    rate = {"kind": "file", "path": str(file)}
    found = rates(scenario(links={"left -> right": {"rate": rate}}))
    times_ns = np.array([0, 499_999_999, 500_000_000, 1_050_000_000, 9_000_000_000])
    assert found.at(times_ns).tolist() == [10e6, 10e6, 2e6, 1, 6e6]
    assert rates(scenario()) is None
    file.write_text("\ufefftime_s, rate_bps\n\n0.5,2e6\n")
    assert rates(scenario(links={"left -> right": {"rate": rate}})).from_ns.tolist() == [
        500_000_000
    ]
    for text in (
        b"time_s,rate_bps\n0,fast\n",
        b"time_s,rate_bps\n",
        b"time_s,rate_bps\n0,1,2\n",
        b"\xff",
    ):
        file.write_bytes(text)
        with pytest.raises(SluiceError, match=r"rates\.csv"):
            rates(scenario(links={"left -> right": {"rate": rate}}))
    file.write_text("1\n2\n")
    for refused in (rate, {"kind": "lte"}, {"kind": "wifi"}, {"kind": "docsis"}):
        links = {"left -> right": {"rate": refused}}
        for ours in (True, False):
            (told,) = _of_links(scenario(links=links), "the laboratory", ours=ours)
            place = f'links."left -> right".rate.kind = {refused["kind"]} must be steps, ramp'
            assert told.startswith(place)


def test_a_ramp_is_for_our_qdiscs_and_too_many_steps_for_linuxs_shaper():
    points = [{"time_s": 0.0, "rate_bps": 10e6}, {"time_s": 2.0, "rate_bps": 5e6}]
    given = scenario(links={"left -> right": {"rate": {"kind": "ramp", "points": points}}})
    assert not list(_of_links(given, "the laboratory", ours=True))
    (told,) = _of_links(given, "the laboratory", ours=False)
    # a packet at each of 199 changes, of 15 Mbit; the first of 200 comes as the run begins
    assert "it changes 199 times: Linux's tbf lends a packet at each change, 16%" in told
    layer = Twin().layer(given, given.disciplines[0])(1)
    job = lab_plan(given, given.disciplines[0], 0, layer, None).job.router
    assert [each.at_ns for each in job.changes[:3]] == [0, 10_000_000, 20_000_000]
    # tbf would give the FIFO its own limit
    assert job.changes[0].lines[1].endswith("handle 10: pfifo limit 60")
    # no shaper takes it, and the link does
    assert job.changes[0].waking_bytes == 1500 + 256 + 14
    assert ["ip", "link", "set", "dev", "servers", "mtu", "1756"] in [list(x) for x in job.before]


def test_a_wire_becomes_netem_with_the_times_of_its_distribution():
    loss = {"kind": "gilbert-elliott", "enter": 0.01, "leave": 0.25, "loss_in_good": 0.001}
    jitter = {"kind": "exponential", "mean_s": 0.002}
    given = {"loss": loss, "jitter": jitter, "jitter_share": 0.25}
    wire = wire_to(scenario(links={"left -> right": {"wire": given}}), "servers")
    words = wire.netem.split()
    assert words[:6] == ["loss", "gemodel", "1%", "25%", "100%", "0.1%"]
    assert " ".join(words[-2:]) == "rate 100gbit"
    delay_us, unit_us = (float(each.removesuffix("us")) for each in words[7:9])
    # netem: the delay and so many 8192ths of the unit
    times_s = (delay_us + unit_us * np.array(wire.tables["servers-jitter"]) / 8192) / 1e6
    assert len(times_s) == 8000
    assert (times_s > 1e-6).mean() == pytest.approx(0.25, abs=0.001)
    assert times_s.mean() == pytest.approx(0.25 * 0.002, rel=0.01)
    late = np.sort(times_s)[6000:]
    assert np.median(late) == pytest.approx(0.002 * math.log(2), rel=0.01)
    assert wire_to(scenario(links={"left -> right": {"wire": given}}), "clients") is None
    slots = {"bursts": {"gap": {"kind": "uniform", "least_s": 0.001, "greatest_s": 0.003}}}
    policed = slots | {"loss": {"kind": "policer", "rate_bps": 2e6, "burst_bytes": 9000}}
    wire = wire_to(scenario(links={"right -> left": {"wire": policed}}), "clients")
    assert wire.netem.startswith("slot distribution clients-gap 1499.938us ")
    assert wire.netem.endswith("us packets 16")
    assert wire.police == "action police rate 2000000bit burst 9000 conform-exceed drop/pipe"


def test_a_jitter_that_netem_would_cut_is_refused():
    def told(**wire):
        links = {"left -> right": {"wire": wire}}
        return list(_of_links(scenario(links=links), "the laboratory", ours=True))

    # the default shape, 3/2: of 16,000 packets one has mean / 3 * 16000^(2/3)
    assert told(jitter={"kind": "pareto", "mean_s": 0.08}) == []
    (why,) = told(jitter={"kind": "pareto", "mean_s": 0.1})
    assert why.startswith('links."left -> right".wire.jitter: of 16,000 packets one has 21.2 s')
    (why,) = told(bursts={"gap": {"kind": "exponential", "mean_s": 2.0}})
    assert "wire.bursts.gap: of 16,000 packets one has 19.4 s" in why
    assert "at most 17.2 s for Linux's netem" in why


def own_links(**changes):
    """Each direction with a discipline, a rate and a wire of its own."""
    flows = [
        {"kind": "datagrams", "rate_bps": 6e6, "packet_bytes": 1500, "route": route}
        for route in ("forward", "reverse")
    ]
    there, back = (
        {"kind": "steps", "steps": [{"time_s": t, "rate_bps": r} for t, r in each]}
        for each in (
            [(0.4, 2e6), (0.8, 5e6), (1.0, 4e6), (1.5, 3e6)],
            [(0.3, 4e6), (0.7, 2e6), (1.2, 5e6)],
        )
    )
    jitter = {"kind": "exponential", "mean_s": 0.002}
    lossy = {"loss": {"kind": "bernoulli", "probability": 0.1}, "jitter": jitter}
    bursty = {"loss": {"kind": "gilbert-elliott", "enter": 0.05, "leave": 0.25}}
    codel = {"aqm": "codel", "label": "back"}
    links = {
        "left -> right": {"rate": there, "wire": lossy},
        "right -> left": {
            "rate": back,
            "discipline": codel,
            "queue": {"limit": 30},
            "wire": bursty | changes,
        },
    }
    two_way = TABLE["topology"] | {"two_way": True, "rate_bps": 5e6}
    return scenario(topology=two_way, flows=flows, links=links, queue={"limit": 40}, warm_up_s=0)


@needs_qdiscs
@pytest.mark.parametrize("world", ["kernel", "twin"])
def test_each_direction_has_a_discipline_a_rate_and_a_wire_of_its_own(world):
    given = own_links(reorder=True, jitter={"kind": "constant", "mean_s": 0.001})
    ours = simulate(given)
    found = sg.compare(given, world=world).records[0]
    assert [port.own_discipline for port in found.ports] == [None, "back"]
    for port, beside in zip(found.ports, ours.ports, strict=True):
        # of 1000 packets that come and some 800 that leave
        for name, most in (("loss_ratio", 0.01), ("queue_mean", 0.8)):
            off = abs(port.measures[name].value - beside.measures[name].value)
            assert off < most, (port.name, name, off)
        # each change is made: from when both are busy on, they send the same; tbf lends packets
        off = (port.rows("sent_bytes") - beside.rows("sent_bytes"))[:, 10:] / 1500
        assert np.ptp(off) <= 5, (port.name, off)
    sent = [port.rows("sent_bytes").max() / 1500 for port in found.ports]
    shares = 0.1, 0.05 / 0.3
    # of a chain of two states, whose second eigenvalue is 0.7
    deviations = [
        math.sqrt(p * (1 - p) * more / n)
        for p, more, n in zip(shares, (1, 1.7 / 0.3), sent, strict=True)
    ]
    for wire, share, deviation in zip(found.wires, shares, deviations, strict=True):
        lost = wire.measures["wire_loss_ratio"].value
        assert abs(lost - share) < 4.42 * deviation, (wire.name, lost)
        # netem does not tell which packets it let overtake
        assert "wire_reordered_ratio" not in wire.measures
    with pytest.raises(SluiceError, match="wire_reordered_ratio is unknown: netem does not tell"):
        found["wire_reordered_ratio"]
    arrived = found.flows["packets"].to_list()
    # what is on the wire or in its delays at the end: 6 Mbit/s for 40 ms are 20 packets
    for got, left, share, deviation in zip(arrived, sent, shares, deviations, strict=True):
        assert abs(got / left - (1 - share)) < 4.42 * deviation + 20 / left, (got, left)


@needs_compiler
def test_both_kinds_of_here_have_names_that_the_kernel_takes(monkeypatch):
    # the last process id of Linux (PID_MAX_LIMIT)
    monkeypatch.setattr(os, "getpid", lambda: 4_194_304)
    given = own_links()
    kinds = {
        Kernel(here=True).layer(given, given.disciplines[0], link)(1).words.split()[0]
        for link in LINKS.values()
    }
    assert len(kinds) == 2
    # IFNAMSIZ, with a 0 at the end
    assert all(len(kind) < 16 for kind in kinds), kinds
