"""Does the queue oscillate where the full model says so? Networks and settings are random.

    python bench/stability_drawn.py run SEED
    python bench/stability_drawn.py table SEED
    python bench/stability_drawn.py why SEED

`bench/stability.py` chooses the gains of LRED and PI relative to their boundaries. Here N, R,
windows and the settings of five AQMs are drawn without regard to the model, and the first 30
networks of each verdict of the full model are simulated. The rule that decides if a queue
oscillates is that of sluicegate/stability/simulated.py. All of this was fixed on seed 17, with six
networks of each AQM; seed 18 tests it.

N is drawn from 20 to 1000, R from 20 to 600 ms, the window from 2 to 64 packets, all uniform in
their logarithms; C follows, up to 30,000 packets/s. The target queue is a quarter of the pipe, the
buffer four times the target.

Settings, uniform in their logarithms too, but for RED's min_th:

- RED: w from 1e-5 to 0.5, min_th from a tenth to 0.9 of the queue, max_th three queues, and max_p
  such that p0 is dropped where the average is the queue.
- REM: gamma from 1e-5 to 0.1, an update each R / 20.
- PIE: alpha and beta of RFC 8033 times 0.02 to 1.5, an update each 15 ms.
- LRED: beta from 1e-5 to 0.3.
- PI: a and b designed for the network, times 0.05 to 100, an update each R / 20.

A network for which a setting is out of range is drawn again. Each run is kept as a line of
`bench/stability.jsonl`, and not made again. `why` repeats the runs in which model and simulation
differ, and prints the probable reason of each.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
from scipy import signal
from stability import measure

from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline
from sluicegate.stability import rules
from sluicegate.stability.assessment import assess
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.simulated import LEAST_DEVIATION, LEAST_MEMORY

KEPT = Path(__file__).with_name("stability.jsonl")
AQMS = ("red", "rem", "pie", "lred", "pi")
EACH, TRIAL, EACH_OF_TRIAL = 30, 17, 3
FLOWS, RTTS_S, WINDOWS, GREATEST_PPS = (20, 1000), (0.02, 0.6), (2, 64), 30_000
# classes of windows in the tables, packets
CLASSES = ((2, 4), (4, 16), (16, 64))
LINEARISATIONS = ("full", "reduced")


def log_uniform(draw, ends):
    return float(np.exp(draw.uniform(*np.log(ends))))


def random_network(draw):
    while True:
        flows = round(log_uniform(draw, FLOWS))
        rtt_s, window = log_uniform(draw, RTTS_S), log_uniform(draw, WINDOWS)
        if flows * window / rtt_s <= GREATEST_PPS:
            return FluidNetwork(flows, flows * window / rtt_s, rtt_s)


def red(network, queue, draw):
    w, min_th = log_uniform(draw, (1e-5, 0.5)), queue * draw.uniform(0.1, 0.9)
    # with uniformised spacing a probability p gives a drop rate of 2 p / (1 + p)
    needed = network.drop_probability / (2 - network.drop_probability)
    max_p = needed * (3 * queue - min_th) / (queue - min_th)
    return {"min_th": min_th, "max_th": 3 * queue, "max_p": max_p, "w": w}


def rem(network, queue, draw):
    gamma = log_uniform(draw, (1e-5, 0.1))
    return {"gamma": gamma, "sampling_interval": network.rtt_s / 20, "q_ref": queue}


def pie(network, queue, draw):
    factor = log_uniform(draw, (0.02, 1.5))
    target = queue / network.capacity_pps
    return {"alpha": 0.125 * factor, "beta": 1.25 * factor, "target": target}


def lred(network, queue, draw):
    return {"beta": log_uniform(draw, (1e-5, 0.3)), "q_ref": queue}


def pi(network, queue, draw):
    interval_s, factor = network.rtt_s / 20, log_uniform(draw, (0.05, 100))
    a, b = (each * factor for each in rules.designed_pi(network, interval_s))
    return {"a": a, "b": b, "sampling_interval": interval_s, "q_ref": queue}


SETTINGS = {"red": red, "rem": rem, "pie": pie, "lred": lred, "pi": pi}


def drawn(aqm, seed, each):
    """Yield `each` networks with settings for each verdict of the full model."""
    draw = np.random.default_rng([seed, AQMS.index(aqm)])
    wanted = {True: each, False: each}
    while any(wanted.values()):
        network = random_network(draw)
        queue = max(5, round(0.25 * network.rtt_s * network.capacity_pps))
        params = SETTINGS[aqm](network, queue, draw)
        try:
            discipline = Discipline(aqm=aqm, params=params)
            stable = assess(discipline, network).loops["full"].is_stable
        except SluiceError:
            continue
        if wanted[stable]:
            wanted[stable] -= 1
            yield network, queue, discipline


def kept(seed):
    rows = [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []
    return {(row["aqm"], row["number"]): row for row in rows if row["seed"] == seed}


def run(seed):
    known, each = kept(seed), EACH_OF_TRIAL if seed == TRIAL else EACH
    for aqm in AQMS:
        for number, (network, queue, discipline) in enumerate(drawn(aqm, seed, each)):
            if (aqm, number) in known:
                continue
            roots, fluid, found, late = measure(discipline, network, queue)
            row = {
                "seed": seed,
                "aqm": aqm,
                "number": number,
                "flows": network.flows,
                "rtt_s": network.rtt_s,
                "capacity_pps": network.capacity_pps,
                "queue": queue,
                "params": discipline.params,
                # growth rate per round trip
                **{name: roots[name].real * network.rtt_s for name in LINEARISATIONS},
                "frequency_rad_s": roots["full"].imag,
                "mean": float(late.mean()),
                "deviation": found.deviation,
                "fluid_deviation": float(fluid),
                "memory": found.memory,
                "oscillates": bool(found.oscillates),
            }
            with KEPT.open("a") as file:
                print(json.dumps(row), file=file)
            print(row, flush=True)


def tables(seed):
    """Print the contingency tables, of all networks and by window."""
    rows = list(kept(seed).values())
    print("| AQM | model | stable, calm | stable, oscillates | unstable, calm | ", end="")
    print("unstable, oscillates | right |\n| --- | --- | --- | --- | --- | --- | --- |")
    for aqm in AQMS:
        of_aqm = [row for row in rows if row["aqm"] == aqm]
        for model in LINEARISATIONS:
            print(f"| {aqm} | {model} | {' | '.join(cells(of_aqm, model))} |")
    print(f"\n| AQM | {' | '.join(f'windows {low} to {high}' for low, high in CLASSES)} |")
    print("| --- | --- | --- | --- |")
    for aqm in AQMS:
        found = []
        for low, high in CLASSES:
            some = [
                row
                for row in rows
                if row["aqm"] == aqm
                and low <= row["rtt_s"] * row["capacity_pps"] / row["flows"] < high
            ]
            found.append(cells(some, "full")[-1])
        print(f"| {aqm} | {' | '.join(found)} |")


def cells(rows, model):
    """Return the counts of a contingency table, and how many verdicts are right."""
    counts = Counter((row[model] < 0, row["oscillates"]) for row in rows)
    right = counts[True, False] + counts[False, True]
    order = [(True, False), (True, True), (False, False), (False, True)]
    return [*(str(counts[each]) for each in order), f"{right} of {len(rows)}"]


def why(seed):
    """Print the probable reason for each run in which the full model is wrong."""
    reasons = Counter()
    for row in kept(seed).values():
        if (row["full"] < 0) != row["oscillates"]:
            continue
        reason, told = reason_of(row)
        reasons[row["full"] < 0, reason, row["aqm"]] += 1
        print(row["aqm"], row["number"], reason, told, sep=", ", flush=True)
    for (stable, reason, aqm), count in sorted(reasons.items()):
        verdict = "stable, oscillates" if stable else "unstable, calm"
        print(f"| {verdict} | {reason} | {aqm} | {count} |")


def reason_of(row):
    """Return the first known reason that holds, and its figures."""
    network = FluidNetwork(row["flows"], row["capacity_pps"], row["rtt_s"])
    discipline = Discipline(aqm=row["aqm"], params=row["params"])
    *_, late = measure(discipline, network, row["queue"])
    # `scenario_of` takes twenty samples in a round trip
    best, lag = highest_peak(late)
    lag /= 20
    predicted = 2 * np.pi / max(row["frequency_rad_s"] * network.rtt_s, 1e-9)
    growth = row["full"] * predicted
    told = (
        f"window {network.window:.1f}, growth {row['full']:.3f}, predicted period {predicted:.3g}, "
        f"periods seen {len(late) / 20 / predicted:.3g}, left of it {np.exp(min(growth, 9)):.2g}, "
        f"memory {row['memory']:.2f}, highest peak {best:.2f} at {lag:.3g} round trips, "
        f"deviation {row['deviation']:.2f}, mean / q0 {row['mean'] / row['queue']:.2f}"
    )
    if network.window < CLASSES[0][1]:
        return "windows below 4", told
    if row["full"] >= 0:
        elsewhere = best >= LEAST_MEMORY
        return "swings with another period" if elsewhere else "no period", told
    if row["deviation"] >= LEAST_DEVIATION:
        return "empty again and again", told
    if np.exp(growth) >= LEAST_MEMORY:
        return "so little damped that noise swings", told
    if row["frequency_rad_s"] == 0:
        return "slow, with no swing predicted", told
    return "fewer than 30 periods seen" if len(late) / 20 < 30 * predicted else "unknown", told


def highest_peak(samples):
    """Return the autocorrelation's highest peak after its first zero, and its lag in samples."""
    centred = samples - samples.mean()
    found = signal.correlate(centred, centred, method="fft")[len(samples) - 1 :]
    found /= found[0]
    # the last half is left out: it comes from few pairs of samples
    found = found[: len(found) // 2]
    first = int(np.argmax(found < 0)) or len(found)
    peaks, _ = signal.find_peaks(found[first:])
    if not len(peaks):
        return 0.0, 0
    best = first + int(peaks[np.argmax(found[first:][peaks])])
    return float(found[best]), best


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["run", "table", "why"])
    parser.add_argument("seed", type=int)
    given = parser.parse_args()
    {"run": run, "table": tables, "why": why}[given.what](given.seed)
