"""What a figure shows in words, read from its curves: for those who cannot see it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

# nobody would listen to more than these
_MOST_CURVES = 12


def in_words(figure: Figure) -> str:
    """Panel after panel: the axes, and of each curve both ends and the maximum above them."""
    return " ".join(filter(None, map(_panel, figure.axes)))


def _panel(ax: Axes) -> str:
    told = [*_curves(ax), *_maps(ax)][:_MOST_CURVES]
    if not told:
        return ""
    axes = " against ".join(filter(None, (ax.get_ylabel(), ax.get_xlabel())))
    title = ax.get_title() or ax.get_title(loc="left")
    head = ", ".join(filter(None, (title, axes)))
    told[0] = f"{head}: {told[0]}" if head else told[0]
    return f"{'; '.join(told)}.".replace(r"\$", "$").replace("\n", " ")


def _curves(ax: Axes) -> Iterator[str]:
    """Those with a name, or, where one curve is the whole panel, that one."""
    several = _named(ax)
    for name, line in several or _first(ax):
        x, y = (np.asarray(values, dtype=np.float64) for values in line.get_data())
        known = np.isfinite(x) & np.isfinite(y)
        if np.count_nonzero(known) > 1:
            x, y = x[known], y[known]
            top = int(np.argmax(y))
            ends = f"from {y[0]:.3g} at {x[0]:.3g} to {y[-1]:.3g} at {x[-1]:.3g}"
            inside = f", at most {y[top]:.3g} at {x[top]:.3g}" if 0 < top < len(y) - 1 else ""
            yield f"{name} {ends}{inside}".strip()


def _named(ax: Axes) -> list[tuple[str, Line2D]]:
    """Lines by what a legend calls them; error bars have the name in place of their line."""
    named = [(str(line.get_label()), line) for line in ax.lines]
    for bars in ax.containers:
        if isinstance(bars, ErrorbarContainer) and isinstance(bars.lines[0], Line2D):
            named.append((str(bars.get_label()), bars.lines[0]))
    return [(name.strip(), line) for name, line in named if not name.startswith("_")]


def _first(ax: Axes) -> list[tuple[str, Line2D]]:
    return [("", line) for line in ax.lines[:1]]


def _maps(ax: Axes) -> Iterator[str]:
    """The range of a map's colours."""
    for mesh in ax.collections:
        values = mesh.get_array() if isinstance(mesh, QuadMesh) else None
        if values is not None:
            known = np.ma.masked_invalid(values).compressed()
            if known.size:
                yield f"colours from {known.min():.3g} to {known.max():.3g}"
