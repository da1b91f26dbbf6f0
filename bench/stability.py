"""Where theory says unstable, does the queue oscillate? 30 networks for each of LRED and PI.

    python bench/stability.py [--quick]

Networks are random: N from 20 to 1000, R from 20 to 600 ms, windows of 4 to 40 packets, C up to
30,000 packets/s, a queue of a quarter of the pipe, a buffer of four such queues. The gain is set
against the two boundaries: a third of the networks lies below that of the reduced model (LRED's),
a third between it and that of the full model, a third above both. The rule by which a queue
oscillates stands in sluicegate/stability/simulated.py and was fixed before the first run.

Prints a line for each network and the contingency tables.
"""

import sys
from collections import Counter

import numpy as np

from sluicegate.scenario import Discipline
from sluicegate.stability import rules
from sluicegate.stability.aqms import model_of
from sluicegate.stability.loop import loop_of
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.simulated import scenario_of, swing
from sluicegate.worlds.network import simulate

SEED = 14
NETWORKS = 30
GREATEST_PPS = 30_000
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


def gain_at(network, aqm, queue, third, draw):
    """A factor of the gain that lies in one of the three regions."""
    model = model_of(discipline(aqm, network, queue))
    edges = []
    for linearisation in ("reduced", "full"):
        margin = loop_of(model, network, linearisation).margins.gain
        edges.append(margin if margin is not None else np.inf)
    low, high = sorted(edges)
    spans = [(BELOW[0] * low, BELOW[1] * low), (low, high), (ABOVE[0] * high, ABOVE[1] * high)]
    return float(np.exp(draw.uniform(*np.log(spans[third]))))


def main():
    tables = Counter()
    for aqm in ("lred", "pi"):
        draw = np.random.default_rng(SEED)
        print(
            f"{aqm:5} {'N':>5} {'R (s)':>6} {'C (/s)':>7} {'w0':>5} {'factor':>7} {'reduced':>8} "
            f"{'full':>8} {'mean/q0':>8} {'std/mean':>8} {'share':>6}"
        )
        for place in range(6 if "--quick" in sys.argv else NETWORKS):
            network = random_network(draw)
            queue = max(5, round(0.25 * network.rtt_s * network.capacity_pps))
            factor = gain_at(network, aqm, queue, place % 3, draw)
            chosen = discipline(aqm, network, queue, factor)
            model = model_of(chosen)
            roots = {
                name: loop_of(model, network, name).rightmost_root for name in ("reduced", "full")
            }
            record = simulate(scenario_of(network, chosen, queue, limit=4 * queue))
            port = record.ports[0]
            late = port.samples[0][len(port.times_s) // 2 :]
            # where both roots are real, none is predicted: the boundary's frequency stands for it
            omega = roots["full"].imag or roots["reduced"].imag
            found = swing(late, port.sample_s, omega)
            print(
                f"{place:5} {network.flows:5} {network.rtt_s:6.3f} {network.capacity_pps:7.0f} "
                f"{network.window:5.1f} {factor:7.3f} "
                + " ".join(f"{root.real * network.rtt_s:8.3f}" for root in roots.values())
                + f" {late.mean() / queue:8.2f} {found.deviation:8.2f} {found.share:6.2f}"
                + (" oscillates" if found.oscillates else ""),
                flush=True,
            )
            for name, root in roots.items():
                tables[aqm, name, root.real < 0, found.oscillates] += 1
    for aqm in ("lred", "pi"):
        for name in ("reduced", "full"):
            counts = {
                (stable, swings): tables[aqm, name, stable, swings]
                for stable in (True, False)
                for swings in (False, True)
            }
            print(
                f"{aqm}, {name}: stable {counts[True, False]} calm, {counts[True, True]} "
                f"oscillate; unstable {counts[False, False]} calm, {counts[False, True]} oscillate"
            )


if __name__ == "__main__":
    main()
