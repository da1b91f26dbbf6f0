"""The exact chain of random disciplines: compared with simulation, and between its methods."""

import numpy as np
import pytest
from scipy.special import stdtrit

import sluicegate as sg
from sluicegate.estimate import CONFIDENCE

pytestmark = pytest.mark.slow

FAMILY = ["red", "gentle_red", "dsred", "nlred", "lpf_oda", "redwm"]
COUNT = 20
SLOTS = 400_000
# events in a smaller share of slots than this may not happen in a run of SLOTS slots
RARE = 30 / SLOTS
MEASURES = [
    "queue_mean",
    "queue_variance",
    "sojourn_mean",
    "sojourn_variance",
    "delay_mean",
    "delay_variance",
    "loss_ratio",
    "mark_ratio",
    "utilization",
]


def params(rng, aqm):
    if aqm == "drop_tail":
        return {}
    given = {
        "min_th": rng.uniform(1, 4),
        "max_th": rng.uniform(5, 10),
        "sampling": rng.choice(["arrivals", "clock"]).item(),
        "spacing": "independent",
        "idle_decay": False,
    }
    weight = rng.uniform(0.05, 0.5)
    given |= {"a1": 1 - weight, "a2": 0, "b1": 0} if aqm == "redwm" else {"w": weight}
    if aqm == "dsred":
        given |= {"gamma": rng.uniform(0.1, 0.9), "middle": rng.uniform(0.2, 0.8)}
    else:
        given["max_p"] = rng.uniform(0.1, 0.9)
    if aqm == "lpf_oda":
        given |= {"low_queue": rng.uniform(1, 3), "low_arrivals": rng.integers(1, 4).item()}
    return given


def drawn(rng, family, slots=1000):
    aqm = rng.choice(family).item()
    discipline = sg.Discipline(
        aqm=aqm,
        params=params(rng, aqm),
        victim=rng.choice(["tail", "tail", "front", "random"]).item(),
        ecn=rng.choice([False, False, True]).item(),
    )
    rate, mu = rng.uniform(0.3, 0.65), rng.uniform(0.45, 0.8)
    if rng.random() < 0.6:
        arrivals = sg.GeometricArrivals(rate=rate)
    else:
        states = rng.integers(2, 4).item()
        arrivals = sg.SelfSimilarArrivals(rate=rate, a=rng.uniform(4, 8), states=states)
    return sg.Scenario(
        arrivals=arrivals,
        service=sg.GeometricService(mu=mu),
        queue=sg.Queue(limit=rng.integers(6, 15).item()),
        disciplines=[discipline],
        slots=slots,
        seed=rng.integers(1, 10**6).item(),
    )


def test_simulation_covers_the_chain_of_20_random_disciplines():
    """Intervals are widened by a factor, so that all together cover with 99 % (Bonferroni)."""
    rng = np.random.default_rng(3)
    units = 32
    chance = 0.01 / (COUNT * len(MEASURES))
    wider = stdtrit(units - 1, 1 - chance / 2) / stdtrit(units - 1, (1 + CONFIDENCE) / 2)
    compared, widths = 0, {name: [] for name in MEASURES}
    for _ in range(COUNT):
        setting = drawn(rng, ["drop_tail", *FAMILY], slots=SLOTS)
        simulated = sg.simulate(setting)
        exact = sg.chain.solve(setting, grid=1 / 32).record
        for name in MEASURES:
            found, expected = simulated[name], exact[name].value
            if np.isnan(expected):
                assert name.startswith(("sojourn", "delay")), name
                assert setting.disciplines[0].victim != "tail"
                continue
            compared += 1
            if found.bound is not None:
                allowed = wider * abs(found.bound - found.value)
            else:
                # marks that were not seen claim nothing
                allowed = wider * (found.half_width or 0) or RARE
            if expected and found.half_width is not None:
                widths[name].append(allowed / expected)
            assert abs(found.value - expected) <= allowed, (setting, name, found, expected)
    assert compared >= 0.8 * COUNT * len(MEASURES)
    # rare losses and marks have the widest intervals
    widest = {"loss_ratio": 0.1, "mark_ratio": 0.1}
    for name, shares in widths.items():
        assert np.median(shares) < widest.get(name, 0.05), (name, shares)


def test_the_methods_agree_in_every_measure_of_20_random_disciplines():
    rng = np.random.default_rng(4)
    for _ in range(COUNT):
        setting = drawn(rng, FAMILY)
        direct, iterative = (
            sg.chain.solve(setting, grid=0.5, method=method) for method in ("direct", "iterative")
        )
        for name, measure in direct.record.measures.items():
            expected = pytest.approx(measure.value, rel=1e-10, abs=0, nan_ok=True)
            assert iterative.record[name].value == expected, (setting, name)
