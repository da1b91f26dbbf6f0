"""Estimators of the Hurst parameter of a count series, each with a 95 % interval.

`wavelet` has the interval of its own theory. The raw slopes of `variance_time` and
`rescaled_range` are biased, and no simple formula gives their spread; both are therefore read
against the same estimator applied to exact fractional Gaussian noise of the same length: the
estimate is the H whose mean slope is the one found, and the interval holds every H for which the
slope found lies within the central 95 % (inversion of the test, after Neyman 1937). The intervals
hold for fractional Gaussian noise; on other series they are those of such noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike, NDArray

from sluicegate import _engine
from sluicegate.errors import SluiceError

FloatArray = NDArray[np.float64]
PointsFunction = Callable[[FloatArray], tuple[NDArray[np.int64], FloatArray]]

SHORTEST_SERIES = 512
_LONGEST_CALIBRATED = 4096
_CALIBRATION_PATHS = 2004
_PATHS_AT_ONCE = 12
_LONG_SERIES = 8192
_LEAST_COEFFICIENTS = 8
_Z95 = 1.959964


@dataclass(frozen=True, eq=False)
class HurstEstimate:
    """A Hurst parameter, its 95 % interval, and the log-log plot behind it.

    Attributes:
        method: Name of the estimator.
        hurst: The estimate.
        low: Lower end of the 95 % interval.
        high: Upper end of the 95 % interval.
        scales: Time-scales of the points, in bins, shape (k,).
        values: The statistic at each scale, shape (k,): variance of the block means (packets^2),
            mean rescaled range, or mean wavelet energy (packets^2).
        slope: Slope of the fitted line in log10-log10.
        intercept: log10 of the line at scale 1.
        factors: Each value's 95 % interval runs from values / factors to values * factors, shape
            (k,); None where the method knows no such interval.

    """

    method: Literal["variance-time", "R/S", "wavelet"]
    hurst: float
    low: float
    high: float
    scales: FloatArray
    values: FloatArray
    slope: float
    intercept: float
    factors: FloatArray | None

    def line(self, scales: ArrayLike) -> FloatArray:
        """Return the fitted line at `scales` (bins), same shape."""
        return np.asarray(10**self.intercept * np.asarray(scales, dtype=np.float64) ** self.slope)


def variance_time(series: ArrayLike) -> HurstEstimate:
    """Estimate H from how the variance of block means falls with the block's length.

    Var(mean of m bins) grows as m^(2H-2) (Taqqu, Teverovsky and Willinger, Fractals 3 (1995),
    "aggregated variance"); sample variances of few blocks are too small, which the calibration
    described in this module's docstring corrects. Series over 4,096 bins are first averaged over
    blocks that make them shorter; `scales` stay in bins of the series given.

    Args:
        series: Packets per bin, shape (n,), n at least 512.

    Raises:
        SluiceError: The series is too short, constant, not one-dimensional, or not finite.

    """
    return _calibrated("variance-time", checked(series), _variance_points)


def rescaled_range(series: ArrayLike) -> HurstEstimate:
    """Estimate H from how the rescaled range R/S grows with the block's length.

    E[R/S] over blocks of d bins grows as d^H (Hurst 1951; Mandelbrot and Wallis, Water Resources
    Research 5 (1969)); at usable d it grows faster for small H and slower for large, which the
    calibration described in this module's docstring corrects. Long series: as `variance_time`.

    Args:
        series: Packets per bin, shape (n,), n at least 512.

    Raises:
        SluiceError: The series is too short, constant, not one-dimensional, or not finite.

    """
    return _calibrated("R/S", checked(series), _range_points)


def wavelet(series: ArrayLike) -> HurstEstimate:
    """Estimate H from the energy of the wavelet coefficients at each octave.

    Abry and Veitch, IEEE Trans. Information Theory 44 (1998): log2 of the mean energy at octave j
    grows as (2H - 1) j; weighted regression with the variances of log chi^2,
    Daubechies wavelets with 3 vanishing moments, so that linear trends do not matter, octaves
    from 3 on, as the first two see the bins themselves; from 4 on in series over 8192 bins, whose
    interval is so short that octave 3's bias of 0.005 would show. Coefficients that touch the ends
    of the series are left out.

    Args:
        series: Packets per bin, shape (n,), n at least 512.

    Raises:
        SluiceError: The series is too short, constant, not one-dimensional, or not finite.

    """
    from scipy.special import digamma, zeta  # takes half a second to import

    octaves, energies, sizes = _octave_energies(checked(series))
    half = sizes / 2
    # Mean and variance of log2 of a chi^2 mean over `sizes` coefficients.
    bias = digamma(half) / np.log(2) - np.log2(half)
    weights = np.log(2) ** 2 / zeta(2, half)
    y = np.log2(energies) - bias
    centre = np.average(octaves, weights=weights)
    spread = (weights * (octaves - centre) ** 2).sum()
    slope = float((weights * (octaves - centre) * y).sum() / spread)
    hurst = (slope + 1) / 2
    margin = _Z95 / float(np.sqrt(spread)) / 2
    intercept = (float(np.average(y, weights=weights)) - slope * float(centre)) * np.log10(2)
    return HurstEstimate(
        method="wavelet",
        hurst=hurst,
        low=hurst - margin,
        high=hurst + margin,
        scales=2.0**octaves,
        values=2.0**y,
        slope=slope,
        intercept=float(intercept),
        factors=2 ** (_Z95 / np.sqrt(weights)),
    )


def checked(series: ArrayLike) -> FloatArray:
    """Return the series as floats, or say why no Hurst parameter can be estimated from it."""
    x = np.asarray(series, dtype=np.float64)
    if x.ndim != 1:
        raise SluiceError(f"the series must have one dimension, not {x.ndim}")
    if x.size < SHORTEST_SERIES:
        raise SluiceError(
            f"the series has {x.size} bins; a Hurst parameter needs at least {SHORTEST_SERIES}"
        )
    if not np.isfinite(x).all():
        raise SluiceError(f"the series is not finite at bin {int(np.argmin(np.isfinite(x)))}")
    if (x == x[0]).all():
        raise SluiceError(f"the series is constant ({x[0]:g} in every bin): it has no variance")
    return x


def variance_of_means(x: FloatArray, m: int) -> FloatArray:
    """Return the sample variance of the means of consecutive blocks of m, over the last axis."""
    return np.asarray(_blocks(x, m).mean(axis=-1).var(axis=-1, ddof=1))


def _blocks(x: FloatArray, m: int) -> FloatArray:
    blocks = x.shape[-1] // m
    return x[..., : blocks * m].reshape(*x.shape[:-1], blocks, m)


def _scales(least: int, most: int, number: int) -> NDArray[np.int64]:
    return np.unique(np.rint(np.geomspace(least, most, number)).astype(np.int64))


def _variance_points(x: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    scales = _scales(1, x.shape[-1] // 16, 14)
    return scales, np.stack([variance_of_means(x, int(m)) for m in scales], axis=-1)


def _range_points(x: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    scales = _scales(16, x.shape[-1] // 4, 10)
    return scales, np.stack([_mean_rescaled_range(x, int(d)) for d in scales], axis=-1)


def _mean_rescaled_range(x: FloatArray, d: int) -> FloatArray:
    """Return the mean of R/S over blocks of d bins; blocks without variance are left out."""
    blocks = _blocks(x, d)
    walk = np.cumsum(blocks - blocks.mean(axis=-1, keepdims=True), axis=-1)
    ranges = np.maximum(walk.max(axis=-1), 0) - np.minimum(walk.min(axis=-1), 0)
    deviation = blocks.std(axis=-1)
    varies = deviation > 0
    ratio = np.divide(ranges, deviation, out=np.zeros_like(ranges), where=varies)
    return np.asarray(ratio.sum(axis=-1) / np.maximum(varies.sum(axis=-1), 1))


def _octave_energies(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return octaves, mean squared wavelet coefficients, and their numbers, each of shape (k,)."""
    import pywt  # type: ignore[import-untyped]  # takes time to import, too

    db3 = pywt.Wavelet("db3")
    taps = db3.dec_len
    energies, sizes, approximation = [], [], x
    while approximation.size >= taps:
        # Of the transform padded with zeros, the part that no padding touches.
        inner = slice(taps // 2 - 1, approximation.size // 2)
        approximation, detail = (part[inner] for part in pywt.dwt(approximation, db3, mode="zero"))
        energies.append(float((detail**2).mean()))
        sizes.append(float(detail.size))
    octaves = np.arange(1.0, len(sizes) + 1)
    first_octave = 4 if x.size > _LONG_SERIES else 3
    kept = (octaves >= first_octave) & (np.array(sizes) >= _LEAST_COEFFICIENTS)
    octaves, energy = octaves[kept], np.array(energies)[kept]
    _require_variation(2.0**octaves, energy)
    return octaves, energy, np.array(sizes)[kept]


def _require_variation(scales: FloatArray, values: FloatArray) -> None:
    if not (values > 0).all():
        raise SluiceError(f"the series does not vary over {scales[values <= 0][0]:g} bins")


def _calibrated(
    method: Literal["variance-time", "R/S"], x: FloatArray, points: PointsFunction
) -> HurstEstimate:
    """Turn the slope of log values against log scales into H by comparison with exact noise."""
    block = -(-x.size // _LONGEST_CALIBRATED)
    shortened = _blocks(x, block).mean(axis=-1)
    scales, values = points(shortened)
    _require_variation(scales.astype(np.float64) * block, values)
    slope = float(_slopes(scales, values))
    hurst_grid, curves = _slopes_on_noise(shortened.size)[points]
    high, hurst, low = (float(np.interp(slope, curve, hurst_grid)) for curve in curves)
    in_bins = scales.astype(np.float64) * block
    intercept = float((np.log10(values) - slope * np.log10(in_bins)).mean())
    return HurstEstimate(method, hurst, low, high, in_bins, values, slope, intercept, None)


def _slopes(scales: NDArray[np.int64], values: FloatArray) -> FloatArray:
    """Return least-squares slopes of log10 values against log10 scales, over the last axis."""
    x = np.log10(scales)
    x = x - x.mean()
    return np.asarray((np.log10(values) * x).sum(axis=-1) / (x**2).sum())


@lru_cache(maxsize=32)
def _slopes_on_noise(n: int) -> dict[PointsFunction, tuple[FloatArray, FloatArray]]:
    """Return H on a fine grid (k,) and 2.5 % point, mean, 97.5 % point of the slope there (3, k).

    Both estimators read the same seeded paths of exact noise of length n at a few H: mean and
    standard deviation as smooth functions of H, quantiles from the standardised slopes of all
    paths together.
    """
    grid = np.repeat(np.linspace(0.05, 0.97, 12), _CALIBRATION_PATHS // 12)
    estimators = (_variance_points, _range_points)
    slopes: list[list[FloatArray]] = [[] for _ in estimators]
    for first in range(0, grid.size, _PATHS_AT_ONCE):
        some = enumerate(grid[first : first + _PATHS_AT_ONCE], start=first)
        paths = np.stack([_engine.fgn(float(h), n, seed) for seed, h in some])
        for found, points in zip(slopes, estimators, strict=True):
            found.append(_slopes(*points(paths)))
    return {
        points: _curves(grid, np.concatenate(found))
        for found, points in zip(slopes, estimators, strict=True)
    }


def _curves(grid: FloatArray, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what `_slopes_on_noise` does, from the slope of each path and its H."""
    mean = Polynomial.fit(grid, slopes, 4)
    residuals = slopes - mean(grid)
    deviation = Polynomial.fit(grid, np.abs(residuals), 2)
    low, high = np.quantile(residuals / deviation(grid), [0.025, 0.975])
    fine = np.linspace(0.01, 0.99, 491)
    shifts = np.array([[low], [0.0], [high]])
    return fine, mean(fine) + shifts * deviation(fine)
