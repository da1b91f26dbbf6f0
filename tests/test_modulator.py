import re

import numpy as np
import pytest
from intervals import assert_mean

from sluicegate.errors import SluiceError
from sluicegate.traffic import Modulator

PAPER_Q = 1.9276  # solves 1/q + 1/q^2 + 1/q^3 + 1/q^4 = 1: five states and mean 0.5


def brute_force_variance(source: Modulator, slots: int) -> float:
    """Return the sum of the covariances of all pairs of slots, by powers of the matrix."""
    matrix, p = source.transition_matrix(), source.mean
    total, power = slots * p * (1 - p), np.eye(source.states)
    for lag in range(1, slots):
        power = power @ matrix
        total += 2 * (slots - lag) * p * (power[0, 0] - p)
    return total


def test_matrix_and_stationary_distribution() -> None:
    source = Modulator(31.0, PAPER_Q)
    matrix = source.transition_matrix()
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    assert (matrix >= 0).all()
    np.testing.assert_allclose(matrix[0, 1:], [31.0**-j for j in range(1, 5)])
    np.testing.assert_allclose(matrix[1:, 0], [(PAPER_Q / 31) ** j for j in range(1, 5)])
    np.testing.assert_allclose(source.stationary() @ matrix, source.stationary())
    assert source.mean == pytest.approx(source.stationary()[0])


@pytest.mark.parametrize(
    "source",
    [
        Modulator(31.0, PAPER_Q),
        Modulator(2.0, 1.3),
        Modulator(2.0, 2.0),
        Modulator(1.5, 1.5, 2),
        Modulator(400.0, 0.7, 3),
        Modulator(100.0, 1.1),  # slowest state: 7e7 slots; the closed form suffers cancellation
    ],
)
def test_variance_is_the_sum_of_covariances(source: Modulator) -> None:
    slots = np.array([1, 2, 3, 7, 50, 700])
    brute_force = [brute_force_variance(source, int(m)) for m in slots]
    np.testing.assert_allclose(source.variance(slots), brute_force, rtol=1e-9)
    np.testing.assert_allclose(source.idc(slots), brute_force / (slots * source.mean), rtol=1e-9)
    assert source.variance(slots.reshape(2, 3)).shape == (2, 3)


def test_variance_grows_without_jumps_over_all_scales() -> None:
    """Series and closed form agree where they meet: no step between neighbouring scales."""
    m = np.unique(np.rint(np.geomspace(1, 1e9, 2000)))
    growth = np.diff(np.log(Modulator(31.0, PAPER_Q).variance(m))) / np.diff(np.log(m))
    assert ((growth > 0.99) & (growth < 2.0)).all()


def test_two_states_have_a_geometric_covariance() -> None:
    """With two states, the covariance at lag k is p (1 - p) r^k with r = 1 - 1/a - q/a."""
    a, q = 10.0, 2.0
    p, r, k = q / (1 + q), 1 - 1 / a - q / a, np.arange(1, 1000)
    expected = p * (1 - p) * (1000 + 2 * ((1000 - k) * r**k).sum())
    assert Modulator(a, q, 2).variance(1000) == pytest.approx(expected)


def test_local_hurst_of_the_papers_source() -> None:
    source = Modulator.fit(0.5, 0.78, shortest=1e4, longest=1e5)
    assert source.q == pytest.approx(PAPER_Q, abs=5e-5)
    paper = Modulator(31.0, source.q)
    assert paper.local_hurst(1e4, 1e5) == pytest.approx(0.78, abs=0.005)
    assert paper.local_hurst(1e2, 1e6) == pytest.approx(0.78, abs=0.005)
    assert paper.local_hurst(1, 1e5) == pytest.approx(0.84, abs=0.005)
    assert paper.local_hurst(1e8, 1e9) == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize("mean", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("hurst", [0.6, 0.75, 0.9])
def test_fit_gives_mean_and_hurst(mean: float, hurst: float) -> None:
    source = Modulator.fit(mean, hurst, shortest=10, longest=1e4)
    assert source.mean == pytest.approx(mean, rel=1e-9)
    assert source.local_hurst(10, 1e4) == pytest.approx(hurst, abs=1e-9)


def test_of_mean_solves_for_q() -> None:
    assert Modulator.of_mean(0.5, 31.0).q == pytest.approx(PAPER_Q, abs=5e-5)
    for mean in (0.01, 0.4, 0.9):
        assert Modulator.of_mean(mean, 40.0, 4).mean == pytest.approx(mean, rel=1e-12)
    with pytest.raises(SluiceError, match=r"^mean = 0 must be above 0 and below 1"):
        Modulator.of_mean(0, 31.0)
    with pytest.raises(SluiceError, match=r"^mean = 1e-300 must be at least 1e-09 \(packets"):
        Modulator.of_mean(1e-300, 31.0)


def test_of_mean_solves_for_q_of_many_states() -> None:
    # powers at the ends of the search overflow a double
    assert Modulator.of_mean(0.7, 4.0, 19).mean == pytest.approx(0.7, rel=1e-12)


def test_simulated_counts_have_the_exact_mean_and_variance() -> None:
    """Both moments of 400 independent records are within 4 of their standard errors."""
    source = Modulator(4.0, 1.5, 4)
    records = np.array([source.counts(50, 20, seed) for seed in range(400)])
    means = records.mean(axis=1)
    assert_mean(means, 20 * source.mean, within=0.02)
    squares = ((records - 20 * source.mean) ** 2).mean(axis=1)
    assert_mean(squares, source.variance(20), within=0.05)


def test_simulated_slots_are_stationary_from_the_first_and_hold_one_packet_at_most() -> None:
    source = Modulator(4.0, 1.5, 4)
    slots = np.array([source.counts(6, 1, seed) for seed in range(4000)])
    assert set(np.unique(slots)) == {0, 1}
    error = np.sqrt(source.mean * (1 - source.mean) / 4000)
    assert (np.abs(slots.mean(axis=0) - source.mean) < 4 * error).all()
    np.testing.assert_array_equal(source.counts(6, 1, 9), source.counts(6, 1, 9))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Modulator(31, 2, 1), "states = 1 must be at least 2"),
        (lambda: Modulator(31, 0), "q = 0 must be above 0 and at most a = 31"),
        (lambda: Modulator(31, 32), "q = 32 must be above 0 and at most a = 31"),
        (lambda: Modulator(float("nan"), 2), "q = 2 must be above 0 and at most a = nan"),
        (
            lambda: Modulator(1.5, 1.2),
            "a = 1.5 is too small for 5 states: "
            "the probabilities a^-j of leaving state 0 add up to 1.605, over 1",
        ),
        (
            lambda: Modulator(1e6, 2),
            "a = 1000000.0 is too large for q = 2 and 5 states: "
            "the slowest state would last 6.25e+22 slots; at most 1e9 are allowed",
        ),
        (
            lambda: Modulator(1e300, 2),
            "a = 1e+300 is too large for q = 2 and 5 states: "
            "the slowest state would last inf slots; at most 1e9 are allowed",
        ),
        (lambda: Modulator(31, 2).variance(0), "slots = 0 must be whole and at least 1"),
        (lambda: Modulator(31, 2).variance(1.5), "slots = 1.5 must be whole and at least 1"),
        (
            lambda: Modulator(31, 2).local_hurst(10, 15),
            "shortest = 10 must be at least 1 and at most half of longest = 15 (slots)",
        ),
        (
            lambda: Modulator.fit(1.0, 0.7),
            "mean = 1 must be above 0 and below 1 (packets per slot)",
        ),
        (lambda: Modulator.fit(0.5, 0.5), "hurst = 0.5 must be above 0.5 and below 1"),
        (lambda: Modulator.fit(0.5, 0.7, 1), "states = 1 must be at least 2"),
        (
            lambda: Modulator.fit(0.5, 0.99, shortest=1, longest=1e9),
            "hurst = 0.990 is out of reach for 5 states with mean 0.5 packets per slot over "
            "1 to 1e+09 slots: it can be",
        ),
    ],
)
def test_impossible_sources(make, message: str) -> None:
    with pytest.raises(SluiceError, match=f"^{re.escape(message)}"):
        make()
