import numpy as np
import pytest
from scipy.stats import binom

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.traffic import HurstEstimate, rescaled_range, variance_time, wavelet

pytestmark = pytest.mark.slow

ESTIMATORS = [variance_time, rescaled_range, wavelet]
LENGTH = 1024
PATHS = 200


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("hurst", [0.5, 0.65, 0.8, 0.95])
def test_intervals_hold_on_exact_noise(estimator, hurst: float) -> None:
    """Coverage of the 95 % intervals in 200 paths, with other seeds than those of the calibration.

    With a true coverage of 95 % the count lies between the bounds with probability above 0.998. The
    lower bound allows for 92 %, because the calibration has only a few thousand paths.
    """
    estimates = [estimator(_engine.fgn(hurst, LENGTH, 1_000_000 + seed)) for seed in range(PATHS)]
    covered = sum(e.low <= hurst <= e.high for e in estimates)
    assert binom.ppf(0.001, PATHS, 0.92) <= covered <= binom.ppf(0.999, PATHS, 0.97)
    values = np.array([e.hurst for e in estimates])
    standard_error = values.std(ddof=1) / np.sqrt(PATHS)
    assert standard_error < 0.01
    assert abs(values.mean() - hurst) < 0.01 + 4 * standard_error


def test_wavelet_intervals_hold_on_long_series() -> None:
    """As above, with intervals so short that a bias of 0.005 would be noticed."""
    paths = [_engine.fgn(0.9, 16_384, 1_000_000 + seed) for seed in range(PATHS)]
    estimates = [wavelet(path) for path in paths]
    covered = sum(e.low <= 0.9 <= e.high for e in estimates)
    assert binom.ppf(0.001, PATHS, 0.92) <= covered <= binom.ppf(0.999, PATHS, 0.97)
    assert abs(np.mean([e.hurst for e in estimates]) - 0.9) < 0.005


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_scale_and_level_do_not_matter(estimator) -> None:
    noise = _engine.fgn(0.75, LENGTH, 3)
    plain, moved = estimator(noise), estimator(40 + 1000 * noise)
    assert moved.hurst == pytest.approx(plain.hurst, abs=1e-9)
    assert moved.low == pytest.approx(plain.low, abs=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_long_series_keep_scales_in_bins_of_the_series(estimator) -> None:
    estimate = estimator(_engine.fgn(0.75, 20_000, 3))
    assert estimate.low <= 0.75 <= estimate.high
    assert estimate.scales.max() > 1000
    points = np.log10(estimate.values / estimate.line(estimate.scales))
    assert np.abs(points).max() < 0.3


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimates_repeat(estimator) -> None:
    noise = _engine.fgn(0.6, LENGTH, 3)
    first, second = estimator(noise), estimator(noise)
    assert (first.hurst, first.low, first.high) == (second.hurst, second.low, second.high)


def test_a_linear_trend_does_not_move_the_wavelet_estimate() -> None:
    noise = _engine.fgn(0.6, 4096, 5)
    trend = np.linspace(0, 20, noise.size)
    assert wavelet(noise + trend).hurst == pytest.approx(wavelet(noise).hurst, abs=1e-6)


def test_line_goes_through_intercept_and_slope() -> None:
    ones = np.ones(2)
    estimate = HurstEstimate("R/S", 0.5, 0.4, 0.6, ones, ones, 0.5, 1.0, None)
    np.testing.assert_allclose(estimate.line([1, 100]), [10, 100])


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("series", "message"),
    [
        (np.ones(511), "the series has 511 bins; a Hurst parameter needs at least 512"),
        ([], "the series has 0 bins; a Hurst parameter needs at least 512"),
        (np.full(600, 3), "the series is constant (3 in every bin): it has no variance"),
        (np.ones((600, 2)), "the series must have one dimension, not 2"),
        (np.r_[np.arange(600.0), np.nan], "the series is not finite at bin 600"),
        (np.r_[np.inf, np.arange(600.0)], "the series is not finite at bin 0"),
    ],
)
def test_bad_series(estimator, series, message: str) -> None:
    with pytest.raises(SluiceError) as caught:
        estimator(series)
    assert str(caught.value) == message


def test_noise_refuses_impossible_parameters() -> None:
    with pytest.raises(ValueError, match=r"^hurst = 1 must lie between 0 and 1, both excluded$"):
        _engine.fgn(1.0, 8, 1)
    with pytest.raises(ValueError, match=r"^n = 0 must be at least 1 \(samples\)$"):
        _engine.fgn(0.7, 0, 1)


def test_noise_has_the_covariance_of_the_closed_form() -> None:
    """Covariance of 4000 paths of 32 values by NumPy: each entry within 5 standard errors."""
    paths = np.array([_engine.fgn(0.8, 32, seed) for seed in range(4000)])
    lags = np.abs(np.subtract.outer(np.arange(32.0), np.arange(32.0)))
    exact = (np.abs(lags + 1) ** 1.6 - 2 * lags**1.6 + np.abs(lags - 1) ** 1.6) / 2
    error = np.sqrt((1 + exact**2) / len(paths))
    assert (np.abs(paths.T @ paths / len(paths) - exact) < 5 * error).all()
