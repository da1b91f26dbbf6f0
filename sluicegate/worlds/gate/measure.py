"""The gate: from a scenario and a discipline to a record, by real runs one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate import _engine, store
from sluicegate.errors import NOTHING_FINISHED, InterruptError
from sluicegate.scenario import Discipline, LinkSettings, NetworkScenario
from sluicegate.testbed.outcome import Outcome
from sluicegate.testbed.row import Behind
from sluicegate.testbed.run import run as run_job
from sluicegate.worlds.gate.daemon import daemon, first_daemon
from sluicegate.worlds.gate.lines import DIRECTIONS, Lines
from sluicegate.worlds.gate.record import GateRecord
from sluicegate.worlds.gate.refusals import refuse
from sluicegate.worlds.network.assemble import record as network_record
from sluicegate.worlds.real.counts import Flows, replication
from sluicegate.worlds.real.layout import Layout, layout
from sluicegate.worlds.real.outcome import Replication
from sluicegate.worlds.real.plan import in_a_row, plan
from sluicegate.worlds.real.varying import BACK, LINK

_FIGURES = ("mean", "p50", "p99", "max")

Watch = Callable[[float, float], None]


def measure(
    scenario: NetworkScenario,
    discipline: Discipline,
    *,
    congestion_control: str | None = None,
    ipv6: bool = False,
    watch: Watch | None = None,
) -> GateRecord:
    """Measure one discipline on a scenario, each replication a run of its own, in real time.

    A record is of this machine at this hour: it is not kept in the store, and never the same
    twice. Ctrl-C ends the run; the replications finished by then are returned.

    Args:
        scenario: What to run.
        discipline: Which discipline.
        congestion_control: Of all TCP flows, any that the kernel has, such as `bbr`; None: as the
            scenario says.
        ipv6: Whether all packets are of IPv6, in place of IPv4; they are as long.
        watch: Called now and then with the seconds run and the seconds in all.

    Raises:
        SluiceError: If it cannot be run, with the reason.
        InterruptError: If Ctrl-C came before a replication was finished.
    """
    refuse(scenario, discipline, congestion_control, ipv6)
    laid = layout(scenario, discipline)
    total_s = scenario.duration_s * scenario.replications
    replications: list[Replication] = []
    looks: list[pl.DataFrame] = []
    late: list[pl.DataFrame] = []
    machines: list[dict[str, Any]] = []
    for number in range(scenario.replications):

        def on_progress(since_s: float, done_s: float = number * scenario.duration_s) -> None:
            if watch is not None:
                watch(done_s + since_s, total_s)

        router = daemon(laid.scenario, laid.discipline, number, ipv6)
        planned = plan(laid.scenario, laid.discipline, number, router, congestion_control, ipv6)
        planned = in_a_row(planned, first_daemon(laid, router))
        try:
            outcome = run_job(planned.job, on_progress)
        except KeyboardInterrupt:
            break
        links = _lines(scenario, laid, outcome)
        ways = [link for link in scenario.topology.simplex_links if link.name in links]
        wires = [links[each.name] for each in ways if _own(scenario, each.name).wire is not None]
        queues = [links[each.name] for each in ways if each.queue]
        replications.append(replication(scenario, planned, outcome, queues, wires))
        own = pl.lit(number, pl.UInt32).alias("replication")
        looks.append(Flows(planned, outcome).connections.select(own, pl.all()))
        late.append(_lateness(outcome, list(links.values())).select(own, pl.all()))
        machines.append(_machine(outcome, list(links.values())))
    if not replications:
        raise InterruptError(NOTHING_FINISHED)
    described = {
        "world": "gate",
        "version": version("sluicegate"),
        **scenario.described(discipline),
        "congestion_control": congestion_control,
        "ipv6": ipv6,
        "kernel": os.uname().release,
        "measured": datetime.now(UTC).isoformat(timespec="microseconds"),
        "machine": machines,
    }
    found = network_record(
        scenario,
        # they have the attributes of the engine's
        cast(Sequence[_engine.Replication], replications),
        identity=store.identity(described, __name__),
        discipline=discipline.name,
        run=described,
        uncounted="a router does not count packets by class of flows or kind",
        bands_uncounted="this router did not tell of lanes, tins or classes of service",
    )
    return GateRecord(**vars(found), connections=pl.concat(looks), lateness=pl.concat(late))


def _own(scenario: NetworkScenario, link: str) -> LinkSettings:
    return scenario.links.get(link, LinkSettings())


def _lines(scenario: NetworkScenario, laid: Layout, outcome: Outcome) -> dict[str, Lines]:
    """What the daemons told of their links, by the scenario's names."""
    names = laid.names.get("servers", LINK), laid.names.get("clients", BACK)
    told = [(outcome.router, way, name) for way, name in zip(DIRECTIONS, names, strict=True)]
    clients = outcome.hosts[0]
    if isinstance(clients, Behind):
        told.append((clients.router, DIRECTIONS[0], laid.names["second"]))
    return {
        name: Lines(text, way, varies=_own(scenario, name).rate is not None)
        for text, way, name in told
    }


def _machine(outcome: Outcome, links: Sequence[Lines]) -> dict[str, Any]:
    """How busy the machine was, and what was lost where it should not."""
    before, after = outcome.load
    errors = [each.error for host in outcome.hosts for each in host.sent.streams if each.error]
    return {
        "load_before": before,
        "load_after": after,
        "receiver_overruns": sum(host.received.overruns for host in outcome.hosts),
        "unsent_call_packets": sum(host.sent.unsent for host in outcome.hosts),
        "broken_connections": len(errors),
        "first_error": next(iter(errors), ""),
        "uncounted": [link.uncounted() for link in links],
    }


def _lateness(outcome: Outcome, links: Sequence[Lines]) -> pl.DataFrame:
    """See `GateRecord.lateness`."""
    rows = []
    for name, link in zip((*DIRECTIONS, "first"), links, strict=False):
        late = {f"{key}_s": link.last["lateness_ms"][key] / 1e3 for key in _FIGURES}
        rows.append({"of": f"router, {name}", "count": link.last["released"], **late})
    sent = [host.sent for host in outcome.hosts]
    rows += [
        *_row("datagram", np.concatenate([each.lateness_ns for each in sent])),
        *_row("start", np.concatenate([each.start_lateness_ns for each in sent])),
        *_row("call", np.concatenate([each.frame_lateness_ns for each in sent])),
    ]
    return pl.DataFrame(rows)


def _row(of: str, late_ns: NDArray[np.int64]) -> list[dict[str, Any]]:
    if not len(late_ns):
        return []
    late_s = late_ns / 1e9
    p50, p99 = np.quantile(late_s, [0.5, 0.99])
    return [
        {
            "of": of,
            "count": len(late_s),
            "mean_s": float(late_s.mean()),
            "p50_s": float(p50),
            "p99_s": float(p99),
            "max_s": float(late_s.max()),
        }
    ]
