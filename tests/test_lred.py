"""LRED's reproduction: its formulas, its claims from constructed runs, tiny versions of its runs."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from sluicegate.aqm import aqm
from sluicegate.network import PortRecord
from sluicegate.papers.claims import Claim
from sluicegate.papers.lred import (
    bounds,
    experiment1,
    experiment2,
    experiment3,
    experiment4,
    experiment5,
    experiment6,
    extensions,
    measured,
    parameters,
    reproduction,
    scenarios,
)
from sluicegate.papers.lred.findings import findings

# as few cases as show everything
TINY = {
    experiment1: {"FLOWS": (100, 300, 1000), "FEW_FLOWS": (100, 300, 1000)},
    experiment3: {"TARGETS": (20, 100, 160)},
    experiment4: {"DENSITIES": (0.1, 0.5, 0.9)},
    experiment5: {"RATES": (30, 100), "AVQ_RATES": (20, 100), "ALPHAS": (0.01, 0.15)},
}


def port(queue, sample_s=0.1, **columns):
    """A port whose queue was sampled so, shape (seeds, samples)."""
    queue = np.asarray(queue, dtype=np.uint32)
    seeds, samples = queue.shape
    series = pl.DataFrame(
        {
            "replication": np.repeat(np.arange(seeds), samples),
            "time_s": np.tile(np.arange(samples) * sample_s, seeds),
            "queue": queue.ravel(),
            **{name: np.asarray(values).ravel() for name, values in columns.items()},
        }
    )
    empty = np.zeros(0)
    return PortRecord("left -> right", {}, {}, empty, empty, 1.0, sample_s, series)


# ---- formulas ----


def test_bounds_are_when_a_full_buffer_has_raised_the_probability():
    p0 = np.array([0.05, 0.2])
    np.testing.assert_allclose(bounds.pi_bound_s(p0), p0 / (100 * 6e-8 * 170))
    for p, bound_s in zip(p0, bounds.rem_bound_s(p0), strict=True):
        price = bound_s * 500 * 0.1 * 0.001 * 100
        # equation 40 takes phi^-u for its first two terms
        assert p == pytest.approx(price * np.log(1.001))
