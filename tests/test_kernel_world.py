"""The worlds `kernel` and `twin`: what is run is skipped where there is no laboratory."""

import errno
import json
import math
import os
import pickle
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from kernel_needs import needs_compiler, needs_lab, needs_qdiscs

import sluicegate as sg
from sluicegate.daemon import compiled, sluiced
from sluicegate.errors import SluiceError
from sluicegate.lab import image, kernel, machine, python
from sluicegate.lab.testbed import INSIDE, LabTestbed
from sluicegate.report.tables import record_rows
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed import changes as testbed_changes
from sluicegate.testbed import wire as testbed_wire
from sluicegate.testbed.changes import Changes
from sluicegate.testbed.check import missing, namespace_needs
from sluicegate.testbed.here import missing_here
from sluicegate.testbed.job import Change, Seen
from sluicegate.testbed.loop import Loop
from sluicegate.testbed.packets import PACKET
from sluicegate.testbed.qdiscs import _Sampler
from sluicegate.testbed.run import entrance
from sluicegate.worlds import Kernel, Twin
from sluicegate.worlds.kernel.measure import _known
from sluicegate.worlds.kernel.own import own
from sluicegate.worlds.kernel.plan import Layer, lab_plan
from sluicegate.worlds.kernel.refusals import _of_links
from sluicegate.worlds.kernel.seen import LinkSeen, WireSeen, reasons_of
from sluicegate.worlds.kernel.wire import wire_to
from sluicegate.worlds.network import simulate
from sluicegate.worlds.real.varying import LINKS, rates

pytestmark = pytest.mark.slow

TCP = {"packet_bytes": 1500, "ack_bytes": 52}
TABLE = {
    "topology": {
        "kind": "dumbbell",
        "rate_bps": 10e6,
        "delay_s": 0.018,
        "client_delays_s": [0.001],
        "server_delay_s": 0.001,
    },
    "flows": [{"kind": "tcp", "count": 2, "tcp": TCP}],
    "queue": {"limit": 60},
    "disciplines": [{"aqm": "drop_tail"}],
    "duration_s": 2.0,
    "warm_up_s": 0.5,
    "replications": 1,
    "seed": 1,
}


def scenario(**changes):
    return NetworkScenario.parse(TABLE | changes)


def rows(*packets):
    """Packets, each with its time in ms, number, type of service, and bytes."""
    found = np.zeros(len(packets), dtype=PACKET)
    for place, (time_ms, number, tos, size) in enumerate(packets):
        found[place]["time_ns"] = round(time_ms * 1e6)
        found[place]["number"], found[place]["tos"], found[place]["bytes"] = number, tos, size
    return found


def look(dropped, overlimits, waiting, kind="k"):
    """Return a look at a qdisc as `tc -j` tells it."""
    counts = {"drops": dropped, "overlimits": overlimits, "qlen": waiting}
    return json.dumps([{"kind": kind, "bytes": 0, **counts, "backlog": 99}]) + "\n"


def test_a_link_is_counted_from_its_packets_and_looks():
    # the second is lost; the number of the first comes again
    came = rows((0, 7, 2, 1250), (1, 8, 2, 1250), (2, 9, 2, 1250), (20, 7, 2, 1250))
    left = rows((4, 7, 2, 1250), (8, 9, 3, 1250), (21, 7, 2, 1250))
    sampled_ns = np.arange(4, dtype=np.int64) * 10**7
    told = "".join(look(*each) for each in [(0, 0, 0), (1, 0, 2), (1, 0, 1), (1, 0, 0)])
    link = LinkSeen(Seen(came, left, sampled_ns, told), marks_behind=False)
    assert link.sojourn_ns.tolist() == [4_000_000, 6_000_000, 1_000_000]
    tally = link.tally(0, 30_000_000, 1e6)
    assert (tally.arrivals, tally.served, tally.served_bytes) == (4, 3, 3750)
    assert tally.verdicts == [0, 1, 0, 0, 1, 0]
    assert tally.queue.tolist() == [10**7, 10**7, 10**7]
    assert tally.sojourn.sum == 11_000_000
    # each takes 10 ms
    assert (tally.delay.sum, tally.idle) == (41_000_000, 0)
    series = link.series(np.array([0, 15_000_000]))
    assert series.queue.tolist() == [0, 2]
    assert (series.arrivals[1], series.losses[1], series.sent_bytes[1]) == (3, 1, 2500)


def test_a_look_is_of_the_time_at_which_it_was_told(tmp_path, monkeypatch):
    """A program in place of tc is late by three looks; it tells when it answered."""
    stand_in = tmp_path / "tc"
    stand_in.write_text(
        f"#!{sys.executable} -S\n"
        "import sys, time\n"
        "for _ in sys.stdin:\n"
        "    time.sleep(0.03)\n"
        "    print(time.monotonic_ns(), flush=True)\n"
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    sampler = _Sampler("servers", time.monotonic_ns(), 10**7)
    time.sleep(0.5)
    sampled_ns, told = sampler.stop()
    told_ns = np.array([int(each) for each in told.splitlines()])
    assert len(sampled_ns) == len(told_ns) > 3
    assert (sampled_ns >= told_ns).all()
    assert np.median(sampled_ns - told_ns) < 5e6
    stand_in.write_text("#!/bin/sh\nread question; exit 3\n")
    with pytest.raises(SluiceError, match="tc -s -j -batch - ended with 3"):
        _Sampler("servers", time.monotonic_ns(), 10**7).stop()


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


@pytest.mark.parametrize("late_ms", [0, 3, 6])
def test_what_waits_at_a_time_is_what_the_nearest_look_saw(late_ms):
    # a look each 10 ms, a sample each 100 ms: as many packets wait as ms have passed
    looks_ms = np.arange(0, 500, 10) + late_ms
    told = "".join(look(0, 0, int(each)) for each in looks_ms)
    packets = rows((0, 1, 0, 100))
    link = LinkSeen(Seen(packets, packets, looks_ms * 10**6, told), marks_behind=False)
    times_ms = np.arange(100, 500, 100)
    waited = link.series(times_ms * 10**6).queue.astype(int)
    assert np.abs(waited - times_ms).max() <= 5


def test_the_last_of_several_qdiscs_is_that_with_the_discipline():
    shapers = json.loads(look(0, 0, 99, "tbf"))
    told = "".join(json.dumps([*shapers, *json.loads(look(k, 3 * k, k))]) + "\n" for k in range(3))
    packets = rows((0, 1, 0, 100))
    link = LinkSeen(Seen(packets, packets, np.arange(3) * 10**7, told), marks_behind=True)
    tally = link.tally(0, 20_000_000, 1e6)
    assert tally.queue.tolist() == [10**7, 10**7]
    # marks that are set behind the link are told as overlimits
    assert tally.verdicts[4] == 6


VERDICTS = {
    "ADMIT": 9,
    "DROP_EARLY": 0,
    "DROP_FORCED": 0,
    "DROP_OVERFLOW": 0,
    "MARK": 0,
    "DROP_BOTH": 0,
}


@pytest.mark.parametrize(
    ("drops", "lost", "known", "verdicts"),
    [
        ({}, 0, True, [0, 0, 0, 0, 0, 0]),
        # one reason only: whenever they were lost
        ({"DROP_OVERFLOW": 5}, 3, True, [0, 0, 0, 3, 0, 0]),
        # all of them, by their reasons
        ({"DROP_EARLY": 2, "DROP_BOTH": 1}, 3, True, [0, 2, 0, 0, 0, 1]),
        # some of them, and there were two reasons
        ({"DROP_EARLY": 4, "DROP_OVERFLOW": 1}, 3, False, [0, 3, 0, 0, 0, 0]),
    ],
)
def test_reasons_of_losses_are_known_or_said_not_to_be(drops, lost, known, verdicts):
    (reasons,) = reasons_of(json.dumps({"sent": 9, "verdicts": VERDICTS | drops}) + "\n")
    told = look(0, 0, 0) + look(lost, 0, 0)
    packets = rows((0, 1, 0, 100))
    link = LinkSeen(Seen(packets, packets, np.arange(2) * 10**7, told), False, reasons)
    tally = link.tally(0, 10_000_000, 1e6)
    assert (tally.reasons_known, tally.verdicts) == (known, verdicts)


def test_a_qdisc_of_linux_does_not_tell_why_it_drops():
    assert reasons_of("") == []
    packets = rows((0, 1, 0, 100))
    told = look(0, 0, 0) + look(2, 0, 0)
    link = LinkSeen(Seen(packets, packets, np.arange(2) * 10**7, told), False)
    assert not link.tally(0, 10_000_000, 1e6).reasons_known


@pytest.mark.parametrize(("warm_up", "rest"), [(True, True), (True, False), (False, False)])
def test_a_record_says_which_reasons_it_cannot_know(warm_up, rest):
    found = simulate(scenario(duration_s=1.0, warm_up_s=0.5))

    def part(known):
        return SimpleNamespace(ports=[SimpleNamespace(reasons_known=known)])

    record = _known(found, [SimpleNamespace(periods=[part(warm_up), part(rest)])], "no reason told")
    assert ("early_loss_ratio" in record.whole) == (warm_up and rest)
    for measures in (record.measures, record.ports[0].measures, record.replications.columns):
        assert ("early_loss_ratio" in measures) == rest
        assert "loss_ratio" in measures
    if not rest:
        with pytest.raises(SluiceError, match="early_loss_ratio is unknown: no reason told"):
            record["early_loss_ratio"]
        _, rows = record_rows(record, ["loss_ratio", "early_loss_ratio", "completion_mean"])
        assert [row[1] for row in rows][1:] == ["unknown", "n/a"]
        assert ["early_loss_ratio", "unknown", ""] in record_rows(record)[1]


def test_a_packet_that_comes_from_nowhere_is_told():
    with pytest.raises(SluiceError, match="1 packets left the router that had not come"):
        LinkSeen(
            Seen(rows((0, 1, 0, 9)), rows((1, 2, 0, 9)), np.arange(1), look(0, 0, 0)),
            marks_behind=False,
        )


LOG = """
import socket
from sluicegate.testbed.command import command
from sluicegate.testbed.packets import PacketLog
command("ip", "link", "set", "lo", "up")
logs = [PacketLog("lo", 10, leaving=leaving) for leaving in (True, False)]
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for size in (100, 200, 300):
    sender.sendto(bytes(size), ("127.0.0.1", 9))
print([log.rows()["bytes"].tolist() for log in logs])
for _ in range(9000):
    sender.sendto(b"", ("127.0.0.1", 9))
try:
    logs[0].rows()
except ValueError as error:
    print(error)
"""


def test_a_log_has_the_packets_of_its_direction_until_it_is_full():
    if lacking := missing(namespace_needs()):
        pytest.skip(f"no namespaces here: {lacking}")
    command = [*entrance(), sys.executable, "-c", LOG]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # without the answers that there is nobody: they are of another protocol
    sizes, full = done.stdout.splitlines()
    assert json.loads(sizes) == [[128, 228, 328]] * 2
    assert full.startswith("the log of the link lo had no room for ")


def test_each_client_has_its_delay_and_both_ways_the_discipline():
    topology = TABLE["topology"] | {"client_delays_s": [0.001, 0.05, 0.001], "two_way": True}
    found = scenario(topology=topology)
    job = lab_plan(found, found.disciplines[0], 0, Layer("pfifo limit 60", False), None).job
    lines = "\n".join(job.hosts[1].qdiscs)
    # each priority that packets may have goes to a band that there is
    assert f"prio bands 2 priomap {' '.join(['0'] * 16)}" in lines
    assert "1:1 netem delay 40000us" in lines
    assert "1:2 netem delay 138000us" in lines
    assert [line.split()[-1] for line in job.hosts[1].qdiscs[-3:]] == ["1:1", "1:2", "1:1"]
    disciplines = [words for words in map(" ".join, job.router.before) if "pfifo limit 60" in words]
    assert [words.split()[4] for words in disciplines] == ["servers", "clients"]
    assert job.router.towards == ("servers", "clients")


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
            assert told.startswith('links."left -> right".rate: it must be steps, a ramp')


def test_a_ramp_is_for_our_qdiscs_and_too_many_steps_for_linuxs_shaper():
    points = [{"time_s": 0.0, "rate_bps": 10e6}, {"time_s": 2.0, "rate_bps": 5e6}]
    given = scenario(links={"left -> right": {"rate": {"kind": "ramp", "points": points}}})
    assert not list(_of_links(given, "the laboratory", ours=True))
    (told,) = _of_links(given, "the laboratory", ours=False)
    # a packet at each of 200 changes, of 15 Mbit
    assert "it changes 200 times: Linux's tbf lends a packet at each change, 16%" in told
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


LOSS = {"kind": "bernoulli", "probability": 0.1}


@needs_qdiscs
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"topology": {"kind": "star"}}, "topology.kind = star must be dumbbell: the laboratory"),
        (
            {"links": {"client0 -> left": {"wire": {"loss": LOSS}}}},
            'links."client0 -> left".wire must be left out: in the laboratory only left -> right',
        ),
        ({"topology": TABLE["topology"] | {"rate_bps": 1e9}}, "83,333 packets/s must be at most"),
    ],
)
def test_what_a_qdisc_cannot_do_is_told_before_anything_boots(changes, told):
    with pytest.raises(SluiceError, match=told):
        sg.compare(scenario(**changes), world="kernel")


@needs_qdiscs
def test_a_congestion_control_that_the_kernel_lacks_is_told_with_those_it_has():
    with pytest.raises(SluiceError, match=r"none must be one .*: reno, cubic, bbr, "):
        sg.compare(scenario(), world=Kernel(congestion_control="none"))


@needs_qdiscs
def test_each_group_has_its_own_congestion_control():
    groups = [
        {
            "kind": "tcp",
            "source": client,
            "sink": f"server{client[-1]}",
            "tcp": {**TCP, "like": "linux", "congestion_control": name},
        }
        for client, name in (("client0", "bbr"), ("client1", "cubic"))
    ]
    two = TABLE["topology"] | {"client_delays_s": [0.001, 0.005]}
    record = sg.compare(scenario(flows=groups, topology=two), world="kernel").records[0]
    last = record.connections.sort("time_s").group_by("flow").last()
    of_bbr, of_cubic = last.sort("flow").iter_rows(named=True)
    # more than a third of the link's rate, beside one flow, and a gain of PROBE_BW or before
    assert 3.3e6 < of_bbr["rate_estimate_bps"] < 10.1e6
    assert of_bbr["pacing_gain"] in (739 / 256, 88 / 256, 1.25, 0.75, 1.0)
    assert of_bbr["pacing_rate_bps"] == pytest.approx(
        0.99 * of_bbr["pacing_gain"] * of_bbr["rate_estimate_bps"], rel=0.3
    )
    assert of_cubic["rate_estimate_bps"] is None
    assert of_cubic["pacing_gain"] is None
    for each, rtt_s in ((of_bbr, 0.04), (of_cubic, 0.048)):
        assert 0 < each["delivery_rate_bps"] < 20e6
        assert rtt_s <= each["min_rtt_s"] <= each["rtt_s"] + 1e-3


@needs_qdiscs
def test_accurate_feedback_tells_the_number_of_marks():
    tcp = {**TCP, "congestion_control": "reno", "ecn": True, "accurate_ecn": True}
    marking = [{"aqm": "codel", "ecn": True}]
    given = scenario(flows=[{"kind": "tcp", "count": 2, "tcp": tcp}], disciplines=marking)
    record = sg.compare(given, world="kernel").records[0]
    last = record.connections.group_by("flow").agg(pl.col("delivered_ce").last())
    arrivals = record.ports[0].rows("arrivals")[0, -1]
    marked = record.whole["mark_ratio"].value * arrivals
    # classic feedback repeats a mark on all ACKs of a round trip; some marks are still on their way
    assert last["delivered_ce"].sum() == pytest.approx(marked, abs=4)
    assert marked > 4


def test_what_is_asked_of_the_kernel_is_what_the_scenario_says():
    def asked(**tcp):
        given = scenario(flows=[{"kind": "tcp", "tcp": {**TCP, **tcp}}])
        layer = Layer("pfifo", False)
        planned = lab_plan(given, given.disciplines[0], 0, layer, None)
        return [host.ecn for host in planned.job.hosts]

    assert asked() == [0, 0]
    assert asked(ecn=True) == [1, 1]
    assert asked(ecn=True, accurate_ecn=True) == [3, 3]


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


def test_what_this_machine_lacks_for_here_is_told_with_what_brings_it():
    lacks = missing_here(ours=True)
    assert all(re.fullmatch(r"--here: .+: .+", line) for line in lacks.splitlines())
    if not lacks:
        pytest.skip("this machine lacks nothing")
    found = scenario()
    with pytest.raises(SluiceError, match=re.escape(lacks)):
        sg.compare(found, world=Kernel(here=True))


@pytest.mark.skipif(os.geteuid() != 0, reason="as root")
def test_a_kernel_without_bpf_qdiscs_is_told_by_all_that_would_use_one():
    words = "this kernel has no BPF qdiscs: they need Linux 6.16 or newer with CONFIG_NET_SCH_BPF"
    if words not in missing_here(ours=True):
        pytest.skip("this kernel has them, or sluiced is built without BPF")
    assert words not in missing_here(ours=False)
    queue = ["--aqm", "drop_tail", "--rate", "1e6", "--limit", "10"]
    for command in (["qdisc", "install", "mine"], ["run", "--backend", "kernel"]):
        more = ["--interface", "lo"] if command[0] == "run" else []
        done = subprocess.run(
            [sluiced(), *command, *more, *queue], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert words in done.stderr


@needs_lab
def test_a_twin_whose_module_is_missing_is_told():
    with pytest.raises(SluiceError, match=r"sch_nothing: Linux .* has no module of that name"):
        sg.compare(scenario(), world=Twin(qdisc="nothing limit 10"))


def test_the_laboratorys_python_is_the_same_bytes_in_every_process():
    code = (
        "import hashlib; from sluicegate.lab import archive, python; "
        "print(hashlib.sha256(archive.pack(python.files('json'))).hexdigest())"
    )
    runs = [
        subprocess.run([sys.executable, "-c", each + code], capture_output=True, check=True).stdout
        for each in ("", "import polars; ")
    ]
    assert runs[0] == runs[1]


@needs_compiler
def test_a_compiled_qdisc_is_the_same_bytes_every_time():
    assert compiled("drop_tail") == compiled("drop_tail")


@needs_qdiscs
def test_a_scenario_runs_in_the_laboratory_and_its_record_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_RUNS", str(tmp_path))
    flows = [
        {"kind": "tcp", "count": 2, "tcp": TCP},
        {"kind": "datagrams", "rate_bps": 4e5, "gaps": "constant", "packet_bytes": 500},
    ]
    # 20 packets and some acknowledgements
    one = scenario(flows=flows, queue={"limit": 60, "limit_bytes": 30_000})
    alone = sg.compare(one, world="kernel").records[0]
    assert sg.compare(one, world="kernel").records[0].identity == alone.identity
    check_nothing_is_lost_between_counts(alone)
    assert 15 < alone.ports[0].series["queue"].max() <= 40


@needs_qdiscs
def test_a_scenario_repeats_to_the_byte_whatever_else_the_machine_does():
    """Three at once, and a program that never rests: without the lock of recording some part."""
    found = scenario(duration_s=1.0)
    layer = own(found, found.disciplines[0])(1)
    planned = lab_plan(found, found.disciplines[0], 0, layer, None)
    bed = LabTestbed.of(kernel.find(), programs=layer.programs, modules=["tcp_cubic"])
    busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        with ThreadPoolExecutor(3) as pool:
            runs = [
                pool.submit(bed.run, planned.job, seed=1, ended=threading.Event()) for _ in range(3)
            ]
            first, *others = [run.result() for run in runs]
    finally:
        busy.kill()
        busy.wait()
    assert len(first.seen[0].left) > 500
    assert all(pickle.dumps(other) == pickle.dumps(first) for other in others)


@needs_qdiscs
def test_marks_and_flow_queues_run_in_the_laboratory(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_RUNS", str(tmp_path))
    fq_codel = {"aqm": "codel", "victim": "front", "scheduler": {"kind": "fq", "queues": 64}}
    marks = {"params": {"target": 0.002, "interval": 0.02}, "ecn": True}
    flows = [{"kind": "tcp", "count": 2, "tcp": TCP | {"ecn": True}}]
    record = sg.compare(
        scenario(flows=flows, disciplines=[fq_codel | marks]), world="kernel"
    ).records[0]
    check_nothing_is_lost_between_counts(record, datagrams=False)
    assert record["mark_ratio"].value > 0.005
    assert record["loss_ratio"].value == 0


@needs_qdiscs
def test_classes_of_service_and_cake_run_in_the_laboratory(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_RUNS", str(tmp_path))
    voice = {"kind": "datagrams", "label": "voice", "dscp": 46, "rate_bps": 400e3}
    flows = [
        voice | {"packet_bytes": 200},
        {"kind": "tcp", "label": "rest", "count": 4, "tcp": TCP},
    ]
    strict = {"aqm": "drop_tail", "dscp": [46]}
    shares = {"aqm": "codel", "params": {"target": 0.002, "interval": 0.02}, "quantum_bytes": 1500}
    classes = {"aqm": "red", "scheduler": {"kind": "ets"}, "classes": [strict, shares]}
    cake = {"aqm": "cake", "victim": "front", "ecn": True, "params": {"rate_bps": 5e6}}
    records = sg.compare(scenario(flows=flows, disciplines=[classes, cake]), world="kernel").records
    for record in records:
        # TCP's packets are lost, and none of the 250 a second that voice has
        assert record["loss_ratio"].value > 0.01
        assert record["datagram_goodput"].value == pytest.approx(250, rel=0.005)
    # CAKE has half of the link
    assert records[0]["utilization"].value > 0.8
    assert 0.4 < records[1]["utilization"].value < 0.51


@needs_compiler
def test_only_classes_of_service_have_several_aqms():
    with pytest.raises(SluiceError, match="--also takes --scheduler prio or ets"):
        compiled("red", scheduler="fq", also=["codel"])
    with pytest.raises(SluiceError, match="must be one of sfq, drr, fq, prio, ets"):
        compiled("red", scheduler="wrr")
    # whatever their order, and whether several classes have one
    same = compiled("codel", scheduler="ets", also=["gentle_red", "red"])
    assert compiled("red", scheduler="ets", also=["codel"]) == same


HERE = """
import pickle, threading
from sluicegate.testbed.here import HereTestbed, missing_here

print(missing_here(ours=True))
with open("/lab/job", "rb") as file:
    job, undo = pickle.load(file)
done = HereTestbed(undo).run(job, seed=1, ended=threading.Event())
with open("/out/outcome", "wb") as file:
    pickle.dump(done, file)
"""


@needs_qdiscs
def test_what_runs_on_the_machine_itself_runs_on_that_of_the_laboratory():
    """The way of --here, on a kernel that has what it takes; nothing is left behind."""
    found = scenario(duration_s=1.0)
    layer = own(found, found.disciplines[0], kind="sluice42")(1)
    planned = lab_plan(found, found.disciplines[0], 0, layer, None)
    linux = kernel.find()
    booted = image.build(
        linux,
        "modprobe -a veth sch_netem sch_tbf sch_prio cls_u32\n"
        f"{python.COMMAND} /lab/here.py && ls /sys/fs/bpf/sluice && sluiced qdisc show sluice42",
        programs=["ip", "tc", "unshare", *layer.programs],
        modules=["veth", "sch_netem", "sch_tbf", "sch_prio", "cls_u32"],
        files=python.files("sluicegate.testbed.here", "sluicegate.testbed.bed", *INSIDE)
        | {"lab/here.py": HERE.encode(), "lab/job": pickle.dumps((planned.job, [layer.undo]))},
    )
    result = machine.run(linux, booted)
    assert result.stdout == b"\n", "nothing is missing, and no kind is left"
    assert "sluice42: there is no kind of that name" in result.stderr.decode()
    outcome = pickle.loads(result.files["outcome"])
    assert len(outcome.seen[0].left) > 500
    assert json.loads(outcome.router)["sent"] >= len(outcome.seen[0].left)


def check_nothing_is_lost_between_counts(record, datagrams=True):
    series = record.ports[0].series
    last = series.row(-1, named=True)
    sent = last["arrivals"] - last["losses"] - last["queue"]
    # beside data there are SYNs and datagrams of other sizes; two looks may lie between
    assert record["utilization"].value > 0.5
    assert 0 < sent * 500 < last["sent_bytes"] + 30_000
    assert record["goodput"].value > 300
    if datagrams:
        assert record["datagram_goodput"].value == pytest.approx(100, rel=0.05)
