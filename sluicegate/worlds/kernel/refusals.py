"""What the laboratory cannot do, told before anything is run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sluicegate.errors import SluiceError
from sluicegate.lab import kernel
from sluicegate.report.numbers import plain_number
from sluicegate.scenario import Discipline, Dumbbell, NetworkScenario
from sluicegate.testbed.check import congestion_controls
from sluicegate.worlds.kernel import wire
from sluicegate.worlds.kernel.links import links
from sluicegate.worlds.kernel.shaper import lent
from sluicegate.worlds.real.layout import Layout, layout
from sluicegate.worlds.real.refusals import PRAGUE, of_flows, of_topology
from sluicegate.worlds.real.varying import BACK, LINK, LINKS, rates, refused

# the laboratory's processor does 10^9 instructions a second, and a packet takes some 80,000
_MOST_PACKETS_PER_S = 10_000


def refuse(
    scenario: NetworkScenario,
    discipline: Discipline,
    congestion_control: str | None,
    more: Iterable[str],
    *,
    here: str | None,
    ours: bool,
) -> None:
    """Refuse what cannot be run in the laboratory, or on this machine.

    Args:
        scenario: What is to be run.
        discipline: With which discipline.
        congestion_control: Of all TCP flows; None: as the scenario says.
        more: What is against the discipline.
        here: What this machine lacks; None: it is to be run in the laboratory.
        ours: Whether the qdiscs are ours, which shape by themselves, or the kernel's own.

    Raises:
        SluiceError: A line for each reason, with the path of the field.
    """
    if here:
        raise SluiceError(here)
    place = "the laboratory" if here is None else "this machine"
    problems = list(of_topology(scenario, place))
    if problems and not isinstance(scenario.topology, Dumbbell):
        raise SluiceError("\n".join(problems))
    laid = layout(scenario, discipline)
    problems += [*_of_layout(laid, place, ours), *dict.fromkeys(more)]
    if not problems:
        if here is None:
            # Prague is ours
            known = [*kernel.ready().congestion_controls, PRAGUE]
        else:
            known = congestion_controls()
        flows = of_flows(laid.scenario, congestion_control, known, False, rewrites=True)
        problems += map(laid.told, flows)
        if here is None:
            problems += _of_speed(scenario, max(_fastest_bps(each) for each in laid.dumbbells))
    if problems:
        raise SluiceError("\n".join(problems))


def _of_layout(laid: Layout, where: str, ours: bool) -> Iterator[str]:
    yield from map(laid.told, _of_links(laid.scenario, where, ours))
    if laid.first is None:
        return
    yield from map(laid.told_of_first, _of_links(laid.first[0], where, ours))
    if any(own.wire is not None for own in laid.first[0].links.values()):
        yield (
            f'links."{laid.names["second"]}".wire must be left out: it is between two routers, and '
            "netem is before the hosts (the worlds network and gate have such a wire)"
        )


def _of_links(scenario: NetworkScenario, where: str, ours: bool) -> Iterator[str]:
    for name, own in scenario.links.items():
        if name not in LINKS.values():
            for field, value in own.table().items():
                if value:
                    yield (
                        f'links."{name}".{field} must be left out: in {where} only {LINK} and '
                        f"{BACK} have a rate (the world network has others)"
                    )
            continue
        if why := refused(scenario, name):
            yield f'links."{name}".rate{why}'
    for side, name in LINKS.items():
        shaped = ours and name in links(scenario)
        is_there = isinstance(scenario.topology, Dumbbell)
        if is_there and not shaped and (why := lent(scenario, side)):
            yield f'links."{name}".rate: {why}'
        yield from wire.refused(scenario, side)


def _fastest_bps(scenario: NetworkScenario) -> float:
    """The greatest rate of a dumb-bell's links with a queue, and of that back."""
    assert isinstance(scenario.topology, Dumbbell)
    varying = [rates(scenario, link) for link in LINKS.values()]
    fastest = [float(each.rates_bps.max()) for each in varying if each is not None]
    return max([scenario.topology.rate_bps, *fastest])


def _of_speed(scenario: NetworkScenario, rate_bps: float) -> Iterator[str]:
    sizes = [flows.packet_bytes for flows in scenario.flows if flows.packet_bytes is not None]
    if sizes and (per_s := rate_bps / 8 / min(sizes)) > _MOST_PACKETS_PER_S:
        yield (
            f"a rate of {plain_number(rate_bps)} bits/s: {per_s:,.0f} packets/s must be at most "
            f"{_MOST_PACKETS_PER_S:,}: the laboratory's processor does 10^9 instructions a second"
        )
