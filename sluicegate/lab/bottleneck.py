"""A bottleneck in the laboratory: real TCP through one qdisc, ours or the kernel's own.

Client, router and server are network namespaces; the qdisc stands where the router sends to the
server. Acknowledgements come back through a delay (netem), which is the whole round trip of an
empty path. Packets are segmented before they reach the router: a BPF qdisc cannot segment them.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sluicegate.errors import SluiceError
from sluicegate.lab import image, machine
from sluicegate.lab.kernel import Kernel
from sluicegate.testbed.router import GET_PROGRAM, NO_PROGRAM, program

_KIND = "sluice"
_OBJECT = "lab/qdisc.o"
_LOOK_S = 0.1
# real time; a run takes a minute on a machine that has nothing else to do
_PATIENCE_S = 3600.0
_SAMPLE = re.compile(rb"backlog (\d+)b (\d+)p")
_SENT = re.compile(rb"Sent (\d+) bytes (\d+) pkt \(dropped (\d+)")

_NETWORK = """
set -e
modprobe -a {modules}
for name in client router server; do ip netns add $name; ip -n $name link set lo up; done
ip link add near netns client type veth peer name in netns router
ip link add out netns router type veth peer name far netns server
ip -n client address add 10.0.1.2/24 dev near
ip -n router address add 10.0.1.1/24 dev in
ip -n router address add 10.0.2.1/24 dev out
ip -n server address add 10.0.2.2/24 dev far
for each in client/near router/in router/out server/far; do
    ip -n ${{each%/*}} link set ${{each#*/}} up gso_max_segs 1 gso_max_size 1600
done
ip -n client route add default via 10.0.1.1
ip -n server route add default via 10.0.2.1
ip netns exec router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
tc -n server qdisc add dev far root netem delay {rtt_ms}ms limit 100000
"""
_TRAFFIC = """
ip netns exec server iperf3 --server --daemon --one-off >/dev/null
sleep 1
(while sleep {look_s}; do echo qdisc show dev out; done) | tc -s -n router -batch - >/out/looks &
ip netns exec client iperf3 --client 10.0.2.2 --json --time {duration_s} --parallel {flows} \
    --congestion {control} >/out/iperf
kill $!
tc -s -n router qdisc show dev out >/out/qdisc
"""


@dataclass(frozen=True)
class Own:
    """A discipline of ours as a qdisc: what `sluiced run --aqm` takes, and the limit in packets."""

    aqm: str
    limit: int


@dataclass(frozen=True)
class Kernels:
    """A qdisc of the kernel, as `tc` takes it, below its shaper `tbf`."""

    qdisc: str


@dataclass(frozen=True)
class Run:
    """What is run: TCP flows that begin at once, before a link.

    Attributes:
        rate_bps: Of the link; Ethernet headers count.
        rtt_ms: Round trip of an empty path.
        flows: Of TCP.
        control: Their congestion control.
        duration_s: How long they send.
    """

    rate_bps: float = 10e6
    rtt_ms: float = 40.0
    flows: int = 4
    control: str = "reno"
    duration_s: int = 30


@dataclass(frozen=True)
class Outcome:
    """What was measured.

    Attributes:
        goodput_bps: What the server's programs received.
        sent: Packets that the qdisc sent.
        dropped: Packets that it dropped.
        queue_mean: Packets that waited, sampled every 0.1 s.
        queue_p99: Likewise, the 99th percentile.
        sojourn_mean_s: Of the packets sent; NaN with a kernel qdisc, which does not report it.
        files: All that came back.
    """

    goodput_bps: float
    sent: int
    dropped: int
    queue_mean: float
    queue_p99: float
    sojourn_mean_s: float
    files: dict[str, bytes]


def measure(kernel: Kernel, qdisc: Own | Kernels, run: Run, seed: int) -> Outcome:
    """Run TCP through a qdisc in the laboratory.

    Raises:
        SluiceError: If something is missing, or if the script in the laboratory fails.
    """
    modules = ["veth", "sch_netem"]
    files: dict[str, bytes] = {}
    programs = ["ip", "tc", "iperf3"]
    match qdisc:
        case Own(aqm, limit):
            daemon = sluiced()
            programs.append(daemon)
            files[_OBJECT] = compiled(aqm)
            before = (
                f"sluiced qdisc install {_KIND} --aqm '{aqm}' --rate {run.rate_bps:g} "
                f"--limit {limit} --seed {seed} --object /{_OBJECT}\n"
                f"tc -n router qdisc add dev out root {_KIND}\n"
            )
            after = f"sluiced qdisc show {_KIND} >/out/counts\n"
        case Kernels(words):
            modules += ["sch_tbf", *modules_of(words)]
            before = (
                f"tc -n router qdisc add dev out root handle 1: tbf rate {run.rate_bps:.0f}bit "
                "burst 1600 limit 100000000\n"
                f"tc -n router qdisc add dev out parent 1: handle 10: {words}\n"
            )
            after = ""
    script = (
        _NETWORK.format(modules=" ".join(modules), rtt_ms=run.rtt_ms)
        + before
        + _TRAFFIC.format(
            look_s=_LOOK_S, duration_s=run.duration_s, flows=run.flows, control=run.control
        )
        + after
    )
    booted = image.build(kernel, script, programs=programs, modules=modules, files=files)
    result = machine.run(kernel, booted, seed=seed, patience_s=_PATIENCE_S)
    if result.status:
        raise SluiceError(f"{qdisc}: {result.stderr.decode(errors='replace').strip()}")
    return _outcome(result.files)


def _outcome(files: dict[str, bytes]) -> Outcome:
    iperf = json.loads(files["iperf"])
    if "error" in iperf:
        raise SluiceError(f"iperf3: {iperf['error']}")
    # the last qdisc reported is the one below the shaper, if there is one
    _, sent, dropped = (int(number) for number in _SENT.findall(files["qdisc"])[-1])
    told = b"counts" if b"tbf" not in files["qdisc"] else b""
    looks = [int(packets) for _, packets in _SAMPLE.findall(files["looks"])]
    queue = np.array(looks if told else looks[1::2])
    counts = json.loads(files["counts"]) if "counts" in files else {}
    return Outcome(
        goodput_bps=iperf["end"]["sum_received"]["bits_per_second"],
        sent=sent,
        dropped=dropped,
        queue_mean=float(queue.mean()),
        queue_p99=float(np.percentile(queue, 99)),
        sojourn_mean_s=counts.get("sojourn_mean_s", float("nan")),
        files=files,
    )


def modules_of(qdisc: str) -> list[str]:
    """The kernel modules of a qdisc as `tc` takes it; FIFOs are in the kernel itself."""
    name = qdisc.split()[0]
    return [] if name in ("pfifo", "bfifo", "pfifo_head_drop") else [f"sch_{name}"]


def sluiced() -> str:
    """Path of the daemon that loads qdiscs into the kernel.

    Raises:
        SluiceError: If it is not there.
    """
    found = program()
    if found is None:
        raise SluiceError(f"the daemon sluiced: {NO_PROGRAM}: {GET_PROGRAM}")
    return found


def compiled(aqm: str, *, scheduler: str = "fifo", log: bool = False) -> bytes:
    """The object of an AQM's qdisc, compiled on this machine: the laboratory has no clang.

    Args:
        aqm: Its name, with parameters or without.
        scheduler: Its kind; `fifo` has one queue, the others have several.
        log: With a log of all decisions.

    Raises:
        SluiceError: If the compiler refuses it, or is missing.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "qdisc.o"
        command = [sluiced(), "qdisc", "compile", aqm.split(":")[0], str(path)]
        command += ["--scheduler", scheduler] * (scheduler != "fifo") + ["--log"] * log
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SluiceError(done.stderr.strip())
        return path.read_bytes()
