"""Our qdiscs beside the kernel's own of the same kind, in the laboratory.

    bench/qdisc.py verify            every AQM before the laboratory's verifier
    bench/qdisc.py tcp [SEEDS]       TCP before 10 Mbit/s: queue, drops, goodput
    bench/qdisc.py cost              instructions per packet

Needs the laboratory's kernel: sluice lab --fetch.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import sluicegate as sg
from sluicegate.lab import image, kernel, machine
from sluicegate.lab.bottleneck import Kernels, Own, Run, compiled, measure, modules_of, sluiced

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "qdisc.json"
# one weight, thresholds and limit for both: a frame of TCP has 1514 bytes, of which the kernel's
# RED counts 20, 60 and 100; `burst` is what makes tc choose a weight of 2^-9
RED = "red:min_th=20,max_th=60,max_p=0.1,w=0.001953125,mean_packet_bytes=1514"
KERNELS_RED = (
    "red limit 151400 min 30280 max 90840 avpkt 1514 burst 145 bandwidth 10mbit probability 0.1"
)
PAIRS = {
    "FIFO": (Own("drop_tail", 100), Kernels("pfifo limit 100")),
    "RED": (Own(RED, 100), Kernels(KERNELS_RED)),
    "CoDel": (Own("codel", 1000), Kernels("codel limit 1000 noecn")),
    # the kernel finds the delay by timestamps, too, unless told otherwise
    "PIE": (Own("pie:delay=timestamps", 1000), Kernels("pie limit 1000 noecn")),
}


def lab():
    found = kernel.find()
    if found is None:
        sys.exit("the laboratory has no kernel: sluice lab --fetch")
    print(f"Linux {found.release}")
    return found


def verify():
    """What the verifier says of each AQM's qdisc, and that each passes a packet."""
    script = "modprobe -a dummy\nip link add out type dummy\nip link set out up\n"
    files = {}
    for number, aqm in enumerate(sg.aqms()):
        files[f"lab/{aqm}.o"] = compiled(aqm)
        script += (
            f"sluiced qdisc install k{number} --aqm {aqm} --rate 10e6 --limit 100 "
            f"--object /lab/{aqm}.o\n"
        )
    linux = lab()
    programs, modules = ["ip", "tc", sluiced()], ["dummy"]
    booted = image.build(linux, script, programs=programs, modules=modules, files=files)
    result = machine.run(linux, booted)
    print((result.stdout + result.stderr).decode(), end="")
    return result.stdout.decode().splitlines()


def tcp(seeds):
    """Both of each pair before the same TCP; the mean over the seeds, and their spread."""
    linux, rows = lab(), []
    print(f"{'':8}{'qdisc':10}{'goodput':>10}{'queue':>8}{'p99':>6}{'dropped':>9}{'sent':>8}")
    for name, pair in PAIRS.items():
        for qdisc in pair:
            outcomes = [measure(linux, qdisc, Run(), seed) for seed in range(1, seeds + 1)]
            row = {"kind": name, "qdisc": "ours" if isinstance(qdisc, Own) else "kernel's"}
            for field in ("goodput_bps", "queue_mean", "queue_p99", "dropped", "sent"):
                row[field] = [getattr(outcome, field) for outcome in outcomes]
            row["sojourn_mean_s"] = [outcome.sojourn_mean_s for outcome in outcomes]
            rows.append(row)
            mean = {key: np.mean(value) for key, value in row.items() if isinstance(value, list)}
            print(
                f"{name:8}{row['qdisc']:10}{mean['goodput_bps'] / 1e6:7.2f} M"
                f"{mean['queue_mean']:8.1f}{mean['queue_p99']:6.0f}{mean['dropped']:9.1f}"
                f"{mean['sent']:8.0f}",
                flush=True,
            )
    return rows


COST = """
set -e
modprobe -a {modules}
ip link add out type dummy
ip link set out up
ip address add 10.9.0.1/24 dev out
ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev out
load() {{ /lab/load 15 1000 >/out/$1; tc -s qdisc show dev out >/out/$1.qdisc; }}
install() {{
    sluiced qdisc install $1 --aqm $2 --rate $RATE --limit $3 --object /lab/${{2%%:*}}.o $4
}}
# the first seconds after the boot have work of their own
sleep 5
load none
"""
COST_RATE_BPS = 100e6
UNDER = f"tbf rate {COST_RATE_BPS:.0f}bit burst 3200 limit 100000000"


def cost():
    """Instructions per packet that a qdisc adds to a path without one.

    15,000 datagrams of 1042 bytes in a second, 125 Mbit/s: shaped to 100 Mbit/s by our qdisc, or by
    tbf with the kernel's below it; and not shaped, before an interface that takes everything.
    """
    linux = lab()
    files = {"lab/load": load_program()}
    script = COST.format(modules="dummy sch_tbf sch_red sch_codel sch_pie")
    script += f"RATE={COST_RATE_BPS:g}\n"
    for name, (own, kernels) in PAIRS.items():
        files[f"lab/{own.aqm.split(':')[0]}.o"] = compiled(own.aqm)
        for shaped in (True, False):
            of = f"{name}.{'shaped' if shaped else 'unshaped'}"
            flag = "" if shaped else "--unshaped"
            script += f"install k '{own.aqm}' {own.limit} {flag}\n"
            script += f"tc qdisc add dev out root k\nload {of}.ours\n"
            script += "tc qdisc del dev out root\nsluiced qdisc remove k\n"
            if shaped:
                script += f"tc qdisc add dev out root handle 1: {UNDER}\n"
            parent = "parent 1:" if shaped else "root"
            script += f"tc qdisc add dev out {parent} handle 10: {kernels.qdisc}\n"
            script += f"load {of}.kernel\ntc qdisc del dev out root\n"
    booted = image.build(
        linux,
        script,
        programs=["ip", "tc", sluiced()],
        modules=[
            "dummy",
            "sch_tbf",
            *(each for _, its in PAIRS.values() for each in modules_of(its.qdisc)),
        ],
        files=files,
    )
    result = machine.run(linux, booted, patience_s=3000)
    if result.status:
        sys.exit(result.stderr.decode())
    sent, without = (int(number) for number in result.files["none"].split())
    print(f"without a qdisc: {without / sent:.0f} instructions per packet, all in all")
    print(f"{'':18}{'ours':>6}{'kernel':>8}{'ratio':>7}{'  of the whole path':>10}   dropped")
    rows = {}
    for name in PAIRS:
        for how in ("shaped", "unshaped"):
            took, dropped = [], []
            for whose in ("ours", "kernel"):
                sent, instructions = map(int, result.files[f"{name}.{how}.{whose}"].split())
                took.append(instructions / sent)
                told = result.files[f"{name}.{how}.{whose}.qdisc"]
                dropped.append(int(re.findall(rb"dropped (\d+)", told)[-1]))
            ours, kernels = (each - without / sent for each in took)
            rows[f"{name} {how}"] = {
                "ours": ours,
                "kernel": kernels,
                "path": took,
                "dropped": dropped,
            }
            print(
                f"{name + ' ' + how:18}{ours:6.0f}{kernels:8.0f}{ours / kernels:7.2f}"
                f"{took[0] / took[1]:10.3f}   {dropped}"
            )
    return {"without": without / sent, "rows": rows}


def load_program():
    """`qdisc_load.c`, compiled: static, so that it runs anywhere."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "load"
        source = ROOT / "bench" / "qdisc_load.c"
        subprocess.run(["cc", "-O2", "-Wall", "-static", "-o", path, source], check=True)
        return path.read_bytes()


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["tcp"]
    if what == "verify":
        done = verify()
    elif what == "cost":
        done = cost()
    elif what == "tcp":
        done = tcp(int(rest[0]) if rest else 3)
    else:
        sys.exit(__doc__)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(results | {what: done}, indent=1) + "\n")
