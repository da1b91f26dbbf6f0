"""Losses in time: compared with fractions and with an independent simulation; refusals."""

from fractions import Fraction

import numpy as np
import pytest
from intervals import assert_mean

import sluicegate as sg

pytestmark = pytest.mark.slow

RED = {"spacing": "independent", "idle_decay": False}


def scenario(aqm="drop_tail", *, rate=0.5, mu=0.5, limit=15, **params):
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=rate),
        service=sg.GeometricService(mu=mu),
        queue=sg.Queue(limit=limit),
        disciplines=[sg.Discipline(aqm=aqm, params=params)],
        slots=1000,
    )


def after_a_loss(rate, mu, limit, lag):
    """Return P(loss at the k-th arrival after a loss) of Geo/Geo/1/K, as exact fractions."""
    rate, mu, full = Fraction(rate), Fraction(mu), limit + 1

    def slot(x):
        served = [(1 - mu) * p for p in x]
        served[0] = x[0]
        return [p + (mu * x[k + 1] if k < full else 0) for k, p in enumerate(served)]

    def before_an_arrival(x):
        # sizes from the largest down: v = x + v (quiet slot), seen after the next slot's service
        visits = list(x)
        for k in range(full, -1, -1):
            stay = (1 - rate) * (1 - mu if k else 1)
            visits[k] /= 1 - stay
            if k:
                visits[k - 1] += visits[k] * (1 - rate) * mu
        return [rate * p for p in slot(visits)]

    x = [Fraction(0)] * full + [Fraction(1)]
    for _ in range(lag):
        seen = before_an_arrival(x)
        yield seen[full]
        x = [Fraction(0), *seen[:-2], seen[-2] + seen[-1]]


@pytest.mark.parametrize(("rate", "mu"), [(0.25, 0.5), (0.75, 0.125)])
def test_drop_tail_in_fractions(rate, mu):
    found = sg.chain.losses(scenario(rate=rate, mu=mu, limit=6), lag=8)
    expected = [float(p) for p in after_a_loss(rate, mu, 6, 8)]
    np.testing.assert_allclose(found.again, expected, rtol=1e-12)
    loss_ratio = sg.chain.solve(scenario(rate=rate, mu=mu, limit=6)).record["loss_ratio"].value
    assert found.loss_ratio == pytest.approx(loss_ratio, rel=1e-12)
    assert found.slots_between == pytest.approx(1 / (rate * loss_ratio), rel=1e-12)
    assert found.run_length == pytest.approx(1 / (1 - expected[0]))
    assert found.burstiness == pytest.approx(expected[0] / loss_ratio)


def losses_of_red(slots, seed):
    """Return for each arrival if it is lost: RED in a plain loop, with an average off any grid."""
    rng = np.random.default_rng(seed)
    served, arrived, chance = rng.random((3, slots))
    size, average, lost = 0, 0.0, []
    for slot in range(slots):
        size -= size > 0 and served[slot] < 0.5
        if arrived[slot] < 0.6:
            waiting = max(size - 1, 0)
            average += 0.2 * (waiting - average)
            p = 0.0 if average < 3 else 0.3 * (average - 3) / 6 if average < 9 else 1.0
            lost.append(waiting == 15 or chance[slot] < p)
            size += not lost[-1]
    return np.array(lost[1000:], dtype=float)


def test_red_against_a_loop_over_slots():
    found = sg.chain.losses(
        scenario("red", rate=0.6, **RED, min_th=3, max_th=9, w=0.2, max_p=0.3), lag=4, grid=1 / 64
    )
    lost = [losses_of_red(250_000, seed) for seed in range(6)]
    for k in range(1, 5):
        runs = [np.corrcoef(x[:-k], x[k:])[0, 1] for x in lost]
        # 4 lags together at 99 %: Student's t with 5 degrees of freedom at 0.125 %
        assert_mean(runs, found.correlation[k - 1], within=0.05, errors=5.6)
    assert found.correlation[0] > 0.1


def test_losses_far_apart_are_independent():
    for sampling in ("arrivals", "clock"):
        setting = scenario("lpf_oda", **RED, min_th=3, max_th=9, w=0.2, sampling=sampling)
        found = sg.chain.losses(setting, lag=1000)
        assert abs(found.correlation[-1]) < 1e-12
        assert found.again[-1] == pytest.approx(found.loss_ratio)


def test_refusals():
    with pytest.raises(sg.SluiceError, match="lag = 0 must be a whole number from 1 to"):
        sg.chain.losses(scenario(), lag=0)
    setting = scenario("red", **RED, rate=0.05, limit=60, min_th=50, max_th=59, max_p=1e-6, w=0.9)
    with pytest.raises(sg.SluiceError, match=r"losses per slot are no more than the error of"):
        sg.chain.losses(setting, grid=2.0, method="iterative")
    assert sg.chain.losses(setting, grid=2.0, method="direct").slots_between > 1e20
