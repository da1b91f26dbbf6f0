"""From what the engine gives for each replication to a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from sluicegate._engine import Period, Replication, TcpFlows
from sluicegate.counts import (
    EndCounts,
    FlowCounts,
    KindCounts,
    QueueCounts,
    Times,
    WireCounts,
    shares,
)
from sluicegate.estimate import Measure, of_each, over_replications
from sluicegate.measures import BETWEEN, FLOWS, QUEUE, WIRES, Definition
from sluicegate.measures.flows import COMPLETIONS, OF_DATAGRAMS, OF_TCP
from sluicegate.measures.responsiveness import DRAFT, RPM
from sluicegate.record import FloatArray
from sluicegate.scenario import NetworkScenario
from sluicegate.scenario.network import Flows
from sluicegate.worlds.network import bands, classes
from sluicegate.worlds.network.at_port import at_port, names_of_bands
from sluicegate.worlds.network.frames import flow_frame, flow_series_frame, port_series_frame
from sluicegate.worlds.network.record import (
    NetworkRecord,
    PortRecord,
    WireRecord,
    lasting,
    main_place,
)

# of each replication the periods that count
Periods: TypeAlias = Sequence[Sequence[Period]]

_NS_PER_S = 1e9
_UNCOUNTED = "counting by class would take too much memory"
# positions of the kinds of packets in the engine's counts; 1 are ACKs
_DATA, _DATAGRAM = 0, 2
# the measures of kinds of packets
_OF_KINDS = ("tcp_*", "datagram_loss_ratio", "datagram_delay_*")


def record(
    scenario: NetworkScenario,
    runs: Sequence[Replication],
    *,
    identity: str,
    discipline: str,
    run: dict[str, Any],
    uncounted: str = _UNCOUNTED,
    bands_uncounted: str = _UNCOUNTED,
) -> NetworkRecord:
    """The record of the replications that were finished.

    Args:
        scenario: What was run.
        runs: What the engine gave, at least one.
        identity: As in `Record`.
        discipline: Likewise.
        run: Likewise.
        uncounted: Why packets are not counted by class or kind, where they are not.
        bands_uncounted: Likewise by band.
    """
    flows = flow_frame(scenario, runs)
    rates, demands = _lasting(flows, run, len(runs))
    # the warm-up, if there is one, is a period of its own before the rest
    after = [each.periods[-1:] for each in runs]
    whole = [each.periods for each in runs]
    ports = _ports(scenario, runs, run, after, whole)
    main = main_place(ports)
    lasts = rates, demands
    names = scenario.classes()
    in_bands = names_of_bands(scenario, run, scenario.queued_links[main])
    measured = _Counted.of(runs, after, main, lasts, scenario.warm_up, scenario, run)
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
        whole=_Counted.of(runs, whole, main, lasts, 0.0, scenario, run).measures(),
        ports=ports,
        flows=flows,
        wires=_wire_records(scenario, measured.flows, after),
        class_distributions=classes.distributions(measured.classes),
        replications=replications,
        series=flow_series_frame([each.flows for each in runs], scenario.sample_s),
        unknown={
            **dict.fromkeys(measured.uncounted(names), uncounted),
            **dict.fromkeys(_unsplit(in_bands, measured.bands), bands_uncounted),
        },
    )


def _unsplit(in_bands: Sequence[str], counted: bands.Counted) -> list[str]:
    """The measures of bands, by patterns, where none is counted."""
    return [] if counted else [f"{name}{BETWEEN}*" for name in in_bands]


def _method(scenario: NetworkScenario, replications: pl.DataFrame) -> str:
    counted = "no part left out"
    if scenario.warm_up:
        counted = f"the first {scenario.warm_up:g} s of each left out"
    if RPM[0].name in replications.columns:
        counted += f"; RPM by {DRAFT}"
    # a default that few expect, and what is counted in packets depends on it
    sizes = sorted({each.packet_bytes for each in scenario.flows if each.packet_bytes})
    if sizes:
        counted += f"; packets of {' and '.join(map(str, sizes))} bytes"
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
    classes: classes.Counted
    bands: bands.Counted

    @classmethod
    def of(
        cls,
        runs: Sequence[Replication],
        periods: Periods,
        port: int,
        lasts: tuple[Sequence[FloatArray], Sequence[FloatArray]],
        since_s: float,
        scenario: NetworkScenario,
        run: dict[str, Any],
    ) -> _Counted:
        """Counts of `periods`, which begin at `since_s`; the queue is that of the port.

        `lasts` are rates and demands, as in `FlowCounts`.
        """
        at = at_port(scenario, run, periods, port)
        flows = _flow_counts(runs, periods, port, lasts, since_s)
        foreign, own = (_together(at.classes, each) for each in _probes_and_load(scenario))
        if foreign and own:
            flows = replace(flows, foreign=foreign.all.times, own=own.round_trip)
        return cls(at.queue, flows, at.classes, at.bands)

    def _flow_definitions(self) -> list[Definition[FlowCounts]]:
        """Nothing is said of completions where there are none, nor of kinds without packets."""
        parts = (
            (COMPLETIONS, any(map(len, self.flows.completions_s))),
            (OF_TCP, _came(self.flows.tcp)),
            (OF_DATAGRAMS, _came(self.flows.datagrams)),
            (RPM, _known(self.flows.foreign) and _known(self.flows.own)),
            (WIRES, self.flows.wires is not None),
        )
        absent = {each.name for part, is_there in parts if not is_there for each in part}
        return [each for each in FLOWS if each.name not in absent]

    def uncounted(self, names: Sequence[str]) -> list[str]:
        """What was not counted of these classes, and of the kinds of packets, as in `Record`."""
        counted = {name for name, one in self.classes.items() if one.queue is not None}
        of_classes = [f"{name}{BETWEEN}*" for name in dict.fromkeys(names) if name not in counted]
        return [*of_classes, *([] if self.flows.tcp else _OF_KINDS)]

    def rows(self) -> dict[str, FloatArray]:
        """The measures of each replication."""
        return {
            **of_each(self.queue, QUEUE, _NS_PER_S),
            **of_each(self.flows, self._flow_definitions(), 1.0),
            **classes.rows(self.classes),
            **bands.rows(self.bands),
        }

    def measures(self) -> dict[str, Measure]:
        """Their means, with intervals."""
        return {
            **over_replications(self.queue, QUEUE, _NS_PER_S),
            **over_replications(self.flows, self._flow_definitions(), 1.0),
            **classes.measures(self.classes),
            **bands.measures(self.bands),
        }


def _probes_and_load(scenario: NetworkScenario) -> tuple[list[str], list[str]]:
    """The classes of which RPM is made: exchanges of one packet, and TCP flows without an end."""
    of_groups = list(zip(scenario.classes(), scenario.flows, strict=False))

    def all_are(kind: Callable[[Flows], bool]) -> list[str]:
        others = {name for name, flows in of_groups if not kind(flows)}
        return [name for name in dict.fromkeys(name for name, _ in of_groups) if name not in others]

    return all_are(lambda flows: flows.exchanges_one_packet), all_are(
        lambda flows: flows.is_endless_tcp
    )


def _together(by_class: classes.Counted, names: Sequence[str]) -> EndCounts | None:
    """What was counted at the ends of several classes; None for none."""
    ends = [by_class[name].ends for name in names if name in by_class]
    if not ends:
        return None
    sets = zip(*(each.sets for each in ends), strict=True)
    return EndCounts([list(chain.from_iterable(parts)) for parts in sets], ends[0].port)


def _known(times: Times | None) -> bool:
    """Whether each replication has times."""
    return times is not None and bool(times.count.all())


def _came(kind: KindCounts | None) -> bool:
    """Whether packets of a kind came to the queue and are counted apart."""
    return kind is not None and bool(kind.arrivals.any())


def _kind(periods: Periods, port: int, kind: int) -> KindCounts | None:
    """The packets of one kind at a port; None where packets are not counted by kind."""
    if not all(period.kinds for each in periods for period in each):
        return None
    return KindCounts.of([[period.kinds[port][kind] for period in each] for each in periods])


def _flow_counts(
    runs: Sequence[Replication],
    periods: Periods,
    port: int,
    lasts: tuple[Sequence[FloatArray], Sequence[FloatArray]],
    since_s: float,
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
        rates=lasts[0],
        demands=lasts[1],
        tcp=_kind(periods, port, _DATA),
        datagrams=_kind(periods, port, _DATAGRAM),
        wires=_wires(periods),
    )


def _wires(periods: Periods) -> WireCounts | None:
    """All wires together; None where there is none."""
    if not periods[0][0].wires:
        return None
    return WireCounts.of([[wire for period in each for wire in period.wires] for each in periods])


def _wire_records(
    scenario: NetworkScenario, measured: FlowCounts, periods: Periods
) -> list[WireRecord]:
    wired = [
        link.name
        for link in scenario.topology.simplex_links
        if (own := scenario.links.get(link.name)) and own.wire
    ]
    return [
        WireRecord(
            name,
            over_replications(
                replace(
                    measured,
                    wires=WireCounts.of(
                        [[period.wires[place] for period in each] for each in periods]
                    ),
                ),
                WIRES,
                1.0,
            ),
        )
        for place, name in enumerate(wired)
    ]


def completions_since(flows: TcpFlows, since_s: float) -> FloatArray:
    """How long the flows took, in seconds, that finished at `since_s` or later."""
    # what did not finish is not a number, and NaN is not later than anything
    return flows.completion_s[flows.start_s + flows.completion_s >= since_s]


def _lasting(
    flows: pl.DataFrame, run: dict[str, Any], count: int
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Bits/s that each flow without an end of its own got and sent, a row for each replication."""
    groups = list(enumerate(run["flows"]))
    sizes = {place: float(each.get("packet_bytes", 0)) for place, each in groups}
    size = pl.col("group").replace_strict(sizes, return_dtype=pl.Float64)
    sent_bps = 8 * size * pl.col("sent") / run["duration_s"]
    # TCP takes what it gets, if its application has so much
    limits = {place: float(each.get("rate_bps") or "inf") for place, each in groups}
    limit = pl.col("group").replace_strict(limits, return_dtype=pl.Float64)
    rows = lasting(flows, run).with_columns(sent_bps.fill_null(limit).alias("asked"))
    lasts = rows.partition_by("replication", as_dict=True)

    def columns(name: str) -> list[FloatArray]:
        none = np.empty(0)
        places = [(number,) for number in range(count)]
        return [lasts[each][name].to_numpy() if each in lasts else none for each in places]

    return columns("goodput_bps"), columns("asked")


def _ports(
    scenario: NetworkScenario,
    runs: Sequence[Replication],
    run: dict[str, Any],
    after: Periods,
    whole: Periods,
) -> list[PortRecord]:
    ports = []
    for place, link in enumerate(scenario.queued_links):
        own = scenario.own_discipline(link)
        sampled = [each.ports[place] for each in runs]
        counted = at_port(scenario, run, after, place)
        total = counted.queue.total()
        port = PortRecord(
            name=link.name,
            measures=counted.measures(),
            whole=at_port(scenario, run, whole, place).measures(),
            queue_distribution=shares(total.queue[0]),
            sojourn_distribution=shares(total.sojourn.bins[0]),
            delay_distribution=shares(total.delay.bins[0]),
            time_bin_s=total.delay.bin / _NS_PER_S,
            sample_s=scenario.sample_s,
            series=port_series_frame(sampled, scenario.sample_s),
            band_distributions=bands.distributions(counted.bands),
            band_series=bands.series(counted.bands, sampled, scenario.sample_s),
            own_discipline=None if own is None else own.name,
        )
        ports.append(port)
    return ports
