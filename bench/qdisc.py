"""What the verifier says of our qdiscs, and what they cost beside the kernel's of the same kind.

In the laboratory. How both do under TCP: `sluice compare --world kernel --world twin`.

    bench/qdisc.py verify            every AQM checked by the laboratory's verifier
    bench/qdisc.py cost              instructions per packet
    bench/qdisc.py page              writes the table of `verify` into the documentation

The first two need the laboratory's kernel: sluice lab --fetch.
"""

import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import sluicegate as sg
from sluicegate.daemon import compiled, sluiced
from sluicegate.errors import SluiceError
from sluicegate.lab import image, kernel, machine
from sluicegate.worlds.twin.qdisc import modules_of

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "qdisc.json"
PAGE = ROOT / "docs" / "background" / "kernel.md"
SCHEDULERS = ("fifo", "fq")
COST_RATE_BPS = 100e6
# The same weight, thresholds and limit for both. A TCP frame has 1514 bytes, so the kernel's limit
# and thresholds are 100, 20 and 60 of these. `burst 145` makes tc choose a weight of 2^-9.
RED = "red:min_th=20,max_th=60,max_p=0.1,w=0.001953125,mean_packet_bytes=1514"
KERNELS_RED = (
    "red limit 151400 min 30280 max 90840 avpkt 1514 burst 145 bandwidth 10mbit probability 0.1"
)


class Pair(NamedTuple):
    """An AQM of ours, its limit in packets, and the kernel's qdisc of its kind as tc takes it.

    A pair that shapes by itself needs no other shaper, and is not measured without one. With
    classes of service, the kernel's takes more lines of tc, for the link `out` and the handle 10.
    """

    aqm: str
    limit: int
    kernels: str
    scheduler: str = "fifo"
    shapes: bool = False
    classes: str = ""
    more: tuple[str, ...] = ()

    @property
    def whole(self):
        """Return the discipline with its parameters and scheduler, as `sluiced` takes it."""
        return f"{self.aqm}{',' if ':' in self.aqm else ':'}scheduler={self.scheduler}"


PAIRS = {
    "FIFO": Pair("drop_tail", 100, "pfifo limit 100"),
    "RED": Pair(RED, 100, KERNELS_RED),
    "CoDel": Pair("codel", 1000, "codel limit 1000 noecn"),
    # the kernel's PIE also takes the delay from timestamps by default
    "PIE": Pair("pie:delay=timestamps", 1000, "pie limit 1000 noecn"),
}
# two classes: voice, and all that is sent here
TO_LAST = f"priomap {' '.join(['1'] * 16)}"
CLASSES_BELOW = (
    "qdisc add dev out parent 10:1 handle 11: pfifo limit 1000",
    "qdisc add dev out parent 10:2 handle 12: codel limit 1000 noecn",
    "filter add dev out parent 10: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 10:1",
)
# measured shaped only; the kernel's cake counts memory: 2304 bytes for a datagram of 1042
OTHERS = {
    "DualPI2": Pair("dualpi2:ecn=true", 1000, "dualpi2 limit 1000"),
    "CAKE": Pair(
        f"cake:rate_bps={COST_RATE_BPS:.0f},victim=front,ecn=true",
        1000,
        f"cake bandwidth {COST_RATE_BPS:.0f}bit memlimit 2304000",
        shapes=True,
    ),
    "FQ-CoDel": Pair("codel:like=linux", 1000, "fq_codel limit 1000 noecn", scheduler="fq"),
    "FQ-PIE": Pair("pie:like=linux,delay=timestamps", 1000, "fq_pie limit 1000", scheduler="fq"),
    "SFB": Pair("sfb:ecn=true", 1000, "sfb limit 1000"),
    "PRIO": Pair(
        "codel",
        1000,
        f"prio bands 2 {TO_LAST}",
        scheduler="prio",
        classes='{ dscp = [46], aqm = "drop_tail" }, {}',
        more=CLASSES_BELOW,
    ),
    "ETS": Pair(
        "codel",
        1000,
        f"ets bands 2 strict 1 quanta 1514 {TO_LAST}",
        scheduler="ets",
        classes='{ dscp = [46], aqm = "drop_tail" }, { quantum_bytes = 1514 }',
        more=CLASSES_BELOW,
    ),
}


def lab():
    found = kernel.find()
    if found is None:
        sys.exit("the laboratory has no kernel: sluice lab --fetch")
    print(f"Linux {found.release}")
    return found


def verify():
    """Return the instructions verified of each AQM's qdisc, with one queue and with flow queues."""
    script, files = "", {}
    one_lane = [name for name, aqm in sg.aqms().items() if not aqm.coupled]
    for number, aqm in enumerate(one_lane):
        for scheduler in SCHEDULERS:
            files[f"lab/{aqm}.{scheduler}"] = compiled(aqm, scheduler=scheduler)
            script += (
                f"sluiced qdisc install {scheduler}{number} --aqm {aqm}:scheduler={scheduler} "
                f"--rate 10e6 --limit 100 --object /lab/{aqm}.{scheduler} | grep verifier\n"
            )
    linux = lab()
    booted = image.build(linux, script, programs=[sluiced()], files=files)
    result = machine.run(linux, booted, patience_s=3000)
    print((result.stdout + result.stderr).decode(), end="")
    found = {aqm: {} for aqm in one_lane}
    line = r"^(fifo|fq)\d+: (\w+);.* (\d+) instructions$"
    for scheduler, aqm, count in re.findall(line, result.stdout.decode(), re.MULTILINE):
        found[aqm][scheduler] = int(count)
    refused = [aqm for aqm, counts in found.items() if len(counts) < len(SCHEDULERS)]
    if refused:
        sys.exit(f"qdisc: the verifier has not taken {', '.join(refused)}")
    return found


COST = """
set -e
modprobe -a {modules}
ip link add out type dummy
ip link set out up
ip address add 10.9.0.1/24 dev out
ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev out
# a qdisc that marks wants a veth, whose other end sets the marks; none of these datagrams gets one
ip link add pair type veth peer name peer
# what was removed is freed in the background: not during a measurement
load() {{ sleep 2; /lab/load 15 1000 >/out/$1; tc -s -j qdisc show dev out >/out/$1.qdisc; }}
install() {{
    sluiced qdisc install k --aqm $2 --rate $RATE --limit $3 --object /lab/$1.o $4 $5 $6
}}
daemon() {{
    sluiced run --backend kernel --interface out --object /lab/$1.o --scenario /lab/$1.toml \\
        --json /tmp/$1.json >/tmp/told 2>&1 &
    until grep -q ^ready /tmp/told; do kill -0 $!; sleep 0.1; done
    load $2
    kill $!
    wait $!
}}
# the first seconds after the boot have work of their own
sleep 5
load none
"""
UNDER = f"tbf rate {COST_RATE_BPS:.0f}bit burst 3200 limit 100000000"
WHOSE = ("ours", "kernel", "daemon")


def scenario(pair):
    """Return a discipline and its link as a scenario for `sluiced run`."""
    aqm, _, params = pair.aqm.partition(":")
    values = (each.split("=") for each in filter(None, params.split(",")))
    words = (f"{name} = {value if value[0].isdigit() else repr(value)}" for name, value in values)
    return (
        f"duration_s = 10\nqueue = {{ limit = {pair.limit} }}\n"
        f'[topology]\nkind = "dumbbell"\nrate_bps = {COST_RATE_BPS:g}\ndelay_s = 0.01\n'
        'client_delays_s = [0.001]\nserver_delay_s = 0.001\n[[flows]]\nkind = "tcp"\ncount = 1\n'
        f'[[disciplines]]\naqm = "{aqm}"\nparams = {{ {", ".join(words)} }}\n'
        + f'scheduler = {{ kind = "{pair.scheduler}" }}\nclasses = [{pair.classes}]\n'
        * bool(pair.classes)
    )


def cost():
    """Print and return the instructions per packet that a qdisc adds.

    Qdiscs: ours, the kernel's, ours with a daemon.
    """
    linux = lab()
    parts = [
        *parts_of(PAIRS, WHOSE, ("shaped",)),
        *parts_of(PAIRS, WHOSE[:2], ("unshaped",)),
        *parts_of(OTHERS, WHOSE[:2], ("shaped",)),
    ]
    without, rows = cost_of(linux, parts)
    print(f"without a qdisc: {without:.0f} instructions per packet, all in all")
    print(f"{'':18}{'ours':>6}{'kernel':>8}{'daemon':>8}{'ratios':>13}   dropped")
    for name, row in rows.items():
        took, dropped = row["beyond"], row["dropped"]
        ratios = [took[whose] / took["kernel"] for whose in took if whose != "kernel"]
        print(
            f"{name:18}{took['ours']:6.0f}{took['kernel']:8.0f}"
            f"{took.get('daemon', math.nan):8.0f}"
            f"{'  '.join(f'{each:.2f}' for each in ratios):>13}   {list(dropped.values())}"
        )
    return {"without": without, "rows": rows}


def parts_of(pairs, whose, hows):
    """Return what `cost_of` is to measure of some pairs, each as a name, how, and whose."""
    return [(name, how, each) for name in pairs for how in hows for each in whose]


def cost_of(linux, parts):
    """Return the instructions per packet without a qdisc, and what qdiscs add, from one boot.

    15,000 datagrams of 1042 bytes in a second, 125 Mbit/s. *Shaped* to 100 Mbit/s: by our qdisc,
    alone or with `sluiced run`, or by tbf with the kernel's qdisc below it. *Not shaped*: on an
    interface that takes every packet at once. A daemon is measured shaped only.
    """
    modules = ["dummy", "veth", "sch_tbf"]
    names = list(dict.fromkeys(name for name, _, _ in parts))
    modules += [each for name in names for each in modules_of(pair_of(name).kernels)]
    modules += ["cls_u32", "sch_codel"]
    files = {"lab/load": load_program()}
    script = COST.format(modules=" ".join(modules)) + f"RATE={COST_RATE_BPS:g}\n"
    for name in names:
        pair = pair_of(name)
        also = ["drop_tail"] * bool(pair.classes)
        files[f"lab/{name}.o"] = compiled(pair.aqm, scheduler=pair.scheduler, also=also)
        if name in PAIRS or pair.classes:
            files[f"lab/{name}.toml"] = scenario(pair).encode()
    for name, how, each in parts:
        script += cost_part(f"{name}.{how}.{each}", pair_of(name))
    booted = image.build(
        linux, script, programs=["ip", "tc", sluiced()], modules=modules, files=files
    )
    result = machine.run(linux, booted, patience_s=3000)
    if result.status:
        raise SluiceError(result.stderr.decode())
    packets, instructions = (int(number) for number in result.files["none"].split())
    without = instructions / packets
    rows = {}
    for name, how, each in parts:
        sent, instructions = map(int, result.files[f"{name}.{how}.{each}"].split())
        told = result.files[f"{name}.{how}.{each}.qdisc"]
        row = rows.setdefault(f"{name} {how}", {"beyond": {}, "dropped": {}})
        row["beyond"][each] = instructions / sent - without
        # a class's own qdisc drops; those above it count some of that
        row["dropped"][each] = max(one["drops"] for one in json.loads(told))
    return without, rows


def pair_of(name):
    """Return a pair by its name."""
    return PAIRS.get(name) or OTHERS[name]


def cost_part(of, pair):
    """Return the script's lines that measure one qdisc; `of` is `NAME.HOW.WHOSE`."""
    name, how, whose = of.split(".")
    if whose == "daemon":
        return f"daemon {name} {of}\n"
    shaped = how == "shaped" and not pair.shapes
    if whose == "ours":
        options = [] if shaped else ["--unshaped"]
        if "ecn=true" in pair.aqm:
            options += ["--marks-at", "peer"]
        install = (
            f"sluiced qdisc install k --object /lab/{name}.o --scenario /lab/{name}.toml"
            if pair.classes
            else f"install {name} '{pair.whole}' {pair.limit} {' '.join(options)}"
        )
        return (
            f"{install}\n"
            f"tc qdisc add dev out root k\nload {of}\n"
            "tc qdisc del dev out root\nsluiced qdisc remove k\n"
        )
    shaper = f"tc qdisc add dev out root handle 1: {UNDER}\n" if shaped else ""
    parent = "parent 1:" if shaped else "root"
    return (
        f"{shaper}tc qdisc add dev out {parent} handle 10: {pair.kernels}\n"
        + "".join(f"tc {line}\n" for line in pair.more)
        + f"load {of}\ntc qdisc del dev out root\n"
    )


def load_program():
    """Return `qdisc_load.c` compiled; static, so that it needs no libraries."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "load"
        source = ROOT / "bench" / "qdisc_load.c"
        subprocess.run(["cc", "-O2", "-Wall", "-static", "-o", path, source], check=True)
        return path.read_bytes()


def verified_table(verified):
    """Yield the rows of instructions verified; AQMs with the same program are one row."""
    yield "| AQM | one queue | flow queues |"
    yield "| --- | ---: | ---: |"
    same = {}
    for aqm, counts in verified.items():
        same.setdefault((counts["fifo"], counts["fq"]), []).append(f"`{aqm}`")
    for counts, names in same.items():
        yield f"| {', '.join(names)} | {' | '.join(f'{count:,}' for count in counts)} |"


def page(results):
    """Write the table of `bench/qdisc.json` into the page, between its two markers."""
    begin, end = "<!-- verified -->\n\n", "\n\n<!-- end of verified -->"
    before, rest = PAGE.read_text().split(begin)
    table = "\n".join(verified_table(results["verify"]))
    PAGE.write_text(before + begin + table + end + rest.split(end)[1])


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) == 2 else ""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    # an older version kept the lines that `sluiced` printed
    if what == "page" and not isinstance(results.get("verify"), dict):
        sys.exit("qdisc: there are no figures of this form: run bench/qdisc.py verify")
    if what == "page":
        page(results)
    elif what in ("verify", "cost"):
        done = verify() if what == "verify" else cost()
        RESULTS.write_text(json.dumps(results | {what: done}, indent=1) + "\n")
    else:
        sys.exit(__doc__)
