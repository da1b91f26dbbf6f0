"""The worlds `kernel` and `twin`: what is run is skipped where there is no laboratory."""

import json
import os
import pickle
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from kernel_needs import needs_compiler, needs_lab, needs_qdiscs
from test_kernel_bands import check_bands
from test_rows import scenario as row_scenario

import sluicegate as sg
from sluicegate.daemon import compiled, sluiced
from sluicegate.errors import SluiceError
from sluicegate.lab import image, kernel, machine, python
from sluicegate.lab.testbed import INSIDE, LabTestbed
from sluicegate.report.tables import record_rows
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.addresses import DATAGRAM_PORT
from sluicegate.testbed.check import missing, namespace_needs
from sluicegate.testbed.here import missing_here
from sluicegate.testbed.outcome import Seen
from sluicegate.testbed.packets import PACKET
from sluicegate.testbed.run import entrance
from sluicegate.worlds import Kernel, Twin
from sluicegate.worlds.kernel.begun import begun
from sluicegate.worlds.kernel.links import before
from sluicegate.worlds.kernel.measure import _known
from sluicegate.worlds.kernel.own import own
from sluicegate.worlds.kernel.plan import Layer, first_router, lab_plan
from sluicegate.worlds.kernel.runs import AROUND
from sluicegate.worlds.kernel.seen import LinkSeen, reasons_of
from sluicegate.worlds.network import simulate
from sluicegate.worlds.real.layout import layout
from sluicegate.worlds.real.plan import in_a_row
from sluicegate.worlds.real.varying import BACK, LINK, Rates

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
    # a mark that was set as the packet came is that of a router before, where marks are set behind
    one_band = {"band_of": np.zeros(256, dtype=np.int64), "bands": 1}
    second = LinkSeen(Seen(came, left, sampled_ns, told), marks_behind=True, **one_band)
    (band,) = second.bands(0, 30_000_000, 1e6)
    assert [each.verdicts[4] for each in (second.tally(0, 30_000_000, 1e6), band)] == [0, 0]


def test_a_link_with_one_rate_from_the_start_on_does_not_vary():
    # so that its qdisc lets packets go as that of any link of constant rate does
    steps = {"kind": "steps", "steps": [{"time_s": 0, "rate_bps": 1e6}]}
    given = scenario(topology=TABLE["topology"] | {"two_way": True}, links={BACK: {"rate": steps}})
    alone, _ = before(given, given.disciplines[0], BACK)
    assert (alone.topology.rate_bps, alone.links) == (1e6, {})
    there, _ = before(given, given.disciplines[0], LINK)
    assert there.topology.rate_bps == given.topology.rate_bps


def test_packets_that_a_qdisc_keeps_leave_as_their_transmission_begins():
    # 1250 bytes take 10 ms, from 20 ms on 40 ms
    steps = Rates(np.array([20_000_000]), np.array([1e6, 0.25e6]))
    came = rows((0, 1, 0, 1250), (5, 2, 0, 1250), (5, 3, 0, 1250), (90, 4, 0, 1250))
    # the third would have begun at 18 ms, before the end of the second, and the last one before it
    # came: the rate was seen late
    left = rows((10, 1, 0, 1250), (20, 2, 0, 1250), (52, 3, 0, 1250), (129, 4, 0, 1250))
    start_ns = 10**9
    for each in (came, left):
        each["time_ns"] += start_ns
    found = begun(Seen(came, left, np.zeros(0, np.int64), ""), steps, start_ns)
    assert (found.left["time_ns"] - start_ns).tolist() == [0, 10_000_000, 20_000_000, 90_000_000]
    assert found.left["number"].tolist() == [1, 2, 3, 4]


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
        counted = SimpleNamespace(reasons_known=known, queue_known=True, marks_known=True)
        return SimpleNamespace(ports=[counted], bands=[[]])

    runs = [SimpleNamespace(periods=[part(warm_up), part(rest)])]
    record = _known(found, runs, "no reason told", [[]])
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


LOSS = {"kind": "bernoulli", "probability": 0.1}


@needs_qdiscs
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"topology": {"kind": "star"}},
            "topology.kind = star must be dumbbell, or one or two queues in a row: the laboratory",
        ),
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


def test_what_is_asked_of_the_kernel_is_what_the_scenario_says():
    def asked(**tcp):
        given = scenario(flows=[{"kind": "tcp", "tcp": {**TCP, **tcp}}])
        layer = Layer("pfifo", False)
        planned = lab_plan(given, given.disciplines[0], 0, layer, None)
        return [host.ecn for host in planned.job.hosts]

    assert asked() == [0, 0]
    assert asked(ecn=True) == [1, 1]
    assert asked(ecn=True, accurate_ecn=True) == [3, 3]


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


# one run for several tests' sake, as each boots a machine of its own
@needs_qdiscs
def test_a_scenario_runs_in_the_laboratory_and_its_record_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_RUNS", str(tmp_path))
    groups = [
        {
            "kind": "tcp",
            "source": client,
            "sink": f"server{client[-1]}",
            "tcp": {**TCP, "like": "linux", "congestion_control": name},
        }
        for client, name in (("client0", "bbr"), ("client1", "cubic"))
    ]
    datagrams = {"kind": "datagrams", "rate_bps": 4e5, "gaps": "constant", "packet_bytes": 500}
    one = scenario(
        flows=[*groups, datagrams],
        topology=TABLE["topology"] | {"client_delays_s": [0.001, 0.005]},
        # 20 packets and some acknowledgements
        queue={"limit": 60, "limit_bytes": 30_000},
    )
    alone = sg.compare(one, world="kernel").records[0]
    assert sg.compare(one, world="kernel").records[0].identity == alone.identity
    check_nothing_is_lost_between_counts(alone)
    assert 15 < alone.ports[0].series["queue"].max() <= 40
    check_each_group_has_its_own_congestion_control(alone)


def check_each_group_has_its_own_congestion_control(record):
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
def test_a_scenario_repeats_to_the_byte_whatever_else_the_machine_does():
    """Two at once, and a program that never rests: without the lock of recording some part."""
    found = scenario(duration_s=1.0)
    layer = own(found, found.disciplines[0])(1)
    planned = lab_plan(found, found.disciplines[0], 0, layer, None)
    bed = LabTestbed.of(kernel.find(), programs=layer.programs, modules=["tcp_cubic"])
    # it takes what the others leave, which is a processor whenever they wait
    busy = subprocess.Popen(["nice", "-n", "19", "sh", "-c", "while :; do :; done"])
    try:
        with ThreadPoolExecutor(2) as pool:
            runs = [
                pool.submit(bed.run, planned.job, seed=1, ended=threading.Event()) for _ in range(2)
            ]
            first, other = (run.result() for run in runs)
    finally:
        busy.kill()
        busy.wait()
    assert len(first.seen[0].left) > 500
    assert pickle.dumps(other) == pickle.dumps(first)


@needs_qdiscs
def test_marks_and_flow_queues_run_in_the_laboratory(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_RUNS", str(tmp_path))
    fq_codel = {"aqm": "codel", "victim": "front", "scheduler": {"kind": "fq", "queues": 64}}
    marks = {"params": {"target": 0.002, "interval": 0.02}, "ecn": True}
    tcp = {**TCP, "congestion_control": "reno", "ecn": True, "accurate_ecn": True}
    flows = [{"kind": "tcp", "count": 2, "tcp": tcp}]
    record = sg.compare(
        scenario(flows=flows, disciplines=[fq_codel | marks]), world="kernel"
    ).records[0]
    check_nothing_is_lost_between_counts(record, datagrams=False)
    assert record["mark_ratio"].value > 0.005
    assert record["loss_ratio"].value == 0
    # accurate feedback tells the number of marks: classic feedback repeats a mark on all ACKs of a
    # round trip; some marks are still on their way
    last = record.connections.group_by("flow").agg(pl.col("delivered_ce").last())
    arrivals = record.ports[0].rows("arrivals")[0, -1]
    marked = record.whole["mark_ratio"].value * arrivals
    assert last["delivered_ce"].sum() == pytest.approx(marked, abs=4)
    assert marked > 4


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
    check_bands(records[0], "class 1", "class 2", call_bps=400e3)
    assert 0.4 < records[1]["utilization"].value < 0.51


@needs_compiler
def test_only_classes_of_service_have_several_aqms():
    with pytest.raises(SluiceError, match="--also takes a --scheduler with classes of service"):
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
    jobs = pickle.load(file)
done = [HereTestbed(undo).run(job, seed=1, ended=threading.Event()) for job, undo in jobs]
with open("/out/outcome", "wb") as file:
    pickle.dump(done, file)
"""


@needs_qdiscs
def test_what_runs_on_the_machine_itself_runs_on_that_of_the_laboratory():
    """The way of --here, on a kernel that has what it takes; nothing is left behind.

    What sets marks is at the hosts' ends of the links, found by the names of their namespaces.
    """
    found = scenario(duration_s=1.0, queue={"limit": 60, "ecn": True})
    layer = own(found, found.disciplines[0], kind="sluice42")(1)
    planned = lab_plan(found, found.disciplines[0], 0, layer, None)
    modules = ["veth", "sch_netem", "sch_tbf", "sch_prio", "cls_u32", *AROUND]
    linux = kernel.find()
    booted = image.build(
        linux,
        f"modprobe -a {' '.join(modules)}\n"
        f"{python.COMMAND} /lab/here.py && ls /sys/fs/bpf/sluice && sluiced qdisc show sluice42",
        programs=["ip", "tc", "unshare", *layer.programs],
        modules=modules,
        files=python.files(
            *(f"sluicegate.testbed.{name}" for name in ("here", "bed", "row_bed")), *INSIDE
        )
        | {
            "lab/here.py": HERE.encode(),
            "lab/job": pickle.dumps([(planned.job, [layer.undo]), in_a_row_here()]),
        },
    )
    result = machine.run(linux, booted)
    assert result.stdout == b"\n", "nothing is missing, and no kind is left"
    assert "sluice42: there is no kind of that name" in result.stderr.decode()
    outcome, row = pickle.loads(result.files["outcome"])
    assert json.loads(outcome.router)["sent"] >= left_in_run(outcome, outcome.seen[0]) > 500
    check_both_routers_have_their_own(row)


def in_a_row_here():
    """The job of two qdiscs in a row that mark, and what undoes it."""
    marks = {"aqm": "red", "params": {"min_th": 2, "max_th": 15, "max_p": 0.5, "w": 0.1}}
    given = row_scenario(
        {"kind": "tcp", "count": 2, "source": "a", "sink": "b", "tcp": TCP | {"ecn": True}},
        {"kind": "datagrams", "rate_bps": 1e6, "packet_bytes": 1000, "source": "c", "sink": "b"},
        duration_s=1.0,
        warm_up_s=0.0,
        queue={"limit": 20, "ecn": True},
        disciplines=[marks | {"ecn": True}],
    )
    laid = layout(given, given.disciplines[0])
    last = laid.scenario, laid.discipline
    first, second = (
        Kernel().layer(*each, place=place)(1)
        for each, place in ((laid.first, "first"), (last, "second"))
    )
    planned = lab_plan(*last, 0, second, None)
    job = in_a_row(planned, first_router(planned, laid, first)).job
    return job, [first.undo, second.undo]


def left_in_run(outcome, seen):
    """Packets that left in the run, of a second; others may leave after the qdisc is asked."""
    return int((seen.left["time_ns"] < outcome.start_ns + 1_000_000_000).sum())


def check_both_routers_have_their_own(row):
    """Datagrams go around the first; the second gets TCP's data, too, and marks."""
    clients, datagrams, marks = row.hosts[0], [], []
    for seen, told in ((clients.seen[0], clients.router), (row.seen[0], row.router)):
        counts = json.loads(told)
        assert 100 < left_in_run(row, seen) <= counts["sent"]
        marks.append(counts["verdicts"]["MARK"])
        datagrams.append(int((seen.left["ports"] & 0xFFFF == DATAGRAM_PORT).sum()))
    assert marks[1] > 5
    # of 125 some are lost, as they cannot be marked
    assert datagrams[0] == 0
    assert 60 < datagrams[1] < 125


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
