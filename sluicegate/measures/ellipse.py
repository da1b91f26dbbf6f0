"""Delay-goodput ellipses: where the runs of a discipline lie (RFC 7928, section 2.7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Ellipse:
    """The Gaussian that makes pairs of delay and goodput most likely (Winstein et al. 2013).

    Attributes:
        mean: Of delay and goodput, shape (2,).
        median: Likewise.
        covariance: Of maximum likelihood: sums are divided by n, shape (2, 2).
    """

    mean: FloatArray
    median: FloatArray
    covariance: FloatArray

    @property
    def semi_axes(self) -> FloatArray:
        """Long and short one of the contour at one standard deviation, shape (2,)."""
        found: FloatArray = np.sqrt(np.clip(np.linalg.eigvalsh(self.covariance)[::-1], 0.0, None))
        return found

    @property
    def angle(self) -> float:
        """From the axis of delays to the long semi-axis, radians, in (-pi/2, pi/2]."""
        delay, goodput = np.linalg.eigh(self.covariance)[1][:, -1]
        return float(np.arctan(goodput / delay)) if delay else np.pi / 2

    @property
    def correlation(self) -> float | None:
        """Of delay and goodput; None where one of them does not vary."""
        deviations = np.sqrt(np.diag(self.covariance))
        return float(self.covariance[0, 1] / deviations.prod()) if deviations.all() else None

    def contour(self, share: float, points: int = 100) -> FloatArray:
        """The contour within which this share of the Gaussian lies, shape (points, 2)."""
        turn = np.linspace(0, 2 * np.pi, points)
        values, vectors = np.linalg.eigh(self.covariance)
        circle = np.column_stack([np.cos(turn), np.sin(turn)])
        radii = contour_radius(share) * np.sqrt(np.clip(values, 0.0, None))
        found: FloatArray = self.mean + (circle * radii) @ vectors.T
        return found


def contour_radius(share: float) -> float:
    """Standard deviations from the mean to the contour that encloses this share."""
    return float(np.sqrt(-2 * np.log1p(-share)))


def ellipse(delays: ArrayLike, goodputs: ArrayLike) -> Ellipse | None:
    """The ellipse of pairs of delay and goodput.

    Args:
        delays: Mean queueing delay of each run, shape (n,), in any unit; a run in which it is not
            known (None or not finite) is left out, and so with goodputs.
        goodputs: Goodput of each run, shape (n,).

    Returns:
        None for fewer than two pairs.
    """
    given = np.column_stack([np.asarray(delays, np.float64), np.asarray(goodputs, np.float64)])
    pairs = given[np.isfinite(given).all(axis=1)]
    if len(pairs) < 2:
        return None
    return Ellipse(
        pairs.mean(axis=0), np.median(pairs, axis=0), np.cov(pairs, rowvar=False, ddof=0)
    )
