"""Where theory says unstable, does the queue oscillate? 30 networks for each of LRED and PI.

    python bench/stability.py

Networks are random: N from 20 to 1000, R from 20 to 600 ms, windows of 4 to 40 packets, C up to
30,000 packets/s, a queue of a quarter of the pipe, a buffer of four such queues. The gain is set
against the boundaries. LRED: a third of the networks lies below that of the reduced model (the
paper's), a third between it and that of the full model, a third above both. PI* is unstable in the
reduced model with any gain: half lies below the boundary of the full model, half above.

The rule by which a queue oscillates stands in sluicegate/stability/simulated.py. It has a
history. A first rule, fixed before the first run, asked for a standard deviation of half of the
mean and for half of the variance near the predicted frequency: no queue of seed 14 oscillates by
it. From the same runs came the second rule, the peak of the autocorrelation, which was then tested
on seed 15. Queues far beyond the boundary, of other networks, led to the present one; seed 16 tests
it.

Prints a line for each network and the contingency tables, for each seed.
"""

from collections import Counter

import numpy as np

from sluicegate.scenario import Discipline
from sluicegate.stability import rules
from sluicegate.stability.aqms import model_of
from sluicegate.stability.loop import loop_of
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.simulated import scenario_of, swing
from sluicegate.stability.transient import transient
from sluicegate.worlds.network import simulate

SEEDS = (14, 15, 16)
NETWORKS = 30
GREATEST_PPS = 30_000
LEAST_BETA = 1e-6
# of the gain over that of the boundary: below both, between, above both
BELOW, ABOVE = (0.25, 0.8), (1.25, 4.0)


def random_network(draw):
    while True:
        flows = round(np.exp(draw.uniform(*np.log([20, 1000]))))
        rtt_s = np.exp(draw.uniform(*np.log([0.02, 0.6])))
        window = np.exp(draw.uniform(*np.log([4, 40])))
        if flows * window / rtt_s <= GREATEST_PPS:
            return FluidNetwork(flows, flows * window / rtt_s, rtt_s)


def discipline(aqm, network, queue, factor=1.0):
    """LRED or PI*, its gain times a factor."""
    if aqm == "lred":
        beta = rules.safe_beta(network).boundary * factor
        return Discipline(aqm="lred", params={"q_ref": queue, "beta": beta})
    interval_s = network.rtt_s / 20
    a, b = rules.designed_pi(network, interval_s)
    params = {"a": a * factor, "b": b * factor, "sampling_interval": interval_s, "q_ref": queue}
    return Discipline(aqm="pi", params=params)


def gain_at(network, aqm, queue, place, draw):
    """A factor of the gain that lies in one of the regions that the boundaries divide."""
    # LRED's own gain lies on the boundary, where no margin is left
    model = model_of(discipline(aqm, network, queue, 0.1))
    low, high = (
        0.1 * (loop_of(model, network, linearisation).margins.gain or 0.0)
        for linearisation in ("reduced", "full")
    )
    spans = [(BELOW[0] * high, BELOW[1] * high), (ABOVE[0] * high, ABOVE[1] * high)]
    # where the reduced model has a boundary at all, which PI* has not
    if low:
        spans = [(BELOW[0] * low, BELOW[1] * low), (low, high), spans[1]]
    return float(np.exp(draw.uniform(*np.log(spans[place % len(spans)]))))


def drawn(aqm, place, draw):
    """A network, the queue to hold and the gain's factor."""
    while True:
        network = random_network(draw)
        beta = rules.safe_beta(network).boundary
        # LRED takes no smaller beta
        if aqm == "lred" and beta < 10 * LEAST_BETA:
            continue
        queue = max(5, round(0.25 * network.rtt_s * network.capacity_pps))
        factor = gain_at(network, aqm, queue, place, draw)
        if aqm != "lred" or beta * factor >= LEAST_BETA:
            return network, queue, factor


def measure(chosen, network, queue):
    """Roots by linearisation, and the simulated swing."""
    model = model_of(chosen)
    roots = {name: loop_of(model, network, name).rightmost_root for name in ("reduced", "full")}
    port = simulate(scenario_of(network, chosen, queue, limit=4 * queue)).ports[0]
    late = port.samples[0][len(port.times_s) // 2 :]
    # where the roots are real, the other model's frequency stands for it
    return (
        roots,
        fluid_deviation(model, network, queue, roots["full"]),
        swing(late, port.sample_s, roots["full"].imag or roots["reduced"].imag),
        late,
    )


def fluid_deviation(model, network, queue, root):
    """Standard deviation over mean of the fluid model's own limit cycle; 0 where it is stable."""
    if root.real < 0:
        return 0.0
    times = [(0.0, network)]
    found = transient(model, times, 80 * network.rtt_s, limit=4 * queue, disturbed=queue / 10).queue
    late = found[len(found) // 2 :]
    return late.std() / late.mean()


def table(aqm, seed):
    print(
        f"\n{aqm}, seed {seed}\n {'N':>4} {'R (s)':>6} {'C (/s)':>7} {'w0':>5} {'factor':>7} "
        f"{'reduced':>8} {'full':>7} {'mean/q0':>8} {'std/mean':>8} {'fluid':>6} {'memory':>7}"
    )
    draw, counts = np.random.default_rng(seed), Counter()
    for place in range(NETWORKS):
        network, queue, factor = drawn(aqm, place, draw)
        roots, fluid, found, late = measure(discipline(aqm, network, queue, factor), network, queue)
        reduced, full = (root.real * network.rtt_s for root in roots.values())
        print(
            f"{network.flows:5} {network.rtt_s:6.3f} {network.capacity_pps:7.0f} "
            f"{network.window:5.1f} {factor:7.3f} {reduced:8.3f} {full:7.3f} "
            f"{late.mean() / queue:8.2f} {found.deviation:8.2f} {fluid:6.2f} {found.memory:7.2f}"
            + (" oscillates" if found.oscillates else ""),
            flush=True,
        )
        for name, root in roots.items():
            counts[name, root.real < 0, found.oscillates] += 1
    for name in ("reduced", "full"):
        for stable in (True, False):
            calm, swinging = counts[name, stable, False], counts[name, stable, True]
            verdict = "stable" if stable else "unstable"
            print(f"{name} model says {verdict}: {calm} calm, {swinging} oscillate")


if __name__ == "__main__":
    for seed in SEEDS:
        for aqm in ("lred", "pi"):
            table(aqm, seed)
