"""Records in which order Linux's schedulers let packets go, for a test of ours packet by packet.

Datagrams of several classes run through `prio`, `ets`, `drr` and `cake` in the laboratory. Each
recording is a file beside the test (`engine/queue/tests/linux_order`), a line for each event: an
arrival with its time in ns, traffic class, bytes and flow, or the choice of a packet to send, with
its number among the arrivals.

The shaper `tbf` looks at the next packet as soon as the one before it has gone, or as one comes to
an empty queue, and lets it go when its time has come. Most qdiscs take it out when it is looked at
(`qdisc_peek_dequeued`); `prio` does not, and chooses again when it goes, as `cake` with a rate of
its own does, which needs no shaper.

    .venv/bin/python bench/order.py [NAME...]
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sluicegate.errors import SluiceError
from sluicegate.lab import kernel
from sluicegate.lab.testbed import LabTestbed
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.addresses import FIRST_PORT
from sluicegate.testbed.outcome import Seen
from sluicegate.worlds import Twin
from sluicegate.worlds.kernel.plan import Layer, lab_plan, modules_of_flows
from sluicegate.worlds.kernel.seen import sources
from sluicegate.worlds.kernel.shaper import HANDLE

FOLDER = Path(__file__).resolve().parent.parent / "engine" / "queue" / "tests" / "linux_order"
RATE_BPS, SEED = 10e6, 1
_SETTINGS = {
    # an arrival has its time as it reaches the router's code, behind departures of the same moment
    "net/core/netdev_tstamp_prequeue": 0,
    # no packets of IPv6 by which hosts look for each other: cake remembers what it has sent
    "net/core/devconf_inherit_init_net": 1,
    "net/ipv6/conf/all/disable_ipv6": 1,
    "net/ipv6/conf/default/disable_ipv6": 1,
}
# these choose a packet as it goes
AT_ONCE = ("prio", "cake_shaped")
# DSCP, bytes and rate of each flow, together 98 % of the link. Each is alone in its tin of cake:
# flows that share one do so with quanta that have chance in them.
FLOWS = [(46, 200, 1.3e6), (34, 1500, 2.5e6), (10, 700, 3e6), (8, 1200, 3e6)]
QUANTA = {46: 1500, 34: 3000, 10: 700, 8: 1500}
_STRICT = [{"dscp": [dscp]} for dscp in (46, 34, 10)]
_SHARES = [{"dscp": [dscp], "quantum_bytes": QUANTA[dscp]} for dscp in (34, 10)]
# CoDel's interval in cake is so long that it drops nothing
_CAKE = {"rtt": 4.0, "target": 0.2, "diffserv": "diffserv4", "isolation": "flows"}
DISCIPLINES: dict[str, dict[str, Any]] = {
    "prio": {"aqm": "drop_tail", "scheduler": {"kind": "prio"}, "classes": [*_STRICT, {}]},
    "ets": {
        "aqm": "drop_tail",
        "scheduler": {"kind": "ets"},
        "classes": [{"dscp": [46]}, *_SHARES, {"quantum_bytes": QUANTA[8]}],
    },
    "cake": {"aqm": "cake", "victim": "front", "ecn": True, "params": {**_CAKE, "rate_bps": 0}},
    "cake_shaped": {
        "aqm": "cake",
        "victim": "front",
        "ecn": True,
        "params": {**_CAKE, "rate_bps": RATE_BPS},
    },
    # no twin: its classes are laid by hand
    "drr": {"aqm": "drop_tail"},
}


def scenario(discipline: Mapping[str, Any]) -> NetworkScenario:
    """Return the datagrams, for one discipline."""
    flows = [
        {
            "kind": "datagrams",
            "rate_bps": rate_bps,
            "packet_bytes": size,
            "gaps": "exponential",
            "dscp": dscp,
        }
        for dscp, size, rate_bps in FLOWS
    ]
    return NetworkScenario.parse(
        {
            "topology": {
                "kind": "dumbbell",
                "rate_bps": RATE_BPS,
                "client_delays_s": [0.001],
                "access_rate_bps": 1e10,
            },
            "flows": flows,
            "queue": {"limit": 1000},
            "disciplines": [discipline],
            "duration_s": 0.8,
            "replications": 1,
            "seed": SEED,
        }
    )


def layer(name: str, asked: NetworkScenario) -> Layer:
    """Return the qdisc."""
    if name == "drr":
        lines = []
        for number, (dscp, quantum) in enumerate(QUANTA.items(), start=1):
            own = f"{HANDLE}{number}"
            lines.append(
                f"class add dev {{link}} parent {HANDLE} classid {own} drr quantum {quantum}"
            )
            lines.append(
                f"filter add dev {{link}} parent {HANDLE} protocol ip u32 "
                f"match ip tos {dscp << 2:#x} 0xfc flowid {own}"
            )
        return Layer("drr", shapes=False, more=lines, modules=["sch_drr", "cls_u32"])
    own = Twin().layer(asked, asked.disciplines[0])(SEED)
    # by itself, in place of the shaper
    return Layer(own.words, shapes=True, modules=own.modules) if name == "cake_shaped" else own


def events(seen: Seen, *, ahead: bool) -> Iterator[str]:
    """Yield the arrivals and the choices in the order of time.

    Raises:
        SluiceError: If a packet was lost.
    """
    came, origin = seen.came, sources(seen)
    flows = (came["ports"] >> 16) - FIRST_PORT
    for flow in np.unique(flows):
        own, sent = np.flatnonzero(flows == flow), origin[flows[origin] == flow]
        # what still waits at the end came last
        if not np.array_equal(sent, own[: len(sent)]):
            raise SluiceError(f"flow {flow} has lost packets, or their order")
    left_ns = seen.left["time_ns"]
    start_ns = int(came["time_ns"][0])
    arrived = chosen = 0

    def choose(time_ns: int) -> str:
        return f"d {time_ns - start_ns} {origin[chosen]}"

    # of the packet that is chosen last it is not known which
    last = len(origin)

    for sent, gone_ns in enumerate(left_ns.tolist()):
        while arrived < len(came) and came["time_ns"][arrived] <= gone_ns:
            row = came[arrived]
            time_ns = int(row["time_ns"])
            yield f"a {time_ns - start_ns} {row['tos']} {row['bytes']} {flows[arrived]}"
            arrived += 1
            if ahead and chosen == sent and arrived - chosen == 1:
                yield choose(time_ns)
                chosen += 1
        # the one that goes now has been chosen; the next one is
        if chosen < last and (not ahead or chosen < arrived):
            yield choose(gone_ns)
            chosen += 1


def record(name: str) -> Sequence[str]:
    """Run it in the laboratory; return the events."""
    asked = scenario(DISCIPLINES[name])
    laid = layer(name, asked)
    modules = [*laid.modules, *modules_of_flows(asked, None)]
    bed = LabTestbed.of(kernel.ready(), programs=laid.programs, modules=modules, settings=_SETTINGS)
    job = lab_plan(asked, asked.disciplines[0], 0, laid, None).job
    outcome = bed.run(job, seed=SEED, ended=threading.Event())
    return list(events(outcome.seen[0], ahead=name not in AT_ONCE))


def main() -> None:
    """Write all recordings."""
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or DISCIPLINES:
        lines = record(name)
        (FOLDER / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
        waits = np.array([line.startswith("a") for line in lines])
        longest = int(np.cumsum(np.where(waits, 1, -1)).max())
        print(f"{name}: {int(waits.sum())} packets, {longest} wait at most", flush=True)


if __name__ == "__main__":
    main()
