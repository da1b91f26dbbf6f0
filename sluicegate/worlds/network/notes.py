"""What only a network's records show: a link that is no bottleneck, runs that say nothing."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.report.numbers import plain_number
from sluicegate.scenario import Dumbbell, NetworkScenario
from sluicegate.worlds.network.record import NetworkRecord

# below it, no AQM has much to do
_LEAST_BUSY = 0.5
# of a run that is taken by one packet: above it, hardly anything happens
_MOST_OF_RUN = 0.1
# goodput over what the queue sent: below it, they are the same
_MORE = 1.001
# who writes a rate without its unit mostly means these
_MEGA = 1e6


def apart(records: Sequence[NetworkRecord]) -> list[str]:
    """A sentence where wires lose packets, which no queue's figures count."""
    lossy = [
        f"{wire.name} {_two_digits(100 * ratio)} %"
        for wire in records[0].wires
        if (ratio := wire.measures["wire_loss_ratio"].value) > 0
    ]
    if not lossy:
        return []
    return [
        f"Wires lose packets, too ({', '.join(lossy)}): wire_loss_ratio has these; what a queue "
        "lost or an AQM dropped is counted without them."
    ]


def _two_digits(value: float) -> str:
    """A number with two significant digits; 100 without an exponent."""
    return f"{float(f'{value:.2g}'):g}"


def no_bottleneck(scenario: NetworkScenario, records: Sequence[NetworkRecord]) -> list[str]:
    """A sentence where the link that the records are of is mostly idle under every discipline."""
    busy = max(record["utilization"].value for record in records)
    if busy >= _LEAST_BUSY:
        return []
    main = records[0].main_place
    link = scenario.queued_links[main]
    links = scenario.topology.simplex_links
    slowest_bps = min((each.rate_bps for each in links if not each.queue), default=link.rate_bps)
    note = f"{link.name} is {100 * busy:.2g} % busy at most: it is no bottleneck"
    if slowest_bps < link.rate_bps:
        note += (
            f"; it has {link.rate_bps / 1e6:g} Mb/s, and links without the discipline have "
            f"{slowest_bps / 1e6:g} Mb/s"
        )
    return [f"{note}."]


def slow_packets(scenario: NetworkScenario) -> list[str]:
    """A sentence where a single packet takes a good part of the run.

    Only links with a queue are looked at, and not those whose rate varies.
    """
    size = max((each.packet_bytes or 0 for each in scenario.flows), default=0)
    varies = [name for name, own in scenario.links.items() if own.rate is not None]
    steady = [each for each in scenario.queued_links if each.name not in varies]
    if not steady:
        return []
    link = min(steady, key=lambda each: each.rate_bps)
    packet_s = 8 * size / link.rate_bps
    if packet_s <= _MOST_OF_RUN * scenario.duration_s:
        return []
    rate = plain_number(link.rate_bps)
    meant = f"; did you mean {rate}M?" if link.rate_bps < _MEGA / 100 else "."
    return [
        f"{link.name} has {rate} bits/s: a packet of {size} bytes takes {packet_s:.3g} s there, "
        f"and the run lasts {scenario.duration_s:g} s{meant}"
    ]


def nothing_random(records: Sequence[NetworkRecord]) -> list[str]:
    """A sentence where all replications of some discipline gave the same."""
    same = [each.discipline for each in records if each.replications_are_equal]
    if not same:
        return []
    return [
        f"All replications of {', '.join(same)} gave the same run: nothing in it is random. "
        "spread_s lets flows start at different times."
    ]


def more_than_sent(scenario: NetworkScenario, records: Sequence[NetworkRecord]) -> list[str]:
    """A sentence where flows got more than their only bottleneck sent in the same time."""
    forward = all(
        getattr(each, "route", None) in (None, "forward") and getattr(each, "source", None) is None
        for each in scenario.flows
    )
    if not (isinstance(scenario.topology, Dumbbell) and forward):
        return []
    more = [
        each.discipline
        for each in records
        # worlds with real packets count at other moments
        if each.world == "network"
        and "goodput" in each.measures
        and each["goodput"].value > _MORE * each["throughput"].value
    ]
    if not more:
        return []
    return [
        f"The goodput of {', '.join(more)} is above what the link sent in this time: packets count "
        "when they are acknowledged in sequence, some that came in the time left out only after "
        "it, when a lost one had been sent again. In a longer run this is less."
    ]
