"""Drop functions as a figure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from sluicegate.registry import Aqm, PythonAqm
from sluicegate.report.drop_function_table import settled
from sluicegate.report.figure import Figure
from sluicegate.report.plots import WIDTH, colours, dash, height_for, label, share_text

FloatArray = NDArray[np.float64]


def drop_function_figure(disciplines: Mapping[str, Aqm | PythonAqm]) -> Figure | None:
    """Draw the drop functions of those that have one; None where none has."""
    colour = colours(list(disciplines))
    averages, functions = _drawn(disciplines)
    if not functions:
        return None
    figure = Figure(figsize=(WIDTH, height_for(list(functions))), layout="constrained")
    ax = figure.subplots()
    for k, (name, function) in enumerate(functions.items()):
        ax.plot(averages, function, color=colour[name], ls=dash(k), label=label(name))
    ax.set_xlim(0, averages[-1])
    ax.set_ylim(-0.02, 1.05)
    ax.yaxis.set_major_formatter(FuncFormatter(share_text))
    ax.set_xlabel("average queue (packets)")
    ax.set_ylabel("drop probability")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    if len(functions) > 1:
        figure.legend(loc="outside right upper", labelcolor="linecolor", frameon=False)
    return figure


def same_curves(disciplines: Mapping[str, Aqm | PythonAqm]) -> list[list[str]]:
    """Names of the disciplines whose curves lie on each other, for each curve of several."""
    _, functions = _drawn(disciplines)
    by_curve: dict[bytes, list[str]] = {}
    for name, function in functions.items():
        by_curve.setdefault(function.tobytes(), []).append(name)
    return [names for names in by_curve.values() if len(names) > 1]


def _drawn(
    disciplines: Mapping[str, Aqm | PythonAqm],
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Averages (packets) that show all functions, and the function at each, by discipline."""
    having = {
        name: aqm
        for name, aqm in disciplines.items()
        if isinstance(aqm, Aqm) and aqm.has_drop_function
    }
    last = 1.1 * max((settled(aqm) for aqm in having.values()), default=1.0)
    averages = np.linspace(0, last, 1000)
    return averages, {name: aqm.drop_probability(averages) for name, aqm in having.items()}
