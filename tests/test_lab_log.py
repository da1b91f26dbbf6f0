"""Qdiscs of ours in the laboratory ask their AQMs what the engine's queue asks them, for the same
arrivals and the same random words, and do what it does: `gate/tests/kernel_log.rs` compares.

`SLUICE_EVERY_QDISC=1` has every AQM compared with every victim, and in flow queues (some
minutes); without it a few of them are.
"""

import csv
import json
import os
import re
import subprocess
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import lab_acks
import lab_flows
import lab_traffic_classes
import pytest
from kernel_needs import needs_qdiscs
from lab_headers import with_header
from test_lab import c_program

import sluicegate as sg
from sluicegate import network
from sluicegate.daemon import compiled, sluiced
from sluicegate.lab import image, kernel, machine
from sluicegate.toml import toml

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PACKETS = 1000
RATE, LIMIT = "20e6", "40"
VICTIMS = ("tail", "front", "random")
SCHEDULERS = ("fq", "drr", "sfq")
# parameters with which an AQM has something to do in a second
RED = "min_th=3,max_th=20,max_p=0.3,w=0.02"
PRESETS = ("gentle_red", "dsred", "nlred", "redwm", "lpf_oda")
BUSY = {
    **dict.fromkeys(("red", "gentle_red", "redwm", "lpf_oda", "choke", "fred"), RED),
    **dict.fromkeys(("dsred", "nlred"), "min_th=3,max_th=20,w=0.02"),
    "ared": "min_th=3,max_th=20,w=0.02,interval=0.05",
    "self_configuring_red": RED,
    "codel": "target=0.001,interval=0.01",
    "pie": "target=0.001,t_update=0.002,max_burst=0,alpha=1,beta=1",
    "pi2": "target=0.001,t_update=0.002,beta=40,mtu_bytes=100",
    "dualpi2": "target=0.001,t_update=0.002,beta=40,mtu_bytes=100,classic_share=0.5,"
    "min_qlen_step=2",
    "cobalt": "target=0.001,interval=0.01,mtu_bytes=100,p_inc=0.05",
    "cake": "target=0.001,rtt=0.01,mtu_bytes=100",
}


@dataclass(frozen=True)
class Case:
    """A discipline as `sluiced` takes it, and perhaps a limit in bytes."""

    aqm: str
    victim: str
    scheduler: str = "fifo"
    ecn: bool = False
    limit_bytes: str = ""
    # as a user's header, which calls all by other names
    copied: bool = False
    # further parameters
    more: str = ""
    # of each class of service: its AQM, and its codepoints; the last one has all others
    classes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    # with a datagram of each traffic class at the end
    traffic_classes: bool = False

    @property
    def words(self):
        params = [each for each in (BUSY.get(self.aqm), self.more) if each]
        queue = [f"victim={self.victim}", f"scheduler={self.scheduler}"] + ["ecn=true"] * self.ecn
        return ",".join(params + queue)

    @property
    def scenario(self):
        """What has its classes, which no option can give; quanta differ."""
        classes = [
            {"aqm": aqm, "dscp": list(dscps), "params": params_of(aqm)}
            for aqm, dscps in self.classes
        ]
        if self.scheduler in ("ets", "wf2q"):
            for number, each in enumerate(classes[1:]):
                each["quantum_bytes"] = 700 << number
        return {
            "topology": {"kind": "dumbbell", "rate_bps": float(RATE), "client_delays_s": [0.001]},
            "flows": [{"kind": "datagrams", "rate_bps": 1e6, "packet_bytes": 500}],
            "queue": {"limit": int(LIMIT), "victim": self.victim, "ecn": self.ecn},
            "disciplines": [
                {"aqm": self.aqm, "scheduler": {"kind": self.scheduler}, "classes": classes}
            ],
            "duration_s": 1,
        }

    @property
    def named(self):
        return "/lab/mine.h" if self.copied else self.aqm

    @property
    def object(self):
        name = "mine" if self.copied else "-".join(self.aqms)
        return f"lab/{name}.{self.scheduler}.o"

    @property
    def aqms(self):
        return [aqm for aqm, _ in self.classes] or [self.aqm]


def params_of(aqm):
    """Those of `BUSY`, as a scenario has them."""
    parts = [part.split("=") for part in BUSY.get(aqm, "").split(",") if part]
    return {name: value if value.isalpha() else float(value) for name, value in parts}


# one kind of AQM; and several, which look at departures, at flows and at candidates, and tick
EF, CS6, LOW, REST = (46,), (48,), (8, 10), ()
CLASSES = [
    Case("drop_tail", "front", "prio", True, classes=(("red", EF), ("red", LOW), ("red", REST))),
    Case(
        "drop_tail",
        "random",
        "ets",
        True,
        classes=(("pie", EF), ("choke", CS6), ("codel", LOW), ("fred", REST)),
    ),
]
CLASSES.append(replace(CLASSES[1], scheduler="wf2q"))
# tins by weight and by rate, more flows than queues, hosts; slower than the link or not
CAKES = [
    "diffserv=diffserv8,isolation=flows,queues=8",
    "diffserv=diffserv4,isolation=triple_isolate,rate_bps=8e6,overhead_bytes=38,framing=atm",
    "diffserv=besteffort,isolation=dual_dsthost,rate_bps=12e6,ingress=true",
]
# with both likes and both schedulers, at a link of few packets
COUPLED = [
    Case("dualpi2", "tail", ecn=True, traffic_classes=True),
    Case("dualpi2", "front", ecn=True, more="like=rfc,order=shifted,shift=0.002"),
    Case("cake", "front", ecn=True, more=CAKES[0], traffic_classes=True),
    *(Case("cake", "front", ecn=True, more=more) for more in CAKES[1:]),
]
FEW = [
    *COUPLED,
    *CLASSES,
    Case("drop_tail", "random", limit_bytes="12000"),
    Case("choke", "tail", copied=True),
    # it asks for the bytes of all queues, at a departure from one of them
    Case("codel", "front", "fq", ecn=True, more="like=linux,sqrt=newton"),
    Case("pie", "random", "drr", ecn=True),
    Case("blue", "tail", "sfq"),
    Case("rem", "front", ecn=True, limit_bytes="15000"),
    # the one whose functions take most stack
    Case("fred", "random", ecn=True),
]
# of qdisc_packets.c
FLOWS = 12


def every_case():
    """Each AQM with each victim, presets of RED with one of them, and each AQM in flow queues."""
    yield Case("choke", "tail", copied=True)
    yield from COUPLED
    yield from CLASSES
    one_lane = [name for name, aqm in sg.aqms().items() if not aqm.coupled]
    for number, aqm in enumerate(one_lane):
        for place, victim in enumerate(VICTIMS):
            kind = (number + place) % 3
            if aqm in PRESETS and kind:
                continue
            yield Case(aqm, victim, ecn=number % 2 == 0, limit_bytes="15000" if kind == 1 else "")
            if kind == 0 and aqm not in PRESETS:
                yield Case(aqm, victim, SCHEDULERS[number % 3], ecn=number % 2 == 1)


SCRIPT = """
set -e
modprobe -a dummy veth
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
for number in 0 1 2; do
    ip link add out$number type dummy
    ip link set out$number up
    ip address add 10.9.$number.1/24 dev out$number
    ip neighbour add 10.9.$number.2 lladdr 02:00:00:00:00:02 dev out$number
done
ip netns add next
ip netns exec next sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.default.disable_ipv6=1
ip link add hop type veth peer name in netns next
ip -n next link add away type dummy
for each in in away; do ip -n next link set $each up; done
ip -n next address add 10.7.1.1/24 dev in
ip -n next address add 10.7.0.1/24 dev away
ip -n next neighbour add 10.7.0.2 lladdr 02:00:00:00:00:02 dev away
ip link set hop up
ip address add 10.7.1.2/24 dev hop
ip route add 10.7.0.0/24 via 10.7.1.1
"""
# marks are counted and logged where they are decided; none has to arrive anywhere
EACH = """
sluiced qdisc install k {discipline} --rate {rate} --limit {limit} \\
    {limit_bytes} --seed {seed} --marks-at out0 --log {log_mb} --object /{object}
tc qdisc add dev out0 root k
/lab/packets {packets} {seed} 10.9.0.2
sleep 1
{more}
sluiced qdisc log k >/out/{seed}.csv
tc qdisc del dev out0 root
sluiced qdisc remove k
"""
# one object as two kinds of unlike parameters, one of them before two links; all at work at once
TOGETHER = """
sluiced qdisc install k --aqm '{words}' --rate 20e6 --limit 40 --log 4 --object /{object}
sluiced qdisc install l --aqm '{others}' --rate 8e6 --limit 60 --log 4 --object /{object}
tc qdisc add dev out0 root k
tc qdisc add dev out1 root k
tc qdisc add dev out2 root l
/lab/packets {packets} 1 10.9.0.2 &
first=$!
/lab/packets {packets} 2 10.9.1.2 &
second=$!
/lab/packets {packets} 3 10.9.2.2
wait $first $second
sleep 1
for kind in k l; do sluiced qdisc log $kind >/out/{name}.$kind.csv; done
for number in 0 1 2; do tc qdisc del dev out$number root; done
sluiced qdisc remove k
sluiced qdisc remove l
"""
# a daemon at work: a class may get other parameters, but no other AQM
AT_WORK = """
cp /lab/classes.toml /tmp/classes.toml
sluiced run --backend kernel --interface out0 --marks-at out1 --object /lab/classes.o \\
    --scenario /tmp/classes.toml --json /out/classes.json >/out/classes.told 2>&1 &
daemon=$!
told() {{ until grep -q "$1" /out/classes.told; do kill -0 $daemon; sleep 0.1; done; }}
told ^ready
/lab/packets {packets} 1 10.9.0.2
cp /lab/others.toml /tmp/classes.toml
kill -HUP $daemon
told reloaded:
/lab/packets {packets} 2 10.9.0.2
cp /lab/swapped.toml /tmp/classes.toml
kill -HUP $daemon
told 'old settings stay'
kill -TERM $daemon
wait $daemon
"""
# the first kind's, and the parameters of the second
# two links in a row, whose AQMs mark: the second gets what the first has marked
ROW = """
sluiced qdisc install k --aqm '{first}' --rate 20e6 --limit 40 --log 4 --object /{objects[0]} \\
    --marks-at next/in
sluiced qdisc install l --aqm '{second}' --rate 10e6 --limit 60 --log 4 --object /{objects[1]} \\
    --marks-at out0
tc qdisc add dev hop root k
tc -n next qdisc add dev away root l
/lab/packets {packets} 7 10.7.0.2
sleep 1
for kind in k l; do sluiced qdisc log $kind >/out/{name}.$kind.csv; done
tc qdisc del dev hop root
tc -n next qdisc del dev away root
sluiced qdisc remove k
sluiced qdisc remove l
"""
PAIRS = [
    (Case("red", "tail"), "min_th=5,max_th=40,max_p=0.1,w=0.05"),
    (Case("pie", "tail"), "target=0.004,t_update=0.003,max_burst=0,alpha=0.5,beta=1"),
    (Case("red", "tail", "fq"), "min_th=5,max_th=40,max_p=0.1,w=0.05"),
]
ROWS = [
    (Case("red", "tail", ecn=True), Case("red", "tail", ecn=True)),
    (Case("red", "front", ecn=True), Case("codel", "front", "fq", ecn=True)),
]


def copy(case, folder):
    """Its header under another name, and with another name for the view."""
    text = (ROOT / "aqm" / f"{case.aqm}.h").read_text()
    for name, other in ((case.aqm, "mine"), (case.aqm.upper(), "MINE"), (r"\bview\b", "v")):
        text = re.sub(name, other, text)
    header = folder / "mine.h"
    header.write_text(text)
    files, made = with_header(header, folder, "--log")
    return {"lab/mine.h": text.encode(), case.object: made, **files}


def at_work(case):
    """The files of `AT_WORK`: a discipline, other parameters of a class, and two AQMs swapped."""
    discipline = case.scenario["disciplines"][0]
    pie, choke, codel, fred = discipline["classes"]
    others = {"min_th": 1, "max_th": 2, "max_p": 1}

    def aqm_of(given):
        return {key: given[key] for key in ("aqm", "params")}

    files = {"lab/classes.o": compiled(case.aqms[0], scheduler=case.scheduler, also=case.aqms[1:])}
    for name, classes in (
        ("classes", [pie, choke, codel, fred]),
        ("others", [pie, choke, codel, {**fred, "params": others}]),
        ("swapped", [pie | aqm_of(codel), choke, codel | aqm_of(pie), fred]),
    ):
        table = case.scenario | {"disciplines": [discipline | {"classes": classes}]}
        files[f"lab/{name}.toml"] = toml(network.NetworkScenario.parse(table).table()).encode()
    return files


def logs_of(cases, folder, *, packets=PACKETS, first_seed=0, log_mb=4):
    """What leaves a log of each case in `/out`: the script and the files of the image.

    The folder gets the words that say what each log is of.
    """
    script = SCRIPT
    files = {"lab/packets": c_program(folder, "tests/qdisc_packets.c")}
    for seed, case in enumerate(cases, start=first_seed):
        files |= copy(case, folder) if case.copied else {}
        files[case.object] = files.get(case.object) or compiled(
            case.aqms[0], scheduler=case.scheduler, also=case.aqms[1:], log=True
        )
        named, discipline = f"{case.aqm}:{case.words}", f"--aqm '{case.named}:{case.words}'"
        if case.classes:
            named, discipline = f"{seed}.toml", f"--scenario /lab/{seed}.toml"
            text = toml(network.NetworkScenario.parse(case.scenario).table())
            (folder / named).write_text(text)
            files[f"lab/{named}"] = text.encode()
        script += EACH.format(
            discipline=discipline,
            rate=RATE,
            limit=LIMIT,
            limit_bytes=f"--limit-bytes {case.limit_bytes}" if case.limit_bytes else "",
            seed=seed,
            packets=packets,
            log_mb=log_mb,
            more=lab_traffic_classes.SCRIPT if case.traffic_classes else "",
            object=case.object,
        )
        words = [named, RATE, LIMIT, case.limit_bytes]
        (folder / f"{seed}.link").write_text("".join(f"{word}\n" for word in words))
    return script, files


def boot(script, files, folder):
    """Runs a script in the laboratory, and puts its logs into the folder."""
    programs = ["ip", "tc", sluiced()]
    modules = ["dummy", "veth", "sch_cake"]
    booted = image.build(kernel.find(), script, programs=programs, modules=modules, files=files)
    result = machine.run(kernel.find(), booted, patience_s=3600)
    assert result.status == 0, result.stderr.decode()
    for name, log in result.files.items():
        (folder / name).write_bytes(log)


def compared(folder):
    """What the comparison with the engine's queue says of the logs in a folder."""
    features = ["--workspace", "--features", "sluice-gate/kernel"]
    command = ["cargo", "test", "--locked", *features, "--test", "gate", "kernel_log::"]
    done = subprocess.run(
        [*command, "--", "--ignored", "--nocapture"],
        cwd=ROOT,
        env=os.environ | {"SLUICE_LOGS": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def bring_logs(cases, folder):
    """Leaves a log of each case, and those of several qdiscs at once, in a folder."""
    script, files = logs_of(cases, folder)
    for case, params in PAIRS:
        name, words = f"{case.aqm}.{case.scheduler}", f"{case.aqm}:{case.words}"
        files[case.object] = compiled(case.aqm, scheduler=case.scheduler, log=True)
        others = words.replace(BUSY[case.aqm], params)
        script += TOGETHER.format(
            words=words, others=others, name=name, packets=PACKETS, object=case.object
        )
        for kind, link in (("k", (words, "20e6", "40")), ("l", (others, "8e6", "60"))):
            lines = "".join(f"{word}\n" for word in (*link, ""))
            (folder / f"{name}.{kind}.link").write_text(lines)
    for cases in ROWS:
        name = ".".join(case.aqm for case in cases)
        for case in cases:
            files[case.object] = compiled(case.aqm, scheduler=case.scheduler, log=True)
        first, second = (f"{case.aqm}:{case.words}" for case in cases)
        objects = [case.object for case in cases]
        script += ROW.format(
            first=first, second=second, name=name, packets=PACKETS, objects=objects
        )
        for kind, link in (("k", (first, "20e6", "40")), ("l", (second, "10e6", "60"))):
            lines = "".join(f"{word}\n" for word in (*link, ""))
            (folder / f"{name}.{kind}.link").write_text(lines)
    cake = Case("cake", "front").object
    files["lab/acks"] = c_program(folder, "tests/ack_packets.c")
    files["lab/flows"] = c_program(folder, "tests/flow_packets.c")
    files["lab/classes"] = c_program(folder, "tests/traffic_classes.c")
    script += lab_acks.script(cake, folder) + lab_flows.script(cake, folder)
    files |= at_work(CLASSES[1])
    script += AT_WORK.format(packets=PACKETS)
    boot(script, files, folder)


@needs_qdiscs
def test_a_qdisc_asks_its_aqm_what_the_engines_queue_asks(tmp_path):
    cases = list(every_case()) if os.environ.get("SLUICE_EVERY_QDISC") else FEW
    bring_logs(cases, tmp_path)
    said = compared(tmp_path)
    print(said)
    alike = r"(\d+) calls alike, (\d+) of them decisions, (\d+) no admission"
    told = [line for line in said.splitlines() if ",rtt=4," not in line]
    found = re.findall(alike, "\n".join(told))
    assert len(found) == len(cases) + 3 * len(PAIRS) + 2 * len(ROWS)
    acks = len(lab_acks.CASES)
    assert len(re.findall(alike, said)) == len(found) + acks + len(lab_flows.FLOWS)
    read = re.findall(r"(\d+) ACKs read alike, (\d+) of them pure", said)
    assert len(read) == acks
    assert all(50 < int(pure) < int(all_of_them) - 50 for all_of_them, pure in read)
    print("ACKs removed as by Linux's own cake:", lab_acks.check(tmp_path))
    print("flows that share a lane as in Linux's own cake:", lab_flows.check(tmp_path))
    late = re.findall(r"(\d+) of them late after a drop at departure", said)
    assert sum(map(int, late)) > 20
    counts = [tuple(map(int, each)) for each in found]
    assert all(calls >= decisions for calls, decisions, _ in counts)
    assert min(others for *_, others in counts) > 20
    # a second link in a row gets what the first has not lost
    few = [decisions for _, decisions, _ in counts if decisions < PACKETS]
    assert len(few) <= len(ROWS)
    assert all(decisions > PACKETS / 2 for decisions in few)
    for number, case in enumerate(cases):
        if case.traffic_classes:
            lab_traffic_classes.check(case.aqm, arrivals(rows(tmp_path / f"{number}.csv")))
    check_each_flow_has_a_hash_of_its_own(cases, tmp_path)
    check_links_were_at_work_at_once(tmp_path)
    check_marked_packets_can_be_marked_again(tmp_path)
    check_classes_at_work_get_other_parameters_and_no_other_aqm(tmp_path)


def check_classes_at_work_get_other_parameters_and_no_other_aqm(folder):
    told = (folder / "classes.told").read_text()
    assert "it is pie, choke, codel, fred, and end sluiced before it is codel, choke, pie" in told
    (counts,) = json.loads((folder / "classes.json").read_text())
    assert counts["arrivals"] == 2 * PACKETS == counts["sent"] + counts["lost"]


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def check_links_were_at_work_at_once(folder):
    for case, _ in PAIRS:
        links = [row["link"] for row in rows(folder / f"{case.aqm}.{case.scheduler}.k.csv")]
        assert sum(one != other for one, other in pairwise(links)) > 100


def check_marked_packets_can_be_marked_again(folder):
    """Those that came marked to the first link, and to the second from there."""
    for cases in ROWS:
        name = ".".join(case.aqm for case in cases)
        first, second = (rows(folder / f"{name}.{kind}.csv") for kind in "kl")
        capable = {row["packet"] for row in arrivals(first) if row["ecn_capable"] == "1"}
        sent = {row["packet"] for row in first if row["event"] == "send"}
        came = [row for row in arrivals(second) if row["ecn_capable"] == "1"]
        assert len(came) == len(capable & sent)
        assert sum(row["verdict"] == "MARK" for row in first) > 20
        assert sum(row["verdict"] == "MARK" for row in second) > 20
        # flows of qdisc_packets.c: one of three has ECT or CE
        assert len(capable) > PACKETS / 3


def arrivals(log):
    return [row for row in log if row["event"] == "arrive"]


def check_each_flow_has_a_hash_of_its_own(cases, folder):
    """Where an AQM that looks at flows is a user's."""
    copies = [number for number, case in enumerate(cases) if case.copied]
    for number in copies:
        arrivals = (row for row in rows(folder / f"{number}.csv") if row["event"] == "arrive")
        hashes = {row["flow_hash"] for row in arrivals}
        assert "0" not in hashes
        assert len(hashes) == FLOWS
