"""First passages: closed forms in fractions, both methods, LPF/ODA against EWMA, refusals."""

from fractions import Fraction

import numpy as np
import pytest

import sluicegate as sg

RED = {"spacing": "independent", "idle_decay": False}


def scenario(aqm="drop_tail", *, rate=0.5, mu=0.5, limit=40, **params):
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=rate),
        service=sg.GeometricService(mu=mu),
        queue=sg.Queue(limit=limit),
        disciplines=[sg.Discipline(aqm=aqm, params=params)],
        slots=1000,
    )


def test_the_time_to_empty_is_that_of_the_closed_form():
    """The mean time from s to s - 1 packets is m(s) = (1 + up m(s + 1)) / down slots."""
    rate, mu, limit = Fraction(0.5), Fraction(0.625), 40
    up, down = (1 - mu) * rate, mu * (1 - rate)
    step = expected = 1 / down
    for _ in range(limit - 1):
        step = (1 + up * step) / down
        expected += step
    plain = scenario(rate=0.5, mu=0.625)
    found = sg.chain.first_passage(plain, queue_below=1, start_queue=limit)
    assert abs(Fraction(found.mean) / expected - 1) < Fraction(1, 10**13)
    assert found.residual < 1e-13
    assert found.error < 1e-10
    assert (found.method, found.states) == ("direct", limit + 2)


def test_the_deviation_is_that_of_a_geometric_distribution():
    """The first packet arrives after a geometric number of slots."""
    found = sg.chain.first_passage(scenario(rate=0.25, limit=3), queue_at_least=1, start_queue=0)
    # then a second one arrives before the first has left: with probability up / (up + down)
    up, down = 0.5 * 0.25, 0.5 * 0.75
    leave = up + down
    mean_visits = (down + up) / up
    mean = mean_visits * (4 + 1 / leave)
    assert found.mean == pytest.approx(mean, rel=1e-13)
    first, second = 0.75 / 0.25**2, (1 - leave) / leave**2
    of_visits = (1 - up / leave) / (up / leave) ** 2
    variance = mean_visits * (first + second) + of_visits * (4 + 1 / leave) ** 2
    assert found.deviation == pytest.approx(np.sqrt(variance), rel=1e-12)


@pytest.mark.parametrize("w", [0.07, 0.02])
def test_over_drop_avoidance_ends_a_congestion_sooner(w):
    """Time from a full queue until the average is below min_th, at a load that fell to 0.2."""
    thresholds = {"min_th": 10, "max_th": 25, "w": w, **RED}
    ewma = scenario("red", rate=0.2, limit=30, **thresholds)
    oda = scenario("lpf_oda", rate=0.2, limit=30, low_queue=5, **thresholds)
    slow, fast = (
        sg.chain.first_passage(
            setting, average_below=10, start_queue=30, start_average=25, grid=0.5
        )
        for setting in (ewma, oda)
    )
    assert fast.mean < slow.mean
    assert max(slow.residual, fast.residual) < 1e-12
    other = sg.chain.first_passage(
        ewma, average_below=10, start_queue=30, start_average=25, grid=0.5, method="iterative"
    )
    assert other.mean == pytest.approx(slow.mean, rel=1e-10)
    assert other.deviation == pytest.approx(slow.deviation, rel=1e-9)


def test_a_step_of_the_load_starts_in_the_steady_state():
    busy, quiet = (
        scenario("red", rate=rate, limit=20, min_th=3, max_th=9, w=0.2, **RED)
        for rate in (0.6, 0.2)
    )
    step = sg.chain.first_passage(quiet, average_below=1, start=busy, grid=0.5)
    same = sg.chain.first_passage(quiet, average_below=1, start=quiet, grid=0.5)
    assert same.mean < step.mean


def test_the_iterative_method_bounds_its_error_on_long_passages():
    def passage(rate, method):
        setting = scenario("red", rate=rate, limit=30, min_th=5, max_th=20, w=0.2, **RED)
        return sg.chain.first_passage(setting, queue_at_least=25, grid=1.0, method=method)

    direct, iterative = (passage(0.4, method) for method in ("direct", "iterative"))
    assert direct.mean > 1e7
    assert abs(iterative.mean - direct.mean) <= iterative.error + direct.error
    assert iterative.error < 1e-6 * direct.mean
    assert passage(0.2, "direct").mean > 1e17
    with pytest.raises(sg.SluiceError, match="too many for the iterative method: take the direct"):
        passage(0.2, "iterative")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {},
            "give queue_below, queue_at_least, average_below or average_at_least: until when",
        ),
        (
            {"queue_at_least": 41},
            "the set is never reached: an empty system leads to no state with queue >= 41; the "
            "queue has at most 40 packets, and the average reaches 0",
        ),
        (
            {"average_at_least": float("nan")},
            "average >= NaN: a bound must be a number",
        ),
        (
            {"queue_below": -1},
            "queue_below = -1 must be a whole number from 0 to 4294967295",
        ),
        (
            {"queue_below": 1, "start_queue": 1.5},
            "start_queue = 1.5 must be a whole number from 0 to 4294967295",
        ),
        (
            {"queue_below": 1, "start_queue": 41},
            "a start with queue = 41 must have at most 40 packets, the limit",
        ),
        (
            {"queue_below": 1, "start_average": 5},
            "a start with average = 5 must have one from 0 to 0 packets, the highest that is "
            "reached",
        ),
        (
            {"queue_below": 1, "start_queue": 4, "start": scenario()},
            "start: give a scenario, or start_queue and start_average, not both",
        ),
    ],
)
def test_meaningless_questions_are_refused(given, message):
    with pytest.raises(sg.SluiceError) as caught:
        sg.chain.first_passage(scenario(), **given)
    assert str(caught.value) == message
