"""Plots of the queue's distribution, ours and ns-2's in the same panel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from cases import Case
from simulators import Run

COLUMNS = 3


def draw(runs: Mapping[Case, tuple[Sequence[Run], Sequence[Run]]], folder: Path) -> Iterator[Path]:
    """Draw a picture for each network and number of flows, with a panel for each case.

    Yields:
        The path of each picture.
    """
    pictures: dict[str, list[Case]] = {}
    for case in runs:
        pictures.setdefault(f"{case.flows} flows, {case.network}", []).append(case)
    for title, cases in pictures.items():
        rows = -(-len(cases) // COLUMNS)
        columns = min(COLUMNS, len(cases))
        figure, axes = plt.subplots(
            rows,
            columns,
            figsize=(4.2 * columns, 2.7 * rows + 1),
            squeeze=False,
            layout="constrained",
        )
        for axis in axes.flat[len(cases) :]:
            axis.remove()
        for case, axis in zip(cases, axes.flat, strict=False):
            _panel(axis, case, *runs[case])
        figure.suptitle(f"Queue in the second half: {title}")
        figure.supxlabel("waiting packets")
        figure.supylabel("share of samples")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower right", ncols=3, frameon=False)
        name = title.replace("/", "").replace(",", "").replace(" ", "-")
        path = folder / f"queue-{name}.png"
        figure.savefig(path, dpi=110)
        plt.close(figure)
        yield path


def _panel(axis: Any, case: Case, our_runs: Sequence[Run], their_runs: Sequence[Run]) -> None:
    ours, theirs = _shares(our_runs), _shares(their_runs)
    lengths = np.arange(theirs.shape[1])
    low, high = theirs.min(axis=0), theirs.max(axis=0)
    axis.fill_between(
        lengths, low, high, step="mid", color="0.8", label="ns-2, least to greatest of the seeds"
    )
    axis.step(lengths, theirs.mean(axis=0), where="mid", color="black", lw=1.6, label="ns-2")
    axis.step(lengths, ours.mean(axis=0), where="mid", color="tab:red", lw=1.1, label="Sluicegate")
    # an AQM can have two panels, with few seeds and with many
    axis.set_title(f"{case.aqm}, {case.seeds} seeds")
    shares = ours.mean(axis=0) + theirs.mean(axis=0)
    shown = np.flatnonzero(shares > shares.max() / 1000)
    axis.set_xlim(shown[0] - 2, shown[-1] + 2)
    axis.set_ylim(bottom=0)


def _shares(runs: Sequence[Run]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the share of samples with k packets waiting, shape (seeds, 202)."""
    rows = np.zeros((len(runs), 202))
    for row, run in zip(rows, runs, strict=True):
        row[: len(run.histogram)] = run.histogram
    return rows / rows.sum(axis=1, keepdims=True)
