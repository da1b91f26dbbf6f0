"""From what the engine gives for each replication to a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from sluicegate._engine import Period, Replication, TcpFlows
from sluicegate.counts import FlowCounts, QueueCounts, shares
from sluicegate.estimate import Measure, of_each, over_replications
from sluicegate.measures import FLOWS, QUEUE, Definition
from sluicegate.record import FloatArray
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds.network.frames import flow_frame, flow_series_frame, port_series_frame
from sluicegate.worlds.network.record import NetworkRecord, PortRecord, lasting, main_place

# of each replication the periods that count
Periods: TypeAlias = Sequence[Sequence[Period]]

_NS_PER_S = 1e9


def record(
    scenario: NetworkScenario,
    runs: Sequence[Replication],
    *,
    identity: str,
    discipline: str,
    run: dict[str, Any],
) -> NetworkRecord:
    """The record of the replications that were finished.

    Args:
        scenario: What was run.
        runs: What the engine gave, at least one.
        identity: As in `Record`.
        discipline: Likewise.
        run: Likewise.
    """
    flows = flow_frame(scenario, runs)
    rates = _lasting_rates(flows, run, len(runs))
    # the warm-up, if there is one, is a period of its own before the rest
    after = [each.periods[-1:] for each in runs]
    whole = [each.periods for each in runs]
    ports = _ports(scenario, runs, after, whole)
    main = main_place(ports)
    measured = _Counted.of(runs, after, main, rates, scenario.warm_up)
    replications = pl.DataFrame(measured.rows())
    return NetworkRecord(
        identity=identity,
        discipline=discipline,
        run=run,
        done=len(runs) / scenario.replications,
        method=_method(scenario, replications),
        time_unit="s",
        measures=measured.measures(),
        queue_distribution=ports[main].queue_distribution,
        sojourn_distribution=ports[main].sojourn_distribution,
        delay_distribution=ports[main].delay_distribution,
        time_bin=ports[main].time_bin_s,
        # what happened once lasted about as long as a packet
        resolution=1 / max(float(measured.queue.arrivals.sum()), 1.0),
        whole=_Counted.of(runs, whole, main, rates, 0.0).measures(),
        ports=ports,
        flows=flows,
        replications=replications,
        series=flow_series_frame([each.flows for each in runs], scenario.sample_s),
    )


def _method(scenario: NetworkScenario, replications: pl.DataFrame) -> str:
    counted = "no part left out"
    if scenario.warm_up:
        counted = f"the first {scenario.warm_up:g} s of each left out"
    if len(replications) == 1:
        return f"no intervals from 1 replication; {counted}"
    if replications.n_unique() == 1:
        alike = f"all {len(replications)} replications are equal"
        return f"{alike}: intervals have no width; {counted}"
    return f"95 % intervals from {len(replications)} replications; {counted}"


@dataclass(frozen=True)
class _Counted:
    """What the replications counted, of one queue and of all flows together."""

    queue: QueueCounts
    flows: FlowCounts

    @classmethod
    def of(
        cls,
        runs: Sequence[Replication],
        periods: Periods,
        port: int,
        rates: Sequence[FloatArray],
        since_s: float,
    ) -> _Counted:
        """Counts of `periods`, which begin at `since_s`; the queue is that of the port."""
        return cls(_queue_counts(periods, port), _flow_counts(runs, periods, rates, since_s))

    def _flow_definitions(self) -> list[Definition[FlowCounts]]:
        """Where no flow finished, nothing is said of how long they took."""
        if any(map(len, self.flows.completions_s)):
            return FLOWS
        return [each for each in FLOWS if not each.name.startswith("completion")]

    def rows(self) -> dict[str, FloatArray]:
        """The measures of each replication."""
        return {
            **of_each(self.queue, QUEUE, _NS_PER_S),
            **of_each(self.flows, self._flow_definitions(), 1.0),
        }

    def measures(self) -> dict[str, Measure]:
        """Their means, with intervals."""
        return {
            **over_replications(self.queue, QUEUE, _NS_PER_S),
            **over_replications(self.flows, self._flow_definitions(), 1.0),
        }


def _queue_counts(periods: Periods, port: int) -> QueueCounts:
    return QueueCounts.of([[period.ports[port] for period in each] for each in periods])


def _flow_counts(
    runs: Sequence[Replication], periods: Periods, rates: Sequence[FloatArray], since_s: float
) -> FlowCounts:
    def column(read: Callable[[Period], int]) -> FloatArray:
        return np.array([float(sum(map(read, each))) for each in periods])

    durations = [sum(period.ports[0].duration for period in each) for each in periods]
    return FlowCounts(
        duration_s=np.array(durations) / _NS_PER_S,
        acknowledged=column(lambda period: period.acknowledged),
        retransmissions=column(lambda period: period.retransmissions),
        timeouts=column(lambda period: period.timeouts),
        datagrams_received=column(lambda period: period.datagrams_received),
        completions_s=[completions_since(run.tcp, since_s) for run in runs],
        rates=rates,
    )


def completions_since(flows: TcpFlows, since_s: float) -> FloatArray:
    """How long the flows took, in seconds, that finished at `since_s` or later."""
    # what did not finish is not a number, and NaN is not later than anything
    return flows.completion_s[flows.start_s + flows.completion_s >= since_s]


def _lasting_rates(flows: pl.DataFrame, run: dict[str, Any], count: int) -> list[FloatArray]:
    """Bits/s of each flow without an end of its own, a row for each replication."""
    lasts = lasting(flows, run).partition_by("replication", as_dict=True)
    none = np.empty(0)
    return [
        lasts[number,]["goodput_bps"].to_numpy() if (number,) in lasts else none
        for number in range(count)
    ]


def _ports(
    scenario: NetworkScenario, runs: Sequence[Replication], after: Periods, whole: Periods
) -> list[PortRecord]:
    names = [
        f"{link.source} -> {link.sink}" for link in scenario.topology.simplex_links if link.queue
    ]
    ports = []
    for place, name in enumerate(names):
        counts = _queue_counts(after, place)
        total = counts.total()
        port = PortRecord(
            name=name,
            measures=over_replications(counts, QUEUE, _NS_PER_S),
            whole=over_replications(_queue_counts(whole, place), QUEUE, _NS_PER_S),
            queue_distribution=shares(total.queue[0]),
            sojourn_distribution=shares(total.sojourn.bins[0]),
            delay_distribution=shares(total.delay.bins[0]),
            time_bin_s=total.delay.bin / _NS_PER_S,
            sample_s=scenario.sample_s,
            series=port_series_frame([each.ports[place] for each in runs], scenario.sample_s),
        )
        ports.append(port)
    return ports
