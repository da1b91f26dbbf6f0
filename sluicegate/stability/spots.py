"""Networks on the map of stability that are simulated: as many on either side of the boundary."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sluicegate import store
from sluicegate.errors import InterruptError
from sluicegate.scenario import Discipline
from sluicegate.stability.assessment import Assessment, possible_loop
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.plots import Spot
from sluicegate.stability.simulated import scenario_of, swing
from sluicegate.worlds.network import NetworkRecord, simulate

# below, time-outs determine a flow, and the model has none
_LEAST_WINDOW = 3.0
_MOST_TRIES = 400
_MOST_LIMIT = 100_000


def spots(
    found: Assessment,
    discipline: Discipline,
    flows: tuple[float, float],
    rtts_s: tuple[float, float],
    count: int,
    *,
    seed: int = 1,
    on_progress: Callable[[int], None] = lambda done: None,
) -> list[Spot]:
    """Simulate networks of one AQM whose N and R are random, half of them stable in the full model.

    Args:
        found: The AQM, and the network of which C is taken.
        discipline: The same AQM.
        flows: Least and greatest N.
        rtts_s: Least and greatest R, s.
        count: How many; fewer where the rectangle has no more of one kind.
        seed: Of the choice and of the runs.
        on_progress: Called with the number of finished runs.

    Returns:
        One for each network.
    """
    wanted = {True: count - count // 2, False: count // 2}
    chosen = []
    for network, stable in _drawn(found, flows, rtts_s, seed):
        if wanted[stable]:
            wanted[stable] -= 1
            chosen.append((network, stable))
        if not any(wanted.values()):
            break
    done: list[Spot] = []
    finished: list[str] = []
    for network, stable in chosen:
        queue = found.model.queue(network)
        limit = min(_MOST_LIMIT, round(4 * queue) + 20)
        record = simulate(scenario_of(network, discipline, queue, limit=limit, seed=seed))
        if record.interrupted:
            raise InterruptError(f"interrupted; {store.how_to_go_on(finished)}")
        finished.append(record.identity)
        done.append(_spot(found, network, stable, record))
        on_progress(len(done))
    return done


def _drawn(
    found: Assessment, flows: tuple[float, float], rtts_s: tuple[float, float], seed: int
) -> Iterator[tuple[FluidNetwork, bool]]:
    draw = np.random.default_rng(seed)
    for _ in range(_MOST_TRIES):
        network = found.network.with_(
            flows=max(1, round(np.exp(draw.uniform(*np.log(flows))))),
            rtt_s=float(np.exp(draw.uniform(*np.log(rtts_s)))),
        )
        loop = possible_loop(found.model, network, "full")
        if loop is not None and network.window >= _LEAST_WINDOW:
            yield network, loop.is_stable


def _spot(found: Assessment, network: FluidNetwork, stable: bool, record: NetworkRecord) -> Spot:
    loop = possible_loop(found.model, network, "full")
    assert loop is not None
    port = record.ports[0]
    late = port.samples[0][len(port.times_s) // 2 :]
    moved = swing(late, port.sample_s, loop.rightmost_root.imag)
    return Spot(network.flows, network.rtt_s, stable, moved.oscillates)
