"""Runs the cases of a paper in a world of networks and, where this machine can, in the gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from sluicegate.papers.campaign import Campaign
from sluicegate.papers.router.found import Found
from sluicegate.papers.router.measured import Measured, lacking, measured
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.network.world import Network
from sluicegate.worlds.world import Watch, World

K = TypeVar("K")
R = TypeVar("R", bound=NetworkRecord)


def found_in(
    world: World[NetworkScenario, R],
    name: str,
    scenarios: Mapping[K, NetworkScenario],
    *,
    threads: int | None,
    watch: Watch | None,
    fresh: bool,
) -> dict[K, Found]:
    """Run every case, one after the other.

    Args:
        world: One that keeps its records: the network world, or the kernel.
        name: Of the paper, shown with the progress.
        scenarios: Each case, with one discipline.
        threads: Threads, or laboratories at a time; as many as cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.

    Raises:
        SluiceError: If a run fails.
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """

    def on_progress(name: str, done: float, total: float, stage: str = "") -> None:
        if watch is not None:
            watch(name, done, total, f"{world.name}, {stage}")

    cost = sum(map(world.cost, scenarios.values()))
    campaign = Campaign(name, cost, threads=threads, watch=on_progress, fresh=fresh)
    return {case: Found.of([campaign.run(scenario, world)]) for case, scenario in scenarios.items()}


@dataclass(frozen=True)
class Worlds(Generic[K]):
    """The cases of a paper in both worlds.

    Attributes:
        predicted: In the network world.
        beside: The measured cases, simulated for as long as measured; empty if there are none.
        measured: In the gate; None if the gate was not asked for, or is not possible.
        why_not: Why the gate is not possible; empty if it is, or was not asked for.
    """

    predicted: Mapping[K, Found]
    beside: Mapping[K, Found]
    measured: Measured[K] | None
    why_not: str

    @property
    def column(self) -> str:
        """The world of the figures that stand beside the published ones."""
        return "network" if self.measured is None else "gate"

    @property
    def here(self) -> Mapping[K, Found]:
        """The cases in the world of `column`."""
        return self.predicted if self.measured is None else self.measured.found


def run(
    name: str,
    scenarios: Mapping[K, NetworkScenario],
    real: Mapping[K, NetworkScenario] | None,
    *,
    threads: int | None,
    watch: Watch | None,
    fresh: bool,
) -> Worlds[K]:
    """Simulate cases; measure some of them where this machine can.

    Args:
        name: Of the paper, shown with the progress.
        scenarios: Each case to simulate, with one discipline.
        real: Each case to measure; None: no gate is asked for.
        threads: Threads of a simulation, and testbeds at a time; None: as many as suit the machine.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.

    Raises:
        SluiceError: If a run fails.
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    simulate = partial(found_in, Network(), name, threads=threads, watch=watch, fresh=fresh)
    found = simulate(scenarios)
    why_not = "" if real is None else lacking()
    if real is None or why_not:
        return Worlds(found, {}, None, why_not)
    beside = simulate(real)
    gate = measured(name, real, parallel=threads, watch=watch, fresh=fresh)
    return Worlds(found, beside, gate, "")
