"""What the laboratory cannot do, told before anything is run."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.errors import SluiceError
from sluicegate.lab import kernel
from sluicegate.report.numbers import plain_number
from sluicegate.scenario import Dumbbell, NetworkScenario
from sluicegate.testbed.check import congestion_controls
from sluicegate.worlds.real.refusals import PRAGUE, of_flows, of_topology
from sluicegate.worlds.real.varying import LINK, rates, refused

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
        ours: Whether the qdiscs are ours, which follow a rate, or the kernel's own.

    Raises:
        SluiceError: A line for each reason, with the path of the field.
    """
    if here:
        raise SluiceError(here)
    place = "the laboratory" if here is None else "this machine"
    problems = [*of_topology(scenario, place), *_of_links(scenario, place, ours), *more]
    if isinstance(scenario.topology, Dumbbell) and not problems:
        if here is None:
            # Prague is ours
            known = [*kernel.ready().congestion_controls, PRAGUE]
        else:
            known = congestion_controls()
        problems += of_flows(scenario, congestion_control, known, False, rewrites=True)
        if here is None:
            varying = rates(scenario)
            rate_bps = scenario.topology.rate_bps
            problems += _of_speed(
                scenario, rate_bps if varying is None else float(varying.rates_bps.max())
            )
    if problems:
        raise SluiceError("\n".join(problems))


def _of_links(scenario: NetworkScenario, where: str, ours: bool) -> Iterator[str]:
    two_way = isinstance(scenario.topology, Dumbbell) and scenario.topology.two_way
    for name, own in scenario.links.items():
        follows = ours and name == LINK and own.rate is not None and not two_way
        if follows and (why := refused(own.rate)):
            yield f'links."{name}".rate: {why}'
        for field, value in own.table().items():
            if value and not (field == "rate" and follows):
                yield (
                    f'links."{name}".{field} must be left out: in {where} all links have the '
                    "compared discipline, and nothing of their own (the world network has it)"
                )


def _of_speed(scenario: NetworkScenario, rate_bps: float) -> Iterator[str]:
    sizes = [flows.packet_bytes for flows in scenario.flows if flows.packet_bytes is not None]
    if sizes and (per_s := rate_bps / 8 / min(sizes)) > _MOST_PACKETS_PER_S:
        yield (
            f"a rate of {plain_number(rate_bps)} bits/s: {per_s:,.0f} packets/s must be at most "
            f"{_MOST_PACKETS_PER_S:,}: the laboratory's processor does 10^9 instructions a second"
        )
