"""Measures that people feel, against reference numbers and closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.measures import fairness
from sluicegate.measures.ellipse import contour_radius, ellipse
from sluicegate.measures.gaps import bursts_and_gaps, loss_runs
from sluicegate.measures.harm import harm, mean_harm
from sluicegate.measures.outcome import NEEDS, Need, quality_of_outcome
from sluicegate.measures.responsiveness import round_trips_per_minute, trimmed_mean
from sluicegate.measures.synchronisation import loss_events, synchronisation_ratio
from sluicegate.measures.variation import delay_variation, jitter, successive_variation
from sluicegate.measures.voice import mean_opinion, mean_opinion_score, rating


@pytest.mark.parametrize(
    ("delay_ms", "loss", "r", "mos"),
    [
        (0, 0, 93.21, 4.409),
        (20, 0, 92.53, 4.396),
        (50, 0, 91.76, 4.380),
        (100, 0, 90.66, 4.355),
        (150, 0, 89.54, 4.328),
        (200, 0, 85.80, 4.223),
        (300, 0, 72.67, 3.719),
        (400, 0, 62.25, 3.216),
        (50, 0.01, 73.83, 3.771),
        (50, 0.02, 61.60, 3.182),
        (150, 0.03, 50.50, 2.601),
    ],
)
def test_the_e_model_is_that_of_the_recommendation(delay_ms, loss, r, mos):
    # flent 2.3.0 has the same formulas, verified against ITU's own calculator
    assert rating(delay_ms / 1000, loss) == pytest.approx(r, abs=0.006)
    assert mean_opinion_score(delay_ms / 1000, loss) == pytest.approx(mos, abs=0.0006)


def test_ratings_beyond_the_scale_have_its_ends():
    assert (mean_opinion(-1), mean_opinion(0), mean_opinion(101)) == (1.0, 1.0, 4.5)
    assert mean_opinion_score(None, 0.0) is None
    assert mean_opinion_score(0.1, None) is None


def test_jain_and_harm():
    assert fairness(np.array([1, 2, 3, 4])) == pytest.approx(100 / 120)
    assert fairness(np.array([4, 0, 0, 0])) == 0.25
    assert fairness(np.array([12.65, 34.57])) == pytest.approx(0.82271, abs=5e-6)
    assert harm(100, 40, more_is_better=True) == pytest.approx(0.6)
    assert harm(10, 25, more_is_better=False) == pytest.approx(0.6)
    assert harm(40, 50, more_is_better=True) < 0
    assert harm(0, 5, more_is_better=True) is None


UNKNOWN = (None, math.nan, math.inf)


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_harm_of_what_is_not_known_is_missing(unknown):
    for more_is_better in (True, False):
        assert harm(unknown, 5, more_is_better=more_is_better) is None
        assert harm(5, unknown, more_is_better=more_is_better) is None
        assert harm(unknown, unknown, more_is_better=more_is_better) is None
        assert mean_harm([unknown], [5], more_is_better=more_is_better) is None
        assert mean_harm([], [], more_is_better=more_is_better) is None
    # a solo run in which all was lost has no goodput, and no delay
    assert mean_harm([0, 100], [5, 40], more_is_better=True).value == pytest.approx(0.6)
    assert mean_harm([unknown, 10], [5, 25], more_is_better=False).value == pytest.approx(0.6)


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_responsiveness_of_what_never_ended_is_missing(unknown):
    assert trimmed_mean([unknown]) is None
    assert trimmed_mean([unknown, 2.0]) is None
    # the longest of twenty is not kept
    assert trimmed_mean([*range(10), unknown, *range(10, 19)]) == 9.0
    assert trimmed_mean([*range(18), unknown, unknown]) is None
    assert round_trips_per_minute([unknown], [0.03], [0.05]) is None
    assert round_trips_per_minute([0.02], [unknown, unknown], [0.05]) is None
    assert round_trips_per_minute([0.02], [0.03], [unknown]) is None
    assert round_trips_per_minute([0.02], [0.03], [0.05], []) is None
    # one exchange that never ended, beside one or nineteen that did
    assert round_trips_per_minute([0.02, unknown], [0.03], [0.05]) is None
    ended = round_trips_per_minute([0.02], [0.03], [0.05])
    beside = round_trips_per_minute([*[0.02] * 19, unknown], [0.03], [0.05])
    assert beside == pytest.approx(ended)


def test_responsiveness_without_times_to_divide_by_is_missing():
    assert round_trips_per_minute([0], [0], [0]) is None
    assert round_trips_per_minute([0.02], [0.03], [0]) is None
    assert round_trips_per_minute([], [], []) is None


@pytest.mark.parametrize("unknown", [None, math.nan])
def test_outcomes_and_opinions_of_what_is_not_known_are_missing(unknown):
    web = NEEDS["web"]
    assert quality_of_outcome(web, {90: unknown}, 0.0) is None
    assert quality_of_outcome(web, {90: 0.1}, unknown) is None
    fast = Need({99: (0.2, 0.5)}, (0.01, 0.05), rate_bps=1e6)
    assert quality_of_outcome(fast, {99: 0.1}, 0.0, unknown) is None
    assert mean_opinion_score(unknown, 0.0) is None
    assert mean_opinion_score(0.1, unknown) is None


def test_an_ellipse_leaves_out_runs_that_are_not_known():
    assert ellipse([1, math.nan, 3], [1, 5, 3]).mean == pytest.approx([2, 2])
    assert ellipse([1, None, 3], [1, 5, math.inf]) is None


def test_an_ellipse_of_five_runs():
    found = ellipse([10, 12, 14, 16, 18], [1, 1.2, 1.1, 1.5, 1.4])
    assert found.mean == pytest.approx([14, 1.24])
    assert found.median == pytest.approx([14, 1.2])
    assert found.covariance.ravel() == pytest.approx([8, 0.44, 0.44, 0.0344])
    assert found.semi_axes == pytest.approx([2.832707, 0.100842], abs=1e-6)
    assert math.degrees(found.angle) == pytest.approx(3.15210, abs=1e-5)
    assert found.correlation == pytest.approx(0.838742, abs=1e-6)
    assert ellipse([1], [1]) is None


def test_contours_hold_their_share():
    assert [contour_radius(share) for share in (0.5, 0.68, 0.95)] == pytest.approx(
        [1.1774, 1.5096, 2.4477], abs=5e-5
    )
    rng = np.random.default_rng(1)
    pairs = rng.multivariate_normal([20, 5], [[4, -1], [-1, 0.5]], 20_000)
    found = ellipse(*pairs.T)
    away = np.linalg.solve(np.linalg.cholesky(found.covariance), (pairs - found.mean).T)
    inside = (np.hypot(*away) < contour_radius(0.5)).mean()
    assert abs(inside - 0.5) < 4 * math.sqrt(0.25 / 20_000)
    # every point of the contour is as many standard deviations away
    on = np.linalg.solve(np.linalg.cholesky(found.covariance), (found.contour(0.5) - found.mean).T)
    assert np.hypot(*on) == pytest.approx(contour_radius(0.5))


def test_runs_that_are_equal_have_an_ellipse_without_area():
    found = ellipse([5, 5, 5], [1, 2, 3])
    assert found.correlation is None
    assert found.angle == pytest.approx(math.pi / 2)
    assert found.semi_axes[1] == 0


def test_variation_of_delays():
    assert delay_variation([30, 20, 50]) == pytest.approx([10, 0, 30])
    assert not len(delay_variation([]))
    assert successive_variation([30, 20, 50]) == pytest.approx([-10, 30])
    # three differences of 10
    assert jitter([0, 10, 0, 10]) == pytest.approx(1.76025, abs=5e-6)
    assert jitter([7]) is None


def test_round_trips_per_minute():
    given_s = {"tcp_s": [0.02], "tls_s": [0.02], "http_s": [0.03], "loaded_s": [0.05]}
    assert round_trips_per_minute(**given_s) == pytest.approx(1885.714, abs=1e-3)
    given_s.pop("tls_s")
    assert round_trips_per_minute(**given_s) == pytest.approx(1800)
    assert round_trips_per_minute([0.02], [0.03], []) is None
    assert trimmed_mean(range(1, 101)) == 48.0
    assert trimmed_mean([]) is None


def test_quality_of_outcome():
    assert quality_of_outcome(NEEDS["web"], {90: 0.08}, 0.007) == pytest.approx(60)
    # the draft's own example
    need = Need({99: (0.2, 0.5), 99.9: (0.3, 0.6)}, (0.01, 0.05))
    assert quality_of_outcome(need, {99: 0.35, 99.9: 0.375}, 0.02) == pytest.approx(50)
    assert quality_of_outcome(need, {99: 0.35}, 0.02) is None
    assert quality_of_outcome(need, {99: 0.1, 99.9: 0.1}, None) is None
    fast = Need({99: (0.2, 0.5)}, (0.01, 0.05), rate_bps=1e6)
    assert quality_of_outcome(fast, {99: 0.1}, 0.0) is None
    assert quality_of_outcome(fast, {99: 0.1}, 0.0, 0.5e6) == 0
    assert quality_of_outcome(fast, {99: 0.1}, 0.0, 2e6) == 100


def test_synchronisation():
    # two events of one round trip: both flows lose in the first, one in the second
    times, flows = [0.0, 0.05, 0.09, 0.1], [7, 9, 7, 9]
    assert loss_events(times, 0.1).tolist() == [0, 0, 0, 1]
    assert synchronisation_ratio(times, flows, 2, 0.1) == pytest.approx(0.75)
    assert synchronisation_ratio([], [], 2, 0.1) is None
    assert synchronisation_ratio([1.0], [7], 1, 0.1) is None


def test_independent_losses_are_as_synchronised_as_chance_says():
    rng, flows, probability = np.random.default_rng(3), 8, 0.1
    hit = rng.random((5000, flows)) < probability
    event, flow = np.nonzero(hit)
    found = synchronisation_ratio(event.astype(float), flow, flows, 0.5)
    expected = probability / (1 - (1 - probability) ** flows)
    assert found == pytest.approx(expected, rel=0.03)


def test_runs_of_losses():
    found = loss_runs([False, True, True, False, False, False, True, False])
    assert (found.losses.tolist(), found.gaps.tolist()) == ([2, 1], [3])
    assert (found.mean_run, found.mean_gap) == (1.5, 3.0)
    none = loss_runs([False] * 5)
    assert (none.mean_run, none.mean_gap) == (None, None)


@given(st.lists(st.booleans(), max_size=60))
def test_runs_of_losses_have_all_losses(lost):
    found = loss_runs(lost)
    assert found.losses.sum() == sum(lost)
    assert len(found.gaps) == max(0, len(found.losses) - 1)


def test_bursts_and_gaps_of_a_call():
    lost = np.zeros(100, dtype=bool)
    lost[[10, 12, 15, 60]] = True
    found = bursts_and_gaps(lost)
    assert found.burst_packets == 6
    assert found.burst_density == pytest.approx(3 / 6)
    assert found.gap_density == pytest.approx(1 / 94)
    assert found.gap_packets == pytest.approx(47)
    quiet = bursts_and_gaps([False] * 10)
    assert (quiet.burst_density, quiet.burst_packets) == (None, None)
    assert (quiet.gap_density, quiet.gap_packets) == (0.0, 10.0)
    whole = bursts_and_gaps([True, True])
    assert (whole.gap_density, whole.gap_packets, whole.burst_density) == (None, None, 1.0)


@given(st.lists(st.booleans(), min_size=1, max_size=200))
def test_bursts_end_after_as_many_packets_as_the_standard_says(lost):
    found = bursts_and_gaps(lost, gmin=16)
    if found.burst_density is not None:
        # within a burst at most 15 packets come between two losses
        assert found.burst_density >= 1 / 16
