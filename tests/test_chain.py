"""The exact chain: compared with closed forms in fractions, between methods and grids; refusals."""

from fractions import Fraction

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.worlds.chain.limit import levels_for

pytestmark = pytest.mark.slow

RED = {"spacing": "independent", "idle_decay": False}


def scenario(aqm="drop_tail", *, rate=0.5, mu=0.5, limit=15, slots=1000, **params):
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=rate),
        service=sg.GeometricService(mu=mu),
        queue=sg.Queue(limit=limit),
        disciplines=[sg.Discipline(aqm=aqm, params=params)],
        slots=slots,
    )


def red(aqm="red", *, limit=15, victim="tail", **params):
    usual = RED | {"min_th": 3, "max_th": 9, "w": 0.2}
    setting = scenario(aqm, limit=limit, rate=0.6, **(usual | params))
    return setting.replace(queue=sg.Queue(limit=limit, victim=victim))


@pytest.mark.parametrize(("rate", "mu"), [(0.2, 0.5), (0.5, 0.5), (0.5, 0.25)])
def test_geo_geo_1_k_in_fractions(rate, mu):
    limit = 250
    solution = sg.chain.solve(scenario(rate=rate, mu=mu, limit=limit))
    alpha, end = Fraction(rate), Fraction(mu)
    weights = [Fraction(1), alpha / (end * (1 - alpha))]
    for _ in range(limit):
        weights.append(weights[-1] * alpha * (1 - end) / (end * (1 - alpha)))
    total = sum(weights)
    queue = [(weights[0] + weights[1]) / total, *(w / total for w in weights[2:])]
    found = solution.record.queue_distribution
    assert len(found) == limit + 1
    errors = [abs(Fraction(x) / p - 1) for x, p in zip(found.tolist(), queue, strict=True)]
    assert max(errors) < Fraction(1, 10**12)
    if rate == 0.2:
        assert found[-1] < 1e-149


def test_the_methods_agree_on_a_self_similar_source():
    setting = sg.Scenario(
        arrivals=sg.SelfSimilarArrivals(rate=0.5, a=12.0, states=4),
        service=sg.GeometricService(mu=0.5),
        queue=sg.Queue(limit=40),
        disciplines=[
            sg.Discipline(aqm="dsred", params=RED | {"min_th": 10, "max_th": 30, "w": 0.05})
        ],
        slots=1000,
    )
    direct, iterative = (
        sg.chain.solve(setting, grid=2.0, method=method) for method in ("direct", "iterative")
    )
    assert (direct.method, iterative.method) == ("direct", "iterative")
    assert max(direct.residual, iterative.residual) < 1e-12
    assert iterative.error < 1e-11
    assert iterative.sweeps > 0
    for name, measure in direct.record.measures.items():
        assert iterative.record[name].value == pytest.approx(measure.value, rel=1e-10), name
    np.testing.assert_allclose(
        iterative.average_distribution, direct.average_distribution, atol=1e-12
    )


def test_littles_law_and_the_sum_of_losses():
    record = sg.chain.solve(red(max_p=0.3)).record
    admitted = 0.6 * (1 - record["loss_ratio"].value)
    in_system = record["queue_mean"].value + record["utilization"].value
    assert record["delay_mean"].value * admitted == pytest.approx(in_system, rel=1e-12)
    parts = ("early_loss_ratio", "forced_loss_ratio", "overflow_loss_ratio")
    lost = sum(record[name].value for name in parts)
    assert lost == pytest.approx(record["loss_ratio"].value, rel=1e-12)
    assert record.delay_distribution.sum() == pytest.approx(1, abs=1e-12)
    assert record["queue_mean"].half_width is None


def test_the_victim_does_not_change_the_queue():
    tail, front, random = (
        sg.chain.solve(red(max_p=0.3, victim=victim)).record
        for victim in ("tail", "front", "random")
    )
    np.testing.assert_array_equal(tail.queue_distribution, front.queue_distribution)
    np.testing.assert_array_equal(tail.queue_distribution, random.queue_distribution)
    assert front["delay_mean"].value < tail["delay_mean"].value
    assert np.isnan(front["delay_p99"].value)
    assert np.isnan(random["delay_mean"].value)
    assert len({tail.identity, front.identity, random.identity}) == 3


def test_the_limit_of_the_grid_is_closer_than_the_finest_grid():
    setting = red(max_p=0.3, w=0.05)
    near = sg.chain.solve(setting, grid=1 / 128).record
    finest = sg.chain.solve(setting, grid=1 / 8).record
    limit = sg.chain.extrapolate(setting, grid=1 / 8)
    for name in ("queue_mean", "queue_variance", "loss_ratio", "delay_mean"):
        expected = near[name].value
        off = abs(limit[name].value - expected)
        assert off <= limit[name].half_width, name
        assert off < abs(finest[name].value - expected), name


def test_the_grid_is_fine_where_the_average_stays():
    """At a load of 2 the average stays near max_th."""
    thresholds = {"min_th": 16, "max_th": 32, "max_p": 0.1, "w": 0.02}
    setting = scenario("red", mu=0.25, limit=40, sampling="clock", **thresholds, **RED)
    even = sg.chain.solve(setting, grid=1 / 4)
    levels = levels_for(even, 161, 40)
    assert (levels[0], levels[-1]) == (0, 40)
    steps = np.diff(levels)
    assert np.all(steps > 0)
    assert steps.max() <= 2 / 4
    assert 30 < levels[steps.argmin()] < 34
    graded = sg.chain.solve(setting, grid=levels)
    assert graded.states <= even.states + 42
    expected = sg.chain.solve(setting, grid=1 / 64).record["queue_variance"].value
    off = [abs(s.record["queue_variance"].value - expected) for s in (graded, even)]
    assert off[0] < off[1] / 8


@pytest.mark.parametrize("w", [0.07, 0.01])
def test_the_limit_has_the_moments_of_a_linear_drop_function(w):
    """At a load of 2 queue and average stay where DSRED's drop function is one line.

    With p = (A - 5) / 60 the queue's second moments about 35 follow from those a slot earlier:
    E[x'^2], E[x' y'] and E[y'^2] of x' = x - y / 120 + noise, y' = (1 - w) y + w x'.
    """
    thresholds = {"min_th": 5, "max_th": 65, "gamma": 0.5, "sampling": "clock"}
    setting = scenario("dsred", rate=0.5, mu=0.25, limit=70, w=w, **thresholds, **RED)
    slope = 0.5 / 60
    both = (0.25 * 0.75 * 2) / (2 * slope)
    average = (2 - w) * both / (2 - w + (1 - w) * slope)
    queue = both + (1 - w) * slope / w * average
    found = sg.chain.extrapolate(setting)
    assert found["queue_mean"].value == pytest.approx(35, rel=1e-7)
    variance = found["queue_variance"]
    assert variance.half_width <= 1e-3 * variance.value
    assert abs(variance.value - queue) <= variance.half_width + 1e-6


def test_a_limit_that_is_not_within_its_tolerance_is_refined():
    setting = red(max_p=0.3, w=0.05)
    rough = sg.chain.extrapolate(setting, grid=1, tolerance=1)
    fine = sg.chain.extrapolate(setting, grid=1, tolerance=1e-4)
    assert rough.method.startswith("limit of 3 exact chains")
    assert not fine.method.startswith("limit of 3 ")
    assert rough.identity != fine.identity
    for name in ("queue_mean", "queue_variance", "loss_ratio"):
        assert fine[name].half_width <= 1e-4 * fine[name].value
        assert abs(fine[name].value - rough[name].value) <= rough[name].half_width


@pytest.mark.parametrize("w", [1.0, 1e-7])
def test_levels_stay_apart_where_the_average_stays_at_one_value(w):
    """With w = 1 the average is a whole number; with 1e-7 it almost stays at max_th."""
    solution = sg.chain.solve(red(w=w), grid=1.0)
    for count in (31, 61, 121, 241):
        levels = levels_for(solution, count, 15)
        assert np.diff(levels).min() > 15 / count / 1000
        solution = sg.chain.solve(red(w=w), grid=levels)
    for measure in solution.record.measures.values():
        assert np.isfinite(measure.value)


def test_an_empty_system_too_rare_for_a_double_hides_no_other_state():
    setting = red(w=1e-6)
    direct, iterative = (
        sg.chain.solve(setting, grid=1 / 16, method=method) for method in ("direct", "iterative")
    )
    assert 0 <= direct.average_distribution[0] < 1e-300
    assert direct.residual < 1e-15
    np.testing.assert_allclose(
        direct.average_distribution, iterative.average_distribution, atol=1e-12
    )


@pytest.mark.parametrize(("grid", "tolerance"), [(4, 1e-3), (float("nan"), 1e-3), (0.25, 0)])
def test_settings_of_a_limit_are_checked(grid, tolerance):
    with pytest.raises(sg.SluiceError, match="must be above 0"):
        sg.chain.extrapolate(red(), grid=grid, tolerance=tolerance)


@pytest.mark.parametrize(
    ("setting", "given", "message"),
    [
        (
            scenario("red"),
            {},
            'red.spacing must be "independent": the chain does not count packets',
        ),
        (
            scenario("red", spacing="independent"),
            {},
            "red.idle_decay must be false: the chain does not time idle periods",
        ),
        (
            red(sampling="clock", sampling_interval=0.5),
            {},
            "red.sampling_interval = 0.5 must be 0.001, the length of a slot (s): "
            "the chain samples once in each",
        ),
        (red(), {"grid": 0}, "grid = 0 must be above 0 and at most the limit of 15 packets"),
        (
            red(),
            {"grid": np.array([0.0, 8.0, 8.0, 15.0])},
            "grid must rise from 0 to the limit of 15 packets or beyond",
        ),
        (
            red(),
            {"grid": np.array([0.0, 8.0, 14.0])},
            "grid must rise from 0 to the limit of 15 packets or beyond",
        ),
        (
            red(),
            {"grid": [0.0, 8.0, float("inf")]},
            "grid must rise from 0 to the limit of 15 packets or beyond",
        ),
        (red(), {"method": "power"}, "method = power must be auto, direct or iterative"),
        (
            scenario(),
            {"method": "iterative"},
            "the iterative method needs an average that moves: take the direct method",
        ),
        (
            scenario(rate=1.0),
            {},
            "arrivals.rate = 1 must lie between 0 and 1, both excluded: "
            "else states of the chain never follow each other",
        ),
    ],
)
def test_scenarios_without_a_chain_are_refused(setting, given, message):
    with pytest.raises(sg.SluiceError) as caught:
        sg.chain.solve(setting, **given)
    assert str(caught.value) == message


def test_a_chain_too_large_for_the_memory_says_so_first():
    fine = red(limit=400, max_th=390)
    with pytest.raises(sg.SluiceError, match=r"the direct method takes 2\d\d\.\d GB, and"):
        sg.chain.solve(fine, grid=0.05, method="direct")
    with pytest.raises(sg.SluiceError, match=r"grid = 0.000001 gives 1.61e11 states, which take"):
        sg.chain.solve(fine, grid=1e-6)


def test_drop_functions_without_a_chain_are_named():
    setting = scenario().replace(service=sg.DeterministicService(slots=2))
    with pytest.raises(sg.SluiceError, match=r"service.kind = deterministic has no exact chain"):
        sg.chain.solve(setting)


def test_the_command(root, tmp_path, capsys):
    out = tmp_path / "exact.json"
    aqm = "red:w=0.1,spacing=independent,idle_decay=false"
    light = str(root / "scenarios" / "light.toml")
    given = ["--aqm", "drop_tail", "--aqm", aqm, "--json", str(out), "--out", str(tmp_path)]
    assert main(["chain", light, *given]) == 0
    printed = capsys.readouterr().out
    assert "exact chain of 52 states" in printed
    assert '"world": "chain"' in out.read_text()
    assert main(["chain", light, "--out", str(tmp_path)]) == 1
    assert "red.spacing must be" in capsys.readouterr().err
