"""Bounds from a run's own noise that a noisy run cannot pass: the noise itself is bounded, too."""

import numpy as np


def assert_covers(found, exact, within, times=2.0):
    """A measure lies within `times` its 95 % half width of the exact figure.

    Twice the half width leaves one seed in ten thousand outside. `within` is the greatest half
    width, as a share of the exact figure.
    """
    assert 0 < found.half_width <= within * abs(exact), (found, exact)
    assert abs(found.value - exact) <= times * found.half_width, (found, exact)


def assert_mean(values, exact, within, errors=4.0):
    """The mean of independent values lies within `errors` standard errors of the exact figure.

    `within` is the greatest standard error, as a share of the exact figure.
    """
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert 0 < error <= within * abs(exact), (error, exact)
    assert abs(np.mean(values) - exact) <= errors * error, (np.mean(values), error, exact)
