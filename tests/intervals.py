"""Assertions with a run's own interval as tolerance; the interval's width is limited, too."""

import numpy as np


def assert_covers(found, exact, within, times=2.0):
    """Assert that a measure is within `times` its 95 % half width of the exact value.

    With twice the half width, one seed in ten thousand fails. `within` is the greatest half width
    allowed, as a share of the exact value.
    """
    assert 0 < found.half_width <= within * abs(exact), (found, exact)
    assert abs(found.value - exact) <= times * found.half_width, (found, exact)


def assert_mean(values, exact, within, errors=4.0):
    """Assert that the mean of independent values is within `errors` standard errors of `exact`.

    `within` is the greatest standard error allowed, as a share of the exact value.
    """
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert 0 < error <= within * abs(exact), (error, exact)
    assert abs(np.mean(values) - exact) <= errors * error, (np.mean(values), error, exact)
