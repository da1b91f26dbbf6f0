"""Derivatives: closed forms in fractions, differences of solved chains, calibration, refusals."""

from fractions import Fraction

import pytest

import sluicegate as sg
from sluicegate.worlds.chain.parameters import Parameter

RED = {"spacing": "independent", "idle_decay": False}
GEOMETRIC = sg.GeometricArrivals(rate=0.5)
SELF_SIMILAR = sg.SelfSimilarArrivals(rate=0.4, a=6.0, states=3)


def scenario(arrivals=GEOMETRIC, aqm="drop_tail", *, mu=0.5, limit=15, victim="tail", **params):
    return sg.Scenario(
        arrivals=arrivals,
        service=sg.GeometricService(mu=mu),
        queue=sg.Queue(limit=limit, victim=victim),
        disciplines=[sg.Discipline(aqm=aqm, params=params)],
        slots=1000,
    )


def red(arrivals=GEOMETRIC, aqm="red", **given):
    usual = RED | {"min_th": 3.25, "max_th": 8.75, "w": 0.22}
    return scenario(arrivals, aqm, **(usual | given))


def idle(rate, mu, limit):
    """Return the probability that Geo/Geo/1/K is empty."""
    weights = [Fraction(1), rate / (mu * (1 - rate))]
    for _ in range(limit):
        weights.append(weights[-1] * rate * (1 - mu) / (mu * (1 - rate)))
    return 1 / sum(weights)


def test_the_plain_queue_in_fractions():
    """Compared with six-point differences of rational functions, exact to about 1e-20."""
    rate, mu, limit, h = Fraction(1, 4), Fraction(1, 2), 20, Fraction(1, 10**5)

    def slope(of):
        terms = ((1, Fraction(3, 4)), (2, Fraction(-3, 20)), (3, Fraction(1, 60)))
        return sum(factor * (of(k * h) - of(-k * h)) for k, factor in terms) / h

    found = sg.chain.sensitivity(
        scenario(sg.GeometricArrivals(rate=0.25), limit=limit), None, "rate", "mu"
    )
    by_rate = slope(lambda change: 1 - idle(rate + change, mu, limit))
    by_mu = slope(lambda change: 1 - idle(rate, mu + change, limit))
    assert found.derivative("utilization", "rate") == pytest.approx(float(by_rate), rel=1e-10)
    assert found.derivative("utilization", "mu") == pytest.approx(float(by_mu), rel=1e-10)
    assert found.value("utilization") == pytest.approx(1 - float(idle(rate, mu, limit)), rel=1e-12)
    assert found.residual < 1e-12
    units = dict(zip(found.frame["measure"], found.frame["unit"], strict=True))
    assert units["queue_mean"] == "packets"


def by_difference(setting, parameter, measure, step, method):
    """Return the extrapolated (f(x + h) - f(x - h)) / 2h of solved chains."""
    at = Parameter(setting, setting.disciplines[0], parameter)

    def value(change):
        moved = at.at(at.value + change)
        return sg.chain.solve(*moved, grid=0.5, method=method).record[measure].value

    def quotient(h):
        return (value(h) - value(-h)) / (2 * h)

    return (4 * quotient(step) - quotient(2 * step)) / 3


DIFFERENCES = [
    # scenario, parameter, measures, step of the difference, agreement
    (red(), "rate", ("queue_mean", "queue_variance", "utilization", "sojourn_mean"), 1e-3, 1e-7),
    (red(), "mu", ("delay_mean", "delay_variance", "loss_ratio", "throughput"), 1e-3, 1e-7),
    (red(), "w", ("queue_variance", "forced_loss_ratio"), 1e-7, 1e-6),
    (red(), "max_p", ("early_loss_ratio", "queue_deviation"), 1e-3, 1e-6),
    (red(), "min_th", ("loss_ratio", "queue_mean"), 2e-2, 1e-5),
    (red(), "max_th", ("loss_ratio", "queue_mean"), 2e-2, 1e-5),
    (red(aqm="dsred"), "gamma", ("delay_mean",), 1e-3, 1e-6),
    (red(victim="front"), "rate", ("sojourn_mean", "delay_variance"), 1e-3, 1e-7),
    (red(sampling="clock"), "rate", ("overflow_loss_ratio",), 1e-3, 1e-6),
    (red(aqm="lpf_oda", low_queue=2), "w", ("queue_mean",), 1e-7, 1e-6),
    (red(SELF_SIMILAR), "a", ("loss_ratio", "queue_mean", "delay_variance"), 1e-2, 1e-7),
    (red(SELF_SIMILAR), "rate", ("queue_mean", "loss_ratio"), 1e-3, 1e-7),
]


@pytest.mark.parametrize(("setting", "parameter", "names", "step", "agreement"), DIFFERENCES)
def test_derivatives_are_limits_of_differences(setting, parameter, names, step, agreement):
    direct, iterative = (
        sg.chain.sensitivity(setting, None, parameter, grid=0.5, method=method)
        for method in ("direct", "iterative")
    )
    assert max(direct.residual, iterative.residual) < 1e-11
    for name in names:
        expected = by_difference(setting, parameter, name, step, "direct")
        found = direct.derivative(name, parameter)
        assert found == pytest.approx(expected, rel=agreement), name
        assert iterative.derivative(name, parameter) == pytest.approx(found, rel=1e-8), name


def test_newton_finds_the_source():
    setting = red(SELF_SIMILAR)
    wanted = sg.SelfSimilarArrivals(rate=0.4, a=9.0, states=3)
    target = sg.chain.solve(red(wanted), grid=0.5).record["loss_ratio"].value
    found = sg.chain.solve_for(
        setting, parameter="a", measure="loss_ratio", target=target, grid=0.5
    )
    assert found.value == pytest.approx(9.0, rel=1e-7)
    assert found.scenario.arrivals.a == found.value
    assert found.steps.height <= 7


def test_names_that_are_no_parameters_are_refused():
    with pytest.raises(sg.SluiceError) as caught:
        sg.chain.sensitivity(red(), None, "a")
    assert str(caught.value) == (
        "a is no real parameter of this chain: it must be one of rate, mu, min_th, max_th, max_p, w"
    )
    with pytest.raises(sg.SluiceError, match="name at least one parameter"):
        sg.chain.sensitivity(red())
    with pytest.raises(sg.SluiceError, match="have no derivative: on a grid"):
        sg.chain.sensitivity(red(aqm="lpf_oda", low_queue=2), None, "min_th")
    with pytest.raises(sg.SluiceError, match="an average that stays at 0 has no derivative"):
        sg.chain.sensitivity(red(w=0), None, "w")
    with pytest.raises(sg.SluiceError, match=r"max_th = 3.8 has no derivative with this grid, "):
        sg.chain.sensitivity(red(min_th=3.75, max_th=3.8), None, "max_th", grid=1.0)
    found = sg.chain.sensitivity(red(), None, "w", grid=1.0)
    with pytest.raises(sg.SluiceError, match="measure = delay_p50 must be one of queue_mean, "):
        found.derivative("delay_p50", "w")
    with pytest.raises(sg.SluiceError, match="loss_ratio = 2 is not reached"):
        sg.chain.solve_for(red(), parameter="w", measure="loss_ratio", target=2.0, grid=1.0)
    with pytest.raises(sg.SluiceError, match="target = inf must be finite, and tolerance = 1e-09"):
        sg.chain.solve_for(red(), parameter="w", measure="loss_ratio", target=float("inf"))
