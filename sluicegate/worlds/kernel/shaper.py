"""The shaper before a link, Linux's `tbf`, and how it follows a rate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sluicegate.scenario import Dumbbell, NetworkScenario
from sluicegate.testbed.addresses import Side
from sluicegate.testbed.job import Change
from sluicegate.worlds.real.varying import LINKS, rates

# Ethernet headers, which the kernel counts and a scenario does not
ETHERNET_BYTES = 14
COUNTED = f"stab overhead -{ETHERNET_BYTES} linklayer ethernet"
# of a qdisc that stands below a shaper
HANDLE = "10:"
# a packet of the largest size, and so much more
_AT_ONCE_BYTES = 64
_UNLIMITED_BYTES = 1_000_000_000
# longer than that burst, and shorter than what the link takes
_WAKING_BYTES = 256
# in place of an outage, which tbf does not know: a packet of 1500 bytes takes two minutes
_OUTAGE_BPS = 100.0
# the share of what a link carries that is lent to it at the changes of its rate
_MOST_LENT = 0.02
_BITS, _USUAL_BYTES = 8, 1500


class Shaper:
    """The shaper before a link.

    Attributes:
        link: To which side the link leads.
    """

    def __init__(self, scenario: NetworkScenario, link: Side, mtu: int) -> None:
        assert isinstance(scenario.topology, Dumbbell)
        self.link = link
        self._rate_bps = scenario.topology.rate_bps
        self._rates = rates(scenario, LINKS[link])
        self._mtu = mtu

    def prepared(self) -> Iterator[Sequence[str]]:
        """Commands that come before it: the link takes a frame that a shaper does not."""
        if self._rates is not None:
            room = self._mtu + _WAKING_BYTES
            yield f"ip link set dev {self.link} mtu {room}".split()

    def words(self, rate_bps: float | None = None) -> str:
        """Its place and its words, as `tc qdisc add` takes them; None: at the topology's rate."""
        rate = self._rate_bps if rate_bps is None else max(rate_bps, _OUTAGE_BPS)
        shaper = f"tbf rate {rate:.0f}bit burst {self._mtu + _AT_ONCE_BYTES}"
        return f"dev {self.link} root handle 1: {COUNTED} {shaper} limit {_UNLIMITED_BYTES}"

    def changes(self, discipline: str) -> Iterator[Change]:
        """What sets its rate at each time; `discipline` is what stands below it, as `tc` says."""
        if self._rates is None:
            return
        again = []
        if "fifo" in discipline.split()[0]:
            # tbf gives a FIFO below it its own limit (net/sched/sch_tbf.c: tbf_change)
            again = [f"qdisc change dev {self.link} parent 1: handle {HANDLE} {discipline}"]
        steps = zip(self._rates.from_ns.tolist(), self._rates.rates_bps[1:].tolist(), strict=True)
        for at_ns, rate_bps in steps:
            yield Change(
                at_ns,
                self.link,
                [f"qdisc change {self.words(rate_bps)}", *again],
                self._mtu + _WAKING_BYTES + ETHERNET_BYTES,
            )


def changes(of_links: Iterable[Iterable[Change]]) -> list[Change]:
    """The changes of all links, in the order of time."""
    return sorted((each for link in of_links for each in link), key=lambda each: each.at_ns)


def lent(scenario: NetworkScenario, link: Side) -> str:
    """Why `tbf` cannot follow a rate that changes too often; empty if it can.

    At each change it has its whole burst again (net/sched/sch_tbf.c: tbf_change), so that a packet
    leaves at once. As the run begins it has that in any case.
    """
    found = rates(scenario, LINKS[link])
    if found is None:
        return ""
    duration_ns = round(scenario.duration_s * 1e9)
    count = int(((found.from_ns > 0) & (found.from_ns < duration_ns)).sum())
    bits = found.carried(duration_ns)
    sizes = [flows.packet_bytes for flows in scenario.flows if flows.packet_bytes is not None]
    share = _BITS * max(sizes, default=_USUAL_BYTES) * count / max(bits, 1.0)
    if share <= _MOST_LENT:
        return ""
    return (
        f"it changes {count} times: Linux's tbf lends a packet at each change, {share:.0%} of what "
        f"the link carries, and {_MOST_LENT:.0%} is the most; fewer steps would do (the worlds "
        "kernel, gate and network follow any)"
    )
