"""What the gate cannot do, told before anything is run."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, Dumbbell, NetworkScenario
from sluicegate.testbed.check import congestion_controls, missing, needs
from sluicegate.worlds.real.layout import layout
from sluicegate.worlds.real.refusals import of_discipline, of_flows, of_topology, of_wires
from sluicegate.worlds.real.varying import BACK, LINK


def refuse(
    scenario: NetworkScenario,
    discipline: Discipline,
    congestion_control: str | None,
    ipv6: bool,
) -> None:
    """Refuse what cannot be run with real packets on this machine.

    Raises:
        SluiceError: A line for each reason, with the path of the field.
    """
    problems = list(of_topology(scenario, "the gate"))
    if problems and not isinstance(scenario.topology, Dumbbell):
        # without sides there is nothing to say about flows
        raise SluiceError("\n".join(problems))
    laid = layout(scenario, discipline)
    flows = of_flows(laid.scenario, congestion_control, congestion_controls(), ipv6)
    problems += [*_of_links(scenario), *of_discipline(discipline), *map(laid.told, flows)]
    if laid.first is not None:
        problems += map(laid.told_of_first, of_wires(laid.first[0]))
    if not problems and (lacking := missing(needs(ipv6))):
        problems = [f"the gate lacks {line}" for line in lacking.splitlines()]
    if problems:
        raise SluiceError("\n".join(problems))


def _of_links(scenario: NetworkScenario) -> Iterator[str]:
    """What links have of their own that the world has not."""
    topology = scenario.topology
    held = [LINK, BACK]
    if not isinstance(topology, Dumbbell):
        held = [link.name for link in scenario.queued_links]
    elif len(set(topology.client_delays_s)) > 1:
        # the way back has no link of all clients then
        held = [LINK]
    for name, own in scenario.links.items():
        if own.discipline is not None:
            for problem in of_discipline(own.discipline):
                yield f'links."{name}".discipline: {problem}'
        for field in ("rate", "wire"):
            if getattr(own, field) is not None and name not in held:
                yield (
                    f'links."{name}".{field} must be left out: the gate\'s links are '
                    f"{' and '.join(held)}"
                )
