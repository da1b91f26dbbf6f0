"""Does the queue oscillate where the model says unstable? 30 networks each for LRED and PI.

    python bench/stability.py

Networks are random: N from 20 to 1000, R from 20 to 600 ms, windows of 4 to 40 packets, C up to
30,000 packets/s, a queue of a quarter of the pipe, a buffer of four such queues. The gain is set
relative to the boundaries. LRED: a third of the networks lies below the boundary of the reduced
model (the paper's), a third between it and that of the full model, a third above both. PI* is
unstable in the reduced model with any gain: half of the networks lie below the boundary of the full
model, half above.

The rule that decides if a queue oscillates is in sluicegate/stability/simulated.py. A first rule,
fixed before the first run, demanded a standard deviation of half of the mean and half of the
variance near the predicted frequency: by this rule no queue of seed 14 oscillates. The second rule,
the peak of the autocorrelation, was made from the same runs and then tested on seed 15. Queues of
other networks, far beyond the boundary, led to the present rule; seed 16 tests it.

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
# ranges of gain / gain at the boundary, below and above it
BELOW, ABOVE = (0.25, 0.8), (1.25, 4.0)


def random_network(draw):
    while True:
        flows = round(np.exp(draw.uniform(*np.log([20, 1000]))))
        rtt_s = np.exp(draw.uniform(*np.log([0.02, 0.6])))
        window = np.exp(draw.uniform(*np.log([4, 40])))
        if flows * window / rtt_s <= GREATEST_PPS:
            return FluidNetwork(flows, flows * window / rtt_s, rtt_s)


def discipline(aqm, network, queue, factor=1.0):
    """Return LRED or PI* with its gain multiplied by a factor."""
    if aqm == "lred":
        beta = rules.safe_beta(network).boundary * factor
        return Discipline(aqm="lred", params={"q_ref": queue, "beta": beta})
    interval_s = network.rtt_s / 20
    a, b = rules.designed_pi(network, interval_s)
    params = {"a": a * factor, "b": b * factor, "sampling_interval": interval_s, "q_ref": queue}
    return Discipline(aqm="pi", params=params)


def gain_at(network, aqm, queue, place, draw):
    """Draw a factor of the gain in one of the regions between the boundaries."""
    # with factor 1 LRED lies on the boundary, where there is no margin; hence 0.1
    model = model_of(discipline(aqm, network, queue, 0.1))
    low, high = (
        0.1 * (loop_of(model, network, linearisation).margins.gain or 0.0)
        for linearisation in ("reduced", "full")
    )
    spans = [(BELOW[0] * high, BELOW[1] * high), (ABOVE[0] * high, ABOVE[1] * high)]
    # true if the reduced model has a boundary; with PI* it has none
    if low:
        spans = [(BELOW[0] * low, BELOW[1] * low), (low, high), spans[1]]
    return float(np.exp(draw.uniform(*np.log(spans[place % len(spans)]))))


def drawn(aqm, place, draw):
    """Draw a network; return it with its target queue and the gain's factor."""
    while True:
        network = random_network(draw)
        beta = rules.safe_beta(network).boundary
        # LRED's least beta is LEAST_BETA
        if aqm == "lred" and beta < 10 * LEAST_BETA:
            continue
        queue = max(5, round(0.25 * network.rtt_s * network.capacity_pps))
        factor = gain_at(network, aqm, queue, place, draw)
        if aqm != "lred" or beta * factor >= LEAST_BETA:
            return network, queue, factor


def measure(chosen, network, queue):
    """Return the roots by linearisation, the fluid model's deviation, the swing, and samples."""
    model = model_of(chosen)
    roots = {name: loop_of(model, network, name).rightmost_root for name in ("reduced", "full")}
    port = simulate(scenario_of(network, chosen, queue, limit=4 * queue)).ports[0]
    late = port.samples[0][len(port.times_s) // 2 :]
    # if the full model's root is real, the reduced model's frequency is used
    return (
        roots,
        fluid_deviation(model, network, queue, roots["full"]),
        swing(late, port.sample_s, roots["full"].imag or roots["reduced"].imag),
        late,
    )


def fluid_deviation(model, network, queue, root):
    """Return standard deviation / mean of the fluid model's limit cycle; 0 if it is stable."""
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
