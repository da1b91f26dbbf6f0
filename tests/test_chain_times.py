"""Rare tails and times in the system: quantiles in fractions, drop from front, refusals."""

from fractions import Fraction

import numpy as np
import pytest
from intervals import assert_mean

import sluicegate as sg

RED = {"spacing": "independent", "idle_decay": False}


def scenario(aqm="drop_tail", *, rate=0.5, mu=0.5, limit=15, victim="tail", slots=1000, **params):
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=rate),
        service=sg.GeometricService(mu=mu),
        queue=sg.Queue(limit=limit, victim=victim),
        disciplines=[sg.Discipline(aqm=aqm, params=params)],
        slots=slots,
    )


def tail(p, k):
    return sum(p[k + 1 :])


@pytest.mark.parametrize(("rate", "mu"), [(0.2, 0.5), (0.5, 0.5)])
def test_quantiles_of_geo_geo_1_k_in_fractions(rate, mu):
    limit = 100
    solution = sg.chain.solve(scenario(rate=rate, mu=mu, limit=limit))
    alpha, end = Fraction(rate), Fraction(mu)
    weights = [Fraction(1), alpha / (end * (1 - alpha))]
    for _ in range(limit):
        weights.append(weights[-1] * alpha * (1 - end) / (end * (1 - alpha)))
    total = sum(weights)
    queue = [(weights[0] + weights[1]) / total, *(w / total for w in weights[2:])]
    for exceeded in (0.5, 1e-3, 1e-9, 1e-12, 1e-40):
        k = solution.queue_quantile(exceeded)
        assert tail(queue, k) <= Fraction(exceeded)
        assert k == 0 or tail(queue, k - 1) > Fraction(exceeded)
    # an admitted packet that finds r others stays for r + 1 geometric services
    seen = [w / total * (1 - end) for w in weights]
    seen[0] = weights[0] / total
    for r, w in enumerate(weights[1:]):
        seen[r] += w / total * end
    seen = [p / sum(seen[:-1]) for p in seen[:-1]]
    longest = solution.delay_quantile(1e-12) + 1
    left, waits = list(seen), [Fraction(1)]
    while len(waits) <= longest:
        # rounded to 200 binary digits, because fractions would grow without limit
        left = [
            Fraction(round((p * (1 - end) + q * end) * 2**200), 2**200)
            for p, q in zip(left, [*left[1:], Fraction(0)], strict=True)
        ]
        waits.append(sum(left))
    for exceeded in (0.5, 1e-3, 1e-9, 1e-12):
        k = int(solution.delay_quantile(exceeded))
        assert waits[k] <= Fraction(exceeded) < waits[k - 1]


def test_tails_that_are_not_resolved_are_refused():
    setting = scenario("red", **RED, rate=0.4, limit=60, min_th=5, max_th=50, w=0.02)
    direct = sg.chain.solve(setting, grid=1.0, method="direct")
    iterative = sg.chain.solve(setting, grid=1.0, method="iterative")
    assert direct.queue_quantile(1e-30) > direct.queue_quantile(1e-9)
    assert iterative.queue_quantile(1e-9) == direct.queue_quantile(1e-9)
    assert iterative.delay_quantile(1e-9) == direct.delay_quantile(1e-9)
    with pytest.raises(sg.SluiceError, match=r"tail = 1e-30 must be at least .*, the error to"):
        iterative.queue_quantile(1e-30)
    with pytest.raises(sg.SluiceError, match=r"tail = 1e-30 must be at least .*: times"):
        direct.delay_quantile(1e-30)
    with pytest.raises(sg.SluiceError, match="tail = 0 must lie between 0 and 1"):
        direct.queue_quantile(0)


@pytest.mark.parametrize("sampling", ["arrivals", "clock"])
def test_drop_from_front_against_simulation(sampling):
    params = RED | {"min_th": 3, "max_th": 9, "w": 0.2, "max_p": 0.3, "sampling": sampling}
    setting = scenario("red", rate=0.6, victim="front", slots=400_000, **params)
    exact = sg.chain.solve(setting, grid=1 / 16, front_times=True).record.delay_distribution
    runs = [sg.simulate(setting.replace(seed=seed, replications=1)) for seed in range(8)]
    assert {run.time_bin for run in runs} == {1}
    for time in (2, 5, 10, 15, 20):
        shares = [run.delay_distribution[:time].sum() for run in runs]
        # 5 times and 2 samplings together at 99 %: Student's t with 7 degrees of freedom
        assert_mean(shares, exact[:time].sum(), within=0.05, errors=5.4)


def test_drop_from_front_has_the_moments_of_its_distribution():
    for average in ("ewma", "lpf_oda"):
        params = RED | {"min_th": 3, "max_th": 9, "w": 0.2, "sampling": "clock"}
        name = "red" if average == "ewma" else "lpf_oda"
        setting = scenario(name, rate=0.6, victim="front", **params)
        plain = sg.chain.solve(setting, grid=0.5)
        solution = sg.chain.solve(setting, grid=0.5, front_times=True)
        assert solution.times_error < 1e-13
        times, waits = solution.record.delay_times, solution.record.delay_distribution
        mean = times @ waits
        assert mean == pytest.approx(plain.record["delay_mean"].value, rel=1e-11)
        variance = (times - mean) ** 2 @ waits
        assert variance == pytest.approx(plain.record["delay_variance"].value, rel=1e-10)
        assert solution.delay_quantile(1e-12) > solution.delay_quantile(1e-6) > mean
        assert np.isfinite(solution.record["delay_p99"].value)
        assert solution.record.identity != plain.record.identity
        with pytest.raises(sg.SluiceError, match="drop from front solve with front_times = True"):
            plain.delay_quantile(1e-3)


def test_front_times_need_drop_from_front():
    with pytest.raises(sg.SluiceError, match="the queue's victim must be front, not tail"):
        sg.chain.solve(scenario(), front_times=True)
