"""Solves the geometric chain of `chain.py` by scipy's `splu`, with its matrix built by numpy."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, identity
from scipy.sparse.linalg import splu

LIMIT, RATE, MU, W = 250, 0.5, 0.5, 0.07
MIN_TH, MAX_TH, MAX_P = 100.0, 200.0, 0.1


def drop_function(average: Any, grid: float) -> Any:
    """Return RED's drop function, averaged over one grid step to each side (triangular weights)."""
    probability = np.zeros(average.shape)
    for off in (np.arange(-32, 32) + 0.5) / 32:
        near = average + off * grid
        p = np.clip(MAX_P * (near - MIN_TH) / (MAX_TH - MIN_TH), 0, None)
        probability += (1 - abs(off)) / 32 * np.where(near >= MAX_TH, 1.0, p)
    return probability


def transition_matrix(grid: float) -> Any:
    """Return the transition matrix of the geometric chain with RED; its columns sum to 1."""
    levels, sizes = round(LIMIT / grid) + 1, LIMIT + 2
    level, size = (part.ravel() for part in np.indices((levels, sizes)))
    number = np.arange(levels * sizes)
    rows, columns, values = [], [], []

    def add(to_level: Any, to_size: Any, p: Any) -> None:
        rows.append(to_level * sizes + to_size)
        columns.append(number)
        values.append(p)

    for served in (0, 1):
        after = size - served * (size > 0)
        p_served = np.where(size > 0, MU if served else 1 - MU, 0 if served else 1)
        add(level, after, p_served * (1 - RATE))
        average = level * grid
        place = (average + W * (np.maximum(after - 1, 0) - average)) / grid
        low = np.minimum(np.floor(place).astype(int), levels - 1)
        for to_level, p_level in (
            (low, 1 - (place - low)),
            (np.minimum(low + 1, levels - 1), place - low),
        ):
            probability = np.where(after == sizes - 1, 1.0, drop_function(to_level * grid, grid))
            add(to_level, after, p_served * RATE * p_level * probability)
            more = np.minimum(after + 1, sizes - 1)
            add(to_level, more, p_served * RATE * p_level * (1 - probability))
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    matrix = coo_matrix(entries, shape=(number.size, number.size)).tocsc()
    matrix.eliminate_zeros()
    return matrix


def queue_mean(x: Any) -> float:
    by_size = x.reshape(-1, LIMIT + 2).sum(axis=0)
    return float(np.maximum(np.arange(LIMIT + 2) - 1, 0) @ by_size)


def solve(grid: float) -> dict[str, float]:
    """Solve (P - I) x = 0, with x[0] = 1 in place of the first equation, and normalise x."""
    matrix = transition_matrix(grid)
    start = time.perf_counter()
    singular = (matrix - identity(matrix.shape[0])).tocsc()
    rest = splu(singular[1:, 1:].tocsc()).solve(-singular[1:, [0]].toarray().ravel())
    x = np.concatenate(([1.0], rest))
    x /= x.sum()
    seconds = time.perf_counter() - start
    residual = float(np.abs(matrix @ x - x).sum())
    return {"states": x.size, "s": seconds, "residual": residual, "queue_mean": queue_mean(x)}
