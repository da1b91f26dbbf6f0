"""What the laboratory cannot do, told before anything is run."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.errors import SluiceError
from sluicegate.lab import kernel
from sluicegate.report.numbers import plain_number
from sluicegate.scenario import Dumbbell, NetworkScenario
from sluicegate.testbed.check import congestion_controls
from sluicegate.worlds.kernel import wire
from sluicegate.worlds.kernel.links import links
from sluicegate.worlds.kernel.shaper import lent
from sluicegate.worlds.real.refusals import PRAGUE, of_flows, of_topology
from sluicegate.worlds.real.varying import BACK, LINK, LINKS, rates, refused

# the laboratory's processor does 10^9 instructions a second, and a packet takes some 80,000
_MOST_PACKETS_PER_S = 10_000


def refuse(
    scenario: NetworkScenario,
    congestion_control: str | None,
    more: list[str],
    *,
    here: str | None,
    ours: bool,
) -> None:
    """Refuse what cannot be run in the laboratory, or on this machine.

    Args:
        scenario: What is to be run.
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
    problems = [
        *of_topology(scenario, place),
        *_of_links(scenario, place, ours),
        *more,
    ]
    if isinstance(scenario.topology, Dumbbell) and not problems:
        if here is None:
            # Prague is ours
            known = [*kernel.ready().congestion_controls, PRAGUE]
        else:
            known = congestion_controls()
        problems += of_flows(scenario, congestion_control, known, False, rewrites=True)
        if here is None:
            varying = [rates(scenario, link) for link in LINKS.values()]
            fastest = [float(each.rates_bps.max()) for each in varying if each is not None]
            problems += _of_speed(scenario, max([scenario.topology.rate_bps, *fastest]))
    if problems:
        raise SluiceError("\n".join(problems))


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


def _of_speed(scenario: NetworkScenario, rate_bps: float) -> Iterator[str]:
    sizes = [flows.packet_bytes for flows in scenario.flows if flows.packet_bytes is not None]
    if sizes and (per_s := rate_bps / 8 / min(sizes)) > _MOST_PACKETS_PER_S:
        yield (
            f"a rate of {plain_number(rate_bps)} bits/s: {per_s:,.0f} packets/s must be at most "
            f"{_MOST_PACKETS_PER_S:,}: the laboratory's processor does 10^9 instructions a second"
        )
